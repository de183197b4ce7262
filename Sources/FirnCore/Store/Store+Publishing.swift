import FirnStorage

/// The listeners that are called when a version is published. `lock` guards the list; they are called outside of all
/// locks, on the thread that published. Two such threads may call them at the same time.
final class Listeners: @unchecked Sendable {
    typealias Body = @Sendable (UInt64) -> Void

    private let lock = Lock(.innermost)
    @exclusivity(unchecked) private var listeners: [(id: Int, body: Body)] = []
    private var lastID = 0

    /// Returns the id that `remove` takes.
    func add(_ body: @escaping Body) -> Int {
        lock.withLock {
            lastID += 1
            listeners.append((lastID, body))
            return lastID
        }
    }

    func remove(_ id: Int) {
        // The objects that its closure captures are released outside of the lock.
        let removed = lock.withLock { () -> Body? in
            guard let index = listeners.firstIndex(where: { $0.id == id }) else { return nil }
            return listeners.remove(at: index).body
        }
        withExtendedLifetime(removed) {}
    }

    func call(_ version: UInt64) {
        let listeners = lock.withLock { self.listeners }
        LockRank.expectNone("listeners of the store are called")
        for listener in listeners { listener.body(version) }
    }
}

extension Store {
    /// The registration of a listener. It ends when this object is released.
    package final class Listener: Sendable {
        private let store: Store
        private let id: Int

        fileprivate init(store: Store, id: Int) {
            self.store = store
            self.id = id
        }

        deinit { if !store.isForked { store.listeners.remove(id) } }
    }

    /// Calls `body` with the number of each newly published version, outside of all locks, on the thread that
    /// published it. `body` must be quick, and may not write.
    package func onPublish(_ body: @escaping @Sendable (UInt64) -> Void) -> Listener {
        Listener(store: self, id: listeners.add(body))
    }

    /// Publishes the versions up to `version`, which is durable, and calls the listeners.
    func publish(through version: UInt64) {
        guard let entry = versions.publish(through: version) else { return }
        announce(entry.version)
    }

    /// Calls the listeners for a new version, or for a new tree of the newest one.
    func announce(_ version: UInt64) { listeners.call(version) }
}

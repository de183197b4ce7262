import FirnStorage

extension Store {
    /// The registration of a listener. It ends when this object is released.
    package final class Listener: Sendable {
        private let store: Store
        private let id: Int

        fileprivate init(store: Store, id: Int) {
            self.store = store
            self.id = id
        }

        deinit { if !store.isForked { store.removeListener(id) } }
    }

    /// Calls `body` with the number of each newly published version, outside of all locks, on the thread that
    /// published it. `body` must be quick, and may not write.
    package func onPublish(_ body: @escaping @Sendable (UInt64) -> Void) -> Listener {
        listenerLock.withLock {
            nextListener += 1
            listeners.append((nextListener, body))
            return Listener(store: self, id: nextListener)
        }
    }

    private func removeListener(_ id: Int) {
        // What its closure captures is released outside of the lock.
        let removed = listenerLock.withLock { () -> (@Sendable (UInt64) -> Void)? in
            guard let index = listeners.firstIndex(where: { $0.id == id }) else { return nil }
            return listeners.remove(at: index).body
        }
        withExtendedLifetime(removed) {}
    }

    /// Publishes the versions up to `version`, which is durable, and calls the listeners.
    func publish(through version: UInt64) {
        guard let entry = versions.publish(through: version) else { return }
        announce(entry.version)
    }

    /// Calls the listeners for a new version, or for a new tree of the newest one.
    func announce(_ version: UInt64) {
        let listeners = listenerLock.withLock { self.listeners }
        LockRank.expectNone("listeners of the store are called")
        for listener in listeners { listener.body(version) }
    }
}

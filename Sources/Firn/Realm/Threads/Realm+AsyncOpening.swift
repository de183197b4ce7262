public import Dispatch
import FirnCore
import FirnStorage
import Synchronization

/// Runs `body`, which may block, on a serial queue's thread. That thread may be blocked, because it runs no tasks.
func onBlockingThread<Result: Sendable>(
    _ isolation: isolated (any Actor)?, _ body: @escaping @Sendable () -> Result
) async -> Result {
    await withCheckedContinuation(isolation: isolation) { waiting in
        DispatchQueue(label: "firn-open").async { waiting.resume(returning: body()) }
    }
}

extension SharedStore {
    /// Opens a store with a configuration's classes on the calling thread, which may be blocked. As long as the store
    /// is kept, a realm of it is opened without waiting.
    static func open(_ configuration: Realm.Configuration, at callSite: CallSite) throws -> SharedStore {
        let shared = try SharedStore.of(configuration)
        _ = try shared.schema(for: configuration, .current, at: callSite)
        return shared
    }

    /// Opens a store for a task, without blocking the thread that runs it. Nil if the caller is in a write transaction
    /// of the store, so that opening must not wait for the write lock. Then the caller opens it, which may throw
    /// `.fail`.
    static func opened(
        _ configuration: Realm.Configuration, at callSite: CallSite, _ isolation: isolated (any Actor)?
    ) async throws -> SharedStore? {
        if let isolation, isWritten(configuration, here: .actor(isolation)) { return nil }
        return try await onBlockingThread(isolation) {
            Result { try SharedStore.open(configuration, at: callSite) }
        }.get()
    }
}

extension Realm {
    /// When a synchronised realm is downloaded, in RealmSwift. Firn downloads nothing, so every value means the same.
    public enum OpenBehavior: Sendable {
        /// The realm is opened as it is.
        case never
        /// The same as `never`.
        case once
        /// The same as `never`.
        case always
    }

    /// Opens a realm of the main actor: the store is opened on another thread, so that the main thread is not blocked.
    ///
    /// ```swift
    /// @MainActor func start() async throws { realm = try await Realm() }
    /// ```
    ///
    /// All else is as for `init(configuration:queue:file:line:)`. `downloadBeforeOpen` has no effect.
    ///
    /// - Throws: `Realm.Error`, as `init(configuration:queue:file:line:)`.
    @MainActor
    public init(
        configuration: Configuration = .defaultConfiguration, downloadBeforeOpen: OpenBehavior = .never,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws {
        let callSite = CallSite(file, line)
        let opened = try await SharedStore.opened(configuration, at: callSite, MainActor.shared)
        try self.init(configuration, .actor(MainActor.shared), at: callSite)
        withExtendedLifetime(opened) {}
    }

    /// Opens a realm that belongs to an actor, on which this must be called. The realm does not keep the actor alive.
    ///
    /// ```swift
    /// actor Kennel {
    ///     var realm: Realm?
    ///     func open() async throws { realm = try await Realm(actor: self) }
    /// }
    /// ```
    ///
    /// The store is opened on another thread, so that the actor does other work meanwhile. All else is as for
    /// `init(configuration:queue:file:line:)`. `downloadBeforeOpen` has no effect.
    ///
    /// - Throws: `Realm.Error`, as `init(configuration:queue:file:line:)`.
    public init<A: Actor>(
        configuration: Configuration = .defaultConfiguration, actor: isolated A,
        downloadBeforeOpen: OpenBehavior = .never, file: StaticString = #fileID, line: UInt = #line
    ) async throws {
        let callSite = CallSite(file, line)
        let opened = try await SharedStore.opened(configuration, at: callSite, actor)
        try self.init(configuration, .actor(actor), at: callSite)
        withExtendedLifetime(opened) {}
    }

    /// Opens a realm that belongs to the actor on which this is called. Stops the program if the caller is on no
    /// actor.
    ///
    /// All else is as for `init(configuration:actor:downloadBeforeOpen:file:line:)`.
    ///
    /// - Throws: `Realm.Error`, as `init(configuration:queue:file:line:)`.
    public static func open(
        configuration: Configuration = .defaultConfiguration, downloadBeforeOpen: OpenBehavior = .never,
        isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID, line: UInt = #line
    ) async throws -> Realm {
        guard let actor = isolation else {
            stopProgram(
                "Realm.open needs an actor to belong to. Call it from one, or use Realm(configuration:).",
                at: CallSite(file, line))
        }
        let callSite = CallSite(file, line)
        let opened = try await SharedStore.opened(configuration, at: callSite, actor)
        defer { withExtendedLifetime(opened) {} }
        return try Realm(configuration, .actor(actor), at: callSite)
    }

    /// Opens a store on another thread, and calls `callback` with its realm for a queue.
    ///
    /// ```swift
    /// let task = Realm.asyncOpen { result in
    ///     switch result {
    ///     case .success(let realm): show(realm.objects(Dog.self))
    ///     case .failure(let error): print(error)
    ///     }
    /// }
    /// ```
    ///
    /// Costs what `init(configuration:queue:file:line:)` costs, but nothing on the calling thread. Stops the program if
    /// the queue is a global one.
    ///
    /// - Parameters:
    ///   - configuration: which store, and how to open it.
    ///   - callbackQueue: the serial queue that the realm belongs to, and on which `callback` is called.
    ///   - callback: is called once with the realm, or with the error that `init` would throw.
    ///   - file: the call site's file.
    ///   - line: the call site's line.
    /// - Returns: a task that can be cancelled. It need not be kept.
    @discardableResult
    public static func asyncOpen(
        configuration: Configuration = .defaultConfiguration, callbackQueue: DispatchQueue = .main,
        file: StaticString = #fileID, line: UInt = #line,
        callback: @escaping (Swift.Result<Realm, any Swift.Error>) -> Void
    ) -> AsyncOpenTask {
        let task = AsyncOpenTask()
        let callSite = CallSite(file, line)
        let scheduler = Scheduler.queue(callbackQueue)
        nonisolated(unsafe) let callback = callback
        let queue = DispatchQueue(label: "firn-open")
        queue.async {
            let opened = OpenedStore(Swift.Result { try SharedStore.open(configuration, at: callSite) })
            callbackQueue.async {
                if !task.isCancelled {
                    let realm = opened.use { try Realm(configuration, scheduler, at: callSite) }
                    // The realm keeps the store now. If nobody keeps the realm, the store is closed when the callback
                    // has returned, and can be deleted.
                    if case .success = realm { opened.release() }
                    callback(realm)
                }
                // If this is the last reference to the store, it is closed on this queue.
                queue.async { opened.release() }
            }
        }
        return task
    }

    /// A store that was opened for a callback, or the error of its opening.
    private final class OpenedStore: @unchecked Sendable {
        // Used by one block after another: each dispatches the next.
        private var opened: Swift.Result<SharedStore, any Swift.Error>?

        init(_ opened: Swift.Result<SharedStore, any Swift.Error>) { self.opened = opened }

        /// The result of `body`, or the error of the store's opening. The store is kept meanwhile.
        func use(_ body: () throws -> Realm) -> Swift.Result<Realm, any Swift.Error> {
            switch opened {
            case .failure(let error): .failure(error)
            case .success, nil: Swift.Result { try body() }
            }
        }

        func release() { opened = nil }
    }

    /// An opening that ``asyncOpen(configuration:callbackQueue:file:line:callback:)`` has begun.
    public final class AsyncOpenTask: Sendable {
        // Atomic: it is cancelled on any thread.
        private let cancelled = Atomic<Bool>(false)

        fileprivate var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

        /// Prevents the call of the callback, unless that is just running. The store is opened all the same, and closed
        /// again if nobody else has it open. May be called on any thread.
        public func cancel() { cancelled.store(true, ordering: .releasing) }
    }
}

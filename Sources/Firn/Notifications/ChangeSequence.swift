import FirnCore
import FirnStorage

/// The changes of an object, a collection or a realm, to be awaited one after the other.
///
/// ```swift
/// for await change in dogs.changes {
///     if case .update(let dogs, let deletions, let insertions, let modifications) = change { … }
/// }
/// ```
///
/// Collections, sections and maps give `.initial` first. A loop that does other work between two changes misses
/// nothing: the next change combines everything that has happened since the last one. So a slow loop costs no memory
/// for each commit. But the version that the loop was shown last is held until the loop is shown the next one: see
/// <doc:HoldingVersions>. A change describes the state that the realm shows at that moment, so indices and elements
/// match until the next `await`.
///
/// Observing begins with the loop, or when an iterator is made. It ends with the loop, or when its task is cancelled.
/// The sequence ends when the task is cancelled, and when an observed object has been deleted. A change costs as much
/// as a call of an observer: see the `observe` functions.
///
/// Await the changes on the actor to which the realm belongs, which may be the main actor. This stops the program if
/// the realm belongs to a thread or a queue, on another actor, and in the same cases as `observe`.
public struct ChangeSequence<Change>: AsyncSequence {
    /// The type of the changes.
    public typealias Element = Change
    /// The sequence never throws.
    public typealias Failure = Never

    private let begin: (AwaitedChanges<Change>) -> Void

    init(_ begin: @escaping (AwaitedChanges<Change>) -> Void) { self.begin = begin }

    /// Makes an iterator, which observes from now on. Must be called on the realm's actor.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(AwaitedChanges(begin)) }

    /// Awaits one change after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let changes: AwaitedChanges<Change>

        fileprivate init(_ changes: AwaitedChanges<Change>) { self.changes = changes }

        /// The next change; nil at the end. Must be called on the realm's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Change? {
            await changes.next(isolation: actor)
        }

        /// The next change; nil at the end. Must be called on the realm's actor.
        public nonisolated(nonsending) mutating func next() async -> Change? {
            await changes.next(isolation: #isolation)
        }
    }
}

@available(*, unavailable, message: "changes belong to the realm's actor; iterate over them there")
extension ChangeSequence: Sendable {}

/// An observer whose changes a task awaits. If a change of data may be due, the realm only wakes the waiting task,
/// which pulls the change. A notification of a realm itself is stored when the realm calls; only the last one is kept.
final class AwaitedChanges<Change> {
    private let token = NotificationToken()
    private let waiter = Waiter()
    /// Calls `receive` if a change is due.
    private var pull: () -> Void = {}
    private var isActive: () -> Bool = { false }
    private var change: Change?

    init(_ begin: (AwaitedChanges<Change>) -> Void) {
        if Task.isCancelled { token.invalidate() } else { begin(self) }
    }

    func receive(_ change: Change) { self.change = change }

    /// Begins to observe data.
    func observe(_ realm: _RealmInstance, _ subscription: DataSubscription) {
        realm.checkAwaiting()
        let waiter = waiter
        subscription.wake = { waiter.wake() }
        realm.add(subscription, token)
        pull = { [unowned subscription] in subscription.pull() }
        isActive = { [unowned subscription] in subscription.isActive }
    }

    /// Begins to observe a realm. If several notifications come before the task awaits them, only the last one is kept.
    func observe(
        _ realm: _RealmInstance, at site: CallSite, _ notification: @escaping (Realm.Notification) -> Change
    ) {
        realm.checkAwaiting()
        let waiter = waiter
        let subscription = RealmSubscription(realm) { [weak self] kind, _ in
            self?.change = notification(kind)
            waiter.wake()
        }
        subscription.wake = { waiter.wake() }
        realm.add(subscription, token, at: site)
        isActive = { [unowned subscription] in subscription.isActive }
    }

    func next(isolation actor: isolated (any Actor)?) async -> Change? {
        while true {
            if Task.isCancelled { token.invalidate() }
            // The token has ended, or the realm is gone. Then the observer may be gone, too, so it must not be used.
            guard !token.isInvalidated else { return nil }
            if isActive() { pull() }
            if let change = change.take() { return change }
            guard !token.isInvalidated, isActive() else { return nil }
            await waiter.wait(isolation: actor)
        }
    }

    /// Lets one task wait until it is woken: by a due change, by the end of the observer, or by the task's
    /// cancellation.
    private final class Waiter: Sendable {
        private struct State {
            var continuation: CheckedContinuation<Void, Never>?
            /// Whether `wake` was called while no task waited.
            var isAwake = false
        }
        private let state = Guarded(.innermost, State())

        func wake() {
            let waiting = state.withLock { state in
                state.isAwake = state.continuation == nil
                return state.continuation.take()
            }
            waiting?.resume()
        }

        func wait(isolation actor: isolated (any Actor)?) async {
            await withTaskCancellationHandler(
                operation: {
                    await withCheckedContinuation(isolation: actor) { continuation in
                        let isAwake = state.withLock { state in
                            defer { state.isAwake = false }
                            // `precondition` has no message in release mode.
                            guard state.continuation == nil else {
                                stopProgram("two tasks await changes of one iterator. Make one each.")
                            }
                            if !state.isAwake { state.continuation = continuation }
                            return state.isAwake
                        }
                        if isAwake { continuation.resume() }
                    }
                }, onCancel: { wake() }, isolation: actor)
        }
    }
}

extension _RealmInstance {
    /// Stops the program if changes of the realm can't be awaited.
    fileprivate func checkAwaiting() {
        switch scheduler?.kind {
        case .main, .actor: break
        default:
            stopProgram(
                "changes are awaited on an actor, to which the realm must belong: open it there, or observe(_:) with a block."
            )
        }
    }
}

// MARK: What has changes

extension RealmCollection {
    /// The collection's changes, to be awaited on the realm's actor: `.initial` first, then each update. See
    /// `observe(keyPaths:on:_:file:line:)` for what counts as a change and what it costs.
    public var changes: ChangeSequence<RealmCollectionChange<Self>> {
        changes(nil, at: _source.realm.openedAt) { CollectionSubscription(collection: $0, from: $1, paths: $2, $3) }
    }

    /// The collection's changes, with modifications limited to some key paths: see
    /// `observe(keyPaths:on:_:file:line:)`.
    public func changes(
        keyPaths: [String]?, file: StaticString = #fileID, line: UInt = #line
    ) -> ChangeSequence<RealmCollectionChange<Self>> {
        changes(keyPaths, at: CallSite(file, line)) { CollectionSubscription(collection: $0, from: $1, paths: $2, $3) }
    }
}

extension RealmKeyedCollection {
    /// The map's changes, to be awaited on the realm's actor: `.initial` first, then each update. See
    /// `observe(keyPaths:on:_:file:line:)` for what counts as a change and what it costs.
    public var changes: ChangeSequence<RealmMapChange<Self>> {
        changes(nil, at: _source.realm.openedAt) { MapSubscription(map: $0, from: $1, paths: $2, $3) }
    }

    /// The map's changes, with modifications limited to some key paths of its objects.
    public func changes(
        keyPaths: [String]?, file: StaticString = #fileID, line: UInt = #line
    ) -> ChangeSequence<RealmMapChange<Self>> {
        changes(keyPaths, at: CallSite(file, line)) { MapSubscription(map: $0, from: $1, paths: $2, $3) }
    }
}

extension SectionedResults {
    /// The sections' changes, to be awaited on the realm's actor: `.initial` first, then each update.
    public var changes: ChangeSequence<SectionedResultsChange<SectionedResults>> {
        changes(nil, at: _source.realm.openedAt) {
            SectionSubscription($0, sections: { $0.sections }, key: nil, from: $1, paths: $2, $3)
        }
    }

    /// The sections' changes, with modifications limited to some key paths.
    public func changes(
        keyPaths: [String]?, file: StaticString = #fileID, line: UInt = #line
    ) -> ChangeSequence<SectionedResultsChange<SectionedResults>> {
        changes(keyPaths, at: CallSite(file, line)) {
            SectionSubscription($0, sections: { $0.sections }, key: nil, from: $1, paths: $2, $3)
        }
    }
}

extension ResultsSection {
    /// The section's changes, to be awaited on the realm's actor: `.initial` first, then each update.
    public var changes: ChangeSequence<SectionedResultsChange<ResultsSection>> {
        let key = key
        return changes(nil, at: _source.realm.openedAt) {
            SectionSubscription($0, sections: { $0.sections }, key: key, from: $1, paths: $2, $3)
        }
    }

    /// The section's changes, with modifications limited to some key paths.
    public func changes(
        keyPaths: [String]?, file: StaticString = #fileID, line: UInt = #line
    ) -> ChangeSequence<SectionedResultsChange<ResultsSection>> {
        let key = key
        return changes(keyPaths, at: CallSite(file, line)) {
            SectionSubscription($0, sections: { $0.sections }, key: key, from: $1, paths: $2, $3)
        }
    }
}

extension _SourcedCollection {
    fileprivate func changes<Change>(
        _ keyPaths: [String]?, at site: CallSite,
        _ subscription:
            @escaping (Self, SubscriptionStart, [ObservedPath]?, @escaping (Change) -> Void) ->
            DataSubscription
    ) -> ChangeSequence<Change> {
        ChangeSequence { changes in
            let source = _source
            source.checkIsAlive()
            let start = source.realm.startObserving(at: site)
            let paths = source.observedPaths(keyPaths)
            changes.observe(
                source.realm, subscription(self, start, paths) { [weak changes] in changes?.receive($0) })
        }
    }
}

extension ThreadConfined where Self: ObjectBase {
    /// The object's changes, to be awaited on the realm's actor. If the object is deleted, the last change is
    /// `.deleted`.
    ///
    /// ```swift
    /// for await change in dog.changes() {
    ///     if case .change(let dog, let properties) = change { print(dog.name, properties.map(\.name)) }
    /// }
    /// ```
    ///
    /// See `ObjectBase.observe(keyPaths:on:_:file:line:)` for what counts as a change and what it costs.
    public func changes(
        keyPaths: [String]? = nil, file: StaticString = #fileID, line: UInt = #line
    ) -> ChangeSequence<ObjectChange<Self>> {
        let site = CallSite(file, line)
        return ChangeSequence { changes in
            let start = self.beginObserving(keyPaths, at: site)
            let subscription = ObjectSubscription<Self>(
                realm: start.realm, binding: start.binding, key: start.key, from: start.from, paths: start.paths
            ) { [weak changes] in changes?.receive($0) }
            changes.observe(start.realm, subscription)
        }
    }
}

extension Realm {
    /// The realm's notifications, to be awaited on the realm's actor: `observe(_:)` as a sequence. If several
    /// notifications come before the loop awaits them, it gets only the last one.
    ///
    /// There is no first notification for the version that the realm already shows. To miss nothing, make the iterator
    /// first:
    ///
    /// ```swift
    /// var notifications = realm.notifications.makeAsyncIterator()
    /// repeat { await send(realm.asyncFreeze()) } while await notifications.next() != nil
    /// ```
    public var notifications: ChangeSequence<Notification> {
        let instance = instance
        return ChangeSequence { $0.observe(instance, at: instance.openedAt) { $0 } }
    }
}

public import Dispatch
import FirnCore

extension ObjectBase {
    /// Calls `block` after each write that assigns to a property of the object, even the value it had, or deletes it. There is no first call.
    ///
    /// The block is called some time after the commit, on the realm's run loop or queue, or on `queue`; several changes may come as one. It may write.
    ///
    /// - Parameters:
    ///   - keyPaths: names of the properties that matter, nil for all of the object's own; `"dog.name"` follows links and collections.
    ///   - queue: a serial queue to be called on, with the object of that queue.
    /// - Returns: a token to be held as long as the block shall be called.
    public final func observe<T: ObjectBase>(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<T>) -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        let start = beginObserving(keyPaths, at: CallSite(file, line))
        let token = NotificationToken()
        if let queue {
            let scheduler = Scheduler.queue(queue)
            start.realm.onQueue(scheduler, from: start.from) { realm in
                realm.add(
                    ObjectSubscription(realm, start.binding, start.key, from: start.from, start.paths, block), token)
            }
        } else {
            start.realm.checkDelivery()
            start.realm.add(
                ObjectSubscription(start.realm, start.binding, start.key, from: start.from, start.paths, block), token)
        }
        return token
    }

    /// As `observe(keyPaths:on:_:)`, with key paths of Swift.
    public final func observe<T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<T>) -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { KeyPathTracer.name($0) }, on: queue, block, file: file, line: line)
    }

    fileprivate final func beginObserving(
        _ keyPaths: [String]?, at place: CallSite
    ) -> (realm: RealmInstance, binding: TableBinding, key: Int64, from: SubscriptionStart, paths: [ObservedPath]?) {
        guard isManaged else {
            fatalError("Firn: an unmanaged object of \(classInfo.name) can't be observed. Add it to a realm first.")
        }
        let realm = RealmInstance.of(_row)
        let start = realm.startObserving(at: place)
        if !_row.isCurrent { _row = _relocate(_row) }
        let binding = TableBinding.of(_row)
        return (realm, binding, _row.key, start, keyPaths.map { $0.map { ObservedPath($0, binding, realm.schema) } })
    }
}

extension Object {
    /// Calls `block` on an actor after each write that assigns to a property of the object or deletes it, with the actor's own object.
    ///
    /// A task that was cancelled gets a token that has ended.
    public final func observe<A: Actor, T: Object>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, ObjectChange<T>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        let start = beginObserving(keyPaths?.isEmpty ?? true ? nil : keyPaths, at: CallSite(file, line))
        let token = NotificationToken()
        guard !Task.isCancelled else {
            token.invalidate()
            return token
        }
        await ActorObserving.install(start.realm, on: actor, from: start.from, _isolation: _isolation) { realm in
            // The actor may keep the token.
            let observation = ObjectSubscription<T>(realm, start.binding, start.key, from: start.from, start.paths) {
                [weak actor] change in
                guard let actor else { return }
                nonisolated(unsafe) let change = change
                actor.assumeIsolated { block($0, change) }
            }
            realm.add(observation, token)
        }
        return token
    }

    /// As `observe(keyPaths:on:_:)`, with key paths of Swift.
    public final func observe<A: Actor, T: Object>(
        keyPaths: [PartialKeyPath<T>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, ObjectChange<T>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths.map { KeyPathTracer.name($0) }, on: actor, _isolation: _isolation, block, file: file,
            line: line)
    }
}

/// Makes observers of an actor's own realm.
enum ActorObserving {
    /// Calls `body` on the actor, with its instance of the store.
    static func install(
        _ realm: RealmInstance, on actor: any Actor, from start: SubscriptionStart, _isolation: isolated (any Actor)?,
        _ body: @escaping (RealmInstance) -> Void
    ) async {
        nonisolated(unsafe) let body = body
        let shared = realm.shared
        let schema = realm.schema
        nonisolated(unsafe) let configuration = realm.configuration
        await run(on: actor) {
            shared.beginObserving(configuration, schema, .actor(actor), from: start, body)
        }
    }

    private static func run(on actor: isolated any Actor, _ body: @Sendable () -> Void) { body() }
}

public import Dispatch
import FirnCore
import FirnStorage

extension ObjectBase {
    /// Calls `block` after each write that deletes the object, or assigns one of its properties, even if the value
    /// stays the same. There is no first call.
    ///
    /// ```swift
    /// token = dog.observe { (change: ObjectChange<Dog>) in
    ///     switch change {
    ///     case .change(let dog, let properties): print(dog.name, properties.map(\.name))
    ///     case .deleted: print("deleted")
    ///     case .error: break
    ///     }
    /// }
    /// ```
    ///
    /// **When and where.** The block is called on the realm's run loop, queue or actor, or on `queue`. It is called at
    /// the next turn after the commit, or within `refresh()` or at the beginning of a write there, whichever is first.
    /// Several changes may be shown in one call. The block may write. If `autorefresh` is off, changes by others are
    /// shown once the realm has advanced.
    ///
    /// **Cost.** The observer holds the version that it was shown last, and the changes since then, until its realm has
    /// shown it the next version. See <doc:HoldingVersions>. A call costs O(changes since the last call), whatever the
    /// number of objects. A nested key path also costs a search backwards, from the changed objects along the links to
    /// them.
    ///
    /// To be called on the thread, queue or actor of the object's realm. Stops the program if:
    ///
    /// - the object is unmanaged, frozen or gone;
    /// - its realm was opened read-only, or is in a transaction that has changed something;
    /// - a key path names no property;
    /// - `queue` is a global one;
    /// - no queue is given, and the thread has no running run loop.
    ///
    /// - Parameters:
    ///   - keyPaths: names of the properties that matter. Nil or an empty array stands for all of the object's own
    ///     properties. `"dog.name"` follows links and collections.
    ///   - queue: a serial queue on which the block is called, with the object of that queue's realm.
    ///   - block: is called with the change.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: a token to be held as long as the block is to be called.
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
                    ObjectSubscription(
                        realm: realm, binding: start.binding, key: start.key, from: start.from, paths: start.paths,
                        block), token)
            }
        } else {
            start.realm.checkDelivery()
            start.realm.add(
                ObjectSubscription(
                    realm: start.realm, binding: start.binding, key: start.key, from: start.from, paths: start.paths,
                    block), token)
        }
        return token
    }

    /// Calls `block` after each write that assigns one of the properties: `observe(keyPaths:on:_:)` with Swift key
    /// paths, as in `dog.observe(keyPaths: [\Dog.name]) { … }`. Also stops the program if a key path does not lead to a
    /// stored property.
    public final func observe<T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<T>) -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: queue, block, file: file, line: line)
    }

    final func beginObserving(
        _ keyPaths: [String]?, at site: CallSite
    ) -> (realm: _RealmInstance, binding: TableBinding, key: Int64, from: SubscriptionStart, paths: [ObservedPath]?) {
        guard isManaged else {
            stopProgram("an unmanaged object of \(classInfo.name) can't be observed. Add it to a realm first.")
        }
        let realm = _RealmInstance.of(_row)
        let start = realm.startObserving(at: site)
        if !_row.isCurrent { _row = _relocate(_row) }
        let binding = TableBinding.of(_row)
        let paths = keyPaths.flatMap {
            $0.isEmpty ? nil : $0.map { ObservedPath(text: $0, binding: binding, schema: realm.schema) }
        }
        return (realm, binding, _row.key, start, paths)
    }
}

extension ObjectBase {
    /// Calls `block` on an actor after each write that assigns a property of the object or deletes it, with the actor's
    /// own object.
    ///
    /// ```swift
    /// token = await dog.observe(on: kennel) { (kennel, change: ObjectChange<Dog>) in
    ///     if case .change(let dog, _) = change { kennel.show(dog.name) }
    /// }
    /// ```
    ///
    /// There is no first call. The block is called as soon as the actor is free after the commit. The observer costs as
    /// much as an observer on a queue, and does not keep the actor alive.
    ///
    /// To be called on the thread, queue or actor of the object's realm. Stops the program in the same cases as the
    /// call with a queue. If `keyPaths` is nil or empty, all of the object's own properties matter. If the task was
    /// cancelled, the returned token has ended and the block is never called.
    public final func observe<A: Actor, T: ObjectBase>(
        keyPaths: [String]? = nil, on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, ObjectChange<T>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        let start = beginObserving(keyPaths, at: CallSite(file, line))
        let token = NotificationToken()
        guard !Task.isCancelled else {
            token.invalidate()
            return token
        }
        await ActorObserving.install(start.realm, on: actor, from: start.from, isolation: isolation) { realm in
            // The reference is weak, because the actor may keep the token, which keeps this closure.
            let subscription = ObjectSubscription<T>(
                realm: realm, binding: start.binding, key: start.key, from: start.from, paths: start.paths
            ) {
                [weak actor] change in
                guard let actor else { return }
                nonisolated(unsafe) let change = change
                actor.assumeIsolated { block($0, change) }
            }
            realm.add(subscription, token)
        }
        return token
    }

    /// Calls `block` on an actor after each write that assigns one of the properties: `observe(keyPaths:on:_:)` with
    /// Swift key paths. Also stops the program if a key path does not lead to a stored property.
    public final func observe<A: Actor, T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, ObjectChange<T>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: actor, isolation: isolation, block, file: file,
            line: line)
    }
}

/// Makes observers of an actor's own realm.
enum ActorObserving {
    /// Calls `body` on the actor, with the actor's instance of the store.
    static func install(
        _ realm: _RealmInstance, on actor: any Actor, from start: SubscriptionStart, isolation: isolated (any Actor)?,
        _ body: @escaping (_RealmInstance) -> Void
    ) async {
        nonisolated(unsafe) let body = body
        let shared = realm.shared
        let schema = realm.schema
        let configuration = realm.configuration
        await run(on: actor) {
            shared.beginObserving(configuration, schema: schema, scheduler: .actor(actor), from: start, body)
        }
    }

    private static func run(on actor: isolated any Actor, _ body: @Sendable () -> Void) { body() }
}

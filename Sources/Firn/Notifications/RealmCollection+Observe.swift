public import Dispatch
import FirnCore
import FirnStorage

extension RealmCollection {
    /// Calls `block` once with the collection, then after each write that inserts, deletes, moves or modifies elements.
    ///
    /// ```swift
    /// token = realm.objects(Dog.self).where { $0.age > 3 }.observe { change in
    ///     switch change {
    ///     case .initial(let dogs): print("\(dogs.count) dogs")
    ///     case .update(_, let deleted, let inserted, let modified): print(deleted, inserted, modified)
    ///     case .error: break
    ///     }
    /// }
    /// ```
    ///
    /// **When and where.** The block is called on the realm's run loop, queue or actor, or on `queue`. The first call
    /// comes at the next turn, or at the beginning of the realm's own next write, before its transaction. It never
    /// comes within this call. It includes writes by others that come before it. Later calls come at the next turn
    /// after the commit, or within `refresh()` or at the beginning of a write there, whichever is first. Several
    /// changes may be shown in one call. The block may write. If `autorefresh` is off, changes by others are shown once
    /// the realm has advanced. On a `queue` or an actor, "the realm" is the realm of that queue or actor.
    ///
    /// **Cost.** The observer holds the version that it was shown last, and the changes since then, until its realm has
    /// shown it the next version. See <doc:HoldingVersions>. Being shown a version costs:
    ///
    /// - for all objects of a class: O(log n) for each changed object;
    /// - for a list: O(edits), and a search of the list if an object in it has changed. If the edits are not known, the
    ///   elements are compared, O(n);
    /// - for filters, sorts and at most one `distinct` of all objects of a class: O(log² n) for each object that a
    ///   change concerns. A change also concerns objects along a link that a condition follows. If it concerns more
    ///   than 64 objects and more than a sixteenth of the class, the query is run again;
    /// - for backlinks, a second `distinct`, a limit, and a query of a list or of values: O(n), whichever class the
    ///   writes concern. The query is run again, and the results are compared.
    ///
    /// For a query, the keys of all elements are kept, about 8 to 24 bytes for each. The collection that the block gets
    /// shares them, so reading it does not run the query.
    ///
    /// If the elements are objects, links are also followed from each changed object back to the elements, up to four
    /// links deep. If key paths are named, only these paths are followed.
    ///
    /// If the object that owns a list or backlinks is deleted before the first call, the block is called with an empty,
    /// unmanaged collection. Observing continues after the realm is invalidated.
    ///
    /// To be called on the thread, queue or actor of the collection's realm. Stops the program if:
    ///
    /// - the collection is unmanaged or frozen, or was made before its realm was invalidated;
    /// - the realm was opened read-only, or is in a transaction that has changed something;
    /// - a key path names no property;
    /// - `queue` is a global one;
    /// - no queue is given, and the thread has no running run loop.
    ///
    /// - Parameters:
    ///   - keyPaths: names of the elements' properties that matter. Nil or an empty array stands for all, including the
    ///     properties of objects up to four links away from the elements.
    ///   - queue: a serial queue on which the block is called, with the collection of that queue's realm.
    ///   - block: is called with the change.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: a token to be held as long as the block is to be called.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void, file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        observe(keyPaths, on: queue, at: CallSite(file, line)) {
            CollectionSubscription(collection: $0, from: $1, paths: $2, block)
        }
    }

    /// Calls `block` on an actor, with the actor's own collection: once, and then after each write that changes the
    /// collection.
    ///
    /// ```swift
    /// token = await realm.objects(Dog.self).observe(on: kennel) { kennel, change in
    ///     if case .initial(let dogs) = change { kennel.count = dogs.count }
    /// }
    /// ```
    ///
    /// The block is called as soon as the actor is free. The observer costs as much as an observer on a queue, and does
    /// not keep the actor alive.
    ///
    /// To be called on the thread, queue or actor of the collection's realm. Stops the program in the same cases as the
    /// call with a queue. If `keyPaths` is nil or empty, all properties matter. If the task was cancelled, the returned
    /// token has ended and the block is never called.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, RealmCollectionChange<Self>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(keyPaths, on: actor, isolation: isolation, at: CallSite(file, line), block: block) {
            CollectionSubscription(collection: $0, from: $1, paths: $2, $3)
        }
    }
}

extension _SourcedCollection {
    /// Adds an observer to the realm of an actor.
    ///
    /// - Parameter subscription: makes the observer of the actor's collection.
    func observe<A: Actor, Change>(
        _ keyPaths: [String]?, on actor: A, isolation: isolated (any Actor)?, at site: CallSite,
        block: @escaping @Sendable (isolated A, Change) -> Void,
        _ subscription:
            @escaping (Self, SubscriptionStart, [ObservedPath]?, @escaping (Change) -> Void) ->
            DataSubscription
    ) async -> NotificationToken {
        let source = _source
        source.checkIsAlive()
        let start = source.realm.startObserving(at: site)
        let paths = source.observedPaths(keyPaths)
        let token = NotificationToken()
        guard !Task.isCancelled else {
            token.invalidate()
            return token
        }
        let frozen = _moved(
            to: source.realm.shared.frozen(
                source.realm.configuration, schema: source.realm.schema, pin: start.pin, at: site))
        await ActorObserving.install(source.realm, on: actor, from: start, isolation: isolation) { realm in
            let own = frozen._moved(to: realm)
            // The reference is weak, because the actor may keep the token, which keeps this closure.
            let subscription = subscription(own, start, paths) { [weak actor] change in
                guard let actor else { return }
                nonisolated(unsafe) let change = change
                actor.assumeIsolated { block($0, change) }
            }
            realm.add(subscription, token)
        }
        return token
    }

    /// Adds an observer to the collection's realm, or to the realm of a queue.
    ///
    /// - Parameter subscription: makes the observer of this collection, or of the same collection in the queue's realm.
    func observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?, at site: CallSite,
        _ subscription: @escaping (Self, SubscriptionStart, [ObservedPath]?) -> DataSubscription
    ) -> NotificationToken {
        let source = _source
        source.checkIsAlive()
        let realm = source.realm
        let start = realm.startObserving(at: site)
        let paths = source.observedPaths(keyPaths)
        let token = NotificationToken()
        if let queue {
            let frozen = _moved(
                to: realm.shared.frozen(realm.configuration, schema: realm.schema, pin: start.pin, at: site))
            realm.onQueue(Scheduler.queue(queue), from: start) { realm in
                realm.add(subscription(frozen._moved(to: realm), start, paths), token)
            }
        } else {
            realm.checkDelivery()
            realm.add(subscription(self, start, paths), token)
        }
        return token
    }
}

extension _CollectionSource {
    func observedPaths(_ keyPaths: [String]?) -> [ObservedPath]? {
        guard let keyPaths, !keyPaths.isEmpty else { return nil }
        guard let binding else { stopProgram("a collection of values has no key paths to observe.") }
        return keyPaths.map { ObservedPath(text: $0, binding: binding, schema: realm.schema) }
    }

    /// Stops the program if the collection was made before its realm was invalidated.
    func checkIsAlive() {
        if isDead {
            stopProgram(
                "a collection was observed whose realm was invalidated after it was made. Ask the realm for it again."
            )
        }
    }
}

extension RealmKeyedCollection {
    /// Calls `block` once with the map, then after each write that inserts, deletes or sets keys, or that changes one
    /// of the map's objects.
    ///
    /// ```swift
    /// token = shop.prices.observe { change in
    ///     if case .update(_, let deleted, let inserted, let modified) = change { print(deleted, inserted, modified) }
    /// }
    /// ```
    ///
    /// Costs as much as observing a list, and stops the program in the same cases: see
    /// `RealmCollection.observe(keyPaths:on:_:file:line:)`. If objects of the values' class have changed, all entries
    /// are read, O(n).
    ///
    /// - Parameters:
    ///   - keyPaths: names of the objects' properties that matter. Nil or an empty array stands for all.
    ///   - queue: a serial queue on which the block is called, with the map of that queue's realm.
    ///   - block: is called with the change.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: a token to be held as long as the block is to be called.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (RealmMapChange<Self>) -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        observe(keyPaths, on: queue, at: CallSite(file, line)) { MapSubscription(map: $0, from: $1, paths: $2, block) }
    }

    /// Calls `block` on an actor, with the actor's own map: once, and then after each write that changes the map.
    /// Otherwise it is like `RealmCollection.observe(keyPaths:on:isolation:_:file:line:)`.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, RealmMapChange<Self>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(keyPaths, on: actor, isolation: isolation, at: CallSite(file, line), block: block) {
            MapSubscription(map: $0, from: $1, paths: $2, $3)
        }
    }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: _QueriedObject {
    /// Like `observe(keyPaths:on:_:)`, with Swift key paths. Also stops the program if a key path does not lead to a
    /// stored property.
    public func observe(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmMapChange<Self>) -> Void, file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: queue, block, file: file, line: line)
    }

    /// Calls `block` on an actor, with the actor's own map, for changes of the given properties:
    /// `observe(keyPaths:on:isolation:_:file:line:)` with Swift key paths. Also stops the program if a key path does
    /// not lead to a stored property.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Value.Wrapped>], on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, RealmMapChange<Self>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: actor, isolation: isolation, block, file: file,
            line: line)
    }
}

extension RealmCollection where Element: _QueriedObject {
    /// Calls `block` once, then after each write that changes the collection or one of the properties:
    /// `observe(keyPaths:on:_:)` with Swift key paths. Also stops the program if a key path does not lead to a stored
    /// property.
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void, file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: queue, block, file: file, line: line)
    }

    /// Calls `block` on an actor, with the actor's own collection, for changes of the given properties:
    /// `observe(keyPaths:on:isolation:_:file:line:)` with Swift key paths. Also stops the program if a key path does
    /// not lead to a stored property.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, RealmCollectionChange<Self>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) async -> NotificationToken {
        await observe(
            keyPaths: keyPaths.map { TracedKeyPath.of($0).name }, on: actor, isolation: isolation, block, file: file,
            line: line)
    }
}

import FirnCore

extension RealmInstance {
    /// The frozen instance of the version shown. O(1).
    func freeze(_ what: String) -> RealmInstance {
        check()
        if isFrozen { return self }
        if isInTransaction {
            fatalError(
                "Firn: \(what) can't be frozen within a write transaction, whose changes are no version yet. Commit it first."
            )
        }
        if let frozenNow { return frozenNow }
        let frozen = shared.frozen(configuration, schema, shownPin)
        frozenNow = frozen
        return frozen
    }

    /// The calling thread's live instance of a frozen one's store.
    func thaw() -> RealmInstance {
        guard isFrozen else { return self }
        let live = shared.instance(configuration, schema, .current)
        live.startListening()
        return live
    }
}

extension Realm {
    /// The realm at the version that it shows now: it never changes, and may be read on any thread. O(1).
    public func freeze() -> Realm { Realm(instance.freeze("a realm")) }

    /// The calling thread's live realm.
    public func thaw() -> Realm { Realm(instance.thaw()) }

    /// A frozen copy of an object.
    public func freeze<T: Object>(_ object: T) -> T { object.freeze() }

    /// The live form of a frozen object; nil where it was deleted.
    public func thaw<T: Object>(_ object: T) -> T? { object.thaw() }

    /// A frozen copy of a collection.
    public func freeze<C: RealmCollection>(_ collection: C) -> C { collection.freeze() }
}

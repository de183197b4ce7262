import FirnCore

extension RealmInstance {
    /// The frozen instance of the version shown. O(1).
    func freeze(_ what: String, at place: CallSite) -> RealmInstance {
        check()
        if isFrozen { return self }
        if isInTransaction {
            fatalError(
                "Firn: \(what) can't be frozen within a write transaction, whose changes are no version yet. Commit it first."
            )
        }
        if let frozenNow { return frozenNow }
        let frozen = shared.frozen(configuration, schema, shownPin, at: place)
        frozenNow = frozen
        return frozen
    }

    /// The calling thread's live instance of a frozen one's store.
    func thaw(at place: CallSite) -> RealmInstance {
        guard isFrozen else { return self }
        let live = shared.instance(configuration, schema, .current, at: place)
        live.startListening()
        return live
    }
}

extension Realm {
    /// The realm at the version that it shows now: it never changes, and may be read on any thread. O(1).
    public func freeze(file: StaticString = #fileID, line: UInt = #line) -> Realm {
        Realm(instance.freeze("a realm", at: CallSite(file, line)))
    }

    /// The calling thread's live realm.
    public func thaw(file: StaticString = #fileID, line: UInt = #line) -> Realm {
        Realm(instance.thaw(at: CallSite(file, line)))
    }

    /// A frozen copy of an object.
    public func freeze<T: Object>(_ object: T, file: StaticString = #fileID, line: UInt = #line) -> T {
        object._freeze(file, line)
    }

    /// The live form of a frozen object; nil where it was deleted.
    public func thaw<T: Object>(_ object: T, file: StaticString = #fileID, line: UInt = #line) -> T? {
        object._thaw(file, line)
    }

    /// A frozen copy of a collection.
    public func freeze<C: RealmCollection>(_ collection: C, file: StaticString = #fileID, line: UInt = #line) -> C {
        collection._freeze(file, line)
    }
}

import FirnCore

extension ObjectBase {
    /// The realm that manages the object; nil where it is unmanaged.
    public final var realm: Realm? { isManaged ? Realm(RealmInstance.of(_row)) : nil }

    /// The object's class and its properties; of an unmanaged object too.
    public final var objectSchema: ObjectSchema { ObjectSchema(classInfo) }

    /// Whether the object is gone: it was deleted, the write that made it was cancelled, or its realm was invalidated. Anything but this, `realm` and
    /// `objectSchema` then stops the program. False for an unmanaged object.
    public final var isInvalidated: Bool { isManaged && !RealmInstance.isValid(_row) }

    /// Whether the object shows one version for good and may be read on any thread.
    public final var isFrozen: Bool { isManaged && RealmInstance.of(_row).isFrozen }

    /// Whether both are the same row of the same realm: live ones of one realm, frozen ones of one version. An unmanaged object is only the same as itself.
    public final func isSameObject(as object: ObjectBase?) -> Bool {
        guard let object else { return false }
        if self === object { return true }
        guard isManaged, object.isManaged else { return false }
        return _row.key == object._row.key && _row.table == object._row.table
            && RealmInstance.of(_row) === RealmInstance.of(object._row)
    }

    /// As `isSameObject(as:)`.
    public final func isEqual(to object: ObjectBase) -> Bool { isSameObject(as: object) }

    final func equalsByRow(_ other: ObjectBase) -> Bool {
        guard isManaged, other.isManaged else { return false }
        guard classInfo.primaryKey != nil || (isFrozen && other.isFrozen) else { return false }
        return isSameObject(as: other)
    }

    final func hashByRow() -> Int {
        if isFrozen || (isManaged && classInfo.primaryKey != nil) {
            // The key, not the primary key's value: it stays when the object is gone.
            var hasher = Hasher()
            hasher.combine(_row.key)
            hasher.combine(ObjectIdentifier(type(of: self)))
            return hasher.finalize()
        }
        return ObjectIdentifier(self).hashValue
    }
}

extension Object {
    public final func _freeze(_ file: StaticString, _ line: UInt) -> Self {
        guard isManaged else {
            fatalError("Firn: an unmanaged object of \(classInfo.name) can't be frozen. Add it to a realm first.")
        }
        if isFrozen { return self }
        if !_row.isCurrent { _row = _relocate(_row) }
        let frozen = RealmInstance.of(_row).freeze("an object of \(classInfo.name)", at: CallSite(file, line))
        return frozen.accessor(Self.self, _row.key)
    }

    public final func _thaw(_ file: StaticString, _ line: UInt) -> Self? {
        guard isManaged else {
            fatalError("Firn: an unmanaged object of \(classInfo.name) can't be thawed. Add it to a realm first.")
        }
        guard isFrozen else { return self }
        let live = RealmInstance.of(_row).thaw(at: CallSite(file, line))
        let row = _Row(core: live.core, key: _row.key, table: _row.table.unsafelyUnwrapped)
        guard let found = live.locate(row) else { return nil }
        let binding = TableBinding.of(_row)
        return unsafeDowncast(
            live.accessor(binding, Leaf(Node(found.leaf.unsafelyUnwrapped)), found.row, key: found.key), to: Self.self)
    }
}

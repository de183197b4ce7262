import FirnCore
import FirnStorage

extension ObjectBase {
    /// The realm that manages the object; nil if it is unmanaged. Still returned after the object was deleted. O(1).
    public final var realm: Realm? { isManaged ? Realm(_RealmInstance.of(_row)) : nil }

    /// A description of the object's class and its properties, also for an unmanaged object. Each call makes a new one,
    /// in O(properties).
    public final var objectSchema: ObjectSchema { ObjectSchema(classInfo) }

    /// Whether the object is gone: it was deleted, the write transaction that created it was cancelled, or its realm
    /// was invalidated.
    ///
    /// Reading or setting a property of such an object then stops the program. False for an unmanaged object. O(log n)
    /// at most. Stops the program on the wrong thread; for a realm of a queue or actor, only if the object has to be
    /// found again.
    public final var isInvalidated: Bool { isManaged && !_RealmInstance.isValid(_row) }

    /// Whether the object shows one version for good and may be read on any thread. False for an unmanaged object.
    /// O(1).
    public final var isFrozen: Bool { isManaged && _RealmInstance.of(_row).isFrozen }

    /// Whether both are the same row of the same realm: both live in one realm, or both frozen at one version of it.
    ///
    /// An unmanaged object is the same as itself only; nil is the same as nothing. O(1).
    public final func isSameObject(as object: ObjectBase?) -> Bool {
        guard let object else { return false }
        if self === object { return true }
        guard isManaged, object.isManaged else { return false }
        return _row.key == object._row.key && _row.table == object._row.table
            && _RealmInstance.of(_row) === _RealmInstance.of(object._row)
    }

    /// A hash that agrees with `isSameObject(as:)`. It changes when the object becomes managed.
    final func hashAsSameObject(into hasher: inout Hasher) {
        guard isManaged else { return hasher.combine(ObjectIdentifier(self)) }
        // The object key, not the primary key's value: it can be read when the object is gone.
        hasher.combine(_row.key)
        hasher.combine(_row.table)
    }

    /// Whether both are the same row of the same realm: the same as `isSameObject(as:)`. O(1).
    public final func isEqual(to object: ObjectBase) -> Bool { isSameObject(as: object) }

    /// Whether two objects are equal because they show the same row. Only frozen objects, and objects of classes with a
    /// primary key, are compared by row.
    final func equalsByRow(_ other: ObjectBase) -> Bool {
        guard isManaged, other.isManaged else { return false }
        guard classInfo.primaryKey != nil || (isFrozen && other.isFrozen) else { return false }
        return isSameObject(as: other)
    }

    /// A hash that agrees with `equalsByRow`.
    final func hashByRow() -> Int {
        if isFrozen || (isManaged && classInfo.primaryKey != nil) {
            var hasher = Hasher()
            hashAsSameObject(into: &hasher)
            return hasher.finalize()
        }
        return ObjectIdentifier(self).hashValue
    }
}

extension ObjectBase {
    /// Does the work of `freeze()`, for a call at the given line of the program.
    public final func _freeze(_ file: StaticString, _ line: UInt) -> Self {
        guard isManaged else {
            stopProgram(
                "an unmanaged object of \(classInfo.name) can't be frozen. Add it to a realm first.",
                at: CallSite(file, line))
        }
        if isFrozen { return self }
        if !_row.isCurrent { _row = _relocate(_row) }
        let frozen = _RealmInstance.of(_row).freeze("an object of \(classInfo.name)", at: CallSite(file, line))
        let object = frozen.accessor(TableBinding.of(_row), _row.key, isDynamic: isDynamic)
        return unsafeDowncast(object, to: Self.self)
    }

    /// The accessor of the same object in another realm of the store, even if the object does not exist there. An
    /// unmanaged object is returned as it is.
    public final func _moved(to realm: _RealmInstance) -> Self {
        guard isManaged else { return self }
        let binding = realm.binding(like: TableBinding.of(_row))
        return unsafeDowncast(realm.accessor(binding, _row.key, isDynamic: isDynamic), to: Self.self)
    }

    /// Does the work of `thaw()`, for a call at the given line of the program.
    public final func _thaw(_ file: StaticString, _ line: UInt) -> Self? {
        guard isManaged else {
            stopProgram(
                "an unmanaged object of \(classInfo.name) can't be thawed. Add it to a realm first.",
                at: CallSite(file, line))
        }
        guard isFrozen else { return self }
        let live = _RealmInstance.of(_row).thaw(at: CallSite(file, line))
        let row = _Row.unlocated(live.core, key: _row.key, table: _row.table.unsafelyUnwrapped)
        guard let found = live.locate(row) else { return nil }
        let binding = TableBinding.of(_row)
        if isDynamic { return unsafeDowncast(live.dynamicAccessor(binding, found.key), to: Self.self) }
        return unsafeDowncast(
            live.accessor(binding, leaf: Leaf(Node(found.leaf.unsafelyUnwrapped)), row: found.row, key: found.key),
            to: Self.self)
    }
}

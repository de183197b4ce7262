import CFirn
import FirnCore
import FirnStorage

/// Finds a row again after the realm has advanced, or the transaction has moved rows. Stops the program on the wrong
/// thread, and if the row is gone.
///
/// It takes a row and not the object, because the compiler would retain the object at each access.
@usableFromInline
@_effects(releasenone) @inline(never)
func _relocate(_ row: _Row) -> _Row {
    let realm = _RealmInstance.of(row)
    realm.check()
    guard let found = realm.locate(row) else { stopForMissing(row) }
    return found
}

/// `_relocate(_:)` for a read of a column, which is reported to `PropertyTracker`. The tracker keeps what it is given,
/// and releases nothing that the application holds: the Observation framework calls the application at a change only.
@usableFromInline
@_effects(releasenone) @inline(never)
func _relocate(_ row: _Row, reading column: Int32) -> _Row {
    let found = _relocate(row)
    let binding = TableBinding.of(row)
    if binding.isObservable { found.wasRead(binding.property(column: _BoundColumn.number(column))) }
    return found
}

/// `_relocate(_:)` for a read of a property, which is reported to `PropertyTracker`.
func _relocate(_ row: _Row, reading property: PropertyInfo) -> _Row {
    let found = _relocate(row)
    found.wasRead(property)
    return found
}

extension _Row {
    /// Reports to the Observation framework that a property is read, if the class is `Observable`.
    @inline(__always)
    func wasRead(_ property: PropertyInfo) {
        guard TableBinding.of(self).isObservable else { return }
        PropertyTracker.read(property, of: self, in: _RealmInstance.of(self))
    }
}

@inline(never)
private func stopForMissing(_ row: _Row) -> Never {
    let name = TableBinding.of(row).info.name
    stopProgram(
        "an object of \(name) was used although it is gone: it was deleted, the write that made it was cancelled, or its realm was invalidated. Check isInvalidated first."
    )
}

extension _RealmInstance {
    /// The row at its current position; nil if it is gone.
    func locate(_ row: _Row) -> _Row? {
        guard row.core == core else { return nil }
        let binding = TableBinding.of(row)
        guard let position = table(binding)?.find(row.key) else { return nil }
        var found = row
        found.leaf = position.leaf.node.address
        found.row = position.row
        found.generation = binding.isObservable && !isFrozen ? _Row.unlocated : core.pointee.generation
        return found
    }

    /// The row that is to be changed, at its current position. Nil if the transaction has met damage, here or before:
    /// nothing is changed any more then, and its commit throws. Stops the program if the row is gone.
    func locateForChange(_ row: _Row, in transaction: WriteTransaction) -> _Row? {
        if row.isCurrent { return row }
        let found = transaction.recordingDamage { locate(row) }
        if transaction.hasMetDamage { return nil }
        guard let found else { stopForMissing(row) }
        return found
    }

    /// Whether the row exists. Stops the program on the wrong thread, as an access does.
    static func isValid(_ row: _Row) -> Bool {
        if row.isCurrent { return true }
        let realm = _RealmInstance.of(row)
        realm.check()
        return realm.locate(row) != nil
    }

    // MARK: Making accessors

    /// The accessor of an object by its key. If the object is gone, the accessor is invalid.
    func accessor<T: ObjectBase>(_ type: T.Type, _ key: Int64) -> T {
        unsafeDowncast(accessor(binding(of: type), key), to: T.self)
    }

    /// The binding of a class that shows the table of a managed object of this realm. Nil if the class shows another
    /// table, or if the object belongs to another realm or to none.
    func binding(of type: ObjectBase.Type, showing object: ObjectBase) -> TableBinding? {
        guard object.isManaged, _RealmInstance.of(object._row) === self else { return nil }
        return schema.table(of: type, ifNumbered: TableBinding.of(object._row).table)
    }

    /// The accessor of an object by its key, for a class whose binding is known.
    func accessor(_ binding: TableBinding, _ key: Int64) -> ObjectBase {
        var row = _Row.unlocated(core, key: key, table: binding.address)
        // A frozen accessor is complete when made, because no getter may change it.
        if isFrozen, let found = locate(row) { row = found }
        return accessor(binding, row)
    }

    /// The accessor of a row whose position is known.
    @inline(__always)
    func accessor(_ binding: TableBinding, leaf: Leaf, row rowIndex: Int, key: Int64) -> ObjectBase {
        accessor(binding, _Row(core: core, table: binding.address, leaf: leaf, row: rowIndex, key: key))
    }

    @inline(__always)
    func accessor(_ binding: TableBinding, _ row: _Row) -> ObjectBase {
        guard let template = binding.template else { return otherAccessor(binding, row) }
        let object = template.instance()
        object._row = row
        retainAccessor(row)
        return object
    }

    /// The accessor of a class whose accessors are not just copies of a template.
    private func otherAccessor(_ binding: TableBinding, _ row: _Row) -> ObjectBase {
        guard let template = binding.trackedTemplate else {
            let object = instance(of: binding.info)
            binding.clearReferences(of: object)
            adopt(object, binding: binding, row: row)
            return object
        }
        let object = template.instance()
        object._row = row
        if !isFrozen { object._row.generation = _Row.unlocated }
        retainAccessor(row)
        return object
    }

    /// An instance that becomes an accessor. If its class allows that, it has no initial values, because nobody would
    /// read them.
    @inline(__always)
    private func instance(of info: ClassInfo) -> ObjectBase {
        guard !info.computesInitialValues else { return completeInstance(of: info) }
        let before = firn_set_accessor_state(UInt(FIRN_MAKING_ACCESSOR))
        let object = info.type.init()
        let blank = firn_set_accessor_state(before)
        guard blank == UInt(bitPattern: object.address) else {
            // The class's initialiser made another object, which was left without its initial values. It is released
            // with this instance.
            info.makesOtherObjects()
            return completeInstance(of: info)
        }
        return object
    }

    /// An instance with its initial values.
    @inline(never)
    private func completeInstance(of info: ClassInfo) -> ObjectBase {
        // An initialiser may call this while an accessor is being made.
        let before = firn_set_accessor_state(0)
        defer { _ = firn_set_accessor_state(before) }
        let object = info.type.init()
        // A frozen object makes no collections later, because threads share it.
        if isFrozen {
            for property in info.ignored { _ = property.wrapper.any(object.address + property.offset, of: object) }
        }
        return object
    }

    /// Makes an instance the accessor of a row.
    @inline(__always)
    func adopt(_ object: ObjectBase, binding: TableBinding, row: _Row) {
        binding.bind(object.address)
        object._row = row
        if binding.isObservable, !isFrozen { object._row.generation = _Row.unlocated }
        retainAccessor(row)
    }
}

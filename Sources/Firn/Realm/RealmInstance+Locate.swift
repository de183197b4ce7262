import CFirn
import FirnCore

/// Finds a row again after the realm has advanced, or the transaction moved rows. Stops the program on the wrong thread, and where the row is gone.
///
/// A function of plain values: a call that took the object would make the compiler retain it at each access.
@usableFromInline
@_effects(releasenone) @inline(never)
func _relocate(_ row: _Row) -> _Row {
    let realm = RealmInstance.of(row)
    realm.check()
    guard let found = realm.locate(row) else { stopForMissing(row) }
    return found
}

@inline(never)
private func stopForMissing(_ row: _Row) -> Never {
    let name = TableBinding.of(row).info.name
    fatalError(
        "Firn: an object of \(name) was used that is gone: it was deleted, the write that made it was cancelled, or its realm was invalidated. Ask isInvalidated before."
    )
}

extension RealmInstance {
    /// The row where it lies now; nil where it is gone.
    func locate(_ row: _Row) -> _Row? {
        guard row.core == core else { return nil }
        let binding = TableBinding.of(row)
        guard let place = table(binding)?.find(row.key) else { return nil }
        var found = row
        found.leaf = place.leaf.node.address
        found.row = place.row
        found.generation = core.pointee.generation
        return found
    }

    /// Whether the row is there. As little as an access does it fail on the wrong thread.
    static func isValid(_ row: _Row) -> Bool {
        if row.isCurrent { return true }
        let realm = RealmInstance.of(row)
        realm.check()
        return realm.locate(row) != nil
    }

    // MARK: Making accessors

    /// The accessor of an object by its key. Where the object is gone, one that is invalid.
    func accessor<T: ObjectBase>(_ type: T.Type, _ key: Int64) -> T {
        unsafeDowncast(accessor(binding(of: type), key), to: T.self)
    }

    func accessor(_ binding: TableBinding, _ key: Int64) -> ObjectBase {
        var row = _Row(core: core, key: key, table: binding.address)
        // A frozen accessor is complete when made, since no getter may write it.
        if isFrozen, let found = locate(row) { row = found }
        return make(binding, row)
    }

    /// The accessor of a row whose place is known.
    @inline(__always)
    func accessor(_ binding: TableBinding, _ leaf: Leaf, _ place: Int, key: Int64) -> ObjectBase {
        var row = _Row(core: core, key: key, table: binding.address)
        row.leaf = leaf.node.address
        row.row = place
        row.generation = core.pointee.generation
        return make(binding, row)
    }

    @inline(__always)
    private func make(_ binding: TableBinding, _ row: _Row) -> ObjectBase {
        _ = firn_set_making_accessor(true)
        let object = binding.info.type.init()
        _ = firn_set_making_accessor(false)
        adopt(object, binding, row)
        return object
    }

    /// Makes an instance the accessor of a row.
    @inline(__always)
    func adopt(_ object: ObjectBase, _ binding: TableBinding, _ row: _Row) {
        binding.bind(object.address)
        object._row = row
        retainAccessor(row)
    }
}

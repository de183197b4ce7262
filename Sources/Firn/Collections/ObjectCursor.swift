import CFirn
import FirnCore
import FirnQuery

/// Iterates over the objects of a source as it was at the start. The cursor pins that state if the source is a whole
/// table; otherwise it keeps the keys that were found.
///
/// A step retains only the object that it returns. So the realm, its binding and the last accessor are used here
/// through unmanaged references. `held` keeps the realm alive, and the realm keeps its binding alive.
@usableFromInline
final class ObjectCursor {
    private let realm: Unmanaged<_RealmInstance>
    private let held: _RealmInstance
    private let binding: Unmanaged<TableBinding>
    /// Lends the last accessor again if nothing else refers to it; nil if each object needs an accessor of its own. It
    /// is nil for dynamic objects, and in a frozen realm, whose objects other threads may read. Lending would be safe
    /// there, because reference counts order those threads' reads before the next row is written. But the thread
    /// sanitizer does not see that order, and would report a race.
    private let template: AccessorTemplate?
    /// Whether the elements are dynamic objects.
    private let isDynamic: Bool
    private let pin: Pin?
    private let root: UInt64
    /// The keys of the elements; nil for a whole table.
    private var keys: OrderedKeys.Iterator?
    private let table: TableView?
    private let count: Int
    /// The leaf in which the last object was found in the live realm.
    private var liveLeaf = LastLeaf()
    private var position = 0
    private var leaf: Leaf?
    private var row = 0
    private var rowsInLeaf = 0
    /// The accessor returned last, retained. If nothing else refers to it at the next step, it is lent again for the
    /// next row.
    private var lent: UnsafeMutableRawPointer?

    init(_ source: _CollectionSource, isDynamic: Bool) {
        let realm = source.realm
        let binding = source.binding.unsafelyUnwrapped
        self.realm = .passUnretained(realm)
        held = realm
        self.binding = .passUnretained(binding)
        self.isDynamic = isDynamic
        template = realm.isFrozen || isDynamic ? nil : binding.template
        if source.isWholeTable, !source.isDead {
            realm.check()
            let pin = realm.pinShown()
            self.pin = pin
            root = NodeRef(pin.snapshot.root).word
            keys = nil
            table = realm.table(binding)
            count = table?.count ?? 0
        } else {
            guard case .keys(let found) = source.content else { preconditionFailure("Firn: objects without keys") }
            keys = found.makeIterator()
            pin = nil
            root = 0
            table = nil
            count = found.count
        }
    }

    init(realm: _RealmInstance, binding: TableBinding, keys: [Int64], isDynamic: Bool) {
        self.realm = .passUnretained(realm)
        held = realm
        self.binding = .passUnretained(binding)
        self.isDynamic = isDynamic
        template = realm.isFrozen || isDynamic ? nil : binding.template
        self.keys = OrderedKeys(keys).makeIterator()
        // The cursor keeps only the keys. An object is looked up when the iteration reaches it.
        pin = nil
        root = 0
        table = nil
        count = keys.count
    }

    deinit {
        if let lent { Unmanaged<ObjectBase>.fromOpaque(lent).release() }
    }

    /// The realm's core, which `invalidate()` replaces.
    private var core: UnsafeMutablePointer<firn_realm_core_t> {
        @inline(__always) get { realm._withUnsafeGuaranteedRef { $0.core } }
    }

    /// The binding's address, by which rows refer to it.
    private var tableAddress: UnsafeRawPointer {
        @inline(__always) get { UnsafeRawPointer(binding.toOpaque()) }
    }

    @usableFromInline
    func next() -> ObjectBase? {
        guard position < count else { return nil }
        if let key = keys?.next() {
            position += 1
            return live(key)
        }
        if row == rowsInLeaf { nextLeaf() }
        let leaf = leaf.unsafelyUnwrapped
        let row = row
        self.row += 1
        position += 1
        let core = core
        // The row in the pinned state is also the live realm's row, as long as the realm shows this very state.
        if core.pointee.root == root { return lend(core, leaf: leaf, row: row, key: leaf.key(row)) }
        return live(leaf.key(row))
    }

    /// The accessor of an object at its current row; an invalidated accessor if the object is gone.
    @inline(__always)
    private func live(_ key: Int64) -> ObjectBase {
        let core = core
        if let found = liveLeaf.find(key, table: tableAddress, generation: core.pointee.generation) {
            return lend(core, leaf: found.leaf, row: found.row, key: key)
        }
        return findLive(key)
    }

    @inline(never)
    private func findLive(_ key: Int64) -> ObjectBase {
        let realm = held
        let binding = binding.takeUnretainedValue()
        // After damage, the iteration continues to its end, so that the transaction can throw when it ends. Reading an
        // object then stops the program.
        if realm.transaction?.hasMetDamage ?? false { return realm.accessor(binding, key, isDynamic: isDynamic) }
        guard let location = realm.table(binding)?.find(key) else {
            return realm.accessor(binding, key, isDynamic: isDynamic)
        }
        // Finding the object may have been the first read, which pins a version and raises the generation.
        liveLeaf = LastLeaf(leaf: location.leaf, table: tableAddress, generation: core.pointee.generation)
        return lend(core, leaf: location.leaf, row: location.row, key: key)
    }

    /// An accessor of a row: the last accessor, if only the cursor has a reference to it; otherwise a new one.
    ///
    /// So a loop that keeps no object makes only one accessor. An accessor to which the program has any reference, also
    /// a weak or unowned one, is never reused.
    @inline(__always)
    private func lend(
        _ core: UnsafeMutablePointer<firn_realm_core_t>, leaf: Leaf, row: Int, key: Int64
    ) -> ObjectBase {
        if let lent, let template {
            // The row is loaded and stored through the address, so that nothing is retained before the reference count
            // is read.
            let shown = (lent + Int(FIRN_INSTANCE_HEADER)).assumingMemoryBound(to: _Row.self)
            if shown.pointee.core == core, let object = template.lend(lent) {
                // The table is the same. The fields are stored one by one: copying a `_Row` that has just been
                // assembled would wait until its parts are stored.
                shown.pointee.leaf = leaf.node.address
                shown.pointee.generation = core.pointee.generation
                shown.pointee.row = row
                shown.pointee.key = key
                return object
            }
        }
        return make(_Row(core: core, table: tableAddress, leaf: leaf, row: row, key: key))
    }

    @inline(never)
    private func make(_ row: _Row) -> ObjectBase {
        if isDynamic { return held.dynamicAccessor(binding.takeUnretainedValue(), row.key) }
        let object = held.accessor(binding.takeUnretainedValue(), row)
        guard template != nil else { return object }
        let before = lent
        lent = Unmanaged.passRetained(object).toOpaque()
        // This is last, because the application's `deinit` may run here, and may use the same iterator.
        if let before { Unmanaged<ObjectBase>.fromOpaque(before).release() }
        return object
    }

    @inline(never)
    private func nextLeaf() {
        let location = table.unsafelyUnwrapped.location(at: position)
        leaf = location.leaf
        row = location.row
        rowsInLeaf = location.leaf.count
    }
}

extension ListCell {
    /// The keys of the objects that a collection of links leads to. Keys of a map whose object is nil are left out.
    var keys: [Int64] {
        if layout.collection == .map { return values.compactMap(\.linkedKey) }
        var keys: [Int64] = []
        keys.reserveCapacity(count)
        forEachRun { values, _, count in
            for index in 0..<count { keys.append(values.loadUnaligned(fromByteOffset: index * 8, as: Int64.self)) }
            return true
        }
        return keys
    }
}

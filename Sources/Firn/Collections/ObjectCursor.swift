import CFirn
import FirnCore
import FirnQuery

/// Goes through the objects of a source in one state. It holds that state.
///
/// A step counts the reference that it returns and no other. That is why the realm, its binding and the last accessor
/// are used through pointers here; `held` keeps the realm, and that its binding.
@usableFromInline
final class ObjectCursor {
    private let realm: Unmanaged<_RealmInstance>
    private let held: _RealmInstance
    private let binding: Unmanaged<TableBinding>
    /// What lends; nil if each object needs an accessor of its own. It is nil in a frozen realm, whose objects other
    /// threads may read. The counts of references order what those threads have read before the next row is written.
    /// But the thread sanitizer does not see that, and would report a race in a program that has none.
    private let template: AccessorTemplate?
    /// Whether the program does not know the class.
    private let isDynamic: Bool
    private let pin: Pin?
    private let root: UInt64
    /// The keys of the elements, if the source has been evaluated; nil for a whole table.
    private var keys: OrderedKeys.Iterator?
    private let table: TableView?
    private let count: Int
    /// Where the last object was found in the live realm.
    private var liveLeaf = LastLeaf()
    private var position = 0
    private var leaf: Leaf?
    private var row = 0
    private var rowsInLeaf = 0
    /// The accessor returned last, retained. If nobody else holds it when the next one is asked for, it becomes that.
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
        // It holds only the keys: an object is looked up when its turn comes.
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

    /// The binding's address, by which rows know it.
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
        // The row is also the live realm's, as long as the realm shows this very state.
        if core.pointee.root == root { return lend(core, leaf: leaf, row: row, key: leaf.key(row)) }
        return live(leaf.key(row))
    }

    /// The accessor of an object at its row in the present state; an invalidated one if the object is gone.
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
        // After damage, iterating goes on to the end, so that the transaction can throw there. Reading the object
        // stops the program.
        if realm.transaction?.hasMetDamage ?? false { return realm.accessor(binding, key, isDynamic: isDynamic) }
        guard let location = realm.table(binding)?.find(key) else {
            return realm.accessor(binding, key, isDynamic: isDynamic)
        }
        // Finding may have been the first read, which pins a version and raises the generation.
        liveLeaf = LastLeaf(leaf: location.leaf, table: tableAddress, generation: core.pointee.generation)
        return lend(core, leaf: location.leaf, row: location.row, key: key)
    }

    /// An accessor of a row: the last one, if only the cursor has a reference to it, or else a new one.
    ///
    /// A loop that keeps no object so makes one accessor. Whoever keeps one, in whatever way Swift counts, keeps it.
    @inline(__always)
    private func lend(
        _ core: UnsafeMutablePointer<firn_realm_core_t>, leaf: Leaf, row: Int, key: Int64
    ) -> ObjectBase {
        if let lent, let template {
            // Loaded and stored through the address, so that nothing is retained before the count is read.
            let shown = (lent + Int(FIRN_INSTANCE_HEADER)).assumingMemoryBound(to: _Row.self)
            if shown.pointee.core == core, let object = template.lend(lent) {
                // The table is the same. One by one, because a copy of a row that has just been put together waits
                // for its parts.
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
        // Last, because the application's `deinit` may run here, and use the same iterator.
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
    /// The keys of the objects that a collection of links leads to. A map may have nil, which is left out.
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

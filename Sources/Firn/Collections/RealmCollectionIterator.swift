import CFirn
import FirnCore

/// Iterates over the elements that a collection had when the iterator was made, whatever is written meanwhile.
///
/// The object of an element that was deleted meanwhile is invalidated. Belongs to the thread, queue or actor of the
/// collection's realm.
public struct RealmCollectionIterator<Element: RealmCollectionValue>: IteratorProtocol {
    @usableFromInline let cursor: ObjectCursor?
    @usableFromInline var values: IndexingIterator<[Element]>

    init(_ source: _CollectionSource) {
        if source.binding != nil {
            cursor = ObjectCursor(source)
            values = [].makeIterator()
        } else {
            cursor = nil
            guard case .values(let content) = source.content else {
                values = [].makeIterator()
                return
            }
            values = content.map { Element._fromElement($0, source.realm) }.makeIterator()
        }
    }

    /// Iterates over a managed list without making a source for it.
    init(_ location: CollectionLocation, _ cell: ListCell) {
        let realm = location.realm
        if let target = location.property.shape.target {
            values = [].makeIterator()
            cursor = ObjectCursor(realm, realm.binding(of: target), cell.keys)
        } else {
            cursor = nil
            values = cell.values.map { Element._fromElement($0, realm) }.makeIterator()
        }
    }

    init(_ elements: [Element]) {
        cursor = nil
        values = elements.makeIterator()
    }

    /// The next element; nil at the end. O(1) for the next object in the same leaf, else O(log objects). Stops the
    /// program if it is used elsewhere than on the realm's thread, queue or actor, as far as an access to an object
    /// does.
    @inlinable
    public mutating func next() -> Element? {
        guard let cursor else { return values.next() }
        guard let object = cursor.next() else { return nil }
        // The elements of a class's source are of the class.
        return unsafeBitCast(object, to: Element.self)
    }
}

/// Goes through the objects of a source in one state. It holds that state.
@usableFromInline
final class ObjectCursor {
    // Not counted at each step: `held` keeps the realm, and with it the binding.
    private unowned(unsafe) let realm: _RealmInstance
    private unowned(unsafe) let binding: TableBinding
    private let held: _RealmInstance
    private let pin: Pin?
    private let root: UInt64
    /// The keys of the elements, if the source has been evaluated; nil for a whole table.
    private let keys: [Int64]?
    private let table: TableView?
    private let count: Int
    /// Where the last object was found in the live realm, because the next ones probably are in the same leaf.
    private var liveLeaf = LastLeaf()
    private var position = 0
    private var leaf: Leaf?
    private var row = 0
    private var rowsInLeaf = 0
    /// The accessor returned last, retained. If nobody else holds it when the next one is asked for, it becomes that.
    private var lent: UnsafeMutableRawPointer?

    init(_ source: _CollectionSource) {
        realm = source.realm
        held = source.realm
        binding = source.binding.unsafelyUnwrapped
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
            keys = found
            pin = nil
            root = 0
            table = nil
            count = found.count
        }
    }

    init(_ realm: _RealmInstance, _ binding: TableBinding, _ keys: [Int64]) {
        self.realm = realm
        held = realm
        self.binding = binding
        self.keys = keys
        // It holds only the keys: an object is looked up when its turn comes.
        pin = nil
        root = 0
        table = nil
        count = keys.count
    }

    deinit {
        if let lent { Unmanaged<ObjectBase>.fromOpaque(lent).release() }
    }

    @usableFromInline
    func next() -> ObjectBase? {
        guard position < count else { return nil }
        if let keys {
            position += 1
            return live(keys[position - 1])
        }
        if row == rowsInLeaf { nextLeaf() }
        let leaf = leaf.unsafelyUnwrapped
        let row = row
        self.row += 1
        position += 1
        // The row is also the live realm's, as long as the realm shows this very state.
        if realm.core.pointee.root == root { return lend(realm.row(binding, leaf, row, key: leaf.key(row))) }
        return live(leaf.key(row))
    }

    /// The accessor of an object at its row in the present state; an invalidated one if the object is gone.
    @inline(__always)
    private func live(_ key: Int64) -> ObjectBase {
        if let found = liveLeaf.find(key, binding, realm.core.pointee.generation) {
            return lend(realm.row(binding, found.leaf, found.row, key: key))
        }
        // After damage, iterating goes on to the end, so that the transaction can throw there. Reading the object
        // stops the program.
        if realm.transaction?.hasFault ?? false { return realm.accessor(binding, key) }
        guard let location = realm.table(binding)?.find(key) else { return realm.accessor(binding, key) }
        // Finding may have been the first read, which pins a version and raises the generation.
        liveLeaf = LastLeaf(location.leaf, binding, realm.core.pointee.generation)
        return lend(realm.row(binding, location.leaf, location.row, key: key))
    }

    /// An accessor of a row: the last one, if only the cursor has a reference to it, or else a new one.
    ///
    /// A loop that keeps no object so makes one accessor. Whoever keeps one, in whatever way Swift counts, keeps it.
    @inline(__always)
    private func lend(_ row: _Row) -> ObjectBase {
        guard let template = binding.template else { return realm.accessor(binding, row) }
        if let lent {
            // Loaded and stored through the address, so that nothing is retained before the count is read.
            let shown = (lent + Int(FIRN_INSTANCE_HEADER)).assumingMemoryBound(to: _Row.self)
            if shown.pointee.core == row.core, template.isUnused(lent) {
                shown.pointee = row
                return Unmanaged<ObjectBase>.fromOpaque(lent).takeUnretainedValue()
            }
            Unmanaged<ObjectBase>.fromOpaque(lent).release()
        }
        let object = realm.accessor(binding, row)
        lent = Unmanaged.passRetained(object).toOpaque()
        return object
    }

    private func nextLeaf() {
        let location = table.unsafelyUnwrapped.location(at: position)
        leaf = location.leaf
        row = location.row
        rowsInLeaf = location.leaf.count
    }
}

extension ListCell {
    /// The keys of a list of links.
    var keys: [Int64] {
        var keys: [Int64] = []
        keys.reserveCapacity(count)
        forEachRun { values, _, count in
            for index in 0..<count { keys.append(values.loadUnaligned(fromByteOffset: index * 8, as: Int64.self)) }
            return true
        }
        return keys
    }
}

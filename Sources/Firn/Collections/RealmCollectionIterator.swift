import FirnCore

/// Iterates over the elements that a collection had when it began, whatever is written meanwhile.
public struct RealmCollectionIterator<Element: RealmCollectionValue>: IteratorProtocol {
    @usableFromInline let cursor: ObjectCursor?
    @usableFromInline var values: IndexingIterator<[Element]>

    init(_ source: CollectionSource) {
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

    /// The elements of a managed list, without the detour of a query.
    init(_ place: CollectionLocation, _ cell: ListCell) {
        let realm = place.realm
        if let target = place.property.shape.target {
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

    @inlinable
    public mutating func next() -> Element? {
        guard let cursor else { return values.next() }
        guard let object = cursor.next() else { return nil }
        // The elements of a class's source are of the class.
        return unsafeBitCast(object, to: Element.self)
    }
}

/// Goes through the objects of a source at one state. Holds that state.
@usableFromInline
final class ObjectCursor {
    private let realm: RealmInstance
    private let binding: TableBinding
    private let pin: Pin?
    private let root: UInt64
    /// The keys, where the source has been evaluated; nil for a whole table.
    private let keys: [Int64]?
    private let table: TableView?
    private let count: Int
    /// Where the last object was found in the live realm, as its neighbours likely lie there too; right as long as the generation is that.
    private var liveLeaf: Leaf?
    private var liveGeneration: UInt64 = 0
    private var position = 0
    private var leaf: Leaf?
    private var row = 0
    private var rowsInLeaf = 0

    init(_ source: CollectionSource) {
        realm = source.realm
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

    init(_ realm: RealmInstance, _ binding: TableBinding, _ keys: [Int64]) {
        self.realm = realm
        self.binding = binding
        self.keys = keys
        // The keys are all that is held: an object is looked up when its turn comes.
        pin = nil
        root = 0
        table = nil
        count = keys.count
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
        // The place is the live realm's too as long as that shows this very state.
        if realm.core.pointee.root == root { return realm.accessor(binding, leaf, row, key: leaf.key(row)) }
        return live(leaf.key(row))
    }

    /// The accessor of an object where it lies now; an invalid one where it is gone.
    @inline(__always)
    private func live(_ key: Int64) -> ObjectBase {
        let generation = realm.core.pointee.generation
        if let liveLeaf, liveGeneration == generation, let row = liveLeaf.row(of: key) {
            return realm.accessor(binding, liveLeaf, row, key: key)
        }
        // It goes on to the end, so that the transaction can throw there. What reads the object stops.
        if realm.transaction?.hasFault ?? false { return realm.accessor(binding, key) }
        guard let place = realm.table(binding)?.find(key) else { return realm.accessor(binding, key) }
        liveLeaf = place.leaf
        // Finding may have been the first read, which pins a version.
        liveGeneration = realm.core.pointee.generation
        return realm.accessor(binding, place.leaf, place.row, key: key)
    }

    private func nextLeaf() {
        let place = table.unsafelyUnwrapped.location(at: position)
        leaf = place.leaf
        row = place.row
        rowsInLeaf = place.leaf.count
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

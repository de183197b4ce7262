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
    private let pin: Pin
    private let root: UInt64
    /// The keys, where the source has been evaluated; nil for a whole table.
    private let keys: [Int64]?
    private let table: TableView?
    private let count: Int
    private var position = 0
    private var leaf: Leaf?
    private var row = 0
    private var rowsInLeaf = 0

    init(_ source: CollectionSource) {
        realm = source.realm
        binding = source.binding.unsafelyUnwrapped
        if source.isWholeTable {
            realm.check()
            pin = realm.pinShown()
            keys = nil
            table = realm.table(binding)
            count = table?.count ?? 0
        } else {
            guard case .keys(let found) = source.content else { preconditionFailure("Firn: objects without keys") }
            keys = found
            pin = realm.pinShown()
            table = nil
            count = found.count
        }
        root = NodeRef(pin.snapshot.root).word
    }

    @usableFromInline
    func next() -> ObjectBase? {
        guard position < count else { return nil }
        if let keys {
            position += 1
            return realm.accessor(binding, keys[position - 1])
        }
        if row == rowsInLeaf { nextLeaf() }
        let leaf = leaf.unsafelyUnwrapped
        let row = row
        self.row += 1
        position += 1
        // The place is the live realm's too as long as that shows this very state.
        if realm.core.pointee.root == root { return realm.accessor(binding, leaf, row, key: leaf.key(row)) }
        return realm.accessor(binding, leaf.key(row))
    }

    private func nextLeaf() {
        let place = table.unsafelyUnwrapped.location(at: position)
        leaf = place.leaf
        row = place.row
        rowsInLeaf = place.leaf.count
    }
}

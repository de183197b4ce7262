import FirnCore

/// Iterates over the elements that a collection had when the iterator was made, whatever is written meanwhile.
///
/// If the object of an element was deleted meanwhile, the iterator returns an invalidated object. The iterator belongs
/// to the thread, queue or actor of the collection's realm.
public struct RealmCollectionIterator<Element: RealmCollectionValue>: IteratorProtocol {
    /// Iterates over objects; nil if `values` has the elements. `held` keeps the cursor alive. A call through this
    /// unmanaged reference does not retain the cursor. That is safe, because nothing can replace `held` during
    /// `next()`, which is mutating.
    @usableFromInline let cursor: Unmanaged<ObjectCursor>?
    @usableFromInline let held: ObjectCursor?
    @usableFromInline var values: IndexingIterator<[Element]>

    init(_ source: _CollectionSource) {
        let isDynamic = isDynamic(Element.self)
        if source.binding != nil, isDynamic || !source.isMapped {
            self.init(ObjectCursor(source, isDynamic: isDynamic))
            return
        }
        switch source.content {
        case .values(let values): self.init(values.map { Element._fromElement($0, source.realm) })
        case .keys(let keys): self.init(keys.map { Element._fromElement(.link($0), source.realm) })
        }
    }

    /// Iterates over the elements of a source at the given positions.
    init(_ source: _CollectionSource, at positions: some RandomAccessCollection<Int>) {
        if let binding = source.binding, isDynamic(Element.self) || !source.isMapped,
            case .keys(let keys) = source.content
        {
            self.init(
                ObjectCursor(
                    realm: source.realm, binding: binding, keys: positions.map { keys[$0] },
                    isDynamic: isDynamic(Element.self)))
        } else {
            self.init(positions.map { source.element(at: $0) })
        }
    }

    /// Iterates over a managed collection without making a source for the collection.
    init(collection: CollectionBase, location: CollectionLocation, cell: ListCell) {
        let realm = location.realm
        if location.property.isLink, !location.property.shape.isMapped {
            let target = realm.target(of: location.property, in: location.binding)
            self.init(ObjectCursor(realm: realm, binding: target, keys: cell.keys, isDynamic: isDynamic(Element.self)))
        } else {
            self.init(cell.values.enumerated().map { collection.element($1, at: .index($0)) })
        }
    }

    init(_ elements: [Element]) {
        held = nil
        cursor = nil
        values = elements.makeIterator()
    }

    private init(_ cursor: ObjectCursor) {
        held = cursor
        self.cursor = .passUnretained(cursor)
        values = [].makeIterator()
    }

    /// The next element; nil at the end. O(1) for the next object in the same leaf, else O(log objects). Stops the
    /// program on the wrong thread, in the same cases as an access to an object.
    @inlinable
    public mutating func next() -> Element? {
        guard let cursor else { return values.next() }
        let object = withExtendedLifetime(held) { cursor._withUnsafeGuaranteedRef { $0.next() } }
        guard let object else { return nil }
        return Element._ofAccessor(object)
    }
}

/// RealmSwift's name for the iterator of a collection.
public typealias RLMIterator = RealmCollectionIterator

import FirnCore
public import Foundation

/// An ordered collection of values or objects: the type of a to-many property.
///
/// ```swift
/// class Person: Object {
///     @Persisted var dogs: List<Dog>
/// }
/// ```
///
/// A list behaves alike unmanaged and managed. A managed one is live: it shows what its realm shows; changing it needs a write transaction. Appending an
/// unmanaged object adds it to the realm. Reading an element is O(log n) at most. An index that is out of bounds stops the program.
public final class List<Element: RealmCollectionValue>: RealmCollection {
    /// The elements while unmanaged.
    var elements: [Element] = []
    /// Where they lie once managed.
    var place: CollectionLocation?

    /// An empty unmanaged list.
    public init() {}

    init(_ row: _Row, _ property: PropertyInfo) {
        let place = CollectionLocation(row, property)
        place.retain()
        self.place = place
    }

    deinit { place?.release() }

    // MARK: Reading

    /// The number of elements. O(1).
    public var count: Int { place == nil ? elements.count : cell.count }

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    public subscript(position: Int) -> Element {
        get {
            if place == nil {
                check(position, below: elements.count)
                return elements[position]
            }
            let cell = cell
            check(position, below: cell.count)
            return Element._fromElement(cell.value(at: position), place!.realm)
        }
        set {
            if place == nil {
                check(position, below: elements.count)
                elements[position] = newValue
            } else {
                edit { list in
                    self.check(position, below: list.count)
                    list.set(newValue._element(for: list.realm), at: position)
                }
            }
        }
    }

    public var realm: Realm? { place.map { Realm($0.realm) } }
    public var isInvalidated: Bool { place?.isInvalidated ?? false }
    public var isFrozen: Bool { place?.realm.isFrozen ?? false }

    public func _freeze(_ file: StaticString, _ line: UInt) -> List {
        guard let place else {
            fatalError("Firn: an unmanaged list can't be frozen. Add the object that holds it to a realm first.")
        }
        if isFrozen { return self }
        guard !isInvalidated, let moved = place.moved(to: place.realm.freeze("a list", at: CallSite(file, line)))
        else {
            stopForGone()
        }
        return List(moved.row, moved.property)
    }

    public func _thaw(_ file: StaticString, _ line: UInt) -> List? {
        guard let place else {
            fatalError("Firn: an unmanaged list can't be thawed. Add the object that holds it to a realm first.")
        }
        guard isFrozen else { return self }
        return place.moved(to: place.realm.thaw(at: CallSite(file, line))).map { List($0.row, $0.property) }
    }

    public func _moved(to realm: RealmInstance) -> List {
        place.map { $0.placed(in: realm) }.map { List($0.row, $0.property) } ?? self
    }

    public var _withoutOwner: List { List() }

    private func stopForGone() -> Never {
        fatalError("Firn: a list was frozen whose object is gone. Ask isInvalidated before.")
    }

    public func makeIterator() -> RealmCollectionIterator<Element> {
        guard place != nil else { return RealmCollectionIterator(elements) }
        let cell = cell
        return RealmCollectionIterator(place.unsafelyUnwrapped, cell)
    }

    public var _source: CollectionSource {
        guard let place else {
            fatalError(
                "Firn: an unmanaged list can't be queried or observed. Add the object that holds it to a realm first.")
        }
        let realm = place.realm
        let binding = place.property.shape.target.map { realm.binding(of: $0) }
        return CollectionSource(realm, binding, .list(place))
    }

    // MARK: Adding

    public func append(_ object: Element) {
        guard place != nil else { return elements.append(object) }
        edit { list in
            let value = object._element(for: list.realm)
            list.insert(value, at: list.count)
        }
    }

    public func append<S: Sequence>(objectsIn objects: S) where S.Element == Element {
        replace({ count in count..<count }, with: Array(objects))
    }

    public func insert(_ object: Element, at index: Int) { insert(contentsOf: CollectionOfOne(object), at: index) }

    public func insert<C: Collection>(contentsOf objects: C, at index: Int) where C.Element == Element {
        replace(
            { count in
                check(index, below: count + 1)
                return index..<index
            }, with: objects)
    }

    // MARK: Removing

    public func remove(at index: Int) {
        guard place != nil else {
            check(index, below: elements.count)
            elements.remove(at: index)
            return
        }
        edit { list in
            self.check(index, below: list.count)
            list.remove(at: index)
        }
    }

    public func removeAll() {
        guard place != nil else { return elements.removeAll() }
        edit { list in list.removeAll() }
    }

    public func removeFirst(_ number: Int = 1) {
        replace(
            { count in
                check(number: number, count)
                return 0..<number
            }, with: [])
    }

    public func removeLast(_ number: Int = 1) {
        replace(
            { count in
                check(number: number, count)
                return (count - number)..<count
            }, with: [])
    }

    private func check(number: Int, _ count: Int) {
        guard number >= 0, number <= count else {
            fatalError("Firn: \(number) elements can't be removed from a list of \(count).")
        }
    }

    public func removeSubrange<R: RangeExpression>(_ bounds: R) where R.Bound == Int {
        replaceSubrange(bounds, with: [])
    }

    // MARK: Replacing and moving

    public func replace(index: Int, object: Element) { self[index] = object }

    public func replaceSubrange<C: Collection, R: RangeExpression>(_ subrange: R, with newElements: C)
    where C.Element == Element, R.Bound == Int {
        replace(
            { count in
                let range = subrange.relative(to: 0..<count)
                guard range.lowerBound >= 0, range.upperBound <= count else {
                    fatalError("Firn: the range \(range) lies outside of a list of \(count) elements.")
                }
                return range
            }, with: newElements)
    }

    /// Puts `newElements` in the place of a range, which `range` gives for the number of elements that there are.
    private func replace<C: Collection>(_ range: (Int) -> Range<Int>, with newElements: C) where C.Element == Element {
        // The elements may come from this very list, and computing them may change it, or end the transaction.
        let newElements = Array(newElements)
        guard place != nil else { return elements.replaceSubrange(range(elements.count), with: newElements) }
        edit { list in
            let range = range(list.count)
            let values = newElements.map { $0._element(for: list.realm) }
            for index in range.reversed() { list.remove(at: index) }
            for (offset, value) in values.enumerated() { list.insert(value, at: range.lowerBound + offset) }
        }
    }

    /// Takes the element at `from` out and puts it in so that it stands at `to`.
    public func move(from: Int, to: Int) {
        guard place != nil else {
            check(from, below: elements.count)
            check(to, below: elements.count)
            elements.insert(elements.remove(at: from), at: to)
            return
        }
        edit { list in
            self.check(from, below: list.count)
            self.check(to, below: list.count)
            list.move(from: from, to: to)
        }
    }

    /// Removes the elements at several positions.
    public func remove(atOffsets offsets: IndexSet) { for index in offsets.reversed() { remove(at: index) } }

    /// Moves the elements at several positions, in their order, to before the element that now stands at `destination`.
    public func move(fromOffsets offsets: IndexSet, toOffset destination: Int) {
        for (number, index) in offsets.filter({ $0 < destination }).enumerated() {
            move(from: index - number, to: destination - 1)
        }
        for (number, index) in offsets.filter({ $0 >= destination }).enumerated() {
            move(from: index, to: destination + number)
        }
    }

    public func swapAt(_ index1: Int, _ index2: Int) {
        guard place != nil else {
            check(index1, below: elements.count)
            check(index2, below: elements.count)
            return elements.swapAt(index1, index2)
        }
        edit { list in
            self.check(index1, below: list.count)
            self.check(index2, below: list.count)
            guard index1 != index2 else { return }
            let low = Swift.min(index1, index2)
            let high = Swift.max(index1, index2)
            list.move(from: high, to: low)
            if high - low > 1 { list.move(from: low + 1, to: high) }
        }
    }

    // MARK: Helpers

    /// The managed list as it stands; until the next change. Of a frozen list nothing is written here, as it is up to date for good.
    var cell: ListCell {
        if !place!.row.isCurrent { place!.row = _relocate(place!.row) }
        return place!.cell
    }

    /// Runs `body` on the managed list in the realm's transaction; elements that it enters are made rows before. Not where the transaction has met damage.
    private func edit(_ body: (inout ManagedListEdit) -> Void) {
        guard var edit = ManagedListEdit(&place!) else { return }
        body(&edit)
    }

    @inline(__always)
    private func check(_ index: Int, below end: Int) {
        if index < 0 || index >= end { stop(index, end) }
    }

    @inline(never)
    private func stop(_ index: Int, _ end: Int) -> Never {
        fatalError("Firn: index \(index) is out of bounds of a list of \(count) elements.")
    }
}

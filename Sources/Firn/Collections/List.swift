import FirnCore
import FirnStorage
public import Foundation

/// An ordered collection of values or objects: the type of a to-many property.
///
/// ```swift
/// class Person: Object {
///     @Persisted var name = ""
///     @Persisted var dogs: List<Dog>
/// }
///
/// try realm.write {
///     person.dogs.append(rex)
///     person.dogs.move(from: 2, to: 0)
/// }
/// for dog in person.dogs.where({ $0.age > 3 }).sorted(by: \.name) { print(dog.name) }
/// ```
///
/// An unmanaged list behaves like a managed list. A managed list is live: it shows what its realm shows. Adding an
/// unmanaged object to a managed list adds the object to the realm. Removing an object from a list does not delete the
/// object.
///
/// **Cost.** In a managed list, reading, setting, inserting, removing or moving one element is O(log n) at most. If the
/// elements are objects, each change also updates the index of the links to them. The first access after the realm has
/// changed finds the list's object again, in O(log objects). An unmanaged list costs as much as an array.
///
/// **What stops the program.** A managed list belongs to its realm's thread, queue or actor; a frozen one may be read
/// on any thread. These stop the program:
///
/// - an index or range that is out of bounds;
/// - changing a managed list outside a write transaction, or a frozen one;
/// - reading or changing a managed list after its object was deleted (see `isInvalidated`);
/// - using a managed list on another thread. The realm of a queue or actor notices that only when the list is changed,
///   or when the list's object has to be found again;
/// - adding to a managed list an object of another realm, a frozen or deleted one, or an instance of a subclass of
///   `Element`;
/// - adding to a managed list an unmanaged object that `Realm.add(_:update:)` refuses, for example because its primary
///   key exists;
/// - adding a string or data of more than 16 MiB to a managed list, or making a list longer than 2^31 elements.
///
/// Swift's algorithms that change a collection in place work on a list: `sort()`, `reverse()`, `shuffle()` and
/// `partition(by:)`. In a managed list of embedded objects, `sort()` and setting a range stop the program. They assign
/// elements, but an embedded object has only one parent. The other algorithms move elements, as `move(from:to:)` does.
///
/// In a transaction that has met damage, changes do nothing, and the transaction throws.
public final class List<Element: RealmCollectionValue>: CollectionBase, RealmCollection, MutableCollection {
    /// The elements that an unmanaged list stores itself.
    private var unmanaged: [Element] = []

    /// The elements of an unmanaged list, or of a list inside a mixed value. A change of the latter stores the whole
    /// mixed value again.
    var elements: [Element] {
        get {
            guard let nest else { return unmanaged }
            // The elements of a list inside a mixed value are mixed values.
            return unsafeBitCast(nest.elements, to: [Element].self)
        }
        _modify {
            if let nest {
                var elements = self.elements
                yield &elements
                nest.replace(with: .fromArray(unsafeBitCast(elements, to: [AnyRealmValue].self)))
            } else {
                yield &unmanaged
            }
        }
    }

    /// An empty unmanaged list.
    public convenience init() { self.init(at: nil) }

    override class var noun: String { "list" }
    override var persisted: any PersistedCollection { self }
    override func dropUnmanaged() { unmanaged = [] }

    // MARK: Reading

    /// The number of elements. O(1).
    public var count: Int { location == nil ? elements.count : cell.count }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements. O(1).
    public var endIndex: Int { count }

    /// The element at an index. Stops the program if the index is out of bounds.
    ///
    /// Cost: O(log n) at most if managed, else O(1). Setting an element needs a write transaction if the list is
    /// managed. If the replaced element is an object, it stays in the realm.
    public subscript(position: Int) -> Element {
        get {
            if location == nil {
                check(position, below: elements.count)
                return elements[position]
            }
            let cell = cell
            check(position, below: cell.count)
            return element(cell.value(at: position), at: .index(position))
        }
        set {
            if location == nil {
                check(position, below: elements.count)
                elements[position] = newValue
            } else {
                check(position, below: cell.count)
                let value = stored(newValue)
                edit { list in
                    self.check(position, below: list.count)
                    list.set(value, at: position)
                }
            }
        }
    }

    /// Iterates over the elements that the list has now, whatever is written meanwhile.
    ///
    /// Cost: O(n) at the start if managed, because the values, or the keys of the objects, are copied. The iterator
    /// pins no version.
    public func makeIterator() -> RealmCollectionIterator<Element> {
        guard location != nil else { return RealmCollectionIterator(elements) }
        let cell = cell
        return RealmCollectionIterator(collection: self, location: location.unsafelyUnwrapped, cell: cell)
    }

    /// A part of a list.
    public typealias SubSequence = Slice<List>

    /// The elements in a range, as a view of the list, which shows later changes of the list. Reading the range costs
    /// O(1); reading an element of it costs as much as in the list. Setting replaces the elements, as
    /// `replaceSubrange(_:with:)` does. Stops the program if the range is out of bounds.
    public subscript(bounds: Range<Int>) -> Slice<List> {
        get {
            guard bounds.lowerBound >= 0, bounds.upperBound <= count else {
                stopProgram("the range \(bounds) lies outside of a list of \(count) elements.")
            }
            return Slice(base: self, bounds: bounds)
        }
        set { replaceSubrange(bounds, with: newValue) }
    }

    // MARK: Adding

    /// Adds an element at the end. A managed list needs a write transaction and takes O(log n); adding an unmanaged
    /// object to the realm costs extra. An unmanaged list takes O(1) on average.
    public func append(_ object: Element) {
        guard location != nil else { return elements.append(object) }
        let value = stored(object)
        edit { list in list.insert(value, at: list.count) }
    }

    /// Adds the elements of a sequence at the end. The sequence may be this very list. A managed list needs a write
    /// transaction and takes O(log n) for each element.
    public func append<S: Sequence>(objectsIn objects: S) where S.Element == Element {
        replace({ count in count..<count }, with: Array(objects))
    }

    /// Inserts an element before the one at `index`, or at the end if `index` is the count. Stops the program if
    /// `index` is out of bounds, and outside a write transaction if the list is managed. O(log n) if managed, else
    /// O(n).
    public func insert(_ object: Element, at index: Int) { insert(contentsOf: CollectionOfOne(object), at: index) }

    /// Inserts elements before the one at `index`, or at the end if `index` is the count. Stops the program if `index`
    /// is out of bounds, and outside a write transaction if the list is managed. A managed list takes O(log n) for each
    /// element.
    public func insert<C: Collection>(contentsOf objects: C, at index: Int) where C.Element == Element {
        replace(
            { count in
                check(index, below: count + 1)
                return index..<index
            }, with: objects)
    }

    // MARK: Removing

    /// Removes the element at an index. A removed object stays in the realm. Stops the program if the index is out of
    /// bounds, and outside a write transaction if the list is managed. O(log n) if managed, else O(n).
    public func remove(at index: Int) {
        guard location != nil else {
            check(index, below: elements.count)
            elements.remove(at: index)
            return
        }
        edit { list in
            self.check(index, below: list.count)
            list.remove(at: index)
        }
    }

    /// Removes all elements. The objects stay in the realm. O(n). Stops the program outside a write transaction if the
    /// list is managed.
    public func removeAll() {
        guard location != nil else { return elements.removeAll() }
        edit { list in list.removeAll() }
    }

    /// Removes the first `number` elements. Stops the program if there are fewer elements, if the number is negative,
    /// and outside a write transaction if the list is managed. A managed list takes O(log n) for each element; an
    /// unmanaged list takes O(n).
    public func removeFirst(_ number: Int = 1) {
        replace(
            { count in
                check(number: number, count)
                return 0..<number
            }, with: [])
    }

    /// Removes the last `number` elements. Stops the program if there are fewer elements, if the number is negative,
    /// and outside a write transaction if the list is managed. A managed list takes O(log n) for each element; an
    /// unmanaged list takes O(number).
    public func removeLast(_ number: Int = 1) {
        replace(
            { count in
                check(number: number, count)
                return (count - number)..<count
            }, with: [])
    }

    private func check(number: Int, _ count: Int) {
        guard number >= 0, number <= count else {
            stopProgram("\(number) elements can't be removed from a list of \(count).")
        }
    }

    /// Removes the elements in a range. Stops the program if the range is out of bounds, and outside a write
    /// transaction if the list is managed. A managed list takes O(log n) for each element; an unmanaged list takes
    /// O(n).
    public func removeSubrange<R: RangeExpression>(_ bounds: R) where R.Bound == Int {
        replaceSubrange(bounds, with: [])
    }

    // MARK: Replacing and moving

    /// Replaces the element at an index: the same as `self[index] = object`. Stops the program if the index is out of
    /// bounds, and outside a write transaction if the list is managed. O(log n) if managed, else O(1).
    public func replace(index: Int, object: Element) { self[index] = object }

    /// Replaces the elements in a range by others. The new elements may come from this list, and their number may
    /// differ.
    ///
    /// ```swift
    /// try realm.write { person.dogs.replaceSubrange(1..<3, with: [rex]) }
    /// ```
    ///
    /// Stops the program if the range is out of bounds, and outside a write transaction if the list is managed. A
    /// managed list takes O(log n) for each element that is removed or inserted; an unmanaged list takes O(n).
    public func replaceSubrange<C: Collection, R: RangeExpression>(_ subrange: R, with newElements: C)
    where C.Element == Element, R.Bound == Int {
        replace(
            { count in
                let range = subrange.relative(to: 0..<count)
                guard range.lowerBound >= 0, range.upperBound <= count else {
                    stopProgram("the range \(range) lies outside of a list of \(count) elements.")
                }
                return range
            }, with: newElements)
    }

    /// Replaces a range by `newElements`. `range` computes the range from the number of elements.
    private func replace<C: Collection>(_ range: (Int) -> Range<Int>, with newElements: C) where C.Element == Element {
        // The elements may come from this very list, and computing them may change it or end the transaction.
        let newElements = Array(newElements)
        guard location != nil else { return elements.replaceSubrange(range(elements.count), with: newElements) }
        // The range is checked before anything is added to the realm.
        _ = range(cell.count)
        let values = newElements.map(stored)
        edit { list in
            let range = range(list.count)
            for index in range.reversed() { list.remove(at: index) }
            for (offset, value) in values.enumerated() { list.insert(value, at: range.lowerBound + offset) }
        }
    }

    /// Moves the element at `from` so that its index is then `to`. Stops the program if either index is out of bounds,
    /// and outside a write transaction if the list is managed. O(log n) if managed, else O(n).
    public func move(from: Int, to: Int) {
        guard location != nil else {
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

    /// Removes the elements at several indices. Stops the program if an index is out of bounds, and outside a write
    /// transaction if the list is managed. O(log n) for each index if managed, else O(n).
    public func remove(atOffsets offsets: IndexSet) { for index in offsets.reversed() { remove(at: index) } }

    /// Moves the elements at several indices, in their order, in front of the element that is now at `destination`. If
    /// `destination` is the count, they move to the end.
    ///
    /// ```swift
    /// try realm.write { person.dogs.move(fromOffsets: [0, 2], toOffset: person.dogs.count) }
    /// ```
    ///
    /// Stops the program if an index is out of bounds, and outside a write transaction if the list is managed. O(log n)
    /// for each index if managed, else O(n).
    public func move(fromOffsets offsets: IndexSet, toOffset destination: Int) {
        for (number, index) in offsets.filter({ $0 < destination }).enumerated() {
            move(from: index - number, to: destination - 1)
        }
        for (number, index) in offsets.filter({ $0 >= destination }).enumerated() {
            move(from: index, to: destination + number)
        }
    }

    /// Exchanges two elements. Stops the program if an index is out of bounds, and outside a write transaction if the
    /// list is managed. O(log n) if managed, else O(1).
    public func swapAt(_ index1: Int, _ index2: Int) {
        guard location != nil else {
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

    @inline(__always)
    private func check(_ index: Int, below end: Int) {
        if index < 0 || index >= end { stop(index, end) }
    }

    @inline(never)
    private func stop(_ index: Int, _ end: Int) -> Never {
        stopProgram("index \(index) is out of bounds of a list of \(count) elements.")
    }
}

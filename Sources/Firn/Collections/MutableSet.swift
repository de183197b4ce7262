public import FirnCore
import FirnStorage

/// A collection in which each value or object occurs once.
///
/// ```swift
/// class Article: Object {
///     @Persisted var tags: MutableSet<String>
/// }
///
/// try realm.write {
///     article.tags.insert("swift")
///     article.tags.formUnion(other.tags)
/// }
/// realm.objects(Article.self).where { $0.tags.contains("swift") }
/// ```
///
/// An unmanaged set behaves like a managed set. A managed set is live: it shows what its realm shows. Adding an
/// unmanaged object to a managed set adds the object to the realm. Removing an object from a set does not delete the
/// object; deleting the object removes it from all sets.
///
/// **Equality.** Values are compared as the store compares them. Strings are compared by their bytes, so "é" as one
/// character differs from "e" with an accent. Numbers are compared by value, and a NaN equals a NaN with the same bits.
/// Managed objects are equal if they are the same object of the realm. Unmanaged objects are equal if they are the same
/// instance.
///
/// **Order.** The elements of a managed set are in the order of their values. Objects are in the order in which they
/// were added to the realm. The elements of an unmanaged set are in the order in which they were inserted. The index of
/// an element changes when others are inserted or removed.
///
/// **Cost.** In a managed set, looking for, inserting or removing an element, and reading an element by its index, is
/// O(log n). If the elements are objects, each change also updates the index of the links to them. In an unmanaged set,
/// looking for and inserting an element is O(1), and removing an element is O(n). Looking for a managed object is O(n)
/// if unmanaged objects have been inserted into the set.
///
/// **What stops the program.** These stop it, as in `List`:
///
/// - an index that is out of bounds;
/// - changing a managed set outside a write transaction;
/// - using a managed set on another thread, or after its object was deleted;
/// - adding to a managed set an object that belongs to another realm, or a value of more than 16 MiB.
///
/// The functions of set algebra, such as `formUnion`, also stop the program if two managed sets belong to different
/// realms (R51). A frozen realm and a live one are different realms.
public final class MutableSet<Element: RealmCollectionValue>: CollectionBase, RealmCollection {
    /// The elements of an unmanaged set, in the order of their insertion.
    private(set) var elements: [Element] = []
    /// The keys by which `elements` are compared. An object has two keys: its instance and, if it was managed when it
    /// was inserted, its row.
    private var members: Set<_SetMember> = []
    /// Whether an element that was unmanaged when it was inserted may be managed now.
    private var mayHaveNewRows = false

    /// An empty unmanaged set.
    public convenience init() { self.init(at: nil) }

    override class var noun: String { "set" }
    override var persisted: any PersistedCollection { self }

    // MARK: Reading

    /// The number of elements. O(1).
    public var count: Int { location == nil ? elements.count : cell.count }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements. O(1).
    public var endIndex: Int { count }

    /// The element at an index, which is valid only until the set is changed. O(log n) if managed, else O(1). Stops the
    /// program if the index is out of bounds.
    public subscript(position: Int) -> Element {
        if location == nil {
            check(position, elements.count)
            return elements[position]
        }
        let cell = cell
        check(position, cell.count)
        return element(cell.value(at: position), at: .index(position))
    }

    private func check(_ index: Int, _ count: Int) {
        guard index >= 0, index < count else {
            stopProgram("index \(index) is out of bounds of a set of \(count) elements.")
        }
    }

    /// Whether the set has an element. O(log n) if managed, else O(1).
    ///
    /// False in a managed set for an unmanaged object, and for an object of another realm or class.
    public func contains(_ element: Element) -> Bool {
        guard location != nil else { return hasUnmanaged(element) }
        guard let value = existing(element) else { return false }
        return cell.contains(value)
    }

    /// Iterates over the elements that the set has now, whatever is written meanwhile.
    ///
    /// Cost: O(n) at the start if managed, because the values, or the keys of the objects, are copied. The iterator
    /// pins no version.
    public func makeIterator() -> RealmCollectionIterator<Element> {
        guard let location else { return RealmCollectionIterator(elements) }
        return RealmCollectionIterator(collection: self, location: location, cell: cell)
    }

    // MARK: Inserting and removing

    /// Inserts an element, unless the set has it. Stops the program outside a write transaction if the set is managed.
    /// O(log n) if managed, else O(1); O(n) for a managed object, if the unmanaged set was given unmanaged ones.
    public func insert(_ element: Element) {
        guard location != nil else {
            if !hasUnmanaged(element) { append(element) }
            return
        }
        let value = stored(element)
        edit { set in set.insertMember(value) }
    }

    /// Inserts the elements of a sequence that the set does not have. The sequence may be this very set. Stops the
    /// program outside a write transaction if the set is managed. Each element costs as much as with `insert(_:)`.
    public func insert<S: Sequence>(objectsIn objects: S) where S.Element == Element {
        // Computing the elements may change this set or end the transaction, so they are copied first.
        let objects = Array(objects)
        guard location != nil else { return objects.forEach(insert) }
        let values = objects.map(stored)
        edit { set in for value in values { set.insertMember(value) } }
    }

    /// Removes an element, if the set has it. A removed object stays in the realm. Stops the program outside a write
    /// transaction if the set is managed. O(log n) if managed, else O(n).
    public func remove(_ element: Element) { remove(CollectionOfOne(element)) }

    /// Removes all elements. The objects stay in the realm. O(n). Stops the program outside a write transaction if the
    /// set is managed.
    public func removeAll() {
        guard location != nil else { return dropUnmanaged() }
        edit { set in set.removeAll() }
    }

    private func remove(_ removed: some Collection<Element>) {
        guard location != nil else {
            let gone = Set(removed.flatMap { [$0._member, $0._rowMember].compactMap(\.self) })
            let kept = elements.filter { element in
                !gone.contains(element._member) && !(element._rowMember.map(gone.contains) ?? false)
            }
            guard kept.count < elements.count else { return }
            dropUnmanaged()
            return kept.forEach(append)
        }
        let values = removed.compactMap(existing)
        edit { set in for value in values { set.removeMember(value) } }
    }

    /// Whether this unmanaged set has an element.
    private func hasUnmanaged(_ element: Element) -> Bool {
        if members.contains(element._member) { return true }
        guard let row = element._rowMember else { return false }
        return members.contains(row) || mayHaveNewRows && elements.contains { $0._rowMember == row }
    }

    /// Appends an element that this unmanaged set does not have.
    private func append(_ element: Element) {
        elements.append(element)
        members.insert(element._member)
        if let row = element._rowMember {
            members.insert(row)
        } else if case .instance = element._member {
            mayHaveNewRows = true
        }
    }

    override func dropUnmanaged() {
        elements = []
        members = []
        mayHaveNewRows = false
    }

    // MARK: Set algebra

    /// Whether every element of this set, of n elements, is in another set, of m elements. O(n log m).
    public func isSubset(of possibleSuperset: MutableSet<Element>) -> Bool {
        check(possibleSuperset)
        return allSatisfy { possibleSuperset.contains($0) }
    }

    /// Whether this set, of n elements, and another set, of m elements, have an element in common. O(n log m).
    public func intersects(_ otherSet: MutableSet<Element>) -> Bool {
        check(otherSet)
        return contains { otherSet.contains($0) }
    }

    /// Removes the elements that another set does not have. Stops the program outside a write transaction if this set
    /// is managed. O(n log m), where n is this set's count and m the other's.
    public func formIntersection(_ other: MutableSet<Element>) {
        check(other)
        remove(filter { !other.contains($0) })
    }

    /// Inserts the elements of another set. Stops the program outside a write transaction if this set is managed. O(m
    /// log n), where n is this set's count and m the other's.
    public func formUnion(_ other: MutableSet<Element>) {
        check(other)
        insert(objectsIn: other)
    }

    /// Removes the elements of another set. Stops the program outside a write transaction if this set is managed. O(m
    /// log n), where n is this set's count and m the other's.
    public func subtract(_ other: MutableSet<Element>) {
        check(other)
        remove(Array(other))
    }

    private func check(_ other: MutableSet<Element>) {
        guard let location, let others = other.location else { return }
        guard location.realm === others.realm else {
            stopProgram(
                "the sets \(location.name) and \(others.name) belong to different realms, or one of them is frozen. Copy one into a Swift array first."
            )
        }
    }
}

extension MutableSet: _PersistableCollection {
    /// The wrapper holds the set; nil until the first access to the set.
    public typealias _Stored = MutableSet?

    /// The shape of a set property with these elements.
    public static var _propertyType: _PropertyType { Element._elementPropertyType().of(.set, MutableSet.self) }

    /// Copies the elements of `value` into the property's set. Assigning a set to itself leaves it as it is. A managed
    /// set needs a write transaction, or the program stops.
    public static func _replaceCollection(
        of object: ObjectBase, _ column: Int32, _ stored: inout MutableSet?, with value: MutableSet
    ) {
        let set = _collection(of: object, column, &stored)
        if !set.isAssignedToItself(value) { set.assign(Array(value)) }
    }

    /// Converts an untyped sequence to an unmanaged set; empty for nil. Throws `ValueFault` if `any` is not a sequence,
    /// or if an element does not fit.
    public static func _fromAny(_ any: Any?) throws -> MutableSet { try unmanaged(any) }
}

extension MutableSet: ElementCollection {
    func assign(_ values: [Element]) {
        removeAll()
        insert(objectsIn: values)
    }

    var current: [Element] { Array(self) }
}

extension MutableSet: Equatable {
    /// Managed sets are equal if they are the same set of the same row in one realm, O(1). Unmanaged sets are equal if
    /// they have the same elements, O(n). A managed set and an unmanaged set are never equal.
    public static func == (a: MutableSet, b: MutableSet) -> Bool {
        if a === b || a.isSameManaged(as: b) { return true }
        return a.location == nil && b.location == nil && a.count == b.count && a.isSubset(of: b)
    }
}

extension MutableSet: DescribedCollection {
    /// The type and the first 100 elements as text. Stops the program on the wrong thread.
    public var description: String { describe(depth: 0) }
}

extension MutableSet: ExpressibleByArrayLiteral {
    /// An unmanaged set of the elements.
    public convenience init(arrayLiteral elements: Element...) {
        self.init()
        insert(objectsIn: elements)
    }
}

extension MutableSet: Decodable where Element: Decodable {
    /// An unmanaged set, decoded from an array. Throws what the decoder or an element throws.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd { insert(try container.decode(Element.self)) }
    }
}

extension MutableSet: Encodable where Element: Encodable {
    /// Encodes the elements as an array. Throws what the encoder or an element throws.
    public func encode(to encoder: any Encoder) throws {
        try encodeElements(to: encoder)
    }
}

/// A key by which an unmanaged set compares an element.
public enum _SetMember: Hashable {
    /// A value, in the form that is the same for all equal values.
    case value(Value)
    /// An instance of an object, managed or not.
    case instance(ObjectIdentifier)
    /// The row of a managed object: its realm, table and key.
    case row(UnsafeRawPointer?, UnsafeRawPointer?, Int64)
}

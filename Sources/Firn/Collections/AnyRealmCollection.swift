/// A collection of any kind with a certain element: a list, a set, results or backlinks.
///
/// ```swift
/// func names(of dogs: AnyRealmCollection<Dog>) -> [String] { dogs.map(\.name) }
/// names(of: AnyRealmCollection(person.dogs))
/// names(of: AnyRealmCollection(realm.objects(Dog.self).where { $0.age > 3 }))
/// ```
///
/// It reads and observes the collection that it was made from, belongs to its realm, and costs what that costs, and one
/// call through a table of functions for each access. A generic function, `func names(of dogs: some
/// RealmCollection<Dog>)`, needs no such call.
public struct AnyRealmCollection<Element: RealmCollectionValue>: RealmCollection {
    private let base: AnyCollectionBase<Element>

    /// The same elements as those of a collection. O(1).
    public init<C: RealmCollection>(_ base: C) where C.Element == Element { self.base = CollectionBox(base) }

    fileprivate init(_ base: AnyCollectionBase<Element>) { self.base = base }

    // MARK: Elements

    /// The number of elements.
    public var count: Int { base.count }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { base.count }
    /// The element at an index. Stops the program if the index is out of bounds.
    public subscript(position: Int) -> Element { base.element(position) }
    /// Iterates over the elements that there are now, whatever is written meanwhile.
    public func makeIterator() -> RealmCollectionIterator<Element> { base.iterator }

    // MARK: Realm

    /// The realm that manages the collection; nil if it is unmanaged. O(1).
    public var realm: Realm? { base.realm }
    /// Whether the collection can no longer be read: the object that it belongs to is gone, or its realm was
    /// invalidated.
    public var isInvalidated: Bool { base.isInvalidated }
    /// Whether it belongs to a frozen realm and never changes. O(1). May be read on any thread.
    public var isFrozen: Bool { base.isFrozen }

    /// What `freeze()` does.
    public func _freeze(_ file: StaticString, _ line: UInt) -> AnyRealmCollection {
        AnyRealmCollection(base.frozen(file, line))
    }
    /// What `thaw()` does.
    public func _thaw(_ file: StaticString, _ line: UInt) -> AnyRealmCollection? {
        base.thawed(file, line).map { AnyRealmCollection($0) }
    }
    /// The same collection in another realm of the store, whether the object that it belongs to exists there or not.
    public func _moved(to realm: _RealmInstance) -> AnyRealmCollection { AnyRealmCollection(base.moved(to: realm)) }

    /// The elements that a query over the collection reads. Stops the program if the collection is unmanaged.
    public var _source: _CollectionSource { base.source }
    /// An empty collection.
    public var _withoutOwner: AnyRealmCollection { AnyRealmCollection(base.withoutOwner) }

    /// Whether both were made from the same collection, as its own `==` has it.
    public static func == (a: AnyRealmCollection, b: AnyRealmCollection) -> Bool { a.base.isEqual(to: b.base) }

    /// The type and the first 100 elements as text. Stops the program on the wrong thread.
    public var description: String { describe(depth: 0) }
}

extension AnyRealmCollection: DescribedCollection {}

extension AnyRealmCollection: Encodable where Element: Encodable {
    /// Encodes the elements as an array. Throws what the encoder or an element throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }
}

@available(
    *, unavailable, message: "a collection belongs to the thread, queue or actor of its realm; hand over a frozen one"
)
extension AnyRealmCollection: Sendable {}

/// A collection without its type.
private class AnyCollectionBase<Element: RealmCollectionValue> {
    var count: Int { missing() }
    func element(_ position: Int) -> Element { missing() }
    var iterator: RealmCollectionIterator<Element> { missing() }
    var realm: Realm? { missing() }
    var isInvalidated: Bool { missing() }
    var isFrozen: Bool { missing() }
    func frozen(_ file: StaticString, _ line: UInt) -> AnyCollectionBase { missing() }
    func thawed(_ file: StaticString, _ line: UInt) -> AnyCollectionBase? { missing() }
    func moved(to realm: _RealmInstance) -> AnyCollectionBase { missing() }
    var source: _CollectionSource { missing() }
    var withoutOwner: AnyCollectionBase { missing() }
    func isEqual(to other: AnyCollectionBase) -> Bool { missing() }

    private func missing() -> Never { preconditionFailure("Firn: \(Self.self) has no such function") }
}

private final class CollectionBox<C: RealmCollection>: AnyCollectionBase<C.Element> {
    private let base: C

    init(_ base: C) { self.base = base }

    override var count: Int { base.count }
    override func element(_ position: Int) -> C.Element { base[position] }
    override var iterator: RealmCollectionIterator<C.Element> {
        if let iterator = base.makeIterator() as? RealmCollectionIterator<C.Element> { return iterator }
        return RealmCollectionIterator(Array(base))
    }
    override var realm: Realm? { base.realm }
    override var isInvalidated: Bool { base.isInvalidated }
    override var isFrozen: Bool { base.isFrozen }
    override func frozen(_ file: StaticString, _ line: UInt) -> AnyCollectionBase<C.Element> {
        CollectionBox(base._freeze(file, line))
    }
    override func thawed(_ file: StaticString, _ line: UInt) -> AnyCollectionBase<C.Element>? {
        base._thaw(file, line).map { CollectionBox($0) }
    }
    override func moved(to realm: _RealmInstance) -> AnyCollectionBase<C.Element> {
        CollectionBox(base._moved(to: realm))
    }
    override var source: _CollectionSource { base._source }
    override var withoutOwner: AnyCollectionBase<C.Element> { CollectionBox(base._withoutOwner) }
    override func isEqual(to other: AnyCollectionBase<C.Element>) -> Bool {
        (other as? CollectionBox<C>).map { base == $0.base } ?? false
    }
}

/// A collection of any kind with elements of one type: a list, a set, results or backlinks.
///
/// ```swift
/// func names(of dogs: AnyRealmCollection<Dog>) -> [String] { dogs.map(\.name) }
/// names(of: AnyRealmCollection(person.dogs))
/// names(of: AnyRealmCollection(realm.objects(Dog.self).where { $0.age > 3 }))
/// ```
///
/// It reads and observes the collection that it was made from, and belongs to the same realm. Each access costs as much
/// as in that collection, and one dynamic call. A generic function, `func names(of dogs: some RealmCollection<Dog>)`,
/// needs no such call.
public struct AnyRealmCollection<Element: RealmCollectionValue>: RealmCollection {
    private let base: any RealmCollection<Element>

    /// A collection with the elements of another collection. O(1).
    public init<C: RealmCollection>(_ base: C) where C.Element == Element { self.base = base }

    private init(erased base: any RealmCollection<Element>) { self.base = base }

    // MARK: Elements

    /// The number of elements.
    public var count: Int { base.count }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { base.count }
    /// The element at an index. Stops the program if the index is out of bounds.
    public subscript(position: Int) -> Element { base[position] }
    /// Iterates over the elements that there are now, whatever is written meanwhile.
    public func makeIterator() -> RealmCollectionIterator<Element> {
        base.makeIterator() as? RealmCollectionIterator<Element> ?? RealmCollectionIterator(Array(base))
    }

    // MARK: Realm

    /// The realm that manages the collection; nil if it is unmanaged. O(1).
    public var realm: Realm? { base.realm }
    /// Whether the collection can no longer be read, because the object that owns it is gone, or its realm was
    /// invalidated.
    public var isInvalidated: Bool { base.isInvalidated }
    /// Whether the collection belongs to a frozen realm and never changes. O(1). May be read on any thread.
    public var isFrozen: Bool { base.isFrozen }

    /// Implements `freeze()`.
    public func _freeze(_ file: StaticString, _ line: UInt) -> AnyRealmCollection {
        AnyRealmCollection(erased: base._freeze(file, line))
    }
    /// Implements `thaw()`.
    public func _thaw(_ file: StaticString, _ line: UInt) -> AnyRealmCollection? {
        base._thaw(file, line).map { AnyRealmCollection(erased: $0) }
    }
    /// The same collection in another realm of the store, whether or not the object that owns it exists there.
    public func _moved(to realm: _RealmInstance) -> AnyRealmCollection {
        AnyRealmCollection(erased: base._moved(to: realm))
    }

    /// The source that queries over the collection read. Stops the program if the collection is unmanaged.
    public var _source: _CollectionSource { base._source }
    /// An empty collection.
    public var _withoutOwner: AnyRealmCollection { AnyRealmCollection(erased: base._withoutOwner) }

    /// Whether the collections that both were made from have the same type and are equal.
    public static func == (a: AnyRealmCollection, b: AnyRealmCollection) -> Bool {
        func isEqual<C: Equatable>(_ a: C, to b: Any) -> Bool { (b as? C).map { a == $0 } ?? false }
        return isEqual(a.base, to: b.base)
    }

    /// The type and the first 100 elements as text. Stops the program on the wrong thread.
    public var description: String { describe(depth: 0) }
}

extension AnyRealmCollection: DescribedCollection {}

extension AnyRealmCollection: Encodable where Element: Encodable {
    /// Encodes the elements as an array. Throws what the encoder or an element throws.
    public func encode(to encoder: any Encoder) throws {
        try encodeElements(to: encoder)
    }
}

@available(
    *, unavailable, message: "a collection belongs to the thread, queue or actor of its realm; hand over a frozen one"
)
extension AnyRealmCollection: Sendable {}

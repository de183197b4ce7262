import FirnCore

/// The objects of a class, or of a query: live, and evaluated when they are read.
///
/// ```swift
/// let adults = realm.objects(Person.self).where { $0.age >= 18 }.sorted(by: \.name)
/// print(adults.count)
/// for person in adults { … }
/// ```
///
/// Results always show what the realm shows, including its own uncommitted changes. Copies of results are equal.
/// Results of two separate calls are not equal.
///
/// **Cost.** For all objects of a class, `count` is O(1) and an element is O(log n). A query runs when the results are
/// first read after a change of the realm, whichever class the change concerns. It scans the class, O(n), or reads an
/// index if that is cheaper, and then sorts the objects that it has found. `count` runs the query without sorting,
/// unless a filter follows a sort. It takes O(log n) if one index has the answer. The keys of the found objects are
/// kept, so further reads of the results and of their copies cost O(1). They cost O(log n) if an observer keeps the
/// results up to date. Finding an element's object costs O(log n) in addition. In a write transaction, each change
/// makes the next read run the query again: keep what you need in a constant, or iterate.
///
/// Results belong to their realm's thread, queue or actor, and stop the program if they are used elsewhere. Frozen
/// results may be used on any thread. An index that is out of bounds stops the program.
public struct Results<Element: RealmCollectionValue>: RealmCollection {
    /// The elements and their order. All copies of the results share it.
    public let _source: _CollectionSource

    init(_ source: _CollectionSource) { _source = source }

    /// The number of elements. O(1) for all objects of a class. A query counts at the first read after a change, in
    /// O(n), or in O(log n) if one index has the answer. Stops the program on the wrong thread.
    public var count: Int { _source.count }
    /// Whether there are no elements. Costs as much as `count`.
    public var isEmpty: Bool { count == 0 }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements. Costs as much as `count`.
    public var endIndex: Int { count }

    /// The element at an index. O(log n) for all objects of a class. A query runs if it has not run since the last
    /// change. Stops the program if the index is out of bounds, and on the wrong thread.
    public subscript(position: Int) -> Element { _source.element(at: position) }

    /// Says how the query runs in the version shown: by which index, or by scanning how many objects, and which steps
    /// follow. For all objects of a class, also with filters, sorts and one `distinct`, it adds that an observer's cost
    /// depends only on the changes.
    ///
    /// ```swift
    /// print(dogs.where { $0.name == "Rex" && $0.age > 3 }.sorted(by: \.age).explain())
    /// // the index of name, or a scan; then the other conditions; then "sort by age"; then what an observer costs
    /// ```
    ///
    /// The text is for people, and may change with each release. `explain()` costs as much as planning the query, which
    /// reads a few nodes of an index. Stops the program on the wrong thread.
    public func explain() -> String { _source.explain() }

    /// The realm that the results belong to. Never nil. O(1).
    public var realm: Realm? { Realm(_source.realm) }
    /// Whether the realm was invalidated after the results were made, or the object that owns the queried collection
    /// was deleted. If so, the results are empty. O(log objects) at most.
    public var isInvalidated: Bool { _source.isInvalidated }
    /// Whether the results belong to a frozen realm and never change. O(1). May be read on any thread.
    public var isFrozen: Bool { _source.realm.isFrozen }

    /// Implements `freeze()`.
    public func _freeze(_ file: StaticString, _ line: UInt) -> Results {
        isFrozen ? self : Results(_source.frozen(at: CallSite(file, line)))
    }

    /// Implements `thaw()`: nil if the object that owns the queried collection no longer exists, or if the results were
    /// invalidated.
    public func _thaw(_ file: StaticString, _ line: UInt) -> Results? {
        isFrozen ? _source.thawed(at: CallSite(file, line)).map { Results($0) } : self
    }

    /// The same results in another realm of the store.
    public func _moved(to realm: _RealmInstance) -> Results { Results(_source.unlocated(in: realm)) }

    /// The results themselves, because results of a list that is gone are empty.
    public var _withoutOwner: Results { self }

    /// Whether both are copies of the same results. O(1).
    public static func == (a: Results, b: Results) -> Bool { a._source === b._source }

    /// The type and the first 100 elements as text. Stops the program on the wrong thread.
    public var description: String { describe(depth: 0) }

    /// Iterates over the elements that there are now, whatever is written meanwhile.
    ///
    /// A query runs if it has not run since the last change, and the iterator then keeps the keys that were found. An
    /// iteration over all objects of a class begins in O(1) and holds the version: see <doc:HoldingVersions>. If an
    /// object was deleted meanwhile, the iterator returns an invalidated object. Stops the program on the wrong thread.
    public func makeIterator() -> RealmCollectionIterator<Element> { RealmCollectionIterator(_source) }
}

extension Results: DescribedCollection {}

@available(
    *, unavailable, message: "results belong to the thread, queue or actor of their realm; hand over frozen ones"
)
extension Results: Sendable {}

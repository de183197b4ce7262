import FirnCore

/// The objects of a class, or of a query: live, and evaluated when they are read.
///
/// ```swift
/// let adults = realm.objects(Person.self).where { $0.age >= 18 }.sorted(by: \.name)
/// print(adults.count)
/// for person in adults { … }
/// ```
///
/// They always show what the realm shows, including its own uncommitted changes. Copies are the same results, and
/// equal; two results that were made by separate calls are not equal.
///
/// **Cost.** For all objects of a class, `count` is O(1) and an element is O(log n). A query runs when the results are
/// first read after a change of the realm, whichever class it concerns. It scans the class, O(n), or reads an index if
/// that is cheaper, and then sorts what it has found. `count` finds without sorting, unless a filter follows a sort,
/// and in O(log n) if one index has the answer. The keys that were found are kept, so further reads of the results and
/// of their copies cost O(1). They cost O(log n) if an observer keeps the results up to date. Finding an element's
/// object costs O(log n) in addition. In a write transaction each change makes the next read run the query again: keep
/// what you need in a constant, or iterate.
///
/// Results belong to their realm's thread, queue or actor, and stop the program if they are used elsewhere. Frozen ones
/// may be used on any thread. An index that is out of bounds stops the program.
public struct Results<Element: RealmCollectionValue>: RealmCollection {
    /// The elements and their order. All copies of the results share it.
    public let _source: _CollectionSource

    init(_ source: _CollectionSource) { _source = source }

    /// The number of elements. O(1) for all objects of a class. A query counts at the first read after a change: O(n),
    /// or O(log n) if one index has the answer. Stops the program on the wrong thread.
    public var count: Int { _source.count }
    /// Whether there are no elements. Costs what `count` costs.
    public var isEmpty: Bool { count == 0 }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements. Costs what `count` costs.
    public var endIndex: Int { count }

    /// The element at an index. O(log n) for all objects of a class; a query runs if that is due. Stops the program if
    /// the index is out of bounds, and on the wrong thread.
    public subscript(position: Int) -> Element { _source.element(at: position) }

    /// How the query is run in the version shown: by which index, or by scanning how many objects, and what follows.
    /// For all objects of a class, with filters, sorts and one `distinct`, it also says that an observer follows what
    /// changes.
    ///
    /// ```swift
    /// print(dogs.where { $0.name == "Rex" && $0.age > 3 }.sorted(by: \.age).explain())
    /// // the index of name, or a scan; then the other conditions; then "sort by age"; then what an observer costs
    /// ```
    ///
    /// The text is for people, and may change with each release. It reads what planning the query reads: a few nodes of
    /// an index. Stops the program on the wrong thread.
    public func explain() -> String { _source.explain() }

    /// The realm that the results belong to. Never nil. O(1).
    public var realm: Realm? { Realm(_source.realm) }
    /// Whether the realm was invalidated after the results were made, or the object that they belong to was deleted.
    /// They are empty then. O(log objects) at most.
    public var isInvalidated: Bool { _source.isInvalidated }
    /// Whether the results belong to a frozen realm and never change. O(1). May be read on any thread.
    public var isFrozen: Bool { _source.realm.isFrozen }

    /// What `freeze()` does.
    public func _freeze(_ file: StaticString, _ line: UInt) -> Results {
        isFrozen ? self : Results(_source.frozen(at: CallSite(file, line)))
    }

    /// What `thaw()` does: nil if the object that the results belong to no longer exists, or if they were invalidated.
    public func _thaw(_ file: StaticString, _ line: UInt) -> Results? {
        isFrozen ? _source.thawed(at: CallSite(file, line)).map { Results($0) } : self
    }

    /// The same results in another realm of the store.
    public func _moved(to realm: _RealmInstance) -> Results { Results(_source.unlocated(in: realm)) }

    /// The results themselves: results of a list that is gone are empty.
    public var _withoutOwner: Results { self }

    /// Whether both are copies of the same results. O(1).
    public static func == (a: Results, b: Results) -> Bool { a._source === b._source }

    /// The type and the first 100 elements as text. Stops the program on the wrong thread.
    public var description: String { describe(depth: 0) }

    /// Iterates over the elements that there are now, whatever is written meanwhile.
    ///
    /// A query runs if that is due, and the iteration then holds the keys that were found. Over all objects of a class
    /// it begins in O(1) and holds the version: see <doc:HoldingVersions>. An object that was deleted meanwhile is
    /// passed invalidated. Stops the program on the wrong thread.
    public func makeIterator() -> RealmCollectionIterator<Element> { RealmCollectionIterator(_source) }
}

extension Results: DescribedCollection {}

@available(
    *, unavailable, message: "results belong to the thread, queue or actor of their realm; hand over frozen ones"
)
extension Results: Sendable {}

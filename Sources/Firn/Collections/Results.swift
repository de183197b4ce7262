import FirnCore

/// The objects of a class, or of a query: live, and evaluated when they are read.
///
/// ```swift
/// let adults = realm.objects(Person.self).where { $0.age >= 18 }.sorted(by: \.name)
/// print(adults.count)
/// for person in adults { … }
/// ```
///
/// They always show what the realm shows, uncommitted changes of its own included. `count` and an element of all objects are O(1) and O(log n); a filter or
/// sort is run when the results are first read after a change. Copies are the same results, and equal; two that were asked for apart are not.
public struct Results<Element: RealmCollectionValue>: RealmCollection {
    public let _source: CollectionSource

    init(_ source: CollectionSource) { _source = source }

    public var count: Int { _source.count }
    public var isEmpty: Bool { count == 0 }
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    public subscript(position: Int) -> Element { _source.element(at: position) }

    public var realm: Realm? { Realm(_source.realm) }
    public var isInvalidated: Bool { _source.isInvalidated }
    public var isFrozen: Bool { _source.realm.isFrozen }

    public func _freeze(_ file: StaticString, _ line: UInt) -> Results {
        isFrozen ? self : Results(_source.frozen(at: CallSite(file, line)))
    }

    public func _thaw(_ file: StaticString, _ line: UInt) -> Results? {
        isFrozen ? _source.thawed(at: CallSite(file, line)).map { Results($0) } : self
    }

    public func _moved(to realm: RealmInstance) -> Results { Results(_source.placed(in: realm)) }

    // Results of a list that is gone are empty.
    public var _withoutOwner: Results { self }

    public static func == (a: Results, b: Results) -> Bool { a._source === b._source }

    public var description: String { describe(depth: 0) }

    public func makeIterator() -> RealmCollectionIterator<Element> { RealmCollectionIterator(_source) }
}

extension Results: DescribedCollection {}

@available(
    *, unavailable, message: "results belong to the thread, queue or actor of their realm; hand over frozen ones"
)
extension Results: Sendable {}

import FirnCore

/// The elements of sectioned results that have one key, live.
///
/// The section belongs to its key: it is empty while no element has the key, and shows elements that get the key again.
/// It costs as much as `SectionedResults`, and stops the program in the same cases.
public struct ResultsSection<Key: _Persistable & Hashable, T: RealmCollectionValue>: RandomAccessCollection,
    _SourcedCollection, Identifiable
{
    /// The type of the section's elements.
    public typealias Element = T

    let sections: _SectionSource<Key, Element>
    /// The key that the elements have in common.
    public let key: Key
    /// The key, which identifies the section among the sections of its results.
    public var id: Key { key }

    init(_ sections: _SectionSource<Key, Element>, _ key: Key) {
        self.sections = sections
        self.key = key
    }

    /// The source of all elements of the collection, including the elements of other sections.
    public var _source: _CollectionSource { sections.source }
    /// The section itself, because sections of a list that is gone are empty.
    public var _withoutOwner: ResultsSection { self }

    /// The positions of the elements in the collection.
    private var members: SectionMembers {
        let sections = sections.sections
        return sections.section(of: key).map { sections.members(of: $0) } ?? .positions([])
    }

    /// The number of elements.
    public var count: Int { members.count }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { count }

    /// The element at an index. Stops the program if the index is out of bounds.
    public subscript(_ index: Int) -> Element {
        let members = members
        guard members.indices.contains(index) else {
            stopForIndex(index, count: members.count, what: "elements of a section")
        }
        return sections.source.element(at: members[index])
    }

    /// The realm that the elements belong to. Never nil.
    public var realm: Realm? { Realm(_source.realm) }
    /// Whether the realm was invalidated after the results were made, or the object that owns the collection was
    /// deleted. If so, the section is empty.
    public var isInvalidated: Bool { _source.isInvalidated }
    /// Whether the section belongs to a frozen realm and never changes. May be read on any thread.
    public var isFrozen: Bool { _source.realm.isFrozen }

    /// Implements `freeze()`.
    public func _freeze(_ file: StaticString, _ line: UInt) -> ResultsSection {
        isFrozen ? self : ResultsSection(sections.with(_source.frozen(at: CallSite(file, line))), key)
    }
    /// Implements `thaw()`: nil if the object that owns the collection no longer exists.
    public func _thaw(_ file: StaticString, _ line: UInt) -> ResultsSection? {
        isFrozen ? _source.thawed(at: CallSite(file, line)).map { ResultsSection(sections.with($0), key) } : self
    }
    /// The same section in another realm of the store.
    public func _moved(to realm: _RealmInstance) -> ResultsSection {
        ResultsSection(sections.with(_source.unlocated(in: realm)), key)
    }

    /// Whether both are sections of the same results and have the same key.
    public static func == (a: ResultsSection, b: ResultsSection) -> Bool {
        a.sections === b.sections && SectionID(a.key) == SectionID(b.key)
    }

    /// Iterates over the elements that the section has now.
    public func makeIterator() -> SectionIterator<Element> {
        SectionIterator(RealmCollectionIterator(_source, at: members))
    }

    /// The key and the first 100 elements as text.
    public var description: String {
        let elements = prefix(100).enumerated().map { "\t[\($0)] \(indented("\($1)"))" }.joined(separator: ",\n")
        return "\(type(of: self)) key: \(key) (\n\(elements)\n)"
    }
}

/// Iterates over the elements that a section had when the iterator was made. If an element's object was deleted
/// meanwhile, the iterator returns an invalidated object.
public struct SectionIterator<Element: RealmCollectionValue>: IteratorProtocol {
    private var elements: RealmCollectionIterator<Element>

    init(_ elements: RealmCollectionIterator<Element>) { self.elements = elements }

    /// The next element; nil at the end.
    public mutating func next() -> Element? { elements.next() }
}

@available(
    *, unavailable, message: "a section belongs to the thread, queue or actor of its realm; hand over a frozen one"
)
extension ResultsSection: Sendable {}

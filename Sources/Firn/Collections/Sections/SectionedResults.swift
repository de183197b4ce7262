import FirnCore
import FirnStorage
public import Foundation

/// The elements of a collection in sections, which are live and computed when they are read.
///
/// ```swift
/// let byLetter = realm.objects(Person.self).sectioned(sortDescriptors: ["name"]) { String($0.name.prefix(1)) }
/// for section in byLetter {
///     print(section.key, section.count)
///     for person in section { print("- \(person.name)") }
/// }
/// print(byLetter[IndexPath(item: 0, section: 2)].name)
/// ```
///
/// Elements with equal keys make a section. The sections are in the order in which their keys first occur in the
/// collection, and the elements of a section keep the collection's order. There are no sections without elements.
///
/// **Cost.** The sections are computed at the first read after a change of the realm. This runs the collection's query
/// and computes the key of each element, O(elements). Further reads cost O(1), and finding an element's object costs
/// O(log objects).
///
/// Sectioned results belong to their realm's thread, queue or actor, and stop the program if they are used elsewhere.
/// Frozen ones may be used on any thread, where they call the closure that computes keys. An index that is out of
/// bounds stops the program.
public struct SectionedResults<Key: _Persistable & Hashable, SectionElement: RealmCollectionValue>:
    RandomAccessCollection,
    _SourcedCollection
{
    /// The type of the sections.
    public typealias Element = ResultsSection<Key, SectionElement>

    let sections: _SectionSource<Key, SectionElement>

    init(_ sections: _SectionSource<Key, SectionElement>) { self.sections = sections }

    /// The source of the collection's elements.
    public var _source: _CollectionSource { sections.source }
    /// The results themselves, because results of a list that is gone are empty.
    public var _withoutOwner: SectionedResults { self }

    /// The key of each section, in the sections' order.
    public var allKeys: [Key] { sections.sections.keys }
    /// The number of sections.
    public var count: Int { sections.sections.keys.count }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of sections.
    public var endIndex: Int { count }

    /// The section at an index. The returned section belongs to its key, whatever is written later. Stops the program
    /// if the index is out of bounds.
    public subscript(_ index: Int) -> ResultsSection<Key, SectionElement> {
        let keys = sections.sections.keys
        guard keys.indices.contains(index) else { stopForIndex(index, count: keys.count, what: "sections") }
        return ResultsSection(sections, keys[index])
    }

    /// The element at an index path of two indices: the section's index, and the element's index in that section. Stops
    /// the program if there is no such element.
    public subscript(_ indexPath: IndexPath) -> SectionElement {
        guard indexPath.count == 2 else {
            stopProgram("an index path of \(indexPath.count) indices names no element; give section and item.")
        }
        return self[indexPath[0]][indexPath[1]]
    }

    /// The realm that the elements belong to. Never nil.
    public var realm: Realm? { Realm(_source.realm) }
    /// Whether the realm was invalidated after the results were made, or the object that owns the collection was
    /// deleted. If so, there are no sections.
    public var isInvalidated: Bool { _source.isInvalidated }
    /// Whether the results belong to a frozen realm and never change. May be read on any thread.
    public var isFrozen: Bool { _source.realm.isFrozen }

    /// Implements `freeze()`.
    public func _freeze(_ file: StaticString, _ line: UInt) -> SectionedResults {
        isFrozen ? self : SectionedResults(sections.with(_source.frozen(at: CallSite(file, line))))
    }
    /// Implements `thaw()`: nil if the object that owns the collection no longer exists.
    public func _thaw(_ file: StaticString, _ line: UInt) -> SectionedResults? {
        isFrozen ? _source.thawed(at: CallSite(file, line)).map { SectionedResults(sections.with($0)) } : self
    }
    /// The same sections in another realm of the store.
    public func _moved(to realm: _RealmInstance) -> SectionedResults {
        SectionedResults(sections.with(_source.unlocated(in: realm)))
    }

    /// Whether both are copies of the same results. O(1).
    public static func == (a: SectionedResults, b: SectionedResults) -> Bool { a.sections === b.sections }

    /// Iterates over the sections that there are now.
    public func makeIterator() -> SectionedResultsIterator<Key, SectionElement> {
        SectionedResultsIterator(sections, sections.sections.keys)
    }

    /// The type and the sections as text.
    public var description: String {
        "\(type(of: self)) (\n\(map { "\t" + indented($0.description) }.joined(separator: ",\n"))\n)"
    }
}

/// Iterates over the sections that there were when the iterator was made.
public struct SectionedResultsIterator<Key: _Persistable & Hashable, SectionElement: RealmCollectionValue>:
    IteratorProtocol
{
    private let sections: _SectionSource<Key, SectionElement>
    private var keys: IndexingIterator<[Key]>

    fileprivate init(_ sections: _SectionSource<Key, SectionElement>, _ keys: [Key]) {
        self.sections = sections
        self.keys = keys.makeIterator()
    }

    /// The next section; nil at the end. A section that has lost all its elements meanwhile is empty.
    public mutating func next() -> ResultsSection<Key, SectionElement>? {
        keys.next().map { ResultsSection(sections, $0) }
    }
}

@available(
    *, unavailable, message: "results belong to the thread, queue or actor of their realm; hand over frozen ones"
)
extension SectionedResults: Sendable {}

@inline(never)
func stopForIndex(_ index: Int, count: Int, what: String) -> Never {
    stopProgram("index \(index) is out of bounds of \(count) \(what).")
}

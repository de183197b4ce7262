import RealmSwift
import Testing

// RealmSwift's signatures of sectioned results, as requirements. The compiler checks that they are satisfied.

/// What the sections together have, and what one section has.
private protocol SectionedSurface: RandomAccessCollection, Equatable, CustomStringConvertible, ThreadConfined {
    var realm: Realm? { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    var count: Int { get }
    var description: String { get }
    func freeze() -> Self
    func thaw() -> Self?
    static func == (lhs: Self, rhs: Self) -> Bool
    var startIndex: Int { get }
    var endIndex: Int { get }
    func observe(on queue: DispatchQueue?, _ block: @escaping (SectionedResultsChange<Self>) -> Void)
        -> NotificationToken
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken
}
extension SectionedResults: SectionedSurface {}
extension ResultsSection: SectionedSurface {}

private protocol SectionsSurface {
    associatedtype Key: _Persistable & Hashable
    associatedtype SectionElement: RealmCollectionValue
    var allKeys: [Key] { get }
    subscript(_ index: Int) -> ResultsSection<Key, SectionElement> { get }
    subscript(_ indexPath: IndexPath) -> SectionElement { get }
    func makeIterator() -> SectionedResultsIterator<Key, SectionElement>
}
extension SectionedResults: SectionsSurface {}

private protocol SectionSurface: Identifiable {
    associatedtype Key: _Persistable & Hashable
    associatedtype Element: RealmCollectionValue
    var id: Key { get }
    var key: Key { get }
    subscript(_ index: Int) -> Element { get }
    func makeIterator() -> SectionIterator<Element>
}
extension ResultsSection: SectionSurface {}

private protocol SectionIteratorSurface: IteratorProtocol {
    mutating func next() -> Element?
}
extension SectionIterator: SectionIteratorSurface {}
extension RealmCollectionIterator: SectionIteratorSurface {}

private protocol SectionsIteratorSurface: IteratorProtocol {
    associatedtype Key: _Persistable & Hashable
    associatedtype SectionElement: RealmCollectionValue
    mutating func next() -> ResultsSection<Key, SectionElement>?
}
extension SectionedResultsIterator: SectionsIteratorSurface {}

private protocol SectionChangeSurface {
    associatedtype Collection
    static func initial(_ collection: Collection) -> Self
    static func update(
        _ collection: Collection, deletions: [IndexPath], insertions: [IndexPath], modifications: [IndexPath],
        sectionsToInsert: IndexSet, sectionsToDelete: IndexSet
    ) -> Self
}
extension SectionedResultsChange: SectionChangeSurface {}
extension SectionChangeSurface {
    fileprivate static func made(_ sections: Collection) -> Self { .initial(sections) }
    fileprivate static func made(_ sections: Collection, _ path: IndexPath) -> Self {
        .update(
            sections, deletions: [path], insertions: [], modifications: [], sectionsToInsert: [1], sectionsToDelete: [])
    }
}

// The generic parameters have RealmSwift's names.
extension ResultsSection where T == Peak {
    fileprivate var names: [String] { map(\.name) }
}

/// RealmSwift's protocol of both, observed as it is there: without a file and a line.
private func observed<S: RealmSectionedResult>(_ sections: S, on queue: DispatchQueue) -> [NotificationToken] {
    [
        sections.observe(keyPaths: ["name"], on: queue) { _ in }, sections.observe(on: queue) { _ in },
        sections.observe(keyPaths: nil, on: queue) { (_: SectionedResultsChange<S>) in },
    ]
}

/// RealmSwift's protocol of both, as a constraint.
private func counts<S: RealmSectionedResult>(_ sections: S) -> [Int] {
    [sections.count, sections.isFrozen ? 1 : 0, sections.isInvalidated ? 1 : 0, sections.realm == nil ? 0 : 1]
}

@Suite(.timeLimit(.minutes(20))) struct SectionSurfaceTests {
    private let realm: Realm
    private let sections: SectionedResults<String, Peak>

    init() throws {
        realm = try peaks()
        sections = realm.objects(Peak.self).sectioned(by: \.name, ascending: true)
    }

    @Test func sectionsAndASectionAnswerThroughTheirRequirements() {
        func facts<S: SectionedSurface>(_ sections: S) -> [String] where S.Index == Int {
            [
                "\(sections.count)", "\(sections.startIndex)", "\(sections.endIndex == sections.count)",
                "\(sections.realm == realm)", "\(sections.isInvalidated)", "\(sections.isFrozen)",
                "\(sections.freeze().isFrozen)", "\(sections.freeze().thaw() != nil)", "\(sections == sections)",
                "\(sections.description.isEmpty)",
            ]
        }
        let rest = ["0", "true", "true", "false", "false", "true", "true", "true", "false"]
        #expect(facts(sections) == ["2"] + rest && facts(sections[0]) == ["1"] + rest)
        #expect(counts(sections) == [2, 0, 0, 1] && counts(sections[1].freeze()) == [1, 1, 0, 1])
    }

    @Test func elementsAreReachedBySectionAndByPath() {
        func names<S: SectionsSurface>(_ sections: S) -> [String] where S.Key == String, S.SectionElement == Peak {
            var (iterator, found) = (sections.makeIterator(), [String]())
            while let section = iterator.next() { found.append(section.key) }
            let path = IndexPath(indexes: [1, 0])
            return sections.allKeys + found + [sections[0].key, sections[path].name]
        }
        #expect(names(sections) == ["Eiger", "Niesen", "Eiger", "Niesen", "Eiger", "Niesen"])
        func elements<S: SectionSurface>(_ section: S) -> [S.Element] {
            var iterator = section.makeIterator()
            return [section[0]] + [iterator.next()].compactMap { $0 }
        }
        let section: ResultsSection<String, Peak> = sections[1]
        #expect(elements(section).map(\.id) == [2, 2] && section.id == section.key && section.key == "Niesen")
    }

    @Test func theIteratorsHaveRealmSwiftsNames() {
        func first<I: SectionsIteratorSurface>(_ iterator: I) -> ResultsSection<I.Key, I.SectionElement>? {
            var iterator = iterator
            return iterator.next()
        }
        func first<I: SectionIteratorSurface>(_ iterator: I) -> I.Element? {
            var iterator = iterator
            return iterator.next()
        }
        let all: SectionedResultsIterator<String, Peak> = sections.makeIterator()
        let one: SectionIterator<Peak> = sections[0].makeIterator()
        #expect(first(all)?.key == "Eiger" && first(one)?.id == 1)
        #expect(first(realm.objects(Peak.self).makeIterator())?.id == 1)
    }

    @Test func sectionsAreObservedThroughTheirRequirements() {
        let queue = DispatchQueue(label: "sections")
        func observe<S: SectionedSurface>(_ sections: S) -> [NotificationToken] {
            [
                sections.observe(on: queue) { (_: SectionedResultsChange<S>) in },
                sections.observe(keyPaths: ["name"], on: queue) { (_: RealmSectionedResultsChange<S>) in },
            ]
        }
        let tokens =
            observe(sections) + observe(sections[0]) + [
                sections.observe(keyPaths: [\Peak.name], on: queue) { _ in },
                sections[0].observe(keyPaths: [\Peak.name], on: queue) { _ in },
            ]
        for token in tokens + observed(sections, on: queue) + observed(sections[0], on: queue) {
            #expect(token.invalidate())
        }
        #expect(sections[1].names == ["Niesen"])
    }

    @Test func aChangeOfSectionsHasRealmSwiftsCases() {
        let changes: [SectionedResultsChange<SectionedResults<String, Peak>>] = [
            .made(sections), .made(sections, IndexPath(indexes: [0, 0])),
        ]
        let texts = changes.map { change in
            switch change {
            case .initial(let sections): "initial \(sections.count)"
            case .update(_, let deletions, let insertions, let modifications, let inserted, let deleted):
                "update \(deletions.count) \(insertions) \(modifications) \(Array(inserted)) \(Array(deleted))"
            }
        }
        #expect(texts == ["initial 2", "update 1 [] [] [1] []"])
    }
}

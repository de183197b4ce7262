import RealmSwift
import Testing

// RealmSwift's signatures of collections, as requirements. The compiler checks that they are satisfied.
//
// A property that is sorted by or aggregated is constrained as in older versions of RealmSwift. Newer ones constrain it
// by `_HasPersistedType`, a protocol that is not documented and that Firn does not have.

/// What each collection of indices has, whatever its elements are.
private protocol CollectionSurface: RandomAccessCollection, CustomStringConvertible, Equatable, ThreadConfined
where Element: RealmCollectionValue, Index == Int {
    var realm: Realm? { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    var count: Int { get }
    var description: String { get }
    var first: Element? { get }
    var last: Element? { get }
    var startIndex: Int { get }
    var endIndex: Int { get }
    func index(after i: Int) -> Int
    func index(before i: Int) -> Int
    func index(of object: Element) -> Int?
    func index(matching predicate: NSPredicate) -> Int?
    func index(matching predicateFormat: String, _ args: Any...) -> Int?
    func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int?
    func objects(at indexes: IndexSet) -> [Element]
    func filter(_ predicate: NSPredicate) -> Results<Element>
    func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element>
    func sorted(byKeyPath keyPath: String, ascending: Bool) -> Results<Element>
    func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element>
    where S.Iterator.Element == RealmSwift.SortDescriptor
    func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Iterator.Element == String
    func value(forKey key: String) -> Any?
    func value(forKeyPath keyPath: String) -> Any?
    func setValue(_ value: Any?, forKey key: String)
    func observe(on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<Self>) -> Void)
        -> NotificationToken
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken
    func freeze() -> Self
    func thaw() -> Self?
    func makeIterator() -> RLMIterator<Element>
    subscript(position: Int) -> Element { get }
    static func == (lhs: Self, rhs: Self) -> Bool
}
extension Results: CollectionSurface {}
extension List: CollectionSurface {}
extension LinkingObjects: CollectionSurface {}
extension MutableSet: CollectionSurface {}
extension AnyRealmCollection: CollectionSurface {}

/// What each collection of objects has beyond that.
private protocol ObjectsSurface {
    associatedtype Element: RealmCollectionValue
    func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element>
    func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int?
    func index(of object: Element) -> Int?
    func index(matching predicate: NSPredicate) -> Int?
    func filter(_ predicate: NSPredicate) -> Results<Element>
    func sorted<T: SortableType>(by keyPath: KeyPath<Element, T>, ascending: Bool) -> Results<Element>
    func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Iterator.Element == PartialKeyPath<Element>
    func sectioned<Key: _Persistable & Hashable>(by keyPath: KeyPath<Element, Key>, ascending: Bool)
        -> SectionedResults<Key, Element>
    func sectioned<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [RealmSwift.SortDescriptor]
    ) -> SectionedResults<Key, Element>
    func min<T: MinMaxType>(ofProperty property: String) -> T?
    func max<T: MinMaxType>(ofProperty property: String) -> T?
    func sum<T: AddableType>(ofProperty property: String) -> T
    func average<T: AddableType>(ofProperty property: String) -> T?
    func min<T: MinMaxType>(of keyPath: KeyPath<Element, T>) -> T?
    func max<T: MinMaxType>(of keyPath: KeyPath<Element, T>) -> T?
    func sum<T: AddableType>(of keyPath: KeyPath<Element, T>) -> T
    func average<T: AddableType>(of keyPath: KeyPath<Element, T>) -> T?
    func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue?,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken
}
extension Results: ObjectsSurface where Element: ObjectBase {}
extension List: ObjectsSurface where Element: ObjectBase {}
extension LinkingObjects: ObjectsSurface where Element: ObjectBase {}
extension MutableSet: ObjectsSurface where Element: ObjectBase {}
extension AnyRealmCollection: ObjectsSurface where Element: ObjectBase {}

/// The same for objects that a projection shows.
private protocol ProjectionsSurface {
    func `where`(_ isIncluded: (Query<PeakCard>) -> Query<Bool>) -> Results<PeakCard>
    func sorted<T: SortableType>(by keyPath: KeyPath<PeakCard, T>, ascending: Bool) -> Results<PeakCard>
    func sectioned<Key: _Persistable & Hashable>(by keyPath: KeyPath<PeakCard, Key>, ascending: Bool)
        -> SectionedResults<Key, PeakCard>
    func distinct<S: Sequence>(by keyPaths: S) -> Results<PeakCard> where S.Iterator.Element == PartialKeyPath<PeakCard>
}
extension Results: ProjectionsSurface where Element == PeakCard {}

/// The names of RealmSwift's protocols and iterator, which generic code gives as constraints.
private func elements<C: RealmCollection>(_ collection: C) -> [C.Element] where C.Element: RealmCollectionValue {
    func all(_ iterator: RLMIterator<C.Element>) -> [C.Element] {
        var (iterator, found) = (iterator, [C.Element]())
        while let element = iterator.next() { found.append(element) }
        return found
    }
    let erased: AnyRealmCollection<C.Element> = AnyRealmCollection(collection)
    return all(erased.makeIterator())
}

@Suite(.timeLimit(.minutes(20))) struct CollectionSurfaceTests {
    private let realm: Realm
    private let high: Peak
    private let low: Peak

    init() throws {
        realm = try peaks()
        (high, low) = highAndLow(realm)
    }

    /// Both collections that hold the lower peak, and the results of a query.
    private func each(_ body: (any CollectionSurface & ObjectsSurface) -> Void) {
        body(high.neighbours)
        body(high.rivals)
        body(low.seenFrom)
        body(realm.objects(Peak.self).filter("id == 2"))
        body(AnyRealmCollection(high.neighbours))
    }

    @Test func collectionsOfObjectsAnswerThroughTheirRequirements() throws {
        func ids<C: CollectionSurface & ObjectsSurface>(_ collection: C) -> [Int]
        where C.Element: RealmCollectionValue {
            let one = collection.objects(at: IndexSet(integer: 0)) + collection.filter("id > %@", 0)
            let two = Array(collection.sorted(by: [SortDescriptor(keyPath: "id")])) + collection.distinct(by: ["id"])
            return (one + two + collection.sorted(byKeyPath: "id", ascending: true)).compactMap { ($0 as? Peak)?.id }
        }
        func facts<C: CollectionSurface>(_ collection: C) -> [String] {
            var iterator: RLMIterator<C.Element> = collection.makeIterator()
            return [
                "\(collection.count)", "\(collection.startIndex)", "\(collection.endIndex)",
                "\(collection.index(after: 0))", "\(collection.index(before: 1))",
                "\(collection.index(matching: "id > %@", 0) ?? -1)",
                "\(collection.index(matching: NSPredicate(format: "id > 0")) ?? -1)",
                "\(collection.index(of: collection[0]) ?? -1)", "\(collection.realm == realm)",
                "\(collection.isInvalidated)", "\(collection.isFrozen)", "\(collection.freeze().isFrozen)",
                "\(collection.freeze().thaw() != nil)", "\(collection.filter(NSPredicate(format: "id > 0")).count)",
                "\((collection.value(forKeyPath: "@count") as? Int) ?? -1)", "\(collection.first != nil)",
                "\(collection.last != nil)", "\(iterator.next() != nil)",
                "\(collection == collection)", "\(collection.description.isEmpty)",
            ]
        }
        let expected = [
            "1", "0", "1", "1", "0", "0", "0", "0", "true", "false", "false", "true", "true", "1", "1", "true", "true",
            "true", "true", "false",
        ]
        each { collection in
            #expect(facts(collection) == expected)
            #expect(Set(ids(collection)).count == 1 && ids(collection).count == 5)
        }
    }

    @Test func whatNeedsObjectsAnswersThroughItsRequirements() {
        func numbers<C: ObjectsSurface>(_ collection: C) -> [Double?] where C.Element == Peak {
            [
                collection.min(ofProperty: "height"), collection.max(ofProperty: "height"),
                collection.sum(ofProperty: "height"), collection.average(ofProperty: "height"),
                collection.min(of: \.height), collection.max(of: \.height), collection.sum(of: \.height),
                collection.average(of: \.height),
            ]
        }
        func counts<C: ObjectsSurface>(_ collection: C) -> [Int?] where C.Element == Peak {
            [
                collection.where { $0.height > 1000 }.count, collection.index(matching: { $0.height > 1000 }),
                collection.sorted(by: \.height, ascending: false).count, collection.distinct(by: [\Peak.name]).count,
                collection.sectioned(by: \.name, ascending: true).count,
                collection.sectioned(by: \.name, sortDescriptors: ["name"]).count,
            ]
        }
        #expect(numbers(high.neighbours) == Array(repeating: 2362, count: 8))
        #expect(numbers(low.seenFrom) == Array(repeating: 3967, count: 8))
        #expect(counts(high.rivals) == [1, 0, 1, 1, 1, 1] && counts(high.neighbours) == counts(high.rivals))
    }

    @Test func aBlockDividesACollectionIntoSections() {
        // Firn's block is `@Sendable`, so it satisfies no requirement with RealmSwift's plain one. These are calls.
        let all = realm.objects(Peak.self)
        let byLetter = all.sectioned(by: { String($0.name.prefix(1)) }, sortDescriptors: ["name"])
        let byHeight = all.sectioned(sortDescriptors: [SortDescriptor(keyPath: "height")]) { $0.height > 3000 }
        let byParity = high.depths.sectioned(by: { $0 % 2 == 0 }, ascending: true)
        #expect(byLetter.allKeys == ["E", "N"] && byHeight.allKeys == [false, true] && byParity.count == 2)
    }

    @Test func aCollectionOfProjectionsIsQueriedAndSorted() {
        func first<C: ProjectionsSurface>(_ cards: C) -> [String?] {
            [
                cards.where { $0.name == "Eiger" }.first?.name, cards.sorted(by: \.name, ascending: false).first?.name,
                cards.distinct(by: [\PeakCard.name]).last?.name,
                cards.sectioned(by: \.name, ascending: true).allKeys[0],
            ]
        }
        #expect(first(realm.objects(PeakCard.self)) == ["Eiger", "Niesen", "Niesen", "Eiger"])
    }

    @Test func theIteratorAndTheErasedCollectionHaveRealmSwiftsNames() {
        #expect(elements(high.depths) == [3, 1, 2] && elements(realm.objects(Peak.self)).count == 2)
    }

    @Test func aCollectionIsObservedThroughItsRequirement() {
        let queue = DispatchQueue(label: "peaks")
        func observe<C: CollectionSurface>(_ collection: C) -> [NotificationToken] {
            [
                collection.observe(on: queue) { (_: RealmCollectionChange<C>) in },
                collection.observe(keyPaths: nil, on: queue) { (_: RealmCollectionChange<C>) in },
            ]
        }
        func observeNames<C: ObjectsSurface>(_ collection: C) -> NotificationToken where C.Element == Peak {
            collection.observe(keyPaths: [\Peak.name], on: queue) { (_: RealmCollectionChange<C>) in }
        }
        let tokens = observe(high.depths) + observe(high.neighbours) + [observeNames(high.rivals)]
        for token in tokens { #expect(token.invalidate()) }
    }

    @Test func aCollectionChangeHasRealmSwiftsCases() {
        let made: [RealmCollectionChange<List<Int>>] = [
            .made(high.depths), .made(high.depths, [0], [1], [2]), .made(Realm.Error(.fail)),
        ]
        let texts = made.map { change in
            switch change {
            case .initial(let list): "initial \(list.count)"
            case .update(let list, let deletions, let insertions, let modifications):
                "update \(list.count) \(deletions) \(insertions) \(modifications)"
            case .error(let error): "error \(error is Realm.Error)"
            }
        }
        #expect(made.map(\.isFirst) == [true, false, false])
        #expect(texts == ["initial 3", "update 3 [0] [1] [2]", "error true"])
    }
}

/// A change's cases are functions that make one.
private protocol ChangeSurface {
    associatedtype Collection
    static func initial(_ collection: Collection) -> Self
    static func update(_ collection: Collection, deletions: [Int], insertions: [Int], modifications: [Int]) -> Self
    static func error(_ error: Error) -> Self
}
extension RealmCollectionChange: ChangeSurface {}
/// The generic parameter has RealmSwift's name.
extension RealmCollectionChange where CollectionType == List<Int> {
    fileprivate var isFirst: Bool { if case .initial = self { true } else { false } }
}
extension ChangeSurface {
    fileprivate static func made(_ collection: Collection) -> Self { .initial(collection) }
    fileprivate static func made(_ collection: Collection, _ gone: [Int], _ new: [Int], _ changed: [Int]) -> Self {
        .update(collection, deletions: gone, insertions: new, modifications: changed)
    }
    fileprivate static func made(_ error: any Error) -> Self { .error(error) }
}

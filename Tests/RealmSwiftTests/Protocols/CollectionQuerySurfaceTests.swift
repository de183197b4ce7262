import RealmSwift
import Testing

// RealmSwift's signatures of typed queries of objects and collections, as requirements.

private protocol ObjectQuerySurface {
    associatedtype T: ObjectBase
    subscript<V>(dynamicMember member: KeyPath<T, V>) -> Query<V> { get }
    static func == (lhs: Self, rhs: T) -> Query<Bool>
    func `in`<U: Sequence>(_ collection: U) -> Query<Bool> where U.Element == T
}
extension Query: ObjectQuerySurface where T: ObjectBase {}

private protocol OptionalObjectQuerySurface {
    subscript<V>(dynamicMember member: KeyPath<Peak, V>) -> Query<V> { get }
    static func == (lhs: Self, rhs: Peak?) -> Query<Bool>
    static func != (lhs: Self, rhs: Peak?) -> Query<Bool>
}
extension Query: OptionalObjectQuerySurface where T == Peak? {}

private protocol ObjectsQuerySurface {
    subscript<V>(dynamicMember member: KeyPath<Peak, V>) -> Query<V> { get }
    func contains(_ value: Peak) -> Query<Bool>
    func containsAny<U: Sequence>(in collection: U) -> Query<Bool> where U.Element == Peak
    var count: Query<Int> { get }
}
extension Query: ObjectsQuerySurface where T == List<Peak> {}

private protocol NumbersQuerySurface {
    var count: Query<Int> { get }
    var sum: Query<Int> { get }
    func contains(_ value: Int) -> Query<Bool>
    func containsAny<U: Sequence>(in collection: U) -> Query<Bool> where U.Element == Int
    func contains(_ range: Range<Int>) -> Query<Bool>
    func contains(_ range: ClosedRange<Int>) -> Query<Bool>
    static func == (lhs: Self, rhs: Int) -> Query<Bool>
    static func > (lhs: Self, rhs: Int) -> Query<Bool>
}
extension Query: NumbersQuerySurface where T: RealmCollection, T.Element == Int {}

private protocol AnyMapQuerySurface {
    associatedtype T: RealmKeyedCollection
    var keys: Query<T.Key> { get }
    var values: Query<T.Value> { get }
    var count: Query<Int> { get }
    subscript(member: T.Key) -> Query<T.Value> { get }
}
extension Query: AnyMapQuerySurface where T: RealmKeyedCollection {}

private protocol MapQuerySurface {
    var keys: Query<String> { get }
    var values: Query<Int> { get }
    func contains(_ value: Int) -> Query<Bool>
    func containsAny<U: Sequence>(in collection: U) -> Query<Bool> where U.Element == Int
    func contains(_ range: Range<Int>) -> Query<Bool>
    func contains(_ range: ClosedRange<Int>) -> Query<Bool>
    subscript(member: String) -> Query<Int> { get }
    var sum: Query<Int> { get }
}
extension Query: MapQuerySurface where T == Map<String, Int> {}

private protocol MixedQuerySurface {
    subscript(position: Int) -> Query<AnyRealmValue> { get }
    subscript(key: String) -> Query<AnyRealmValue> { get }
    var any: Query<AnyRealmValue> { get }
    static func == (lhs: Self, rhs: AnyRealmValue) -> Query<Bool>
    static func > (lhs: Self, rhs: AnyRealmValue) -> Query<Bool>
}
extension Query: MixedQuerySurface where T == AnyRealmValue {}

@Suite(.timeLimit(.minutes(20))) struct CollectionQuerySurfaceTests {
    private let realm: Realm
    private let high: Peak
    private let low: Peak

    init() throws {
        realm = try peaks()
        let (high, low) = highAndLow(realm)
        try realm.write {
            high.next = low
            high.note = .fromArray([.int(1), .fromDictionary(["a": .string("b")])])
            low.note = .int(4)
            low.depths.append(9)
            low.tolls["path"] = 1
        }
        (self.high, self.low) = (high, low)
    }

    /// For each of several conditions, the identities of the peaks that it finds.
    private func found(_ count: Int, _ conditions: (Query<Peak>) -> [Query<Bool>]) -> [String] {
        (0..<count).map { index in
            realm.objects(Peak.self).where { conditions($0)[index] }.map { "\($0.id)" }.sorted().joined()
        }
    }

    @Test func objectsAreComparedThroughTheirRequirements() {
        func id<Q: ObjectQuerySurface>(_ a: Q) -> Query<Int> where Q.T == Peak { a[dynamicMember: \.id] }
        #expect(found(1) { [id($0) == 2] } == ["2"])
        func optional<Q: OptionalObjectQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [a == low, a != low, a == nil, a[dynamicMember: \.id] == 2]
        }
        #expect(found(4) { optional($0.next) } == ["1", "2", "2", "1"])
        func one<Q: ObjectQuerySurface>(_ a: Q, _ peak: Q.T) -> [Query<Bool>] { [a == peak, a.in([peak])] }
        #expect(found(2) { one($0, high) } == ["1", "1"])
        func many<Q: ObjectsQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [a.contains(low), a.containsAny(in: [low, high]), a.count == 1, a[dynamicMember: \.id] == 2]
        }
        #expect(found(4) { many($0.neighbours) } == ["1", "12", "12", "1"])
    }

    @Test func collectionsOfNumbersAreComparedThroughTheirRequirements() {
        func numbers<Q: NumbersQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [
                a.count == 3, a.sum == 15, a.contains(9), a.containsAny(in: [9, 1]), a.contains(1..<4),
                a.contains(1...9), a == 9, a > 3,
            ]
        }
        #expect(found(8) { numbers($0.depths) } == ["1", "2", "2", "12", "1", "12", "2", "2"])
    }

    @Test func mapsAreComparedThroughTheirRequirements() {
        func tolls<Q: MapQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [
                a.keys == "path", a.values == 5, a.contains(1), a.containsAny(in: [1, 2]), a.contains(5..<6),
                a.contains(1...5), a["path"] == 1, a.sum == 6,
            ]
        }
        #expect(found(8) { tolls($0.tolls) } == ["2", "12", "2", "2", "1", "12", "2", "2"])
        func any<Q: AnyMapQuerySurface>(_ a: Q) -> (Query<Q.T.Key>, Query<Q.T.Value>, Query<Q.T.Value>, Query<Int>)
        where Q.T.Key == String { (a.keys, a.values, a["path"], a.count) }
        #expect(
            found(4) {
                let (keys, values, path, count) = any($0.tolls)
                return [keys == "path", values == 1, path == 1, count == 2]
            } == ["2", "2", "2", "2"])
    }

    @Test func aggregatesAreComparedWithTheirElements() {
        // RealmSwift's `min`, `max` and `avg` are queries of the element, Firn's of an optional. These are calls.
        let (two, three) = (2, 3)
        #expect(
            found(9) {
                [
                    $0.depths.min == 1, $0.depths.max == three, $0.depths.avg == two, $0.depths.avg > two,
                    $0.tolls.min == 1, $0.tolls.max == 5, $0.tolls.avg == three, $0.neighbours.id.max == two,
                    $0.neighbours.id.avg < two,
                ]
            } == ["12", "1", "1", "2", "2", "12", "2", "1", "2"])
    }

    @Test func genericCodeQueriesElementsOfAnyType() {
        func heights<C: RealmCollection>(_ collection: C) -> [Double?] {
            [
                collection.min(ofProperty: "height"), collection.max(ofProperty: "height"),
                collection.sum(ofProperty: "height"), collection.average(ofProperty: "height"),
            ]
        }
        func count<T: RealmCollectionValue>(_ list: List<T>, _ isIncluded: (Query<T>) -> Query<Bool>) -> Int {
            list.where(isIncluded).count
        }
        #expect(heights(realm.objects(Peak.self)) == [2362, 3967, 6329, 3164.5])
        let high = highAndLow(realm).0
        #expect(count(high.neighbours) { $0.height < 3000 } == 1 && count(high.neighbours) { $0.id == 1 } == 0)
        func depths<C: RealmCollection>(_ collection: C) -> [Int?] {
            [
                collection.min(ofProperty: "self"), collection.max(ofProperty: "self"),
                collection.sum(ofProperty: "self"), collection.average(ofProperty: "self"),
            ]
        }
        let free = List<Int>()
        free.append(objectsIn: high.depths)
        #expect(depths(high.depths) == [1, 3, 6, 2] && depths(free) == [1, 3, 6, 2])
        let unmanaged = List<Peak>()
        unmanaged.append(Peak(3, "Dom", height: 4545))
        #expect(heights(unmanaged) == [4545, 4545, 4545, 4545])
    }

    @Test func mixedValuesAreComparedThroughTheirRequirements() {
        func notes<Q: MixedQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [a == .int(4), a > .int(3), a[0] == .int(1), a[1]["a"] == .string("b"), a.any == .int(1)]
        }
        #expect(found(5) { notes($0.note) } == ["2", "2", "1", "1", "1"])
    }
}

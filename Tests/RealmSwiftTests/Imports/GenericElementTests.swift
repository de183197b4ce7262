import RealmSwift
import Testing

class Spoon: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String?
    @Persisted var sizes: List<Int?>
    @Persisted var mixed: List<AnyRealmValue>
    @Persisted var byName: Map<String, Spoon?>
    @Persisted var weights: Map<String, Int>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Code that knows no more of the elements than that a collection may hold them.
private func firstNames<T: RealmCollectionValue>(_ results: Results<T>) -> [String] {
    func text(_ element: T?) -> String { (element as? Spoon)?.name ?? "none" }
    return [
        text(results.sorted(byKeyPath: "name", ascending: false).first),
        text(results.sorted(by: [SortDescriptor(keyPath: "name")]).last),
        text(results.filter("name == %@", "b").first),
        text(results.filter(NSPredicate(format: "id > %d", 2)).first),
        "\(results.distinct(by: ["name"]).count)", "\(results.index(matching: "name == 'b'") ?? -1)",
        "\(results.index(matching: NSPredicate(format: "id == 2")) ?? -1)",
    ]
}

/// The same of maps.
private func firstNames<M: RealmKeyedCollection>(of map: M) -> [String] where M.Key == String {
    func text(_ value: M.Value?) -> String { (value.flatMap { $0 as? Spoon })?.name ?? "none" }
    let (low, high): (Int?, Int?) = (map.min(ofProperty: "id"), map.max(ofProperty: "id"))
    let (sum, average): (Int, Double?) = (map.sum(ofProperty: "id"), map.average(ofProperty: "id"))
    return [
        text(map.sorted(byKeyPath: "name", ascending: false).first), text(map.filter("name == %@", "b").first),
        text(map.sorted(by: [SortDescriptor(keyPath: "name")]).last), "\(map.distinct(by: ["name"]).count)",
        text(map.filter(NSPredicate(format: "id > %d", 2)).first), "\(low ?? -1)", "\(high ?? -1)", "\(sum)",
        "\(average ?? -1)",
    ]
}

private func count<V: RealmCollectionValue>(
    in map: Map<String, V>, _ condition: (Query<V>) -> Query<Bool>
) -> Int { map.where(condition).count }

/// Constraints on the elements by their older name.
extension RealmCollection where ElementType: Spoon {
    fileprivate var lastName: String? { last?.name }
}

/// Of mixed values, too, which are not `Comparable`.
private func bounds<C: RealmCollection>(_ elements: C) -> [C.Element?] where C.Element: MinMaxType {
    [elements.min(), elements.max()]
}
private func bounds<M: RealmKeyedCollection>(of map: M) -> [M.Value?] where M.Value: MinMaxType {
    [map.min(), map.max()]
}

/// A lazy sequence that generic code declares.
private func plusOne<C: RealmCollection>(_ numbers: C) -> LazyMapSequence<C.Elements, Int> where C.Element == Int {
    numbers.map { $0 + 1 }
}
private func beyondOne<C: RealmCollection>(_ numbers: C) -> LazyFilterSequence<C.Elements> where C.Element == Int {
    numbers.filter { $0 > 1 }
}

/// What the product RealmSwift adds for programs that use RealmSwift's collections with elements of any type.
@Suite(.timeLimit(.minutes(20))) struct GenericElementTests {
    private let realm: Realm
    private let spoons: Results<Spoon>

    init() throws {
        realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Spoon.self]))
        let realm = realm
        try realm.write {
            for (id, name) in ["c", "a", "b", nil, "a"].enumerated() {
                realm.create(Spoon.self, value: ["id": id, "name": name as Any, "sizes": [id, nil]] as [String: Any])
            }
        }
        spoons = realm.objects(Spoon.self)
    }

    @Test func elementsNeedNotBeKnownToBeObjects() {
        #expect(firstNames(spoons) == ["c", "c", "b", "none", "4", "2", "2"])
    }

    @Test func valuesOfMapsNeedNotBeKnownToBeObjects() throws {
        let map = spoons[0].byName
        try realm.write { for spoon in spoons.dropFirst() { map["\(spoon.id)"] = spoon } }
        #expect(firstNames(of: map) == ["b", "b", "b", "3", "none", "1", "4", "10", "2.5"])
        #expect(count(in: map) { $0.name == "a" } == 2 && spoons.lastName == "a")
        // An unmanaged map reads its objects one by one.
        let copy = Map<String, Spoon?>()
        for spoon in spoons { copy["\(spoon.id)"] = spoon }
        let (high, sum): (Int?, Int) = (copy.max(ofProperty: "id"), copy.sum(ofProperty: "id"))
        #expect(high == 4 && sum == 10)
    }

    @Test func selfNamesTheValuesThemselves() throws {
        try realm.write { spoons[0].weights.merge(["a": 3, "b": 1, "c": 3]) { $1 } }
        let (sizes, weights) = (spoons[2].sizes, spoons[0].weights)
        #expect(Array(sizes.sorted(byKeyPath: "self")) == [nil, 2])
        #expect(Array(sizes.sorted(byKeyPath: "self", ascending: false)) == [2, nil])
        #expect(Array(sizes.sorted(by: [SortDescriptor(keyPath: "self", ascending: false)])) == [2, nil])
        try realm.write { sizes.append(2) }
        #expect(Array(sizes.distinct(by: ["self"])) == [2, nil])
        #expect(Array(weights.sorted(byKeyPath: "self")) == [1, 3, 3] && weights.distinct(by: ["self"]).count == 2)
    }

    @Test func boundsAreThoseOfAnyMinMaxType() throws {
        try realm.write {
            spoons[0].mixed.append(objectsIn: [.string("x"), .none, .int(2)])
            spoons[0].weights.merge(["a": 3, "b": 1]) { $1 }
        }
        #expect(bounds(spoons[0].mixed) == [.int(2), .string("x")] && bounds(of: spoons[0].weights) == [1, 3])
        let numbers = List<Int>()
        numbers.append(objectsIn: [1, 2, 3])
        #expect(bounds(numbers) == [1, 3] && Array(plusOne(numbers)) == [2, 3, 4])
        #expect(Array(beyondOne(numbers)) == [2, 3])
    }

    /// A test of the application's stands in for Firn's tokens.
    @Test func aTokenCanBeReplaced() throws {
        final class Token: NotificationToken, @unchecked Sendable {
            private(set) var ends = 0
            override func invalidate() -> Bool {
                ends += 1
                return super.invalidate()
            }
        }
        let (token, plain) = (Token(), NotificationToken())
        #expect(token.invalidate() && !token.invalidate() && token.ends == 2)
        #expect(plain.invalidate() && !plain.invalidate() && plain == plain && plain != token)
        try realm.write(withoutNotifying: [Token()]) { spoons[0].name = "d" }
        #expect(spoons[0].name == "d")
    }

    @Test func valuesAreObjectsWhereAProgramDeclaresThem() {
        let names: [AnyObject] = spoons.value(forKey: "name")
        #expect(names.count == 5 && names[0] as? String == "c" && names[3] is NSNull)
        let sizes: [AnyObject] = spoons[1].sizes.value(forKey: "self")
        #expect(sizes.count == 2 && sizes[0] as? Int == 1 && sizes[1] is NSNull)
        let untyped = spoons.value(forKey: "name") as? [String?]
        #expect(untyped == ["c", "a", "b", nil, "a"])
    }

    /// `map` and `filter` of Swift read an element when it is asked for, and give arrays where those are declared.
    @Test func collectionsAreLazy() throws {
        var read = 0
        let names = spoons.map { spoon in
            read += 1
            return spoon.name ?? "-"
        }
        #expect(read == 0 && names[2] == "b" && read == 1)
        let first: [String] = spoons.map { $0.name ?? "-" }
        try realm.write { spoons[2].name = "z" }
        #expect(names[2] == "z" && first[2] == "b")
        let long: [Spoon] = spoons.filter { $0.id > 2 }
        #expect(long.map(\.id) == [3, 4] && spoons.compactMap(\.name).sorted() == ["a", "a", "c", "z"])
        #expect(spoons.map(\.id).reduce(0, +) == 10 && spoons[0].sizes.map { $0 ?? 7 }.last == 7)
    }

    @Test func whatElseProgramsName() {
        #expect(Spoon.sharedSchema()?.className == "Spoon" && Spoon.sharedSchema()?.primaryKeyProperty?.name == "id")
        #expect(Object.sharedSchema() == nil && DynamicObject.sharedSchema() == nil)
        let number = Decimal128(3)
        #expect(number.negate() == -3)
        var changed = Decimal128(4)
        changed.negate()
        #expect(changed == -4)
        #expect(Distance.radians(0.5)?.radians == 0.5)
        let average = spoons.average(of: \.id)
        #expect(average == 2.0)
    }
}

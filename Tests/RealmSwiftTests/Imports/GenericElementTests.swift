import RealmSwift
import Testing

class Spoon: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String?
    @Persisted var sizes: List<Int?>
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

import Firn
import Foundation
import Testing

private enum Size: Int, PersistableEnum { case small = 1, large = 2 }

@available(*, deprecated)
private class Boxed: Object, Codable {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var age: RealmProperty<Int?>
    @Persisted var weight: RealmOptional<Double>
    @Persisted var name: RealmProperty<String?>
    @Persisted var size: RealmProperty<Size?>
    @Persisted var anything: RealmProperty<AnyRealmValue>
    @Persisted var friend: Boxed?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    convenience init(_ id: Int, age: Int? = nil) {
        self.init()
        self.id = id
        self.age.value = age
    }
    required init() {}
    required init(from decoder: any Decoder) throws {
        super.init()
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(Int.self, forKey: .id)
        _age = try values.decode(Persisted<RealmProperty<Int?>>.self, forKey: .age)
        _weight = try values.decode(Persisted<RealmOptional<Double>>.self, forKey: .weight)
    }
    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(id, forKey: .id)
        try values.encode(age, forKey: .age)
        try values.encode(weight, forKey: .weight)
    }
    enum CodingKeys: CodingKey { case id, age, weight }
}

/// What `Boxed` becomes once the boxes are gone.
private class Unboxed: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var age: Int?
    @Persisted var weight: Double?
    @Persisted var name: String?
    @Persisted var size: Size?
    @Persisted var anything: AnyRealmValue
    @Persisted var friend: Unboxed?
    override class func _realmObjectName() -> String? { "Boxed" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The boxes of RealmSwift's earlier classes (R65).
@Suite(.timeLimit(.minutes(20))) struct RealmPropertyTests {
    @available(*, deprecated)
    @Test func aBoxHoldsAValueAndBelongsToTheRealmOnceItsObjectDoes() throws {
        let realm = try memoryRealm([Boxed.self])
        let dog = Boxed(1, age: 3)
        let (age, untouched) = (dog.age, Boxed(2))
        #expect(dog.age === age && dog.weight.value == nil && dog.anything.value == .none)
        dog.weight.value = 1.5
        dog.size.value = .large
        dog.anything.value = .object(Boxed(7, age: 70))
        let anything = dog.anything
        try realm.write {
            realm.add([dog, untouched])
            age.value = 4
            anything.value = AnyRealmValue.fromArray([.int(1), .object(Boxed(8))])
        }
        #expect(age.value == 4 && dog.age.value == 4 && dog["age"] as? Int == 4)
        #expect(dog.weight.value == 1.5 && dog.size.value == .large && dog["size"] as? Int == 2)
        #expect(realm.object(ofType: Boxed.self, forPrimaryKey: 7)?.age.value == 70)
        #expect(realm.objects(Boxed.self).count == 4)
        guard case .list(let list) = anything.value else { return #expect(Bool(false), "no list") }
        #expect(list.count == 2 && anything == dog.anything)
        #expect(untouched.age.value == nil && untouched.anything.value == .none)
        try realm.write {
            untouched.age.value = 9
            untouched.name.value = String(repeating: "long ", count: 100)
            dog.age.value = nil
            list.append(.int(5))
        }
        #expect(untouched.age.value == 9 && untouched.name.value?.count == 500 && age.value == nil)
        guard case .list(let longer) = dog.anything.value else { return #expect(Bool(false), "no list") }
        #expect(longer.count == 3)
    }

    @available(*, deprecated)
    @Test func assigningABoxCopiesItsValue() throws {
        let realm = try memoryRealm([Boxed.self])
        let (a, b) = (Boxed(1, age: 3), Boxed(2))
        b.age = a.age
        #expect(b.age.value == 3 && b.age !== a.age && b.age == a.age)
        b.age = RealmProperty(6)
        try realm.write { realm.add([a, b]) }
        try realm.write { a.age = b.age }
        #expect(a.age.value == 6)
        try realm.write { b.age.value = 7 }
        #expect(a.age.value == 6 && "\(b.age)" == "Optional(7)")
        try realm.write {
            a["age"] = 8; b["age"] = NSNull()
        }
        #expect(a.age.value == 8 && b.age.value == nil)
        let unmanaged = Boxed(value: ["id": 3, "age": 11, "weight": 2, "anything": "text"] as [String: Any])
        #expect(unmanaged.age.value == 11 && unmanaged.weight.value == 2 && unmanaged.anything.value == .string("text"))
        unmanaged["age"] = RealmProperty<Int?>(12)
        #expect(unmanaged.age.value == 12 && unmanaged["age"] as? Int == 12)
    }

    @available(*, deprecated)
    @Test func queriesSortsCopiesAndUpdatesKnowTheValue() throws {
        let realm = try memoryRealm([Boxed.self])
        try realm.write {
            for id in 0..<100 { realm.add(Boxed(id, age: id % 10 == 0 ? nil : id * 7 % 31)) }
        }
        let all = realm.objects(Boxed.self)
        let expected = (0..<100).filter { $0 % 10 != 0 && $0 * 7 % 31 > 20 }
        #expect(all.where { $0.age.value > 20 }.map(\.id) == expected)
        #expect(all.filter("age > 20").map(\.id) == expected)
        #expect(all.where { $0.age.value == nil }.count == 10)
        #expect(all.where { $0.friend.age.value == 3 }.isEmpty)
        #expect(all.sorted(byKeyPath: "age", ascending: false).first?.age.value == 30)
        #expect(all.max(ofProperty: "age") == 30 as Int?)
        let other = try memoryRealm([Boxed.self])
        try other.write {
            other.create(Boxed.self, value: all[11])
            other.add(Boxed(11, age: 99), update: .modified)
        }
        #expect(other.objects(Boxed.self).map { $0.age.value } == [99])
        try other.write { other.add(Boxed(11), update: .all) }
        #expect(other.objects(Boxed.self).map { $0.age.value } == [nil])
        let copy = Boxed(value: all[12])
        #expect(copy.age.value == 84 % 31 && copy.age !== all[12].age)
    }

    /// A box that was never read holds nil, and an update stores that.
    @available(*, deprecated)
    @Test(arguments: [Realm.UpdatePolicy.modified, .all]) func updatesKnowBoxesThatWereNeverRead(
        policy: Realm.UpdatePolicy
    ) throws {
        let realm = try memoryRealm([Boxed.self])
        let full = Boxed(1, age: 3)
        (full.weight.value, full.name.value, full.size.value) = (2, "text", .large)
        full.anything.value = .int(5)
        let untouched = Boxed()
        untouched.id = 1
        try realm.write {
            realm.add(full)
            realm.add(untouched, update: policy)
        }
        let found = realm.objects(Boxed.self)[0]
        #expect(found.age.value == nil && found.weight.value == nil && found.name.value == nil)
        #expect(found.size.value == nil && found.anything.value == .none && untouched.anything.value == .none)
    }

    @available(*, deprecated)
    @Test func aFrozenBoxKeepsItsValueAndACancelledOneIsGone() throws {
        let realm = try memoryRealm([Boxed.self])
        let dog = Boxed(1, age: 3)
        try realm.write { realm.add(dog) }
        let frozen = dog.freeze()
        let box = frozen.age
        try realm.write { dog.age.value = 4 }
        #expect(box.value == 3 && frozen.age.value == 3 && dog.age.value == 4)
        let kept = dog.age
        realm.beginWrite()
        kept.value = 5
        #expect(dog.age.value == 5)
        realm.cancelWrite()
        #expect(kept.value == 4 && dog.age.value == 4)
    }

    @available(*, deprecated)
    @Test func theStoreHoldsWhatAClassWithoutBoxesHolds() throws {
        let name = "boxed \(UUID())"
        let realm = try memoryRealm([Boxed.self], name)
        try realm.write {
            let dog = realm.create(Boxed.self, value: ["id": 1, "age": 3, "size": Size.large, "anything": 2.5])
            dog.friend = dog
        }
        let plain = try memoryRealm([Unboxed.self], name)
        let dog = try #require(plain.objects(Unboxed.self).first)
        #expect(dog.age == 3 && dog.size == .large && dog.anything == .double(2.5) && dog.weight == nil)
        #expect(plain.schema["Boxed"]?.properties == realm.schema["Boxed"]?.properties)
    }

    @available(*, deprecated)
    @Test func boxesAreCoded() throws {
        let dog = try JSONDecoder().decode(Boxed.self, from: Data(#"{"id": 1, "age": 3}"#.utf8))
        #expect(dog.age.value == 3 && dog.weight.value == nil)
        let null = try JSONDecoder().decode(Boxed.self, from: Data(#"{"id": 1, "age": null}"#.utf8))
        #expect(null.age.value == nil)
        let realm = try memoryRealm([Boxed.self])
        try realm.write { realm.add(dog) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(dog), as: UTF8.self) == #"{"age":3,"id":1,"weight":null}"#)
    }

    @available(*, deprecated)
    @MainActor @Test func observersAreToldTheValues() async throws {
        let realm = try memoryRealm([Boxed.self])
        let dog = Boxed(1, age: 3)
        try realm.write { realm.add(dog) }
        var seen: [[String?]] = []
        let token = dog.observe(keyPaths: [\Boxed.age]) { (change: ObjectChange<Boxed>) in
            guard case .change(_, let properties) = change else { return }
            for property in properties {
                seen.append([property.name, property.newValue.map { "\($0)" }])
            }
        }
        try realm.write {
            dog.age.value = 4; dog.name.value = "Rex"
        }
        await wait { !seen.isEmpty }
        #expect(seen == [["age", "4"]])
        token.invalidate()
    }
}

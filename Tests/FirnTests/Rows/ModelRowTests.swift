import Firn
import FirnTestSupport
import Foundation
import Testing

private class Plain: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text = "given"
    @Persisted var number: Int?
    @Persisted var stamp = UUID()
    @Persisted var dog: Dog?
    @Persisted var dogs: List<Dog>
    @Persisted var names: MutableSet<String>
    @Persisted var prices: Map<String, Double>
    var notStored = 1
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Customised: Object {
    @Persisted var code: String?
    @Persisted var size = 0
    @Persisted var born = Date(timeIntervalSinceReferenceDate: 0)
    @Persisted var secret = "s"
    @Persisted var needed: String?
    @Persisted var public1 = 1
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func primaryKey() -> String? { "code" }
    override class func indexedProperties() -> [String] { ["size", "born"] }
    override class func ignoredProperties() -> [String] { ["secret"] }
    override class func requiredProperties() -> [String] { ["needed"] }
    override class func defaultPropertyValues() -> [AnyHashable: Any]? { ["size": 7, "needed": "default"] }
    override class func propertiesMapping() -> [String: String] { ["public1": "stored_1"] }
}

private class Renamed: Object {
    @Persisted var value = 0
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func _realmObjectName() -> String? { "OtherName" }
}

private class Special: Plain {
    @Persisted var extra = "more"
}

private enum Level: Int, PersistableEnum { case low = 1, high = 7 }

private class Graded: Object {
    @Persisted(primaryKey: true) var level: Level
    @Persisted(indexed: true) var mood: Mood?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class MaybeGraded: Object {
    @Persisted(primaryKey: true) var mood: Mood?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The rows of the reference pages about classes, their properties and their customisation.
@Suite(.timeLimit(.minutes(20))) struct ModelRowTests {
    private let types: [ObjectBase.Type] = [
        Plain.self, Special.self, Customised.self, Renamed.self, Dog.self, Person.self,
    ]

    private func realm() throws -> Realm { try memoryRealm(types) }

    /// The base class is one that users subclass, and what it conforms to (S1, S2); properties are declared as ordinary
    /// ones with a wrapper (S3).
    @Test func classesAreDeclared() throws {
        let realm = try realm()
        let plain = Plain()
        #expect(plain as Any is ThreadConfined && plain as Any is ObjectBase)
        func isElement<T: _RealmCollectionValueInsideOptional>(_: T.Type) -> Bool { true }
        #expect(isElement(Plain.self))
        try realm.write { realm.add(plain) }
        #expect(plain.text == "given" && plain.number == nil && plain.dog == nil && plain.dogs.isEmpty)
        #expect(Set([plain]).contains(plain) && plain.description.hasPrefix("Plain {"))
    }

    /// Changing a list marks its property as changed, without values (S7), also if nobody assigns it.
    @MainActor @Test func aChangedListIsAChangeOfItsObject() async throws {
        let realm = try realm()
        let plain = Plain()
        try realm.write { realm.add(plain) }
        var seen: [PropertyChange] = []
        let token = plain.observe { (change: ObjectChange<Plain>) in
            if case .change(_, let changes) = change { seen += changes }
        }
        try realm.write { plain.dogs.append(Dog(1, "Rex")) }
        await waitForDeliveries(of: realm)
        #expect(seen.map(\.name) == ["dogs"] && seen[0].oldValue == nil && seen[0].newValue == nil)
        token.invalidate()
    }

    /// Whether an object is gone is observed as its deletion (S9); a block may write, and then sees the newest state
    /// (S11).
    @MainActor @Test func observersSeeDeletionsAndMayWrite() async throws {
        let realm = try realm()
        let plain = Plain()
        try realm.write { realm.add(plain) }
        var isDeleted = false
        let tokens = [
            plain.observe { (change: ObjectChange<Plain>) in
                switch change {
                case .change(let plain, let changes) where changes.contains { $0.name == "text" }:
                    do { try plain.realm?.write { plain.number = 5 } } catch { Issue.record(error) }
                case .deleted: isDeleted = true
                default: break
                }
            }
        ]
        try realm.write { plain.text = "new" }
        await waitForDeliveries(of: realm)
        #expect(plain.number == 5 && !isDeleted)
        try realm.write { realm.delete(plain) }
        await waitForDeliveries(of: realm)
        #expect(isDeleted)
        tokens.forEach { $0.invalidate() }
    }

    /// `className()` is the class's own name, and `_realmObjectName()` gives another one (S18, R70).
    @Test func classesHaveNames() throws {
        #expect(Plain.className() == "Plain" && Renamed.className() == "OtherName")
        let realm = try realm()
        #expect(realm.schema["OtherName"] != nil && realm.schema["Renamed"] == nil)
        #expect(!Plain.shouldIncludeInDefaultSchema() && Dog.shouldIncludeInDefaultSchema())
    }

    /// What an object says of itself (S41 to S45).
    @Test func objectsDescribeTheirState() throws {
        let realm = try realm()
        let plain = Plain(value: ["id": 3])
        #expect(plain.realm == nil && !plain.isInvalidated && !plain.isFrozen)
        #expect(
            plain.objectSchema.properties.map(\.name) == [
                "id", "text", "number", "stamp", "dog", "dogs", "names", "prices",
            ])
        try realm.write { realm.add(plain) }
        #expect(plain.realm == realm && plain.freeze().isFrozen && !plain.isFrozen)
        #expect(plain.description.contains("\tid = 3;\n"))
        realm.beginWrite()
        let cancelled = realm.create(Plain.self, value: [4])
        realm.cancelWrite()
        #expect(cancelled.isInvalidated && cancelled.description == "Plain [invalid object]")
        try realm.write { realm.delete(plain) }
        #expect(plain.isInvalidated && plain.realm == realm)
    }

    /// Customisation by override (S46, S49 to S53, S56, S57).
    @Test func overridesCustomiseAClass() throws {
        let realm = try realm()
        let schema = try #require(realm.schema["Customised"])
        #expect(schema.primaryKeyProperty?.name == "code" && schema["code"]?.isIndexed == true)
        #expect(schema["size"]?.isIndexed == true && schema["born"]?.isIndexed == true && schema["secret"] == nil)
        #expect(schema["needed"]?.isOptional == false && schema["public1"]?.columnName == "stored_1")
        try realm.write {
            // The default values apply to `create` (S25), before the declared ones.
            let made = realm.create(Customised.self, value: ["code": "a"])
            #expect(made.size == 7 && made.needed == "default" && made.secret == "s")
            #expect(throws: Realm.Error.self) { try realm.create(Customised.self, validating: ["code": "a"]) }
            #expect(throws: Realm.Error.self) {
                try realm.create(Customised.self, validating: ["code": "b", "needed": NSNull()] as [String: Any])
            }
        }
        #expect(realm.object(ofType: Customised.self, forPrimaryKey: "a")?["public1"] as? Int == 1)
        #expect(realm.object(ofType: Customised.self, forPrimaryKey: "a")?["stored_1"] as? Int == 1)
        #expect(realm.objects(Customised.self).filter("public1 == 1").count == 1)
    }

    /// A subclass has the properties of its superclass first, and a table of its own (R67, R71).
    @Test func aSubclassIsAClassOfItsOwn() throws {
        let realm = try realm()
        try realm.write { realm.create(Special.self, value: [1, "text"]) }
        #expect(realm.schema["Special"]?.properties.first?.name == "id" && realm.schema["Special"]?["extra"] != nil)
        #expect(realm.objects(Special.self).count == 1 && realm.objects(Plain.self).isEmpty)
    }

    /// Backlinks name a class and its property (S55, R55, R56).
    @Test func linksAndBacklinks() throws {
        let realm = try realm()
        let dog = Dog(1, "Rex")
        let plain = Plain(value: ["id": 1, "dog": dog])
        let person = Person(value: ["name": "Ann", "dogs": [dog, dog]] as [String: Any])
        try realm.write {
            realm.add([plain]); realm.add(person)
        }
        // One entry for each link (SEMANTICS 40), live, read only, observed and queried as results.
        #expect(dog.keepers.count == 2 && dog.keepers.map(\.name) == ["Ann", "Ann"])
        #expect(dog.keepers.where { $0.name == "Ann" }.count == 2 && dog.keepers.filter("age == nil").count == 2)
        #expect(realm.objects(Dog.self).where { $0.keepers.name == "Ann" }.count == 1)
        try realm.write { person.dogs.remove(at: 0) }
        #expect(dog.keepers.count == 1)
        // They follow from links, so a value for them is passed over.
        #expect(try Dog(validating: ["id": 7, "keepers": [person]] as [String: Any]).keepers.isEmpty)
    }

    /// Values of Foundation, identities and enums as properties (R61, R62, R63).
    @Test func valuesAreProperties() throws {
        let realm = try memoryRealm()
        let everything = Everything()
        try realm.write { realm.add(everything) }
        #expect(everything.objectId == ObjectId("0123456789abcdef01234567") && everything.mood == .wild)
        #expect(
            everything.uuid == UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF") && everything.data.count == 3)
        #expect(everything.date == Date(timeIntervalSinceReferenceDate: 700_000_000.123456))
        let ids = (0..<1_000).map { _ in ObjectId.generate() }
        #expect(Set(ids).count == 1_000 && ids == ids.sorted() && ids[0].stringValue.count == 24)
        #expect(abs(ids[0].timestamp.timeIntervalSinceNow) < 3_600)
    }

    /// An enum is a primary key, also an optional one, and has an index (R63).
    @Test func enumsAreKeysAndIndexed() throws {
        let realm = try memoryRealm([Graded.self, MaybeGraded.self])
        let schema = try #require(realm.schema["Graded"])
        #expect(schema.primaryKeyProperty?.name == "level" && schema.primaryKeyProperty?.type == .int)
        #expect(schema["mood"]?.isIndexed == true && schema["mood"]?.type == .string)
        try realm.write {
            realm.create(Graded.self, value: ["level": Level.low, "mood": Mood.wild])
            realm.create(Graded.self, value: ["level": 7])
            #expect(throws: Realm.Error.invalidInput) {
                try realm.create(Graded.self, validating: ["level": Level.low])
            }
            realm.create(Graded.self, value: ["level": Level.high, "mood": Mood.calm], update: .modified)
            realm.add([MaybeGraded(), MaybeGraded(value: [Mood.wild])])
        }
        let all = realm.objects(Graded.self)
        #expect(realm.object(ofType: Graded.self, forPrimaryKey: Level.high)?.mood == .calm)
        #expect(realm.object(ofType: Graded.self, forPrimaryKey: 1)?.level == .low && all.count == 2)
        #expect(realm.object(ofType: MaybeGraded.self, forPrimaryKey: Mood.wild)?.mood == .wild)
        #expect(realm.object(ofType: MaybeGraded.self, forPrimaryKey: Mood?.none) != nil)
        #expect(realm.object(ofType: MaybeGraded.self, forPrimaryKey: Mood.calm) == nil)
        #expect(all.where { $0.mood == .wild }.map(\.level) == [.low] && all.filter("mood == 'calm'").count == 1)
        #expect(all.where { $0.level == .high }.map(\.mood) == [.calm] && all.where { $0.mood == nil }.isEmpty)
        try realm.write { all[0].mood = nil }
        #expect(all.where { $0.mood == nil }.map(\.level) == [.low] && all.where { $0.mood == .wild }.isEmpty)
    }
}

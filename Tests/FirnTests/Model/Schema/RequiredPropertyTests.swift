import Firn
import Foundation
import Testing

class Strict: Object {
    @Persisted var id: Int?
    @Persisted var name: String?
    @Persisted var age: Int? = 3
    @Persisted var height: Double? = 1.5
    @Persisted var blob: Data? = Data([1])
    @Persisted var mood: Mood? = .wild
    @Persisted var flag: Bool? = false
    @Persisted var free: Int?
    @Persisted var friend: Strict?
    override class func primaryKey() -> String? { "id" }
    override class func indexedProperties() -> [String] { ["age"] }
    override class func requiredProperties() -> [String] {
        ["id", "name", "age", "height", "blob", "mood", "flag"]
    }
    override class func _realmObjectName() -> String? { "Strict" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The same class before its properties were required.
class StrictBefore: Object {
    @Persisted var id: Int?
    @Persisted var name: String?
    @Persisted var age: Int?
    @Persisted var height: Double?
    @Persisted var blob: Data?
    @Persisted var mood: Mood?
    @Persisted var flag: Bool?
    @Persisted var free: Int?
    @Persisted var friend: StrictBefore?
    override class func primaryKey() -> String? { "id" }
    override class func indexedProperties() -> [String] { ["age"] }
    override class func _realmObjectName() -> String? { "Strict" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class RequiredLink: Object {
    @Persisted var friend: RequiredLink?
    @Persisted var texts: List<String?>
    override class func requiredProperties() -> [String] { ["friend", "texts"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// An optional property that `requiredProperties()` names may not be nil (SPEC S53). A value without it is refused
/// (SPEC S16, S23, S30).
@Suite(.timeLimit(.minutes(20))) struct RequiredPropertyTests {
    private func realm() throws -> Realm { try memoryRealm([Strict.self]) }

    @Test func theSchemaShowsARequiredPropertyAsNotOptional() throws {
        let schema = try #require(try realm().schema["Strict"])
        #expect(schema["name"]?.isOptional == false && schema["age"]?.isOptional == false)
        #expect(schema["free"]?.isOptional == true && Strict().objectSchema == schema)
    }

    @Test func requiredPropertiesAreReadWrittenAndFound() throws {
        let realm = try realm()
        let object = Strict(value: ["id": 1, "name": "Ann"])
        try realm.write { realm.add(object) }
        let read = try #require(realm.object(ofType: Strict.self, forPrimaryKey: 1))
        for one in [object, read, read.freeze()] {
            #expect(one.id == 1 && one.name == "Ann" && one.age == 3 && one.height == 1.5 && one.flag == false)
            #expect(one.blob == Data([1]) && one.mood == .wild && one.free == nil && one["name"] as? String == "Ann")
        }
        // There are more rows than a leaf has, so that a write to the wrong row would show.
        try realm.write {
            for id in 2..<700 { realm.create(Strict.self, value: ["id": id, "name": "n\(id)", "age": id]) }
            for one in realm.objects(Strict.self) {
                one.age = one.id! * 2
                one.height = Double(one.id!)
                one.flag = one.id! % 2 == 0
                one.mood = one.id! % 3 == 0 ? .calm : .wild
                one.blob = Data(count: one.id! % 5)
                one.name = "name \(one.id!)"
            }
        }
        for one in realm.objects(Strict.self) {
            let id = try #require(one.id)
            #expect(one.age == id * 2 && one.height == Double(id) && one.flag == (id % 2 == 0))
            #expect(one.mood == (id % 3 == 0 ? .calm : .wild) && one.blob?.count == id % 5 && one.name == "name \(id)")
        }
        let all = realm.objects(Strict.self)
        #expect(all.where { $0.age == 100 }.map(\.id) == [50] && all.where { $0.name == "name 9" }.count == 1)
        #expect(all.where { $0.age == nil }.count == 0 && all.where { $0.name != nil }.count == 699)
        #expect(all.filter("age == nil OR name == nil").count == 0)
        #expect(all.sorted(byKeyPath: "age", ascending: false)[0].id == 699)
        #expect(realm.object(ofType: Strict.self, forPrimaryKey: Int?.none) == nil)
    }

    @Test func anUnmanagedObjectMayBeIncomplete() throws {
        let object = Strict()
        #expect(object.name == nil)
        object.age = nil
        object["height"] = nil
        #expect(object.age == nil && object.height == nil)
    }

    @Test func nilForARequiredPropertyIsRefusedWithItsNameAndNothingIsChanged() throws {
        let realm = try realm()
        for value: [String: Any] in [
            [:], ["id": 1], ["id": 1, "name": NSNull()], ["id": 1, "name": "x", "age": NSNull()],
        ] {
            let error = try #require(throws: Realm.Error.self) { _ = try Strict(validating: value) }
            #expect(error.code == .invalidInput && error.message.contains("required"), "\(error)")
        }
        try realm.write {
            realm.add(Strict(value: ["id": 1, "name": "one"]))
            for value: [String: Any] in [
                ["id": 2], ["id": 2, "name": NSNull()], ["name": "no key"],
                ["id": 2, "name": "x", "friend": ["id": 3]],
                ["id": 2, "name": "x", "friend": ["id": 3, "name": "y", "flag": NSNull()]],
            ] {
                for policy in [Realm.UpdatePolicy.error, .modified, .all] {
                    let error = try #require(throws: Realm.Error.self) {
                        try realm.create(Strict.self, validating: value, update: policy)
                    }
                    #expect(error.code == .invalidInput && error.message.contains("required"), "\(error)")
                    #expect(realm.objects(Strict.self).count == 1)
                }
            }
            let incomplete = Strict()
            incomplete.id = 5
            let holder = Strict(value: ["id": 6, "name": "holder"])
            holder.friend = incomplete
            for object in [incomplete, holder] {
                for policy in [Realm.UpdatePolicy.error, .modified, .all] {
                    let error = try #require(throws: Realm.Error.self) {
                        try realm.add(validating: object, update: policy)
                    }
                    #expect(error.code == .invalidInput && error.message.contains("name"), "\(error)")
                    #expect(object.realm == nil && realm.objects(Strict.self).count == 1)
                }
            }
            // An update names what changes; all other properties keep their values.
            try realm.create(Strict.self, validating: ["id": 1, "age": 9], update: .modified)
            #expect(throws: Realm.Error.invalidInput) {
                try realm.create(Strict.self, validating: ["id": 1, "name": NSNull()], update: .modified)
            }
        }
        let one = realm.objects(Strict.self)[0]
        #expect(realm.objects(Strict.self).count == 1 && one.name == "one" && one.age == 9)
    }

    @Test(arguments: ["name", "age", "height", "blob", "mood", "flag"])
    func settingARequiredPropertyToNilStops(name: String) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [name] in
            let realm = try memoryRealm([Strict.self])
            let object = Strict(value: ["id": 1, "name": "one"])
            try realm.write {
                realm.add(object)
                switch name {
                case "name": object.name = nil
                case "age": object.age = nil
                case "height": object.height = nil
                case "blob": object.blob = nil
                case "mood": object.mood = nil
                default: object["flag"] = nil
                }
            }
        }
        expectMessage(result, "Firn: ", "Strict.\(name)", "requiredProperties()")
    }

    @Test func addingAnObjectThatLacksARequiredPropertyStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm([Strict.self])
            try realm.write { realm.add(Strict()) }
        }
        expectMessage(result, "Firn: ", "\"id\"", "required")
    }

    /// Making a property required is a schema mismatch without a higher version; with one, nulls become blank values
    /// (SEMANTICS 80).
    @Test func aStoreWithNilsNeedsAHigherVersionAndTurnsThemIntoBlanks() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).firn")
        defer { try? FileManager.default.removeItem(at: url) }
        func before() throws -> [String?] {
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [StrictBefore.self]))
            if realm.isEmpty {
                try realm.write {
                    for id in 0..<600 {
                        let value: [String: Any] = id % 2 == 0 ? ["id": id] : ["id": id, "name": "n\(id)", "age": id]
                        realm.create(StrictBefore.self, value: value)
                    }
                }
            }
            return realm.objects(StrictBefore.self).map(\.name)
        }
        let names = try before()
        let error = try #require(throws: Realm.Error.self) {
            _ = try Realm(configuration: .init(fileURL: url, objectTypes: [Strict.self]))
        }
        #expect(error.code == .schemaMismatch, "\(error)")
        #expect(error.message.contains("Property \"Strict.name\" has been made required."), "\(error)")
        #expect(try before() == names)
        let realm = try Realm(configuration: .init(fileURL: url, schemaVersion: 1, objectTypes: [Strict.self]))
        for object in realm.objects(Strict.self) {
            let id = try #require(object.id)
            #expect(object.name == (id % 2 == 0 ? "" : "n\(id)") && object.age == (id % 2 == 0 ? 0 : id))
            #expect(object.height == 0 && object.blob == Data() && object.flag == false && object.free == nil)
        }
        #expect(realm.objects(Strict.self).where { $0.age == 0 }.count == 300)
    }

    @Test func linksAndListsCannotBeRequired() throws {
        let error = try #require(throws: Realm.Error.self) { _ = try memoryRealm([RequiredLink.self]) }
        #expect(error.code == .schemaMismatch)
        #expect(
            error.message.contains("RequiredLink.friend") && error.message.contains("RequiredLink.texts"), "\(error)")
    }
}

import Firn
import FirnTestSupport
import Foundation

// Forms of the classes Owner, Dog and Collar, which one store has in turn.

class OwnerV1: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var firstName = ""
    @Persisted var lastName = ""
    @Persisted var dogs: List<DogV1>
    @Persisted var favourite: DogV1?
    override class func _realmObjectName() -> String? { "Owner" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class DogV1: Object {
    @Persisted var title = ""
    @Persisted(indexed: true) var code: String?
    @Persisted var age: Int8
    @Persisted var weight: Double?
    @Persisted var tags: List<String>
    @Persisted var scores: MutableSet<Int>
    @Persisted var notes: Map<String, String?>
    @Persisted var friends: Map<String, DogV1?>
    @Persisted var rivals: MutableSet<DogV1>
    @Persisted var any: AnyRealmValue
    override class func _realmObjectName() -> String? { "Dog" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class CollarV1: Object {
    @Persisted var colour = ""
    @Persisted var dog: DogV1?
    override class func _realmObjectName() -> String? { "Collar" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class OwnerV2: Object {
    @Persisted(primaryKey: true) var key: Int
    @Persisted var fullName = ""
    @Persisted var pack: List<DogV2>
    @Persisted var first: DogV2?
    override class func _realmObjectName() -> String? { "Owner" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class DogV2: Object {
    @Persisted(indexed: true) var name = "unnamed"
    @Persisted var code: String
    @Persisted var age: Int
    @Persisted var weight: Double?
    @Persisted var any: AnyRealmValue
    @Persisted(originProperty: "pack") var owners: LinkingObjects<OwnerV2>
    override class func _realmObjectName() -> String? { "Dog" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A store in a folder of its own, which is filled with the first form of the classes.
struct MigratingStore {
    let folder = TemporaryFolder()
    var url: URL { URL(filePath: folder.path + "/m.firn") }

    static let first: [ObjectBase.Type] = [OwnerV1.self, DogV1.self, CollarV1.self]
    static let second: [ObjectBase.Type] = [OwnerV2.self, DogV2.self]

    func configuration(
        _ types: [ObjectBase.Type], version: UInt64, block: MigrationBlock? = nil
    ) -> Realm.Configuration {
        .init(fileURL: url, schemaVersion: version, migrationBlock: block, objectTypes: types)
    }

    func open(_ types: [ObjectBase.Type], version: UInt64, block: MigrationBlock? = nil) throws -> Realm {
        try Realm(configuration: configuration(types, version: version, block: block))
    }

    /// Three dogs, of which the first two are in the pack of owner 7, and a collar.
    func fill() throws {
        let realm = try open(Self.first, version: 1)
        try realm.write {
            let dogs = ["Rex", "Ida", "Max"].enumerated().map { number, title in
                realm.create(
                    DogV1.self,
                    value: [
                        "title": title, "code": number == 2 ? nil : "c\(number)", "age": number + 3, "weight": 1.5,
                        "tags": ["a", "b\(number)"], "scores": [3, 1], "notes": ["k": "v", "n": nil],
                        "any": number == 0 ? "text" : nil,
                    ] as [String: Any?])
            }
            dogs[0].friends["best"] = dogs[1]
            dogs[0].rivals.insert(dogs[2])
            dogs[1].any = .object(dogs[2])
            realm.create(
                OwnerV1.self,
                value: [
                    "id": 7, "firstName": "Ann", "lastName": "Lee", "dogs": [dogs[0], dogs[1]], "favourite": dogs[1],
                ] as [String: Any])
            realm.create(CollarV1.self, value: ["colour": "red", "dog": dogs[0]] as [String: Any])
        }
    }
}

/// What a migration block notes, which runs on one thread.
final class MigrationNotes: @unchecked Sendable {
    var lines: [String] = []
    func note(_ line: String) { lines.append(line) }
}

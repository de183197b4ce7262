import Firn
import FirnTestSupport
import Foundation
import Testing

/// Renaming properties in a migration (R81, SEMANTICS 83).
@Suite(.timeLimit(.minutes(20))) struct RenamingTests {
    private let store = MigratingStore()

    @Test func aRenamedPropertyKeepsItsValuesItsIndexAndItsKey() throws {
        try store.fill()
        let notes = MigrationNotes()
        let realm = try store.open(MigratingStore.second, version: 2) { migration, _ in
            migration.renameProperty(onType: "Owner", from: "id", to: "key")
            migration.renameProperty(onType: "Owner", from: "dogs", to: "pack")
            migration.renameProperty(onType: "Owner", from: "favourite", to: "first")
            migration.renameProperty(onType: "Dog", from: "title", to: "name")
            migration.enumerateObjects(ofType: "Dog") { old, new in notes.note("\(old!["title"]!) \(new!["name"]!)") }
        }
        #expect(notes.lines == ["Rex Rex", "Ida Ida", "Max Max"])
        let owner = try #require(realm.object(ofType: OwnerV2.self, forPrimaryKey: 7))
        #expect(owner.pack.map(\.name) == ["Rex", "Ida"] && owner.first?.name == "Ida")
        #expect(realm.objects(DogV2.self).where { $0.name == "Ida" }.count == 1)
        #expect(realm.objects(DogV2.self).first?.owners.map(\.key) == [7])
    }

    @Test func aPropertyIsRenamedStepByStep() throws {
        try store.fill()
        class LastDog: Object {
            @Persisted var label: String?
            @Persisted var number: Int8
            override class func _realmObjectName() -> String? { "Dog" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
            override class func propertiesMapping() -> [String: String] { ["label": "stored_label"] }
        }
        let realm = try store.open([LastDog.self], version: 4) { migration, old in
            if old < 2 { migration.renameProperty(onType: "Dog", from: "code", to: "sign") }
            if old < 3 { migration.renameProperty(onType: "Dog", from: "sign", to: "label") }
            if old < 4 { migration.renameProperty(onType: "Dog", from: "age", to: "number") }
        }
        #expect(realm.objects(LastDog.self).map { $0.label ?? "nil" } == ["c0", "c1", "nil"])
        #expect(realm.objects(LastDog.self).map(\.number) == [3, 4, 5])
        #expect(realm.schema["Dog"]?.properties.count == 2)
    }

    @Test func nilBecomesABlankValueInAPropertyThatIsNotOptional() throws {
        try store.fill()
        class StrictDog: Object {
            @Persisted(indexed: true) var sign: String
            @Persisted var heaviness: Double
            override class func _realmObjectName() -> String? { "Dog" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try store.open([StrictDog.self], version: 2) { migration, _ in
            migration.renameProperty(onType: "Dog", from: "code", to: "sign")
            migration.renameProperty(onType: "Dog", from: "weight", to: "heaviness")
        }
        #expect(realm.objects(StrictDog.self).map(\.sign) == ["c0", "c1", ""])
        #expect(realm.objects(StrictDog.self).where { $0.sign == "" }.count == 1)
        #expect(realm.objects(StrictDog.self).map(\.heaviness) == [1.5, 1.5, 1.5])
    }

    @Test func aNameThatTheClassLacksFails() throws {
        try store.fill()
        let error = try #require(throws: Realm.Error.self) {
            _ = try store.open(MigratingStore.second, version: 2) { migration, _ in
                migration.renameProperty(onType: "Dog", from: "title", to: "label")
                migration.renameProperty(onType: "Dog", from: "label", to: "nmae")
            }
        }
        #expect(error.code == .schemaMismatch && error.message.contains("\"Dog.label\" was renamed to \"nmae\""))
        #expect(
            try store.open(MigratingStore.first, version: 1).objects(DogV1.self).map(\.title) == ["Rex", "Ida", "Max"])
    }

    @Test func historyIsSeenThroughTheNewName() throws {
        var configuration = store.configuration(MigratingStore.first, version: 1)
        configuration.historyRetention = .everything
        let kept = try Realm(configuration: configuration).versions.count
        try store.fill()
        configuration.schemaVersion = 2
        configuration.objectTypes = MigratingStore.second
        configuration.migrationBlock = { migration, _ in
            migration.renameProperty(onType: "Dog", from: "title", to: "name")
            migration.enumerateObjects(ofType: "Dog") { old, new in new?["name"] = "new \(old!["title"]!)" }
        }
        let realm = try Realm(configuration: configuration)
        #expect(realm.objects(DogV2.self).map(\.name) == ["new Rex", "new Ida", "new Max"])
        let versions = realm.versions
        #expect(versions.count > kept)
        let before = try realm.asOf(version: versions[versions.count - 2].number)
        #expect(before.objects(DogV2.self).map(\.name) == ["Rex", "Ida", "Max"])
    }

    // MARK: What stops the program

    @Test(arguments: [
        ("Nobody", "a", "b", "the store had no class \"Nobody\""),
        ("Collar", "colour", "b", "not among the realm's classes any more"),
        ("Dog", "weight", "name", "the class still has the property \"Dog.weight\""),
        ("Dog", "nothing", "name", "the store has no property \"Dog.nothing\""),
        ("Dog", "tags", "name", "is of the type list of string, and \"Dog.name\" of the type string"),
        ("Dog", "title", "title", "the new name is the old one"),
        ("Dog", "title", String(repeating: "x", count: 1000), "has not 1 to"),
        ("Owner", "favourite", "key", "is of the type link to Dog, and \"Owner.key\" of the type int"),
    ])
    func whatCanNotBeRenamed(_ type: String, from: String, to: String, message: String) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [type, from, to] in
            let store = MigratingStore()
            try store.fill()
            _ = try store.open(MigratingStore.second, version: 2) { migration, _ in
                migration.renameProperty(onType: type, from: from, to: to)
            }
        }
        expectMessage(result, "renameProperty(onType: \"\(type)\"", message)
    }

    @Test func renamingAfterCreating() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let store = MigratingStore()
            try store.fill()
            _ = try store.open(MigratingStore.second, version: 2) { migration, _ in
                migration.create("Owner", value: ["key": 1])
                migration.renameProperty(onType: "Owner", from: "id", to: "key")
            }
        }
        expectMessage(result, "has created objects of the class already")
    }

    @Test func renamingWhileEnumerating() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let store = MigratingStore()
            try store.fill()
            _ = try store.open(MigratingStore.second, version: 2) { migration, _ in
                migration.enumerateObjects(ofType: "Dog") { _, _ in
                    migration.renameProperty(onType: "Dog", from: "title", to: "name")
                }
            }
        }
        expectMessage(result, "it can't be called in enumerateObjects")
    }
}

import Firn
import FirnTestSupport
import Foundation
import Testing

/// Migration blocks (R26, R80 to R83; SEMANTICS 80 to 83).
@Suite(.timeLimit(.minutes(20))) struct MigrationTests {
    private let store = MigratingStore()
    private let notes = MigrationNotes()

    // MARK: When it runs

    @Test func theBlockRunsOnceForAHigherVersionAndNotForANewStore() throws {
        let notes = notes
        let block: MigrationBlock = { notes.note("from \($1)") }
        _ = try store.open(MigratingStore.first, version: 1, block: block)
        _ = try store.open(MigratingStore.first, version: 1, block: block)
        #expect(notes.lines.isEmpty)
        _ = try store.open(MigratingStore.first, version: 3, block: block)
        #expect(notes.lines == ["from 1"])
        _ = try store.open(MigratingStore.first, version: 3, block: block)
        #expect(try notes.lines == ["from 1"] && schemaVersionAtURL(store.url) == 3)
        let error = try #require(throws: Realm.Error.self) {
            _ = try store.open(MigratingStore.first, version: 2, block: block)
        }
        #expect(error.code == .schemaMismatch && notes.lines.count == 1)
    }

    @Test func everythingIsOneCommit() throws {
        try store.fill()
        var configuration = store.configuration(MigratingStore.first, version: 1)
        configuration.historyRetention = .everything
        let before = try Realm(configuration: configuration).versions.last?.number
        configuration.schemaVersion = 2
        configuration.migrationBlock = { migration, _ in
            migration.enumerateObjects(ofType: "Dog") { _, new in new?["title"] = "x" }
            migration.create("Collar", value: ["colour": "blue"])
        }
        let realm = try Realm(configuration: configuration)
        #expect(realm.versions.last?.number == before.map { $0 + 1 })
        #expect(realm.objects(DogV1.self).map(\.title) == ["x", "x", "x"])
        #expect(realm.objects(CollarV1.self).map(\.colour) == ["red", "blue"])
    }

    @Test func aBlockNeedsTheStoreForItself() throws {
        let notes = notes
        let open = try store.open(MigratingStore.first, version: 1)
        let error = try #require(throws: Realm.Error.self) {
            _ = try store.open(MigratingStore.first, version: 2) { _, _ in notes.note("called") }
        }
        #expect(error.code == .alreadyOpen && error.message.contains("migrationBlock") && notes.lines.isEmpty)
        withExtendedLifetime(open) {}
    }

    @Test func theStoreCanNotBeOpenedInTheBlock() throws {
        try store.fill()
        let (store, notes) = (store, notes)
        _ = try store.open(MigratingStore.first, version: 2) { _, _ in
            let error = #expect(throws: Realm.Error.self) { _ = try store.open(MigratingStore.first, version: 2) }
            notes.note("\(error?.code == .alreadyOpen)")
            // Another store is no problem.
            _ = try? Realm(configuration: .init(inMemoryIdentifier: "in a migration", objectTypes: [DogV1.self]))
        }
        #expect(notes.lines == ["true"])
    }

    // MARK: What it sees

    @Test func oldObjectsHaveTheirPropertiesAndNewOnesThoseOfTheClasses() throws {
        try store.fill()
        let notes = notes
        let realm = try store.open(MigratingStore.second, version: 2) { migration, _ in
            notes.note(migration.oldSchema.objectSchema.map(\.className).sorted().joined(separator: ","))
            notes.note(migration.newSchema.objectSchema.map(\.className).sorted().joined(separator: ","))
            notes.note(migration.oldSchema["Owner"]?["dogs"]?.objectClassName ?? "")
            notes.note(migration.oldSchema["Owner"]?.primaryKeyProperty?.name ?? "")
            migration.enumerateObjects(ofType: "Owner") { old, new in
                new?["fullName"] = "\(old!["firstName"]!) \(old!["lastName"]!)"
                new?["key"] = old?["id"]
                // Old objects stand for the new ones.
                new?["pack"] = old?["dogs"]
                new?["first"] = old?["favourite"]
                #expect(old?.dynamicList("dogs").map { $0["title"] as? String } == ["Rex", "Ida"])
                #expect((old?["favourite"] as? MigrationObject)?["title"] as? String == "Ida")
            }
            migration.enumerateObjects(ofType: "Dog") { old, new in
                guard let old, let new else { return notes.note("nil") }
                // SEMANTICS 82: an integer is read as Int, and as its own width.
                #expect(old["age"] as? Int == (old["age"] as? Int8).map { Int($0) })
                new["name"] = old["title"]
                #expect(old["weight"] as? Double == 1.5 && new["weight"] as? Double == 1.5)
                #expect((old["tags"] as? List<String>)?.count == 2)
                #expect((old["scores"] as? MutableSet<Int>)?.contains(3) == true)
                let kept = old["notes"] as? Map<String, String?>
                #expect(kept?["k"] == "v" && kept?.count == 2)
                // Renamed properties and those that went are none of the new class.
                #expect(new.objectSchema["title"] == nil && new.objectSchema["name"] != nil)
                if old["title"] as? String == "Rex" {
                    #expect(
                        (old.dynamicMap("friends") as Map<String, DynamicObject?>)["best"]??["title"] as? String
                            == "Ida")
                    #expect(old.dynamicMutableSet("rivals").first?["title"] as? String == "Max")
                    #expect(old["any"] as? String == "text" && old.isFrozen && !new.isFrozen)
                }
                if old["title"] as? String == "Ida" {
                    #expect((old["any"] as? MigrationObject)?["title"] as? String == "Max")
                    #expect((new["any"] as? MigrationObject)?.objectSchema.className == "Dog")
                }
            }
        }
        #expect(notes.lines == ["Collar,Dog,Owner", "Dog,Owner", "Dog", "id"])
        let owner = try #require(realm.object(ofType: OwnerV2.self, forPrimaryKey: 7))
        #expect(owner.fullName == "Ann Lee" && owner.pack.map(\.name) == ["Rex", "Ida"] && owner.first?.name == "Ida")
        #expect(realm.objects(DogV2.self).map(\.age) == [3, 4, 5])
        // A null that is not allowed any more is a blank value.
        #expect(realm.objects(DogV2.self).map(\.code) == ["c0", "c1", ""])
        #expect(realm.objects(DogV2.self).where { $0.name == "Ida" }.first?.owners.first == owner)
    }

    @Test func whatIsCreatedAndDeletedMeanwhile() throws {
        try store.fill()
        let notes = notes
        let realm = try store.open(MigratingStore.first, version: 2) { migration, _ in
            migration.enumerateObjects(ofType: "Dog") { old, new in
                notes.note("\(old!["title"]!) \(new.map { "\($0["title"]!)" } ?? "nil")")
                guard let new else { return }
                migration.create("Dog", value: ["title": "\(old!["title"]!)'s puppy"])
                if old!["title"] as? String == "Rex" {
                    let next = (old!.dynamicMap("friends") as Map<String, DynamicObject?>)["best"] ?? nil
                    migration.enumerateObjects(ofType: "Dog") { other, new in
                        if let new, other == next { migration.delete(new) }
                    }
                    migration.delete(new)
                }
            }
            migration.enumerateObjects(ofType: "Nobody") { _, _ in notes.note("never") }
        }
        // SEMANTICS 82: the new object is nil if it was deleted, and created ones are not enumerated.
        #expect(notes.lines == ["Rex Rex", "Ida nil", "Max Max"])
        #expect(realm.objects(DogV1.self).map(\.title) == ["Max", "Rex's puppy", "Max's puppy"])
        #expect(realm.objects(OwnerV1.self).first?.dogs.isEmpty == true)
    }

    @Test func aClassThatIsGoneCanBeReadAndRemoved() throws {
        try store.fill()
        let notes = notes
        var realm: Realm? = try store.open(MigratingStore.second, version: 2) { migration, _ in
            migration.enumerateObjects(ofType: "Collar") { old, new in
                notes.note("\(old!["colour"]!) \(new == nil)")
                migration.create("Dog", value: ["name": "with a \(old!["colour"]!) collar"])
            }
            notes.note("\(migration.deleteData(forType: "Collar")) \(migration.deleteData(forType: "Nobody"))")
            // It was there when the migration began.
            migration.enumerateObjects(ofType: "Collar") { old, _ in notes.note("\(old!["colour"]!)") }
        }
        #expect(notes.lines == ["red true", "true false", "red"])
        #expect(realm?.objects(DogV2.self).last?.name == "with a red collar")
        realm = nil
        let other = try ForeignStore(store.url.path)
        #expect(try other.tables().sorted() == ["Dog", "Owner"])
        try other.close()
        // Opening with the class again makes a new one.
        let again = try store.open([CollarV1.self, DogV1.self], version: 3)
        #expect(again.objects(CollarV1.self).isEmpty)
    }

    @Test func theDataOfAClassOfTheRealmIsDeletedAndItsTableStays() throws {
        try store.fill()
        let notes = notes
        let realm = try store.open(MigratingStore.first, version: 2) { migration, _ in
            notes.note("\(migration.deleteData(forType: "Dog"))")
            migration.enumerateObjects(ofType: "Dog") { old, new in notes.note("\(old!["title"]!) \(new == nil)") }
            migration.create("Dog", value: ["title": "new"])
        }
        #expect(notes.lines == ["true", "Rex true", "Ida true", "Max true"])
        #expect(realm.objects(DogV1.self).map(\.title) == ["new"])
        #expect(realm.objects(CollarV1.self).first?.dog == nil && realm.objects(OwnerV1.self).first?.dogs.count == 0)
    }

    @Test func oldObjectsOutliveTheMigrationAndDoNotKeepTheStoreOpen() throws {
        try store.fill()
        func migrate() throws {
            nonisolated(unsafe) var kept: [MigrationObject] = []
            let realm = try store.open(MigratingStore.second, version: 2) { migration, _ in
                migration.enumerateObjects(ofType: "Dog") { old, new in kept += [old!, new!] }
            }
            #expect(kept[0]["title"] as? String == "Rex" && kept[0].isFrozen && kept[0].description.contains("Rex"))
            #expect(realm.objects(DogV2.self).count == 3)
        }
        try migrate()
        #expect(waitUntilClosed(store.url))
    }

    @Test func oldObjectsStandForNewOnesInEveryValue() throws {
        try store.fill()
        class Holder: Object {
            @Persisted var one: DogV2?
            @Persisted var many: List<DogV2>
            @Persisted var named: Map<String, DogV2?>
            @Persisted var any: AnyRealmValue
            @Persisted var anys: List<AnyRealmValue>
            @Persisted var copied: DogV2?
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try store.open(MigratingStore.second + [Holder.self], version: 2) { migration, _ in
            migration.renameProperty(onType: "Dog", from: "title", to: "name")
            var olds: [MigrationObject] = []
            migration.enumerateObjects(ofType: "Dog") { old, _ in olds.append(old!) }
            migration.enumerateObjects(ofType: "Dog") { old, new in
                if old!["title"] as? String == "Max" { migration.delete(new!) }
            }
            let holder = migration.create("Holder")
            holder["one"] = olds[0]
            holder["many"] = olds
            holder.dynamicList("many").append(olds[0])
            holder["named"] = ["a": olds[1], "gone": olds[2]]
            holder["any"] = olds[1]
            holder["anys"] = [olds[0], [olds[2], 5] as [Any]] as [Any]
            let other = migration.create(
                "Holder", value: ["one": olds[2], "any": olds[2], "copied": ["name": "copy"]] as [String: Any])
            other["one"] = olds[2]
        }
        let (holder, other) = (realm.objects(Holder.self)[0], realm.objects(Holder.self)[1])
        #expect(realm.objects(DogV2.self).map(\.name) == ["Rex", "Ida", "copy"])
        #expect(holder.one?.name == "Rex" && holder.many.map(\.name) == ["Rex", "Ida", "Rex"])
        #expect(holder.named.count == 2 && holder.named["a"]??.name == "Ida" && holder.named["gone"] == .some(nil))
        #expect(holder.any.object(DogV2.self)?.name == "Ida" && holder.anys[0].object(DogV2.self)?.name == "Rex")
        #expect(holder.anys[1].listValue?.map { $0 } == [.none, .int(5)])
        // A link to what was deleted is nil.
        #expect(other.one == nil && other.any == .none && other.copied?.name == "copy")
    }

    // MARK: Embedded classes

    private class Address: Object {
        @Persisted var street = ""
        override class func _realmObjectName() -> String? { "Address" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private class Resident: Object {
        @Persisted var address: Address?
        @Persisted var former: Address?
        override class func _realmObjectName() -> String? { "Resident" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private class OwnedAddress: EmbeddedObject {
        @Persisted var street = ""
        override class func _realmObjectName() -> String? { "Address" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private class OwningResident: Object {
        @Persisted var address: OwnedAddress?
        override class func _realmObjectName() -> String? { "Resident" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private func fillAddresses() throws {
        let realm = try store.open([Resident.self, Address.self], version: 1)
        try realm.write {
            let street = realm.create(Address.self, value: ["street": "Main Street"])
            for _ in 0..<2 { realm.create(Resident.self, value: ["address": street, "former": street]) }
            realm.create(Address.self, value: ["street": "nowhere"])
        }
    }

    @Test func aClassIsOrdinaryUntilTheBlockHasReturned() throws {
        try fillAddresses()
        // Nothing is deleted behind the removed links, and nobody gets an address of two residents.
        let refused = try #require(throws: Realm.Error.self) {
            _ = try store.open([OwningResident.self, OwnedAddress.self], version: 2) { _, _ in }
        }
        #expect(refused.message.contains("2 of its objects are not linked to by exactly one property"))
        let realm = try store.open([OwningResident.self, OwnedAddress.self], version: 2) { migration, _ in
            var isFirst = true
            migration.enumerateObjects(ofType: "Resident") { old, new in
                if !isFirst { new?["address"] = ["street": "copy"] }
                isFirst = false
                #expect(((new?["address"] as? MigrationObject)?["street"] as? String)?.isEmpty == false)
            }
            migration.enumerateObjects(ofType: "Address") { old, new in
                if old?["street"] as? String == "nowhere" { migration.delete(new!) }
            }
        }
        #expect(realm.objects(OwningResident.self).map { $0.address?.street } == ["Main Street", "copy"])
        try realm.write { realm.delete(realm.objects(OwningResident.self)) }
    }

    @Test func anOldLinkCanBeGivenToAnotherPropertyBeforeItsClassIsEmbedded() throws {
        let before = try store.open([Resident.self, Address.self], version: 1)
        try before.write { before.create(Resident.self, value: ["former": ["street": "Main Street"]]) }
        let copy = URL(filePath: store.folder.path + "/copy.firn")
        try before.writeCopy(toFile: copy)
        let configuration = Realm.Configuration(
            fileURL: copy, schemaVersion: 2,
            migrationBlock: { migration, _ in
                migration.enumerateObjects(ofType: "Resident") { old, new in new?["address"] = old?["former"] }
            }, objectTypes: [OwningResident.self, OwnedAddress.self])
        let realm = try Realm(configuration: configuration)
        #expect(realm.objects(OwningResident.self).map { $0.address?.street } == ["Main Street"])
    }

    @Test func anEmbeddedObjectIsCopied() throws {
        class Moved: Object {
            @Persisted var home: OwnedAddress?
            @Persisted var homes: List<OwnedAddress>
            override class func _realmObjectName() -> String? { "Resident" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let before = try store.open([OwningResident.self, OwnedAddress.self], version: 1)
        try before.write { before.create(OwningResident.self, value: ["address": ["street": "Main Street"]]) }
        let copy = URL(filePath: store.folder.path + "/copy.firn")
        try before.writeCopy(toFile: copy)
        let configuration = Realm.Configuration(
            fileURL: copy, schemaVersion: 2,
            migrationBlock: { migration, _ in
                migration.enumerateObjects(ofType: "Resident") { old, new in
                    new?["home"] = old?["address"]
                    new?["homes"] = [old?["address"], old?["address"]]
                }
            }, objectTypes: [Moved.self, OwnedAddress.self])
        let moved = try #require(try Realm(configuration: configuration).objects(Moved.self).first)
        #expect(moved.home?.street == "Main Street" && moved.homes.map(\.street) == ["Main Street", "Main Street"])
    }

    // MARK: Failures

    /// What the block keeps must not keep the write lock (the second opening would wait for ever).
    @Test func aMigrationThatFailsLeavesNothingBehind() throws {
        try store.fill()
        nonisolated(unsafe) var kept: [Any] = []
        let error = try #require(throws: Realm.Error.self) {
            _ = try store.open(MigratingStore.second, version: 2) { migration, _ in
                kept.append(migration)
                migration.enumerateObjects(ofType: "Dog") { old, new in kept += [old as Any, new as Any] }
                migration.create("Owner", value: ["key": 0])
            }
        }
        #expect(error.code == .schemaMismatch && error.message.contains("0 (2 objects)"))
        let realm = try store.open(MigratingStore.first, version: 1)
        try realm.write { realm.create(DogV1.self, value: ["title": "Eve"]) }
        #expect(realm.objects(DogV1.self).count == 4 && kept.count == 7)
    }

    /// Damage that a migration meets is thrown by opening, however much of the block runs before that.
    @Test(arguments: DamageTests.Kind.allCases, [true, false])
    func damageIsThrown(_ kind: DamageTests.Kind, _ renames: Bool) throws {
        class Item: Object {
            @Persisted var id: Int
            @Persisted var label: String
            @Persisted(indexed: true) var kind: String
            override class func _realmObjectName() -> String? { "Part" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let path = store.folder.path + "/damaged.firn"
        _ = try DamageTests.fill(path)
        try DamageTests.damage(path, kind)
        var configuration = DamageTests.configuration(path)
        configuration.schemaVersion = 2
        configuration.objectTypes = [Item.self]
        configuration.migrationBlock = { migration, _ in
            if renames { migration.renameProperty(onType: "Part", from: "text", to: "label") }
            migration.enumerateObjects(ofType: "Part") { _, new in new?["kind"] = "x" }
        }
        do {
            // An index that goes, or leaves that are not rebuilt, may be damaged without being read.
            let realm = try Realm(configuration: configuration, queue: nil)
            #expect(kind != .leaf && realm.objects(Item.self).where { $0.kind == "x" }.count == 3000)
        } catch let error as Realm.Error {
            #expect(error.code == .invalidDatabase, "\(error)")
        }
        #expect(try kind != .leaf || schemaVersionAtURL(URL(filePath: path)) == 0)
    }

    @Test func openersWaitWhileTheBlockRuns() throws {
        try store.fill()
        let (store, notes) = (store, notes)
        let (begun, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            begun.wait()
            let count = try? store.open(MigratingStore.first, version: 2).objects(DogV1.self).count
            notes.note("\(count ?? -1)")
            done.signal()
        }
        _ = try store.open(MigratingStore.first, version: 2) { migration, _ in
            begun.signal()
            Thread.sleep(forTimeInterval: 0.05)
            migration.create("Dog", value: ["title": "Eve"])
        }
        done.wait()
        #expect(notes.lines == ["4"])
    }

    // MARK: Primary keys

    /// Keys are compared when the block has returned (SEMANTICS 93).
    @Test func aNewPrimaryKeyIsMadeUniqueByTheBlock() throws {
        try store.fill()
        class KeyedDog: Object {
            @Persisted(primaryKey: true) var key: String
            @Persisted var title = ""
            override class func _realmObjectName() -> String? { "Dog" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        // Three dogs have the blank key: nothing is changed.
        let refused = try #require(throws: Realm.Error.self) {
            _ = try store.open([KeyedDog.self], version: 2) { _, _ in }
        }
        #expect(refused.code == .schemaMismatch && refused.message.contains("\"\" (3 objects)"))
        #expect(try schemaVersionAtURL(store.url) == 1)
        let realm = try store.open([KeyedDog.self], version: 2) { migration, _ in
            migration.enumerateObjects(ofType: "Dog") { old, new in new?["key"] = "key of \(old!["title"]!)" }
        }
        #expect(realm.object(ofType: KeyedDog.self, forPrimaryKey: "key of Ida")?.title == "Ida")
        #expect(realm.objects(KeyedDog.self).count == 3)
        // It is a primary key like any other from now on.
        try realm.write {
            realm.create(KeyedDog.self, value: ["key": "key of Ida", "title": "Eve"], update: .modified)
        }
        #expect(realm.objects(KeyedDog.self).map(\.title) == ["Rex", "Eve", "Max"])
    }

    /// No primary key is enforced while the block runs, also of a class whose key stays (SEMANTICS 93).
    @Test func primaryKeysMayBeSetInAnyMigration() throws {
        try store.fill()
        do {
            let realm = try store.open(MigratingStore.first, version: 1)
            try realm.write {
                realm.create(OwnerV1.self, value: ["id": 8, "firstName": "Bob"])
                realm.create(OwnerV1.self, value: ["id": 9, "firstName": "Cleo"])
            }
        }
        func state(_ realm: Realm) -> [String] {
            realm.objects(OwnerV1.self).map { "\($0.id) \($0.firstName) \($0.dogs.map(\.title))" }
        }
        // Keys are exchanged, one is kept, and the links of each object stay its own.
        func migrate(_ version: UInt64, _ block: @escaping MigrationBlock) throws -> Realm {
            try store.open(MigratingStore.first, version: version, block: block)
        }
        do {
            let realm = try migrate(2) { migration, _ in
                migration.enumerateObjects(ofType: "Owner") { old, new in
                    for property in old!.objectSchema.properties { new![property.name] = old![property.name] }
                    let id = old!["id"] as! Int
                    new!["id"] = id == 7 ? 8 : id == 8 ? 7 : id
                }
            }
            #expect(state(realm) == ["8 Ann [\"Rex\", \"Ida\"]", "7 Bob []", "9 Cleo []"])
            #expect(realm.object(ofType: OwnerV1.self, forPrimaryKey: 8)?.firstName == "Ann")
        }
        // An object may be created with a key that is taken until the block has returned.
        let before: [String]
        do {
            let realm = try migrate(3) { migration, _ in
                let dora = migration.create("Owner", value: ["id": 8, "firstName": "Dora"])
                migration.enumerateObjects(ofType: "Owner") { old, new in
                    if old!["id"] as! Int == 8 { new!["id"] = 80 }
                }
                dora["lastName"] = "Dean"
            }
            before = state(realm)
            #expect(realm.object(ofType: OwnerV1.self, forPrimaryKey: 8)?.lastName == "Dean")
            #expect(realm.object(ofType: OwnerV1.self, forPrimaryKey: 80)?.dogs.count == 2)
            // It is enforced again, also by a store that is opened from the log.
            #expect(throws: Realm.Error.self) {
                try realm.write { try realm.create(OwnerV1.self, validating: ["id": 80]) }
            }
            let copy = try Realm(
                configuration: .init(fileURL: copyOfFiles(), schemaVersion: 3, objectTypes: MigratingStore.first))
            #expect(state(copy) == before && copy.object(ofType: OwnerV1.self, forPrimaryKey: 80) != nil)
        }
        // Keys that are left equal are named, and nothing is changed.
        let refused = try #require(throws: Realm.Error.self) {
            _ = try migrate(4) { migration, _ in
                migration.enumerateObjects(ofType: "Owner") { _, new in new!["id"] = 1 }
            }
        }
        #expect(refused.code == .schemaMismatch && refused.message.contains("\"Owner.id\": 1 key is held by several"))
        #expect(refused.message.contains("1 (4 objects)"))
        #expect(try state(store.open(MigratingStore.first, version: 3)) == before)
    }

    /// Also of a class that the migration adds. Objects are found by their keys meanwhile.
    @Test func primaryKeysOfANewClassAreComparedToo() throws {
        try store.fill()
        class Keyed: Object {
            @Persisted(primaryKey: true) var id: Int
            @Persisted var name = ""
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let refused = try #require(throws: Realm.Error.self) {
            _ = try store.open(MigratingStore.first + [Keyed.self], version: 2) { migration, _ in
                for name in ["a", "b"] { migration.create("Keyed", value: ["id": 1, "name": name] as [String: Any]) }
            }
        }
        #expect(refused.code == .schemaMismatch && refused.message.contains("\"Keyed.id\": 1 key is held by several"))
        let realm = try store.open(MigratingStore.first + [Keyed.self], version: 2) { migration, _ in
            for name in ["a", "b"] { migration.create("Keyed", value: ["id": 1, "name": name] as [String: Any]) }
            let new = migration.create("Keyed", value: ["id": 3])
            new["id"] = 2
            // An object is found and updated by its key although nothing enforces the keys.
            let realm = new.realm!
            #expect(realm.object(ofType: Keyed.self, forPrimaryKey: 2)?.isSameObject(as: new) == true)
            realm.create(Keyed.self, value: ["id": 2, "name": "c"] as [String: Any], update: .modified)
            migration.delete(realm.dynamicObjects("Keyed")[1])
        }
        #expect(realm.objects(Keyed.self).map { "\($0.id) \($0.name)" } == ["1 a", "2 c"])
    }

    // MARK: On the disk

    @Test func aMigratedStoreIsReadBackFromItsLog() throws {
        try store.fill()
        func state(_ realm: Realm) -> [String] {
            realm.objects(OwnerV2.self).map { "\($0.key) \($0.fullName) \($0.pack.map(\.name))" }
                + realm.objects(DogV2.self).map { "\($0.name) \($0.code) \($0.age) \($0.any)" }
        }
        func migrate() throws -> ([String], URL) {
            let realm = try store.open(MigratingStore.second, version: 2) { migration, _ in
                migration.renameProperty(onType: "Owner", from: "dogs", to: "pack")
                migration.renameProperty(onType: "Owner", from: "id", to: "key")
                migration.renameProperty(onType: "Dog", from: "title", to: "name")
                migration.enumerateObjects(ofType: "Owner") { old, new in
                    new?["fullName"] = "\(old!["firstName"]!) \(old!["lastName"]!)"
                    new?.dynamicList("pack").append(migration.create("Dog", value: ["name": "late", "age": 1]))
                }
                migration.deleteData(forType: "Collar")
            }
            return (state(realm), try copyOfFiles())
        }
        let migrated = try migrate()
        #expect(migrated.0.first == "7 Ann Lee [\"Rex\", \"Ida\", \"late\"]" && migrated.0.count == 5)
        // As a kill leaves it: nothing but the log has the migration.
        let copy = try Realm(
            configuration: .init(fileURL: migrated.1, schemaVersion: 2, objectTypes: MigratingStore.second))
        #expect(state(copy) == migrated.0)
        #expect(copy.objects(DogV2.self).where { $0.name == "late" }.first?.owners.count == 1)
    }

    private func copyOfFiles() throws -> URL {
        let copy = URL(filePath: store.folder.path + "/killed.firn")
        try FileManager.default.copyItem(at: store.url, to: copy)
        return copy
    }
}

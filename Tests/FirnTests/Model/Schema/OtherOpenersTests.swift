import FirnTestSupport
import Foundation
import FirnQuery
import Testing

@testable import Firn
@testable import FirnCore

// One class in builds of the program that declare different indexes.
private class PlainSheep: Object {
    @Persisted var age = 0
    @Persisted var name = ""
    override class func _realmObjectName() -> String? { "Sheep" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class IndexedSheep: Object {
    @Persisted(indexed: true) var age = 0
    @Persisted var name = ""
    override class func _realmObjectName() -> String? { "Sheep" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

// The class in a later build of the program.
private class WoolSheep: Object {
    @Persisted var age = 0
    @Persisted var name = ""
    @Persisted var wool = 0
    override class func _realmObjectName() -> String? { "Sheep" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Shepherd: Object {
    @Persisted var name = ""
    @Persisted var best: WoolSheep?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A store that is open with different classes at the same time.
@Suite(.timeLimit(.minutes(20))) struct OtherOpenersTests {
    private let name = UUID().uuidString

    /// Adding an index is automatic, without a higher version (SEMANTICS 80).
    @Test func aRealmKeepsAnIndexThatAnotherOpenerHasAdded() throws {
        let old = try memoryRealm([PlainSheep.self], name)
        try old.write { for age in 0..<10 { old.add(PlainSheep(value: [age])) } }
        let new = try memoryRealm([IndexedSheep.self], name)
        let sheep = old.objects(PlainSheep.self)
        for _ in 0..<2 { try old.write { for one in sheep { one.age += 100 } } }
        new.refresh()
        #expect(new.objects(IndexedSheep.self).where { $0.age == 205 }.count == 1)
        #expect(new.objects(IndexedSheep.self).where { $0.age < 100 }.count == 0)
        try old.write {
            for one in sheep { one.name = "n\(one.age)" }
            sheep[3].age = 7
        }
        new.refresh()
        #expect(new.objects(IndexedSheep.self).where { $0.age == 7 }.map(\.name) == ["n203"])
        new.instance.snapshot._checkInvariants()
    }

    /// Removing an index is automatic, too: no migration, and no higher version (SEMANTICS 80).
    @Test func anIndexIsRemovedWithoutAHigherVersion() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path + "/store")
        nonisolated(unsafe) var migrations = 0
        func open(_ type: ObjectBase.Type, _ body: (Realm) throws -> Void) throws {
            let realm = try Realm(
                configuration: .init(
                    fileURL: url, schemaVersion: 0, migrationBlock: { _, _ in migrations += 1 }, objectTypes: [type]))
            try body(realm)
        }
        func isIndexed(_ realm: Realm) -> Bool {
            realm.instance.snapshot.resolvedSchema.schema.tables[0].columns[0].isIndexed
        }
        try open(IndexedSheep.self) { realm in
            try realm.write { for age in 0..<10 { realm.add(IndexedSheep(value: [age])) } }
            #expect(isIndexed(realm))
        }
        try open(PlainSheep.self) { realm in
            #expect(!isIndexed(realm) && realm.objects(PlainSheep.self).where { $0.age >= 7 }.count == 3)
            try realm.write { realm.objects(PlainSheep.self)[0].age = 20 }
        }
        try open(IndexedSheep.self) { realm in
            #expect(isIndexed(realm) && realm.objects(IndexedSheep.self).where { $0.age == 20 }.count == 1)
        }
        #expect(migrations == 0)
    }

    #if os(Linux)
        @Test func aRealmKeepsAnIndexThatAnotherProcessHasAdded() throws {
            let folder = TemporaryFolder()
            let configuration = Realm.Configuration(
                fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [PlainSheep.self])
            let realm = try Realm(configuration: configuration)
            try realm.write { for age in 0..<10 { realm.add(PlainSheep(value: [age])) } }
            let other = try ForeignStore(folder.path + "/store")
            try other.addIndex("age", of: "Sheep")
            let sheep = realm.objects(PlainSheep.self)
            for _ in 0..<2 { try realm.write { for one in sheep { one.age += 100 } } }
            #expect(sheep.where { $0.age == 205 }.count == 1 && sheep.where { $0.age == 105 }.count == 0)
        }
    #endif

    /// The setter of a text, too, asks the transaction then, which keeps the index.
    @Test func aRealmKeepsAnIndexOfTextsThatWasAddedMeanwhile() throws {
        let realm = try memoryRealm([PlainSheep.self], name)
        try realm.write { for age in 0..<10 { realm.add(PlainSheep(value: [age, "n\(age)"])) } }
        let sheep = realm.objects(PlainSheep.self)
        func rename(_ suffix: String) { for one in Array(sheep) { one.name += suffix } }
        let store = realm.instance.store
        let transaction = try store.beginWrite()
        var schema = transaction.resolvedSchema.schema
        schema.tables[0].columns[1].isIndexed = true
        try transaction.changeSchema(to: schema)
        try transaction.commit()
        // Twice, so that the cells are the transaction's own the second time.
        try realm.write {
            rename("a")
            rename("b")
        }
        let table = realm.instance.snapshot.table(TableID(0))
        for age in 0..<10 {
            #expect(table.firstKey(1, equalTo: .string("n\(age)ab")) == Int64(age))
            for gone in ["n\(age)", "n\(age)a"] { #expect(table.firstKey(1, equalTo: .string(gone)) == nil) }
        }
        realm.instance.snapshot._checkInvariants()
    }

    /// A setter writes directly to cells that the transaction has already copied.
    @Test func aRealmKeepsAnIndexThatIsAddedDuringItsTransaction() throws {
        let realm = try memoryRealm([PlainSheep.self], name)
        try realm.write { for age in 0..<10 { realm.add(PlainSheep(value: [age])) } }
        let sheep = realm.objects(PlainSheep.self)
        realm.beginWrite()
        for one in Array(sheep) { one.age += 100 }
        let transaction = try #require(realm.instance.transaction)
        var schema = transaction.resolvedSchema.schema
        schema.tables[0].columns[0].isIndexed = true
        try transaction.changeSchema(to: schema)
        for one in Array(sheep) { one.age += 100 }
        try realm.commitWrite()
        #expect(sheep.where { $0.age == 205 }.count == 1 && sheep.where { $0.age == 105 }.count == 0)
    }

    // MARK: Migrations

    private func open(_ version: UInt64, _ types: [ObjectBase.Type]) throws -> Realm {
        try Realm(configuration: .init(inMemoryIdentifier: name, schemaVersion: version, objectTypes: types))
    }

    /// Migrating while the store is open is `.alreadyOpen` (SEMANTICS 86): old accessors would read memory that holds
    /// something else.
    @Test(arguments: 0..<5) func aStoreIsNotMigratedWhileAnObjectOfItIsHeld(what: Int) throws {
        // This holds the store, and no realm of it.
        let shared: SharedStore
        do {
            var held: [Any] = []
            do {
                let realm = try open(0, [CatBefore.self])
                shared = realm.instance.shared
                let cat = CatBefore(value: [1, "Tom"])
                try realm.write { realm.add(cat) }
                let all: [Any] = [
                    realm, cat, realm.objects(CatBefore.self), cat.freeze(), realm.observe { _, _ in },
                ]
                held = [all[what]]
            }
            let error = try #require(throws: Realm.Error.self) { _ = try open(1, [CatAfter.self]) }
            #expect(error.code == .alreadyOpen && error.message.contains("this process"), "\(error)")
            #expect(try open(0, [CatBefore.self]).objects(CatBefore.self)[0].gone == 3)
            withExtendedLifetime(held) {}
        }
        let realm = try open(1, [CatAfter.self])
        #expect(realm.objects(CatAfter.self).map(\.name) == ["Tom"])
        withExtendedLifetime(shared) {}
    }

    @Test func changesThatOnlyAddAreMadeWhileTheStoreIsOpen() throws {
        let realm = try open(0, [PlainSheep.self])
        let sheep = PlainSheep(value: [1])
        try realm.write { realm.add(sheep) }
        let other = try open(1, [IndexedSheep.self, CatBefore.self])
        try other.write { other.objects(IndexedSheep.self)[0].age = 2 }
        realm.refresh()
        #expect(sheep.age == 2)
    }

    /// The version that the realm shows has neither the column nor the table.
    @Test(arguments: [false, true]) func aQueryCannotNamePropertiesThatOnlyAnotherOpenersClassesHave(isFrozen: Bool)
        throws
    {
        let old = try open(0, [PlainSheep.self])
        try old.write { old.add(PlainSheep(value: [3])) }
        let realm = isFrozen ? old.freeze() : old
        let sheep = realm.objects(PlainSheep.self)
        #expect(sheep.count == 1)
        let new = try open(1, [WoolSheep.self, Shepherd.self])
        try new.write { new.add(Shepherd(value: ["name": "Ann", "best": [3, "Dolly", 7]])) }
        #expect(new.objects(WoolSheep.self).where { $0.wool == 7 }.count == 1)
        for text in ["wool == 7", "@links.Shepherd.best.name == 'Ann'", "@links.Shepherd.best.@count > 0"] {
            let error = #expect(throws: Realm.Error.self, "\(text)") { _ = try sheep.filter(validating: text).count }
            #expect(error?.code == .invalidInput, "\(text)")
        }
        let wool = PropertyPath(["wool"])
        #expect(throws: QueryError.self) { try sheep._source.sorted([.init(wool)]) }
        #expect(throws: QueryError.self) { try sheep._source.distinct([wool]) }
        #expect(throws: QueryError.self) { try sheep._source.aggregate(.sum) { wool } }
        #expect(sheep.filter("age == 3").count == 1)
    }

    /// Each opener gets a realm that its classes fit, or an error.
    @Test func threadsThatOpenAStoreDuringItsMigrationGetAnErrorOrWait() throws {
        for round in 0..<30 {
            let name = "\(name) \(round)"
            do {
                let realm = try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: [CatBefore.self]))
                try realm.write { for id in 0..<20 { realm.add(CatBefore(value: [id, "Tom"])) } }
            }
            let heldStore = try heldStore(name)
            let all = DispatchGroup()
            for number in 0..<6 {
                all.enter()
                Thread {
                    defer { all.leave() }
                    for _ in 0..<5 { useAsOpened(name, isNew: number % 2 == 0) }
                }.start()
            }
            #expect(all.wait(timeout: .testTimeout) == .success)
            withExtendedLifetime(heldStore) {}
        }
    }

    /// Keeps the store open, which would otherwise go with its last realm.
    private func heldStore(_ name: String) throws -> SharedStore {
        try SharedStore.of(.init(inMemoryIdentifier: name, objectTypes: [CatBefore.self]))
    }

    @Test func aRealmStopsAtAVersionThatItsClassesCannotRead() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm([CatBefore.self])
            let cat = CatBefore(value: [1, "Tom"])
            try realm.write { realm.add(cat) }
            let transaction = try realm.instance.store.beginWrite()
            var schema = transaction.resolvedSchema.schema
            guard let column = schema.tables[0].column(named: "gone") else { exit(0) }
            schema.tables[0].columns[column].isRemoved = true
            try transaction.changeSchema(to: schema)
            try transaction.commit()
            realm.refresh()
            print(cat.gone)
        }
        expectMessage(result, "Firn: ", "migrated", "Cat")
    }

    // MARK: Writes

    @Test func theOrderOfTheClassesDoesNotMatter() throws {
        #expect(try memoryRealm([Dog.self, Person.self], name) == memoryRealm([Person.self, Dog.self], name))
        let realm = try memoryRealm([Dog.self, Person.self], name)
        #expect(try memoryRealm([Person.self, Dog.self], name) == realm)
    }

    /// This stops as a nested write of one realm does (SEMANTICS 11). The alarm ends a process that waits for itself.
    @Test(arguments: [false, true]) func aNestedWriteOfARealmWithOtherClassesStops(isQueue: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [isQueue] in
            alarm(60)
            let name = UUID().uuidString
            let realm = try memoryRealm([Dog.self, Person.self], name)
            if isQueue {
                let queue = DispatchQueue(label: "other")
                let configuration = Realm.Configuration(
                    inMemoryIdentifier: name, objectTypes: [Dog.self, Person.self])
                try queue.sync {
                    let own = try Realm(configuration: configuration, queue: queue)
                    let other = try Realm(
                        configuration: .init(inMemoryIdentifier: name, objectTypes: [PlainSheep.self]), queue: queue)
                    try own.write { try other.write {} }
                }
            } else {
                let other = try memoryRealm([PlainSheep.self], name)
                try realm.write { try other.write {} }
            }
        }
        expectMessage(result, "Firn: ", "wait for itself")
    }
}

/// Opens the store with the classes from before or after the migration, and reads what is there.
private func useAsOpened(_ name: String, isNew: Bool) {
    do {
        if isNew {
            let realm = try Realm(
                configuration: .init(inMemoryIdentifier: name, schemaVersion: 1, objectTypes: [CatAfter.self]))
            #expect(realm.objects(CatAfter.self).allSatisfy { $0.name == "Tom" && $0.kind == "" })
        } else {
            let realm = try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: [CatBefore.self]))
            #expect(realm.objects(CatBefore.self).allSatisfy { $0.name == "Tom" && $0.gone == 3 && $0.kind == 7 })
        }
    } catch let error as Realm.Error {
        #expect(error.code == (isNew ? .alreadyOpen : .schemaMismatch), "\(error)")
    } catch { Issue.record(error) }
}

import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

private class LongNamed: Object {
    @Persisted var number = 1
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func _realmObjectName() -> String? { String(repeating: "n", count: Limits.nameByteCount + 1) }
}

private class SoleNumber: Object {
    @Persisted var number = 1
}

/// Classes that exceed a limit are refused with its number, and nothing is done to the store.
@Suite(.timeLimit(.minutes(20))) struct SchemaLimitTests {
    private let folder = TemporaryFolder()

    private func configuration(_ types: [ObjectBase.Type]) -> Realm.Configuration {
        Realm.Configuration(fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: types)
    }

    private func open(_ types: [ObjectBase.Type]) throws -> Realm { try Realm(configuration: configuration(types)) }

    @Test func aClassWhoseNameIsTooLongIsRefused() throws {
        let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: configuration([LongNamed.self])) }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.message.contains("has 256 bytes; 1 to 255 are allowed") == true, "\(error?.message ?? "")")
    }

    /// The store would be deleted, and could not be made again with these classes.
    @Test func aStoreIsNotDeletedForClassesThatCanNotBeStored() throws {
        do {
            let realm = try Realm(configuration: configuration([SoleNumber.self]))
            try realm.write { realm.add(SoleNumber()) }
        }
        var configuration = configuration([SoleNumber.self, LongNamed.self])
        configuration.schemaVersion = 1
        configuration.deleteRealmIfMigrationNeeded = true
        let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: configuration) }
        #expect(error?.code == .schemaMismatch)
        let realm = try Realm(configuration: self.configuration([SoleNumber.self]))
        #expect(realm.objects(SoleNumber.self).count == 1)
    }

    /// What a store describes becomes classes in one step for each, whatever else there is.
    @Test func aStoreOfManyClassesIsBoundAndPlanned() {
        let count = 300
        let schema = StoreSchema(
            version: 4,
            tables: (0..<count).map { number in
                let columns = (0..<5).map { ColumnSchema(name: "p\($0)", type: .int, isRemoved: $0 == 2) }
                return TableSchema(name: "Class\(number)", columns: columns, isRemoved: number % 7 == 0)
            })
        let binding = SchemaBinding(stored: schema)
        #expect(binding.tables.count == schema.tables.count { !$0.isRemoved })
        for (number, table) in schema.tables.enumerated() {
            let found = binding.table(named: table.name)
            #expect((found == nil) == table.isRemoved)
            guard let found else { continue }
            #expect(found.table == TableID(number) && found === binding.table(TableID(number)))
            #expect(found.info.stored.map { found.column($0) } == [0, 1, 3, 4])
        }
        let plan = SchemaPlan(binding.tables.map(\.info), version: 4, on: schema)
        #expect(!plan.changesAnything && plan.differences.isEmpty)
        let new = SchemaPlan(binding.tables.map(\.info), version: 4, on: StoreSchema())
        #expect(new.schema.tables.map(\.name) == binding.tables.map(\.info.name))
    }

    /// Another program's classes cost a realm next to nothing. `FIRN_CLASSES=16384x3` makes so many of them, and prints
    /// how long each step takes.
    @Test @MainActor func aRealmInAStoreOfManyOtherClasses() async throws {
        let text = TestEnvironment.value("FIRN_CLASSES")
        let size = text?.split(separator: ",").first?.split(separator: "x").compactMap { Int($0) } ?? [700, 3]
        var start = SystemClock.shared.monotonic()
        func step(_ name: String) {
            let now = SystemClock.shared.monotonic()
            if text != nil { print("  \(name): \((now - start) / 1000) µs") }
            start = now
        }
        do {
            let store = try Store(
                StoreOptions(log: LogOptions(folder: folder.path + "/store")), storage: PosixStorage.shared)
            let transaction = try store.beginWrite()
            let columns = (0..<size[1]).map { ColumnSchema(name: "p\($0)", type: .int) }
            try transaction.changeSchema(
                to: StoreSchema(tables: (0..<size[0]).map { TableSchema(name: "Class\($0)", columns: columns) }))
            try transaction.commit()
            try store.close()
        }
        step("\(size[0]) classes of \(size[1]) properties")
        let realm = try open([Dog.self, Person.self])
        step("opening")
        var people = 0
        var dogs = 0
        let tokens = [
            realm.objects(Person.self).observe { _ in people += 1 },
            realm.objects(Dog.self).where { $0.age > 5 }.observe { _ in dogs += 1 },
        ]
        await wait { people == 1 && dogs == 1 }
        step("observing")
        for id in 0..<100 { try realm.write { realm.add(Dog(id, "dog", age: id % 10)) } }
        step("100 commits")
        try realm.write { realm.create(Person.self, value: ["name": "Ann", "dogs": realm.objects(Dog.self)]) }
        await wait { people == 2 }
        step("a commit with links, shown")
        let before = people
        // The people are told of a change of a dog, through its links.
        try realm.write { realm.objects(Dog.self)[7].name = "Rex" }
        await wait { people > before }
        step("a change along links, shown")
        #expect(people > before && dogs >= 2)
        for age in 0..<100 { #expect(realm.objects(Dog.self).where { $0.age == age }.count == (age < 10 ? 10 : 0)) }
        step("100 queries")
        #expect(realm.objects(Person.self).where { $0.dogs.name == "Rex" }.count == 1)
        #expect(realm.objects(Dog.self).where { $0.keepers.name == "Ann" }.count == 100)
        step("queries along links")
        let frozen = realm.freeze()
        try realm.write { realm.deleteAll() }
        #expect(frozen.objects(Dog.self).count == 100 && realm.isEmpty)
        step("freezing, and deleting everything")
        for token in tokens { token.invalidate() }
    }
}

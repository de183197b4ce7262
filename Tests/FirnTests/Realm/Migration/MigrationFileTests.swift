import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// The settings of a configuration that delete or copy a store, and what is asked of a store that is not open (R26,
/// R30, R82; SEMANTICS 84 and 88).
@Suite(.timeLimit(.minutes(20))) struct MigrationFileTests {
    private let store = MigratingStore()

    // MARK: Deleting instead of migrating

    private func deleting(_ types: [ObjectBase.Type], _ version: UInt64) -> Realm.Configuration {
        var configuration = store.configuration(types, version: version) { _, _ in fatalError("the block was called") }
        configuration.deleteRealmIfMigrationNeeded = true
        return configuration
    }

    @Test func aStoreThatWouldHaveToBeMigratedIsDeleted() throws {
        try store.fill()
        // The classes differ, with the same version.
        #expect(try Realm(configuration: deleting(MigratingStore.second, 1)).isEmpty)
        try Realm(configuration: deleting(MigratingStore.second, 1)).write {}
        let realm = try Realm(configuration: deleting(MigratingStore.second, 1))
        try realm.write { realm.create(DogV2.self, value: ["name": "Rex"]) }
        // An addition needs no migration.
        #expect(throws: Never.self) {
            _ = try Realm(configuration: deleting(MigratingStore.second + [CollarV3.self], 1))
        }
        #expect(realm.objects(DogV2.self).count == 1)
    }

    private class CollarV3: Object {
        @Persisted var colour = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    @Test(arguments: [0, 2]) func anotherVersionDeletesIt(_ version: UInt64) throws {
        try store.fill()
        #expect(try Realm(configuration: deleting(MigratingStore.first, version)).isEmpty)
        #expect(try schemaVersionAtURL(store.url) == version)
    }

    /// What is deleted may have been read from a checkpoint, as it is in every store of some size.
    @Test func aCompactedStoreIsDeleted() throws {
        try store.fill()
        var configuration = store.configuration(MigratingStore.first, version: 1)
        configuration.shouldCompactOnLaunch = { _, _ in true }
        #expect(try Realm(configuration: configuration).objects(DogV1.self).count == 3)
        #expect(try !FileManager.default.contentsOfDirectory(atPath: store.url.path + "/checkpoint").isEmpty)
        #expect(try Realm(configuration: deleting(MigratingStore.second, 1)).isEmpty)
    }

    @Test func itIsNotDeletedWhileItIsOpen() throws {
        try store.fill()
        let open = try store.open(MigratingStore.first, version: 1)
        let error = try #require(throws: Realm.Error.self) {
            _ = try Realm(configuration: deleting(MigratingStore.second, 1))
        }
        #expect(error.code == .alreadyOpen && error.message.contains("deleteRealmIfMigrationNeeded"))
        #expect(open.objects(DogV1.self).count == 3)
    }

    @Test func itIsNotDeletedWhileAnotherOpenerHasItOpen() throws {
        try store.fill()
        let other = try ForeignStore(store.url.path)
        let error = try #require(throws: Realm.Error.self) {
            _ = try Realm(configuration: deleting(MigratingStore.second, 1))
        }
        #expect(error.code == .alreadyOpen && error.message.contains("was not deleted"))
        try other.close()
        #expect(try store.open(MigratingStore.first, version: 1).objects(DogV1.self).count == 3)
    }

    @Test func classesThatCanNotBeStoredDeleteNothing() throws {
        try store.fill()
        let error = try #require(throws: Realm.Error.self) { _ = try Realm(configuration: deleting([OwnerV2.self], 5)) }
        #expect(error.code == .schemaMismatch)
        #expect(try store.open(MigratingStore.first, version: 1).objects(DogV1.self).count == 3)
    }

    @Test(arguments: [true, false]) func deletingExcludesReadingOnly(_ first: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [first] in
            var configuration = Realm.Configuration()
            if first { configuration.readOnly = true }
            configuration.deleteRealmIfMigrationNeeded = true
            configuration.readOnly = true
        }
        expectMessage(result, "can't have both readOnly and deleteRealmIfMigrationNeeded")
    }

    @Test func aStoreWithOtherFilesInItsFolderIsNotDeleted() throws {
        try store.fill()
        try Data("mine".utf8).write(to: store.url.appending(path: "notes.txt"))
        let error = try #require(throws: Realm.Error.self) {
            _ = try Realm(configuration: deleting(MigratingStore.second, 1))
        }
        #expect(error.code == .fileOperationFailed && error.message.contains("was not deleted"))
        #expect(error.message.contains("notes.txt"))
        #expect(try store.open(MigratingStore.first, version: 1).objects(DogV1.self).count == 3)
    }

    // MARK: A migration by another opener

    @Test func aBlockThatRemovesSomethingIsRefusedWhileAnotherOpenerHasTheStore() throws {
        try store.fill()
        let other = try ForeignStore(store.url.path)
        // Nothing is known to be removed before the block has run.
        let error = try #require(throws: Realm.Error.self) {
            _ = try store.open([OwnerV1.self, DogV1.self], version: 2) { migration, _ in
                migration.deleteData(forType: "Collar")
            }
        }
        #expect(error.code == .alreadyOpen && error.message.contains("the class Collar was removed"))
        #expect(try store.open(MigratingStore.first, version: 1).objects(CollarV1.self).count == 1)
        // What only changes data is no problem for it.
        let realm = try store.open([OwnerV1.self, DogV1.self], version: 2) { migration, _ in
            migration.deleteData(forType: "Dog")
        }
        #expect(realm.objects(DogV1.self).isEmpty)
        try other.close()
    }

    @Test func aStoreThatIsOpenIsNotMigrated() throws {
        try store.fill()
        let notes = MigrationNotes()
        let configuration = store.configuration(MigratingStore.first, version: 2) { notes.note("from \($1)") }
        let open = try store.open(MigratingStore.first, version: 1)
        let error = try #require(throws: Realm.Error.self) { try Realm.performMigration(for: configuration) }
        #expect(error.code == .alreadyOpen && notes.lines.isEmpty)
        #expect(open.objects(DogV1.self).count == 3)
    }

    @Test func aStoreIsMigratedWithoutBeingUsed() throws {
        try store.fill()
        let notes = MigrationNotes()
        let configuration = store.configuration(MigratingStore.first, version: 2) { notes.note("from \($1)") }
        try Realm.performMigration(for: configuration)
        #expect(notes.lines == ["from 1"] && !SharedStore.isOpen(store.url))
        #expect(try schemaVersionAtURL(store.url) == 2)
    }

    // MARK: The version of a store

    /// The version is read without opening a realm (R13).
    @Test func theSchemaVersionOfAStore() throws {
        let missing = try #require(throws: Realm.Error.self) { try schemaVersionAtURL(store.url) }
        #expect(missing.code == .invalidDatabase && missing.fileURL == store.url)
        try store.fill()
        #expect(try schemaVersionAtURL(store.url) == 1)
        let open = try store.open(MigratingStore.first, version: 4)
        #expect(try schemaVersionAtURL(store.url) == 4)
        withExtendedLifetime(open) {}
        let key = try #require(throws: Realm.Error.self) { try schemaVersionAtURL(store.url, encryptionKey: Data([1])) }
        #expect(key.code == .invalidInput)
        let web = try #require(throws: Realm.Error.self) { try schemaVersionAtURL(URL(string: "https://firn.dev")!) }
        #expect(web.code == .invalidInput)
        try Data("hello".utf8).write(to: URL(filePath: store.folder.path + "/text"))
        let text = try #require(throws: Realm.Error.self) {
            try schemaVersionAtURL(URL(filePath: store.folder.path + "/text"))
        }
        #expect(text.code == .invalidDatabase || text.code == .fileOperationFailed, "\(text)")
    }

    @Test func theSchemaVersionOfAStoreThatAnotherOpenerWrites() throws {
        try store.fill()
        let other = try ForeignStore(store.url.path)
        try other.addTable("Another")
        #expect(try schemaVersionAtURL(store.url) == 1)
        try other.close()
    }

    // MARK: The seed

    private var seeded: Realm.Configuration {
        var configuration = store.configuration(MigratingStore.first, version: 1)
        configuration.seedFilePath = store.url
        configuration.fileURL = URL(filePath: store.folder.path + "/seeded.firn")
        return configuration
    }

    @Test func aSeedIsCopiedWhereThereIsNoStore() throws {
        try store.fill()
        let realm = try Realm(configuration: seeded)
        #expect(realm.objects(DogV1.self).map(\.title) == ["Rex", "Ida", "Max"])
        try realm.write { realm.delete(realm.objects(DogV1.self)) }
        #expect(try store.open(MigratingStore.first, version: 1).objects(DogV1.self).count == 3)
    }

    @Test func aStoreThatIsThereIsNotReplaced() throws {
        try store.fill()
        try empty(seeded)
        #expect(try Realm(configuration: seeded).isEmpty)
        // Not even if the seed is gone.
        _ = try Realm.deleteFiles(for: store.configuration(MigratingStore.first, version: 1))
        #expect(try Realm(configuration: seeded).isEmpty)
    }

    private func empty(_ configuration: Realm.Configuration) throws {
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.deleteAll() }
    }

    @Test func aSeedThatIsOpenIsCopiedToo() throws {
        try store.fill()
        let open = try store.open(MigratingStore.first, version: 1)
        try open.write { open.create(DogV1.self, value: ["title": "Eve"]) }
        #expect(try Realm(configuration: seeded).objects(DogV1.self).count == 4)
        withExtendedLifetime(open) {}
    }

    @Test func whatIsNoStoreIsReplacedByTheSeed() throws {
        try store.fill()
        let url = try #require(seeded.fileURL)
        // An empty folder, and what an interrupted copy leaves.
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        #expect(try Realm(configuration: seeded).objects(DogV1.self).count == 3)
        _ = try Realm.deleteFiles(for: seeded)
        try FileManager.default.createDirectory(at: url.appending(path: "log"), withIntermediateDirectories: true)
        try Data().write(to: url.appending(path: "copying"))
        #expect(try Realm(configuration: seeded).objects(DogV1.self).count == 3)
    }

    /// Another process is just copying the seed, and ends without a store: this one copies it, and makes no empty
    /// store.
    @Test func aSeedIsWaitedForWhileAnotherProcessCopiesIt() async throws {
        try store.fill()
        let configuration = seeded
        let url = try #require(configuration.fileURL)
        let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let seed = try Store(StoreOptions(log: LogOptions(folder: store.url.path)), storage: PosixStorage.shared)
        Thread.detachNewThread {
            // It holds the locks of the folder, and fails.
            _ = try? Log.create(
                url.path, beginningWith: (1, 0, []), storage: PosixStorage.shared, randomness: SystemRandomness.shared
            ) { (_) throws(LogError) in
                begun.signal()
                ended.wait()
                throw LogError(.diskFull, path: url.path)
            }
        }
        begun.wait()
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { ended.signal() }
        #expect(try Realm(configuration: configuration, queue: nil).objects(DogV1.self).count == 3)
        try seed.close()
    }

    @Test func aSeedThatIsMissingOrSomethingElse() throws {
        let missing = try #require(throws: Realm.Error.self) { _ = try Realm(configuration: seeded) }
        #expect(missing.code == .fileNotFound && missing.fileURL == store.url)
        #expect(!FileManager.default.fileExists(atPath: try #require(seeded.fileURL).path))
        try store.fill()
        let url = try #require(seeded.fileURL)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data("hello".utf8).write(to: url.appending(path: "photo"))
        let foreign = try #require(throws: Realm.Error.self) { _ = try Realm(configuration: seeded) }
        #expect(foreign.fileURL == url && foreign.code == .invalidDatabase)
        var own = store.configuration(MigratingStore.first, version: 1)
        own.fileURL = URL(filePath: store.folder.path + "/self.firn")
        own.seedFilePath = own.fileURL
        #expect(throws: Realm.Error.fileNotFound) { _ = try Realm(configuration: own) }
    }

    @Test func aSeedIsMigratedAfterItWasCopied() throws {
        try store.fill()
        var configuration = seeded
        configuration.schemaVersion = 2
        configuration.objectTypes = MigratingStore.second
        configuration.migrationBlock = { migration, _ in
            migration.renameProperty(onType: "Dog", from: "title", to: "name")
        }
        #expect(try Realm(configuration: configuration).objects(DogV2.self).map(\.name) == ["Rex", "Ida", "Max"])
        #expect(try schemaVersionAtURL(store.url) == 1)
    }

    @Test func theNewSettingsAreComparedAndDescribed() {
        var configuration = seeded
        #expect(configuration == seeded && configuration != store.configuration(MigratingStore.first, version: 1))
        configuration.deleteRealmIfMigrationNeeded = true
        #expect(configuration != seeded)
        configuration.migrationBlock = { _, _ in }
        for part in ["migrationBlock", "deleteRealmIfMigrationNeeded", "seedFilePath: \(store.url.path)"] {
            #expect(configuration.description.contains(part))
        }
    }
}

import FirnTestSupport
import Foundation
import RealmSwift
import Testing

/// A journal's files: where they are, what is in them, and what can be wrong with them.
@Suite(.timeLimit(.minutes(20))) struct JournalFileTests {
    private let folder = TemporaryFolder()
    private func url(_ name: String = "journal.firn") -> URL { URL(fileURLWithPath: folder.path + "/" + name) }
    private func configuration(_ name: String = "journal.firn") -> Realm.Configuration {
        Journal.configuration(url(name))
    }

    /// A journal with some pages. Nothing has it open when this returns.
    private func make(_ name: String = "journal.firn", _ count: Int = 3) throws {
        let realm = try Realm(configuration: configuration(name))
        try realm.write {
            for number in 0..<count {
                realm.create(JournalEntry.self, value: ["title": "page \(number)", "date": Date()] as [String: Any])
            }
        }
    }

    @Test func aConfigurationIsAValue() throws {
        var configuration = Realm.Configuration()
        #expect(configuration.schemaVersion == 0 && !configuration.readOnly && configuration.encryptionKey == nil)
        #expect(configuration.fileURL?.lastPathComponent.hasPrefix("default") == true)
        configuration.fileURL = configuration.fileURL!.deletingLastPathComponent().appendingPathComponent("ada.realm")
        configuration.inMemoryIdentifier = "memory"
        #expect(configuration.fileURL == nil && configuration.objectTypes == nil)
        configuration.fileURL = url()
        #expect(configuration.inMemoryIdentifier == nil)
        configuration.objectTypes = Journal.objectTypes
        let realm = try Realm(configuration: configuration)
        #expect(realm.configuration.fileURL?.path == url().path && realm.configuration.objectTypes?.count == 3)
        #expect(
            realm.schema.objectSchema.map(\.className).sorted() == ["JournalAuthor", "JournalEntry", "JournalPlace"])
        let again = try Realm(configuration: configuration)
        #expect(again == realm)
    }

    @Test func realmsInMemoryLiveAsLongAsSomebodyHasThem() throws {
        let memory = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: Journal.objectTypes)
        do {
            let realm = try Realm(configuration: memory)
            try realm.write { realm.add(JournalEntry(value: ["title": "kept"])) }
            let same = try Realm(configuration: memory)
            #expect(same.objects(JournalEntry.self).count == 1 && same == realm)
        }
        let realm = try Realm(configuration: memory)
        #expect(realm.isEmpty)
    }

    @Test func aSeedIsCopiedOnce() throws {
        try make("bundled.firn")
        var configuration = configuration()
        configuration.seedFilePath = url("bundled.firn")
        do {
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(JournalEntry.self).count == 3)
            try realm.write { realm.deleteAll() }
        }
        let realm = try Realm(configuration: configuration)
        #expect(realm.isEmpty)
    }

    @Test func aCopyIsMadeAndDeleted() throws {
        try make()
        let realm = try Realm(configuration: configuration())
        try realm.writeCopy(toFile: url("copy.firn"))
        #expect(throws: Realm.Error.fileExists) { try realm.writeCopy(toFile: url("copy.firn")) }
        try realm.writeCopy(configuration: configuration("other.firn"))
        do {
            let copy = try Realm(configuration: configuration("copy.firn"))
            #expect(copy.objects(JournalEntry.self).count == 3)
            #expect(throws: Realm.Error.alreadyOpen) { try Realm.deleteFiles(for: configuration("copy.firn")) }
        }
        #expect(Realm.fileExists(for: configuration("copy.firn")))
        #expect(try Realm.deleteFiles(for: configuration("copy.firn")))
        #expect(
            !Realm.fileExists(for: configuration("copy.firn")) && Realm.fileExists(for: configuration("other.firn")))
        #expect(try !Realm.deleteFiles(for: configuration("copy.firn")))
    }

    /// What compacting takes away, and what it keeps (SEMANTICS 87).
    @Test func aLargeFileIsCompactedWhenItIsOpened() throws {
        try make("journal.firn", 3)
        do {
            let realm = try Realm(configuration: configuration())
            let long = (0..<100_000).map { "\($0 * 7919)" }.joined()
            for number in 0..<20 {
                try realm.write { realm.objects(JournalEntry.self).setValue("\(number)\(long)", forKey: "title") }
            }
            try realm.write { realm.objects(JournalEntry.self).setValue("again", forKey: "title") }
        }
        var configuration = configuration()
        nonisolated(unsafe) var sizes: [(total: Int, used: Int)] = []
        configuration.shouldCompactOnLaunch = { totalBytes, usedBytes in
            sizes.append((totalBytes, usedBytes))
            return Double(usedBytes) / Double(totalBytes) < 0.9
        }
        do {
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(JournalEntry.self).where { $0.title == "again" }.count == 3)
        }
        _ = try Realm(configuration: configuration)
        #expect(sizes.count == 2 && sizes[0].used < sizes[0].total && sizes[1].total < sizes[0].total, "\(sizes)")
    }

    @Test func aJournalIsReadOnly() throws {
        try make()
        var configuration = configuration()
        configuration.readOnly = true
        let realm = try Realm(configuration: configuration)
        #expect(realm.objects(JournalEntry.self).count == 3 && realm.configuration.readOnly)
        #expect(realm.objects(JournalEntry.self).freeze().count == 3)
    }

    // MARK: Errors

    @Test func errorsSayWhatIsWrong() throws {
        var missing = configuration("missing.firn")
        missing.readOnly = true
        do {
            _ = try Realm(configuration: missing)
            Issue.record("it was opened")
        } catch let error as Realm.Error where error.code == .fileNotFound {
            #expect(error.fileURL == url("missing.firn") && !error.localizedDescription.isEmpty)
        }
        do {
            _ = try schemaVersionAtURL(url("missing.firn"))
            Issue.record("it has a version")
        } catch Realm.Error.invalidDatabase, Realm.Error.fileNotFound {
        }
        // A file of something else.
        try Data("no journal".utf8).write(to: url("text"))
        do {
            _ = try Realm(fileURL: url("text"))
            Issue.record("it was opened")
        } catch let error as Realm.Error {
            #expect([.invalidDatabase, .fileOperationFailed, .fileAccess].contains(error.code))
            let bridged = error as NSError
            #expect(bridged.domain == "io.realm" && bridged.code == error.code.rawValue)
        }
        var unseeded = configuration()
        unseeded.seedFilePath = url("missing.firn")
        #expect(throws: Realm.Error.fileNotFound) { try Realm(configuration: unseeded) }
    }

    @Test func aKeyMustBeOneThatCanBeUsed() throws {
        try make()
        var configuration = configuration()
        configuration.encryptionKey = Data(count: 63)
        #expect(throws: Realm.Error.invalidInput) { try Realm(configuration: configuration) }
        // A store that is not encrypted has no key.
        configuration.encryptionKey = Data(count: 64)
        #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
        #expect(throws: Realm.Error.self) { try schemaVersionAtURL(url(), encryptionKey: Data(count: 64)) }
        configuration.encryptionKey = nil
        #expect(try Realm(configuration: configuration).objects(JournalEntry.self).count == 3)
    }

    // MARK: The default realm

    /// In a process of its own, since the default configuration is the process's.
    @Test func theDefaultRealmIsThatOfTheDefaultConfiguration() async {
        await #expect(processExitsWith: .success) {
            Realm.Configuration.defaultConfiguration = Realm.Configuration(
                inMemoryIdentifier: "default", objectTypes: Journal.objectTypes)
            let realm = try Realm()
            try Realm().write { _ = JournalAuthor.createInDefaultRealm(withValue: ["fullName": "Ada"]) }
            let again = try Realm(queue: nil)
            precondition(again == realm && JournalAuthor.allObjects().count == 1)
            try realm.write {
                JournalAuthor.createOrUpdateInDefaultRealm(withValue: ["fullName": "Ada"])
                JournalAuthor.createOrUpdateModified(in: realm, withValue: ["Bo"])
            }
            precondition(JournalAuthor.object(forPrimaryKey: "Bo")?.realm == realm)
            precondition(JournalAuthor.objects(where: "fullName BEGINSWITH %@", "A").count == 1)
            precondition(JournalAuthor.objects(in: realm, where: "entries.@count == 0").count == 2)
        }
    }
}

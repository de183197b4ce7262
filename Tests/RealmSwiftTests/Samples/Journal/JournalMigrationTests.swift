import FirnTestSupport
import Foundation
import RealmSwift
import Testing

/// A journal goes from version to version.
@Suite(.timeLimit(.minutes(20))) struct JournalMigrationTests {
    private let folder = TemporaryFolder()
    private var url: URL { URL(fileURLWithPath: folder.path + "/journal.firn") }

    private func makeVersion1() throws {
        try JournalVersion1.make(
            url,
            [
                ["name": "Rain", "firstName": "Ada", "lastName": "Lovelace", "mood": "2", "seconds": 60.5],
                [
                    "name": "Sun", "firstName": "Ada", "lastName": "Lovelace", "mood": "9", "seconds": 120,
                    "city": "Bath",
                ],
                ["name": "Fog", "firstName": "Bo", "lastName": "Ek", "mood": "?", "seconds": 180],
            ])
    }

    @Test func version1BecomesVersion4() throws {
        try makeVersion1()
        #expect(try schemaVersionAtURL(url) == 1)
        let realm = try Realm(configuration: Journal.configuration(url))
        let entries = realm.objects(JournalEntry.self).sorted(byKeyPath: "date")
        #expect(entries.map(\.title) == ["Rain", "Sun", "Fog"] && entries.map(\.mood) == [2, 9, nil])
        #expect(entries.map { $0.date.timeIntervalSince1970 } == [60.5, 120, 180])
        #expect(entries.map { $0.author?.fullName } == ["Ada Lovelace", "Ada Lovelace", "Bo Ek"])
        #expect(entries.map { $0.place?.city } == [nil, "Bath", nil] && Set(entries.map(\._id)).count == 3)
        #expect(realm.objects(JournalAuthor.self).where { $0.entries.count == 2 }.map(\.fullName) == ["Ada Lovelace"])
        #expect(try schemaVersionAtURL(url) == 4)
    }

    /// The migration reads a property by the name that it is stored under (S58).
    @Test func version2BecomesVersion4() throws {
        try makeVersion1()
        do {
            let realm = try JournalVersion2.open(url)
            let entries = realm.objects(JournalVersion2.JournalEntry.self)
            #expect(entries.map(\.fullName) == ["Ada Lovelace", "Ada Lovelace", "Bo Ek"])
            #expect(entries.map(\.title) == ["Rain", "Sun", "Fog"] && entries.map(\.city) == [nil, "Bath", nil])
            try realm.write { entries[0].tags = "wet,cold" }
        }
        try Realm.performMigration(for: Journal.configuration(url))
        let realm = try Realm(configuration: Journal.configuration(url))
        let rain = try #require(realm.objects(JournalEntry.self).where { $0.title == "Rain" }.first)
        #expect(Array(rain.tags) == ["wet", "cold"] && rain.author?.fullName == "Ada Lovelace" && rain.mood == 2)
        #expect(realm.objects(JournalAuthor.self).count == 2)
    }

    @Test func aChangedClassNeedsAVersion() throws {
        try makeVersion1()
        var configuration = Journal.configuration(url)
        configuration.schemaVersion = 1
        do {
            _ = try Realm(configuration: configuration)
            Issue.record("it was opened")
        } catch Realm.Error.schemaMismatch {
            #expect(try schemaVersionAtURL(url) == 1)
        }
        // A lower version than that of the file.
        configuration.schemaVersion = 0
        #expect(throws: Realm.Error.schemaMismatch) { try Realm(configuration: configuration) }
    }

    @Test func aMigrationMayAddDeleteAndChangeObjects() throws {
        try makeVersion1()
        var configuration = Journal.configuration(url)
        nonisolated(unsafe) var log: [String] = []
        configuration.migrationBlock = { migration, oldVersion in
            log.append("from \(oldVersion)")
            log.append(migration.oldSchema["JournalEntry"]?.properties.map(\.name).joined(separator: " ") ?? "")
            #expect(migration.oldSchema["JournalAuthor"] == nil && migration.newSchema["JournalAuthor"] != nil)
            migration.enumerateObjects(ofType: "JournalEntry") { old, new in
                guard let old, let new else { return }
                if old["name"] as? String == "Fog" { return migration.delete(new) }
                new.title = "Old: \(old.name as? String ?? "")"
                new["_id"] = UUID()
            }
            let author = migration.create("JournalAuthor", value: ["fullName": "Nobody"])
            log.append("\(author["fullName"] ?? "")")
            #expect(!migration.deleteData(forType: "NoClass"))
        }
        let realm = try Realm(configuration: configuration)
        #expect(realm.objects(JournalEntry.self).map(\.title) == ["Old: Rain", "Old: Sun"])
        #expect(log == ["from 1", "name firstName lastName mood seconds city", "Nobody"])
        #expect(realm.objects(JournalAuthor.self).first?.fullName == "Nobody")
    }

    @Test func dataThatCanBeFetchedAgainAreDeleted() throws {
        try makeVersion1()
        var configuration = Journal.configuration(url)
        configuration.deleteRealmIfMigrationNeeded = true
        let realm = try Realm(configuration: configuration)
        #expect(realm.isEmpty && realm.configuration.schemaVersion == 4)
    }
}

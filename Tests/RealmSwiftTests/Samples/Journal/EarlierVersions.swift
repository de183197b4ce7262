import Foundation
import RealmSwift

/// The classes of the application's first version.
enum JournalVersion1 {
    class JournalEntry: Object {
        @Persisted var name: String
        @Persisted var firstName: String
        @Persisted var lastName: String
        @Persisted var mood: String
        @Persisted var seconds: Double
        @Persisted var city: String?

        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static func make(_ url: URL, _ entries: [[String: Any]]) throws {
        let realm = try Realm(
            configuration: Realm.Configuration(fileURL: url, schemaVersion: 1, objectTypes: [JournalEntry.self]))
        try realm.write {
            for entry in entries { realm.create(JournalEntry.self, value: entry) }
        }
    }
}

/// Version 2: `name` is `title`, the author's two names are one, and there are tags separated by commas.
enum JournalVersion2 {
    class JournalEntry: Object {
        @Persisted var title: String
        @Persisted var fullName: String
        @Persisted var mood: String
        @Persisted var seconds: Double
        @Persisted var city: String?
        @Persisted var tags: String

        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        /// The column is called otherwise, which migrations see.
        override class func propertiesMapping() -> [String: String] { ["fullName": "full_name"] }
    }

    static func open(_ url: URL) throws -> Realm {
        try Realm(
            configuration: Realm.Configuration(
                fileURL: url, schemaVersion: 2,
                migrationBlock: { migration, oldVersion in
                    if oldVersion < 2 { Journal.combineNames(migration) }
                }, objectTypes: [JournalEntry.self]))
    }
}

import Foundation
import RealmSwift

/// A journal in a file: how the application opens it.
enum Journal {
    static let schemaVersion: UInt64 = 4
    static let objectTypes: [ObjectBase.Type] = [JournalEntry.self, JournalAuthor.self, JournalPlace.self]

    static func configuration(_ url: URL) -> Realm.Configuration {
        Realm.Configuration(
            fileURL: url, schemaVersion: schemaVersion, migrationBlock: migrate, objectTypes: objectTypes)
    }

    // MARK: Migrating

    /// Goes from one version to the next, as often as is needed.
    @Sendable static func migrate(_ migration: Migration, from oldVersion: UInt64) {
        if oldVersion < 2 { combineNames(migration) }
        if oldVersion < 3 {
            // 3: a number for the mood, instead of a text.
            migration.enumerateObjects(ofType: JournalEntry.className()) { oldObject, newObject in
                newObject!["mood"] = Int(oldObject!["mood"] as! String)
            }
        }
        if oldVersion < 4 {
            // 4: a date for the seconds, a list for the tags, and objects for the authors and the places.
            var authors: [String: MigrationObject] = [:]
            migration.enumerateObjects(ofType: JournalEntry.className()) { oldObject, newObject in
                guard let oldObject, let newObject else { return }
                newObject["_id"] = UUID()
                newObject["date"] = Date(timeIntervalSince1970: oldObject["seconds"] as! Double)
                if oldVersion >= 2 {
                    let tags = oldObject["tags"] as! String
                    newObject["tags"] = tags.split(separator: ",").map(String.init)
                }
                if let city = oldObject["city"] as? String { newObject["place"] = ["city": city] }
                let name = oldVersion < 2 ? fullName(oldObject) : oldObject["full_name"] as! String
                let author = authors[name] ?? migration.create("JournalAuthor", value: ["fullName": name])
                authors[name] = author
                newObject["author"] = author
            }
        }
    }

    /// Version 2. Once the data go to version 4 the full name is not stored in an entry any more.
    static func combineNames(_ migration: Migration) {
        migration.renameProperty(onType: "JournalEntry", from: "name", to: "title")
        guard migration.newSchema["JournalEntry"]?["fullName"] != nil else { return }
        migration.enumerateObjects(ofType: "JournalEntry") { oldObject, newObject in
            newObject!["fullName"] = fullName(oldObject!)
        }
    }

    private static func fullName(_ entry: MigrationObject) -> String {
        let (first, last) = (entry["firstName"] as! String, entry["lastName"] as! String)
        return "\(first) \(last)"
    }
}

/// A journal that is written in the background, on an actor of its own.
actor JournalWriter {
    private let configuration: Realm.Configuration
    private var realm: Realm!

    init(_ url: URL) async throws {
        configuration = Journal.configuration(url)
        realm = try await Realm(configuration: configuration, actor: self)
    }

    var count: Int { realm.objects(JournalEntry.self).count }

    @discardableResult
    func write(_ title: String, by author: String? = nil) async throws -> UUID {
        try await realm.asyncWrite {
            let entry = JournalEntry()
            entry.title = title
            entry.date = Date(timeIntervalSince1970: 0)
            if let author {
                entry.author = realm.create(JournalAuthor.self, value: ["fullName": author], update: .modified)
            }
            realm.add(entry)
            return entry._id
        }
    }

    func titles() -> [String] {
        realm.objects(JournalEntry.self).sorted(byKeyPath: "title").map(\.title)
    }

    func retitle(_ id: UUID, _ title: String) async throws {
        guard let entry = realm.object(ofType: JournalEntry.self, forPrimaryKey: id) else { return }
        try await realm.asyncWrite { entry.title = title }
    }

    func frozenEntries() -> Results<JournalEntry> { realm.objects(JournalEntry.self).freeze() }

    func close() { realm = nil }
}

import CSQLite
import Firn
import Foundation

extension Workload {
    /// W27: what a migration costs.
    static let migrations = Workload(
        id: "W27", title: "migrations",
        details:
            "A store of N objects with two short texts each. First a property is renamed; then, with the next version, the "
            + "application's code makes a third text of the two for each object. Each is one durable transaction. SQLite: "
            + "RENAME COLUMN; ADD COLUMN, and a SELECT of all rows with an UPDATE for each.",
        metrics: [Metric(Measured.rename, .lower), Metric(Measured.transform, .lower), .peak], targets: []
    ) { run in
        try FileManager.default.createDirectory(atPath: run.storeFolder, withIntermediateDirectories: true)
        let (rename, transform): (() throws -> Void, () throws -> Void)
        switch run.engineName {
        case .typed: (rename, transform) = try typedMigrations(run.storeFolder, run.objects)
        case .sqlite: (rename, transform) = try sqliteMigrations(run.storeFolder, run.objects)
        default: throw Unsupported()
        }
        run.beginMemory()
        run.record(Measured.rename, try nanoseconds(rename) / 1e6)
        run.record(Measured.transform, try nanoseconds(transform) / Double(run.objects))
        run.endMemory()
    }
}

private enum Measured {
    static let rename = "rename a property, ms"
    static let transform = "set a property from two others, ns/object"
}

private final class PersonV1: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var first: String
    @Persisted var last: String
    override class func _realmObjectName() -> String? { "Person" }
}

private final class PersonV2: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var first: String
    @Persisted var surname: String
    override class func _realmObjectName() -> String? { "Person" }
}

private final class PersonV3: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var first: String
    @Persisted var surname: String
    @Persisted var full: String
    override class func _realmObjectName() -> String? { "Person" }
}

private func typedMigrations(_ folder: String, _ count: Int) throws -> (() throws -> Void, () throws -> Void) {
    let url = URL(fileURLWithPath: folder + "/people.firn")
    func open(_ type: Object.Type, _ version: UInt64, _ block: MigrationBlock? = nil) throws -> Realm {
        try Realm(
            configuration: Realm.Configuration(
                fileURL: url, schemaVersion: version, migrationBlock: block, objectTypes: [type]))
    }
    func fill() throws {
        let realm = try open(PersonV1.self, 1)
        try realm.write {
            for id in 0..<count {
                let person = PersonV1()
                person.id = id
                person.first = "First \(id)"
                person.last = "Last \(id)"
                realm.add(person)
            }
        }
    }
    try fill()
    return (
        {
            _ = try open(PersonV2.self, 2) { migration, _ in
                migration.renameProperty(onType: "Person", from: "last", to: "surname")
            }
        },
        {
            _ = try open(PersonV3.self, 3) { migration, _ in
                migration.enumerateObjects(ofType: "Person") { old, new in
                    guard let old, let new else { return }
                    new["full"] = "\(old["first"] as? String ?? "") \(old["surname"] as? String ?? "")"
                }
            }
        }
    )
}

private func sqliteMigrations(_ folder: String, _ count: Int) throws -> (() throws -> Void, () throws -> Void) {
    let connection = try SQLiteConnection(path: folder + "/people.sqlite", durability: .full)
    func bind(_ text: String, _ column: Int32, _ statement: OpaquePointer, _ body: () throws -> Void) rethrows {
        var text = text
        try text.withUTF8 { bytes in
            try bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_bind_text(statement, column, $0.baseAddress, Int32($0.count), nil)
                try body()
            }
        }
    }
    func transaction(_ body: () throws -> Void) throws {
        try connection.execute("BEGIN IMMEDIATE")
        try body()
        try connection.execute("COMMIT")
    }
    try connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, first TEXT NOT NULL, last TEXT NOT NULL)")
    try transaction {
        let insert = try connection.statement("INSERT INTO person VALUES (?1, ?2, ?3)")
        for id in 0..<count {
            sqlite3_bind_int64(insert, 1, Int64(id))
            try bind("First \(id)", 2, insert) { try bind("Last \(id)", 3, insert) { try connection.finish(insert) } }
        }
    }
    return (
        { try transaction { try connection.execute("ALTER TABLE person RENAME COLUMN last TO surname") } },
        {
            try transaction {
                try connection.execute("ALTER TABLE person ADD COLUMN full TEXT NOT NULL DEFAULT ''")
                let select = try connection.statement("SELECT id, first, surname FROM person")
                let update = try connection.statement("UPDATE person SET full = ?2 WHERE id = ?1")
                while sqlite3_step(select) == SQLITE_ROW {
                    let full =
                        "\(String(cString: sqlite3_column_text(select, 1))) \(String(cString: sqlite3_column_text(select, 2)))"
                    sqlite3_bind_int64(update, 1, sqlite3_column_int64(select, 0))
                    try bind(full, 2, update) { try connection.finish(update) }
                }
                sqlite3_reset(select)
            }
        }
    )
}

import CSQLite
import Firn
import Foundation

extension Workload {
    /// W26: what a class can hold besides single values.
    static let valuesInObjects = Workload(
        id: "W26", title: "sets, maps, decimals and embedded objects",
        details:
            "N/10 texts put into one set, looked up and removed in random order; N/10 entries of one map set and read; "
            + "the sum of N/10 objects' decimals; N/10 objects created with an embedded one. One durable transaction for "
            + "each kind of change. SQLite: a table of (owner, text), one of (owner, key, value), cents in an integer, "
            + "and a table with the owner's key and an index on it.",
        metrics: Measured.allCases.map { Metric($0.rawValue, .lower) } + [.peak], targets: []
    ) { run in
        let count = run.tenthOfObjects
        var random = SplitMix64(seed: 26)
        let texts = (0..<count).map { "element \($0 &* 7_919 % count) of the collection" }
        let order = (0..<count).map { _ in random.below(count) }
        try FileManager.default.createDirectory(atPath: run.storeFolder, withIntermediateDirectories: true)
        run.beginMemory()
        let holder: any ValueHolder =
            switch run.engineName {
            case .typed: try TypedHolder(run.storeFolder)
            case .sqlite: try SQLiteHolder(run.storeFolder)
            default: throw Unsupported()
            }
        func measure(_ what: Measured, _ body: () throws -> Int) throws {
            var result = 0
            let time = try nanoseconds { result = try body() }
            escape(result)
            run.record(what.rawValue, time / Double(count))
        }
        try measure(.insert) { try holder.insert(texts) }
        try measure(.contains) { try holder.contains(order.map { texts[$0] }) }
        try measure(.remove) { try holder.remove(texts) }
        try measure(.mapSet) { try holder.set(texts) }
        try measure(.mapGet) { try holder.get(order.map { texts[$0] }) }
        try measure(.embedded) { try holder.create(count) }
        try measure(.sum) { try holder.sum() }
        run.endMemory()
    }
}

/// The figures of W26, per element or object.
private enum Measured: String, CaseIterable {
    case insert = "set insert, ns"
    case contains = "set contains, ns"
    case remove = "set remove, ns"
    case mapSet = "map set, ns"
    case mapGet = "map get, ns"
    case embedded = "create with embedded, ns"
    case sum = "decimal sum, ns"
}

/// A store with one set, one map, and objects with decimals and embedded objects. Each function returns a number that
/// depends on all of its work.
private protocol ValueHolder {
    func insert(_ texts: [String]) throws -> Int
    func contains(_ texts: [String]) throws -> Int
    func remove(_ texts: [String]) throws -> Int
    func set(_ keys: [String]) throws -> Int
    func get(_ keys: [String]) throws -> Int
    func create(_ count: Int) throws -> Int
    func sum() throws -> Int
}

private final class Folder: Object {
    @Persisted var tags: MutableSet<String>
    @Persisted var sizes: Map<String, Int>
}

private final class Customer: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var balance: Decimal128
    @Persisted var address: Address?
}

private final class Address: EmbeddedObject {
    @Persisted var street: String
    @Persisted var city: String
}

private struct TypedHolder: ValueHolder {
    let realm: Realm
    let folder: Folder

    init(_ path: String) throws {
        realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: URL(fileURLWithPath: path + "/values.firn"),
                objectTypes: [Folder.self, Customer.self, Address.self]))
        let folder = Folder()
        try realm.write { [realm] in realm.add(folder) }
        self.folder = folder
    }

    func insert(_ texts: [String]) throws -> Int {
        try realm.write {
            for text in texts { folder.tags.insert(text) }
            return folder.tags.count
        }
    }

    func contains(_ texts: [String]) throws -> Int {
        let tags = folder.tags
        return texts.reduce(0) { $0 + (tags.contains($1) ? 1 : 0) }
    }

    func remove(_ texts: [String]) throws -> Int {
        try realm.write {
            for text in texts { folder.tags.remove(text) }
            return folder.tags.count
        }
    }

    func set(_ keys: [String]) throws -> Int {
        try realm.write {
            for (index, key) in keys.enumerated() { folder.sizes[key] = index }
            return folder.sizes.count
        }
    }

    func get(_ keys: [String]) throws -> Int {
        let sizes = folder.sizes
        return keys.reduce(0) { $0 &+ (sizes[$1] ?? 0) }
    }

    func create(_ count: Int) throws -> Int {
        try realm.write {
            for index in 0..<count {
                let customer = Customer()
                customer.id = index
                customer.balance = Decimal128(integerLiteral: Int64(index)) / 100
                let address = Address()
                address.street = "Street \(index)"
                address.city = "City"
                customer.address = address
                realm.add(customer)
            }
            return count
        }
    }

    func sum() throws -> Int {
        let sum: Decimal128 = realm.objects(Customer.self).sum(of: \.balance)
        return Int(sum.doubleValue)
    }
}

private struct SQLiteHolder: ValueHolder {
    let connection: SQLiteConnection

    init(_ path: String) throws {
        connection = try SQLiteConnection(path: path + "/values.sqlite", durability: .full)
        for sql in [
            "CREATE TABLE tag (folder INTEGER, value TEXT, PRIMARY KEY (folder, value)) WITHOUT ROWID",
            "CREATE TABLE size (folder INTEGER, key TEXT, value INTEGER, PRIMARY KEY (folder, key)) WITHOUT ROWID",
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)",
            "CREATE TABLE address (customer INTEGER NOT NULL, street TEXT NOT NULL, city TEXT NOT NULL)",
            "CREATE UNIQUE INDEX address_customer ON address (customer)",
        ] { try connection.execute(sql) }
    }

    private func transaction(_ body: () throws -> Int) throws -> Int {
        try connection.execute("BEGIN IMMEDIATE")
        let result = try body()
        try connection.execute("COMMIT")
        return result
    }

    /// Binds a text without a copy while `body` runs (a nil destructor is SQLITE_STATIC).
    private func binding<Result>(
        _ text: String, _ column: Int32, _ statement: OpaquePointer, _ body: () throws -> Result
    ) rethrows -> Result {
        var text = text
        return try text.withUTF8 { bytes in
            try bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_bind_text(statement, column, $0.baseAddress, Int32($0.count), nil)
                return try body()
            }
        }
    }

    func insert(_ texts: [String]) throws -> Int {
        try transaction {
            let statement = try connection.statement("INSERT OR IGNORE INTO tag VALUES (1, ?1)")
            for text in texts { try binding(text, 1, statement) { try connection.finish(statement) } }
            return texts.count
        }
    }

    func contains(_ texts: [String]) throws -> Int {
        let statement = try connection.statement("SELECT EXISTS (SELECT 1 FROM tag WHERE folder = 1 AND value = ?1)")
        return try texts.reduce(0) { sum, text in
            try binding(text, 1, statement) { sum + (try connection.integer(statement)) }
        }
    }

    func remove(_ texts: [String]) throws -> Int {
        try transaction {
            let statement = try connection.statement("DELETE FROM tag WHERE folder = 1 AND value = ?1")
            for text in texts { try binding(text, 1, statement) { try connection.finish(statement) } }
            return texts.count
        }
    }

    func set(_ keys: [String]) throws -> Int {
        try transaction {
            let statement = try connection.statement("INSERT OR REPLACE INTO size VALUES (1, ?1, ?2)")
            for (index, key) in keys.enumerated() {
                sqlite3_bind_int64(statement, 2, Int64(index))
                try binding(key, 1, statement) { try connection.finish(statement) }
            }
            return keys.count
        }
    }

    func get(_ keys: [String]) throws -> Int {
        let statement = try connection.statement("SELECT value FROM size WHERE folder = 1 AND key = ?1")
        return try keys.reduce(0) { sum, key in
            try binding(key, 1, statement) { sum &+ (try connection.integer(statement)) }
        }
    }

    func create(_ count: Int) throws -> Int {
        try transaction {
            let customer = try connection.statement("INSERT INTO customer VALUES (?1, ?2)")
            let address = try connection.statement("INSERT INTO address VALUES (?1, ?2, ?3)")
            for index in 0..<count {
                sqlite3_bind_int64(customer, 1, Int64(index))
                sqlite3_bind_int64(customer, 2, Int64(index))
                try connection.finish(customer)
                sqlite3_bind_int64(address, 1, Int64(index))
                try binding("Street \(index)", 2, address) {
                    try binding("City", 3, address) { try connection.finish(address) }
                }
            }
            return count
        }
    }

    func sum() throws -> Int { try connection.integer(connection.statement("SELECT SUM(cents) FROM customer")) }
}

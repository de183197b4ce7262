import CSQLite
import Foundation

/// SQLite through its C interface, with statements prepared once and texts bound without a copy.
///
/// `@unchecked Sendable`: `connection`, which loads and writes, is used under `writing` or before the threads start.
/// Each reader has a connection of its own. SQLite can't share a sync between commits, so one connection behind a
/// mutex is the fastest setup for sixteen writers (busy connections sleep).
final class SQLiteEngine: Engine, @unchecked Sendable {
    static let takesStrings = false
    static var note: String {
        "SQLite \(String(cString: sqlite3_libversion())), C interface: WAL, synchronous FULL (OFF if the "
            + "row says without sync), 64 MiB page cache, mmap, memory statistics off, prepared statements, "
            + "default automatic checkpoints; texts bound and read as bytes, without making strings."
    }

    private let path: String
    private let durability: Durability
    fileprivate let writing = NSLock()
    fileprivate private(set) var connection: SQLiteConnection?

    init(folder: String, durability: Durability) throws {
        path = folder + "/people.sqlite"
        self.durability = durability
        let connection = try SQLiteConnection(path: path, durability: durability)
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL,
            age INTEGER NOT NULL, score REAL NOT NULL, city TEXT NOT NULL, active INTEGER NOT NULL,
            created INTEGER NOT NULL, bio TEXT NOT NULL)
            """)
        self.connection = connection
    }

    func load(_ people: People, batch: Int) throws {
        let connection = connection!
        let insert = try connection.statement(SQLiteWriter.insertion)
        var next = 0
        while next < people.count {
            try connection.execute("BEGIN IMMEDIATE")
            for index in next..<min(next + batch, people.count) {
                bind(people, index, to: insert)
                try connection.finish(insert)
            }
            try connection.execute("COMMIT")
            next += batch
        }
    }

    func makeReader() throws -> any Reader {
        try SQLiteReader(SQLiteConnection(path: path, durability: durability))
    }

    func makeWriter() throws -> any Writer { SQLiteWriter(self) }

    func compact() throws {
        try connection?.execute("VACUUM")
        try connection?.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// VACUUM would keep writers out, so beside them only the checkpoint is run.
    func makeCompactor() throws -> () throws -> Void {
        let connection = try SQLiteConnection(path: path, durability: durability)
        return { try connection.execute("PRAGMA wal_checkpoint(PASSIVE)") }
    }

    /// Opens a connection of its own with a read transaction: SQLite's way to hold a version.
    func hold() throws -> Any {
        let connection = try SQLiteConnection(path: path, durability: durability)
        try connection.execute("BEGIN")
        escape(try connection.integer(connection.statement("SELECT id FROM person LIMIT 1")))
        return connection
    }

    func close() throws { connection = nil }
}

/// Binds one person. The bytes outlive the step (a nil destructor is SQLITE_STATIC: no copy).
@inline(__always)
private func bind(_ people: People, _ index: Int, to statement: OpaquePointer) {
    people.records.withUnsafeBufferPointer { records in
        let record = records.baseAddress! + index
        var text = UnsafeRawPointer(people.bytes + record.pointee.textOffset).assumingMemoryBound(to: CChar.self)
        func put(_ column: Int32, _ length: UInt8) {
            sqlite3_bind_text(statement, column, text, Int32(length), nil)
            text += Int(length)
        }
        sqlite3_bind_int64(statement, 1, Int64(record.pointee.id))
        put(2, record.pointee.nameLength)
        put(3, record.pointee.emailLength)
        sqlite3_bind_int64(statement, 4, Int64(record.pointee.age))
        sqlite3_bind_double(statement, 5, record.pointee.score)
        put(6, record.pointee.cityLength)
        sqlite3_bind_int(statement, 7, record.pointee.active ? 1 : 0)
        sqlite3_bind_int64(statement, 8, Int64(record.pointee.created))
        put(9, record.pointee.bioLength)
    }
}

private final class SQLiteWriter: Writer {
    static let insertion = "INSERT INTO person VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    private let engine: SQLiteEngine

    init(_ engine: SQLiteEngine) { self.engine = engine }

    func setAge(_ age: Int, ofPerson id: Int) throws {
        try engine.writing.withLock { try setAge(age, id, engine.connection!) }
    }

    @inline(__always)
    private func setAge(_ age: Int, _ id: Int, _ connection: SQLiteConnection) throws {
        let statement = try connection.statement("UPDATE person SET age = ? WHERE id = ?")
        sqlite3_bind_int64(statement, 1, Int64(age))
        sqlite3_bind_int64(statement, 2, Int64(id))
        try connection.finish(statement)
    }

    func apply(_ changes: [Change], of people: People) throws {
        try engine.writing.withLock {
            let connection = engine.connection!
            try connection.execute("BEGIN IMMEDIATE")
            for change in changes {
                switch change {
                case .setAge(let age, let person): try setAge(age, person, connection)
                case .setBio(let index, let person):
                    let statement = try connection.statement("UPDATE person SET bio = ? WHERE id = ?")
                    let record = people.records[index]
                    let bio = UnsafeRawPointer(people.bytes + record.bioOffset).assumingMemoryBound(to: CChar.self)
                    sqlite3_bind_text(statement, 1, bio, Int32(record.bioLength), nil)
                    sqlite3_bind_int64(statement, 2, Int64(person))
                    try connection.finish(statement)
                case .insert(let index):
                    let statement = try connection.statement(Self.insertion)
                    bind(people, index, to: statement)
                    try connection.finish(statement)
                case .delete(let person):
                    let statement = try connection.statement("DELETE FROM person WHERE id = ?")
                    sqlite3_bind_int64(statement, 1, Int64(person))
                    try connection.finish(statement)
                }
            }
            try connection.execute("COMMIT")
        }
    }

    func setAgeOfEveryone(_ age: Int) throws {
        try engine.writing.withLock {
            let connection = engine.connection!
            let statement = try connection.statement("UPDATE person SET age = ?")
            sqlite3_bind_int64(statement, 1, Int64(age))
            try connection.finish(statement)
        }
    }

    func insert(_ people: People, at index: Int) throws {
        try engine.writing.withLock {
            let connection = engine.connection!
            let statement = try connection.statement(Self.insertion)
            bind(people, index, to: statement)
            try connection.finish(statement)
        }
    }
}

private final class SQLiteReader: Reader {
    private let connection: SQLiteConnection
    private let begin: OpaquePointer
    private let commit: OpaquePointer
    private let readOne: OpaquePointer

    init(_ connection: SQLiteConnection) throws {
        self.connection = connection
        begin = try connection.statement("BEGIN")
        commit = try connection.statement("COMMIT")
        readOne = try connection.statement("SELECT id FROM person LIMIT 1")
    }

    @inline(__always)
    private func digest(_ row: OpaquePointer) -> UInt64 {
        let name = sqlite3_column_text(row, 0)!
        let length = Int(sqlite3_column_bytes(row, 0))
        return readDigest(age: Int(sqlite3_column_int64(row, 1)), nameLength: length, firstByte: name[0])
    }

    func pointReads(_ keys: [Int]) throws -> UInt64 {
        let statement = try connection.statement("SELECT name, age FROM person WHERE id = ?")
        var sum: UInt64 = 0
        try connection.execute("BEGIN")
        for key in keys {
            sqlite3_bind_int64(statement, 1, Int64(key))
            guard sqlite3_step(statement) == SQLITE_ROW else { throw connection.failure("no person \(key)") }
            sum &+= digest(statement)
            sqlite3_reset(statement)
        }
        try connection.execute("COMMIT")
        return sum
    }

    func sumOfAges() throws -> Int { try connection.integer(connection.statement("SELECT sum(age) FROM person")) }

    func count(olderThan age: Int) throws -> Int {
        let statement = try connection.statement("SELECT count(*) FROM person WHERE age > ?")
        sqlite3_bind_int64(statement, 1, Int64(age))
        return try connection.integer(statement)
    }

    func readEveryone() throws -> UInt64 {
        let statement = try connection.statement("SELECT name, age FROM person")
        var sum: UInt64 = 0
        while sqlite3_step(statement) == SQLITE_ROW { sum &+= digest(statement) }
        sqlite3_reset(statement)
        return sum
    }

    func readEverything() throws -> UInt64 {
        let statement = try connection.statement(
            "SELECT id, age, score, created, active, name, email, city, bio FROM person")
        var sum: UInt64 = 0
        while sqlite3_step(statement) == SQLITE_ROW {
            func text(_ position: Int32) -> UInt64 {
                let bytes = sqlite3_column_text(statement, 5 + position)!
                let length = Int(sqlite3_column_bytes(statement, 5 + position))
                return textDigest(UInt64(position), length: length, firstByte: bytes[0])
            }
            sum &+= fullDigest(
                id: Int(sqlite3_column_int64(statement, 0)), age: Int(sqlite3_column_int64(statement, 1)),
                score: sqlite3_column_double(statement, 2), created: Int(sqlite3_column_int64(statement, 3)),
                active: sqlite3_column_int(statement, 4) != 0, texts: text(0) &+ text(1) &+ text(2) &+ text(3))
        }
        sqlite3_reset(statement)
        return sum
    }

    /// A SQLite transaction takes its snapshot at the first read, so a snapshot is BEGIN, one row and COMMIT.
    func openSnapshots(_ count: Int) throws {
        for _ in 0..<count { try openSnapshot() }
    }

    private func openSnapshot() throws {
        try connection.finish(begin)
        escape(try connection.integer(readOne))
        try connection.finish(commit)
    }

    func refresh() throws { try openSnapshot() }
}

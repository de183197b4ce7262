import CSQLite

/// One connection with the tuning that all SQLite figures are measured with, and the statements prepared on it.
///
/// One thread at a time uses it (SQLite is opened without its own mutex).
final class SQLiteConnection {
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    init(path: String, durability: Durability) throws {
        _ = Self.quieted
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK, let opened else {
            throw BenchError("SQLite can't open \(path)")
        }
        handle = opened
        try execute("PRAGMA journal_mode = WAL")
        try execute("PRAGMA synchronous = \(durability == .full ? "FULL" : "OFF")")
        try execute("PRAGMA cache_size = -65536")
        try execute("PRAGMA mmap_size = 4294967296")
        try execute("PRAGMA busy_timeout = 10000")
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close(handle)
    }

    /// Called once in a process, before its first connection.
    private static let quieted: Int32 = firn_bench_sqlite_without_statistics()

    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
    }

    /// The statement with this text, prepared once.
    func statement(_ sql: String) throws -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        guard sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil) == SQLITE_OK,
            let statement
        else { throw failure(sql) }
        statements[sql] = statement
        return statement
    }

    /// Runs a statement that returns no rows, and resets it for the next use.
    @inline(__always)
    func finish(_ statement: OpaquePointer) throws {
        let result = sqlite3_step(statement)
        sqlite3_reset(statement)
        guard result == SQLITE_DONE else { throw failure("a step") }
    }

    /// The one integer that a query returns.
    func integer(_ statement: OpaquePointer) throws -> Int {
        guard sqlite3_step(statement) == SQLITE_ROW else { throw failure("a query") }
        let value = Int(sqlite3_column_int64(statement, 0))
        sqlite3_reset(statement)
        return value
    }

    func failure(_ what: String) -> BenchError {
        BenchError("SQLite: \(what): \(String(cString: sqlite3_errmsg(handle)))")
    }
}

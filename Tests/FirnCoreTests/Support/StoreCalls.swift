import FirnLog
import FirnStorage
import Testing

@testable import FirnCore

extension Store {
    /// Opens a store as most tests need it: without threads of its own, and without a reserve for a full disk.
    static func open(on storage: any Storage, durability: Durability = .full) throws(StoreError) -> Store {
        var options = LogOptions(folder: "/store", durability: durability)
        options.usesThreads = false
        options.reserveByteCount = 0
        return try Store(StoreOptions(log: options), storage: storage, clock: ManualClock())
    }
}

extension WriteTransaction {
    /// Makes a schema of one table, whose first column is the primary key.
    func makeTable(_ name: String, _ columns: [ColumnSchema]) throws(StoreError) {
        try changeSchema(to: StoreSchema(tables: [TableSchema(name: name, primaryKey: 0, columns: columns)]))
    }
}

/// The code of the log error that `body` throws, or nil if it throws nothing. Also checks that the error has a
/// message.
func logCode(_ body: () throws -> Void) -> LogError.Code? {
    do {
        try body()
        return nil
    } catch {
        guard let error = error as? StoreError, case .log(let inner) = error.code else {
            Issue.record("\(error)")
            return nil
        }
        #expect("\(error)".count > 30)
        return inner.code
    }
}

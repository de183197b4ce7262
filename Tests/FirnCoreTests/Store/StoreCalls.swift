import FirnLog
import FirnStorage
import Testing

@testable import FirnCore

extension Store {
    /// A store on a storage as most tests want it: without threads of its own, and without room kept for a full disk.
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

/// The code of the log's error that `body` throws, which also says something to people; nil where it throws nothing.
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

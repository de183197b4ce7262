import FirnLog
import FirnStorage
import Testing

@testable import FirnCore

/// An object that a transaction makes or edits and then deletes leaves nothing behind but its key.
@Suite(.timeLimit(.minutes(20))) struct DeletedAtOnceTests {
    private static let table = TableID(0)
    private static let schema = StoreSchema(tables: [
        TableSchema(
            name: "Basket",
            columns: [
                ColumnSchema(name: "number", type: .int),
                ColumnSchema(name: "eggs", type: .int, collection: .list),
            ])
    ])

    private func open(_ storage: MemoryStorage) throws -> Store {
        var options = LogOptions(folder: "/store")
        options.usesThreads = false
        return try Store(StoreOptions(log: options), storage: storage)
    }

    /// Makes an object and returns its key.
    private func make(_ transaction: WriteTransaction) throws -> Int64 {
        var row = transaction.beginRow(Self.table)
        transaction.fill(&row, column: 0, value: .int(7))
        try transaction.endRow(row)
        return row.key
    }

    /// A store with `count` objects, and their keys.
    private func filled(_ storage: MemoryStorage, count: Int) throws -> (store: Store, keys: [Int64]) {
        let store = try open(storage)
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: Self.schema)
        let keys = try (0..<count).map { _ in try make(transaction) }
        try transaction.commit()
        return (store, keys)
    }

    @Test func aDeletedObjectsListIsNotReportedAsEdited() throws {
        let storage = MemoryStorage()
        let (store, keys) = try filled(storage, count: 2)
        let old = store.pin()
        let cursor = store.makeChangeCursor(after: old.version)
        let second = try store.beginWrite()
        for key in keys { second.edit(Self.table, column: 1, key: key) { $0.append(.int(1)) } }
        second.delete(Self.table, keys[0])
        try second.commit()
        let summary = try #require(cursor.changes(from: old, to: store.pin()).tables[Self.table])
        #expect(summary.deleted == [keys[0]] && summary.scripts.keys.map(\.key) == [keys[1]])
        try store.close()
        let again = try open(storage).pin()
        #expect(again.snapshot.table(Self.table).count == 1)
        #expect(again.snapshot.table(Self.table).value(1, of: keys[1]) == .list([.int(1)]))
    }

    @Test func aKeyIsNotAssignedAgainAlthoughNoChangeNamesIt() throws {
        let storage = MemoryStorage()
        let (store, keys) = try filled(storage, count: 1)
        let second = try store.beginWrite()
        let gone = try make(second)
        second.delete(Self.table, gone)
        try second.commit()
        try store.close()
        let again = try open(storage)
        #expect(again.log?.checkpoint == nil, "with a checkpoint nothing would be replayed")
        let third = try again.beginWrite()
        let next = try make(third)
        #expect(keys[0] < gone && gone < next)
        third.cancel()
    }
}

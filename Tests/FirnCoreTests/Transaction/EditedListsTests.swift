import FirnStorage
import Testing

@testable import FirnCore

/// Lists of several properties that one transaction edits are each logged by their edits, once.
@Suite(.timeLimit(.minutes(20))) struct EditedListsTests {
    @Test func listsOfSeveralPropertiesAreEditedInOneTransaction() throws {
        let storage = MemoryStorage()
        let columns =
            [ColumnSchema(name: "id", type: .int)]
            + (1...3).map { ColumnSchema(name: "list\($0)", type: .int, collection: .list) }
        let table = TableSchema(name: "Thing", primaryKey: 0, columns: columns)
        var store = try Store.open(on: storage)
        var transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(
                tables: [table, table].enumerated().map { number, table in
                    TableSchema(name: "Thing\(number)", primaryKey: 0, columns: table.columns)
                }))
        for table in 0..<2 {
            for id in 0..<2 {
                var row = transaction.beginRow(TableID(table))
                transaction.fill(&row, column: 0, value: .int(Int64(id)))
                for column in 1...3 { transaction.fill(&row, column: column, value: .list([.int(0)])) }
                try transaction.endRow(row)
            }
        }
        try transaction.commit()
        transaction = try store.beginWrite()
        for table in 0..<2 {
            for key in 0..<Int64(2) {
                for column in 1...3 where column != 2 || key == 1 {
                    transaction.edit(TableID(table), column: column, key: key) { $0.append(.int(Int64(column))) }
                }
            }
        }
        try transaction.commit()
        for isReopened in [false, true] {
            if isReopened {
                try store.close()
                store = try Store.open(on: storage)
            }
            let snapshot = store.pin().snapshot
            for table in 0..<2 {
                for key in 0..<Int64(2) {
                    for column in 1...3 {
                        let isEdited = column != 2 || key == 1
                        let found = snapshot.table(TableID(table)).value(column, of: key)
                        #expect(found == .list([.int(0)] + (isEdited ? [.int(Int64(column))] : [])))
                    }
                }
            }
        }
        try store.close()
    }
}

import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// One transaction may change the schema and the data: both are there after reopening.
@Suite(.timeLimit(.minutes(20))) struct SchemaAndDataTests {
    private static func schema(_ columns: [ColumnSchema]) -> StoreSchema {
        StoreSchema(tables: [TableSchema(name: "Thing", primaryKey: 0, columns: columns)])
    }

    @Test(arguments: [3, 700]) func valuesSetInNewAndConvertedColumnsAndDeletesSurviveReopening(rows: Int) throws {
        let storage = MemoryStorage()
        var columns = [
            ColumnSchema(name: "id", type: .int), ColumnSchema(name: "count", type: .int),
            ColumnSchema(name: "name", type: .string, isNullable: true),
            ColumnSchema(name: "numbers", type: .int, collection: .list),
        ]
        var expected: [Int64: [Value]] = [:]
        do {
            let store = try Store.open(on: storage)
            // A table and its first objects in one transaction.
            var transaction = try store.beginWrite()
            try transaction.changeSchema(to: Self.schema(columns))
            for id in 0..<rows {
                let made: [Value] = [
                    .int(Int64(id)), .int(7), id % 2 == 0 ? .null : .string("n\(id)"),
                    .list([.int(1), .int(Int64(id))]),
                ]
                var row = transaction.beginRow(TableID(0))
                for (column, value) in made.enumerated() { transaction.fill(&row, column: column, value: value) }
                try transaction.endRow(row)
                expected[row.key] = made
            }
            try transaction.commit()

            // Adds columns and converts others, sets values in all of them, deletes objects and adds one.
            transaction = try store.beginWrite()
            for key in expected.keys where key % 5 == 0 {
                for (column, value) in [(1, Value.int(99)), (2, key % 2 == 0 ? .null : .string("before"))] {
                    transaction.set(TableID(0), column: column, key: key, to: value)
                    expected[key]![column] = value
                }
            }
            columns[1].isNullable = true
            columns[2].isNullable = false
            columns[3].isNullable = true
            columns.append(ColumnSchema(name: "extra", type: .string, isIndexed: true))
            columns.append(ColumnSchema(name: "friend", type: .link, target: TableID(0)))
            columns.append(ColumnSchema(name: "more", type: .double, collection: .list))
            try transaction.changeSchema(to: Self.schema(columns))
            for key in expected.keys.sorted() {
                if expected[key]![2] == .null { expected[key]![2] = .string("") }
                expected[key]! += [.string(""), .null, .list([])]
                guard key % 3 == 0 else { continue }
                let values: [Value] = [
                    key % 2 == 0 ? .null : .int(key), .string("set"), .list([.null, .int(key)]),
                    .string("extra \(key)"), .link(2), .list([.double(0.5)]),
                ]
                for (index, value) in values.enumerated() {
                    transaction.set(TableID(0), column: index + 1, key: key, to: value)
                    expected[key]![index + 1] = value
                }
            }
            transaction.delete(TableID(0), 1)
            expected[1] = nil
            var row = transaction.beginRow(TableID(0))
            let made: [Value] = [.int(-1), .null, .string("last"), .list([]), .string("new"), .link(2), .list([])]
            for (column, value) in made.enumerated() { transaction.fill(&row, column: column, value: value) }
            try transaction.endRow(row)
            expected[row.key] = made
            try transaction.commit()
            check(store, expected)
            try store.close()
        }
        let store = try Store.open(on: storage)
        #expect(store.schema == Self.schema(columns))
        check(store, expected)
    }

    private func check(_ store: Store, _ expected: [Int64: [Value]]) {
        let table = store.pin().snapshot.table(TableID(0))
        #expect(table.count == expected.count)
        for (key, values) in expected {
            for (column, value) in values.enumerated() {
                #expect(table.value(column, of: key) == value, "column \(column) of \(key)")
            }
        }
        store._checkInvariants()
    }
}

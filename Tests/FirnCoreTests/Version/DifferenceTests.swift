import FirnStorage
import Testing

@testable import FirnCore

@Suite(.timeLimit(.minutes(20))) struct DifferenceTests {
    /// A property that became optional, or required, has chunks of another form; its values are unchanged.
    @Test(arguments: [false, true]) func equalValuesInADifferentLayoutAreEqual(wasNullable: Bool) throws {
        let table = TableID(0)
        func schema(_ isNullable: Bool) -> StoreSchema {
            StoreSchema(tables: [
                TableSchema(
                    name: "Thing", primaryKey: 0,
                    columns: [
                        ColumnSchema(name: "id", type: .int),
                        ColumnSchema(name: "number", type: .int, isNullable: isNullable),
                        ColumnSchema(name: "text", type: .string, isNullable: isNullable),
                    ])
            ])
        }
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        func commit(_ body: (WriteTransaction) throws -> Void) throws -> Pin {
            let transaction = try store.beginWrite()
            try body(transaction)
            try transaction.commit()
            return store.pin()
        }
        let before = try commit { transaction in
            try transaction.changeSchema(to: schema(wasNullable))
            for id in 0..<700 {
                var row = transaction.beginRow(table)
                transaction.fill(&row, column: 0, value: .int(Int64(id)))
                if !wasNullable || id != 9 { transaction.fill(&row, column: 1, value: .int(Int64(id * 3))) }
                try transaction.endRow(row)
            }
        }
        let after = try commit { transaction in
            try transaction.changeSchema(to: schema(!wasNullable))
            transaction.set(table, column: 1, key: 500, to: .int(-1))
        }
        let summary = try #require(before.snapshot.difference(to: after.snapshot).tables[table])
        var expected: [Int64: ColumnSet] = [500: ColumnSet()]
        expected[500]?.insert(1)
        // Null has become 0 or the empty text.
        if wasNullable {
            for id in Int64(0)..<700 { expected[id, default: ColumnSet()].insert(2) }
            expected[9]?.insert(1)
        }
        #expect(summary.modified == expected)
        #expect(summary.inserted.isEmpty && summary.deleted.isEmpty)
    }
}

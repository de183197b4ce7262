import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Names and values at their limits: those that fit are there after reopening, and longer ones are refused by name.
@Suite(.timeLimit(.minutes(20))) struct ValueLimitTests {
    private static let columns = [
        ColumnSchema(name: "id", type: .int), ColumnSchema(name: "text", type: .string, isIndexed: true),
        ColumnSchema(name: "data", type: .data),
        ColumnSchema(name: "any", type: .mixed), ColumnSchema(name: "texts", type: .string, collection: .list),
    ]

    private static func prepared(_ storage: any Storage) throws -> Store {
        let store = try Store.open(on: storage)
        let transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(tables: [TableSchema(name: "Thing", primaryKey: 0, columns: columns)]))
        var row = transaction.beginRow(TableID(0))
        transaction.fill(&row, column: 0, value: .int(1))
        try transaction.endRow(row)
        try transaction.commit()
        return store
    }

    @Test(arguments: [0, 1 << 20, Limits.valueByteCount]) func valuesUpToTheLimitSurviveReopening(byteCount: Int) throws
    {
        let storage = MemoryStorage()
        let text = Value.string(String(repeating: "é", count: byteCount / 2))
        let data = Value.data(Array(repeating: 0xA5, count: byteCount))
        let values: [(Int, Value)] = [(1, text), (2, data), (3, text), (4, .list([text, .string("short"), text]))]
        do {
            let store = try Self.prepared(storage)
            for (column, value) in values {
                let transaction = try store.beginWrite()
                transaction.set(TableID(0), column: column, key: 0, to: value)
                // The same is true in a new row.
                var row = transaction.beginRow(TableID(0))
                transaction.fill(&row, column: 0, value: .int(Int64(column + 10)))
                transaction.fill(&row, column: column, value: value)
                try transaction.endRow(row)
                try transaction.commit()
            }
            try store.close()
        }
        let store = try Store.open(on: storage)
        let table = store.pin().snapshot.table(TableID(0))
        for (index, (column, value)) in values.enumerated() {
            // Compared first: a failure would print 16 MB.
            let isThere = table.value(column, of: 0) == value && table.value(column, of: Int64(index + 1)) == value
            #expect(isThere, "column \(column)")
        }
        store._checkInvariants()
    }

    @Test func aLongerValueStopsTheProgramAsRealmDoes() async {
        await #expect(processExitsWith: .failure) {
            try ValueLimitTests.write { $0.set(TableID(0), column: 1, key: 0, to: .string(ValueLimitTests.long)) }
        }
        await #expect(processExitsWith: .failure) {
            try ValueLimitTests.write {
                var row = $0.beginRow(TableID(0))
                $0.fill(&row, column: 2, value: .data(Array(repeating: 1, count: Limits.valueByteCount + 1)))
            }
        }
        await #expect(processExitsWith: .failure) {
            try ValueLimitTests.write {
                $0.edit(TableID(0), column: 4, key: 0) {
                    $0.append(.string(ValueLimitTests.long + String(repeating: "x", count: 64)))
                }
            }
        }
        await #expect(processExitsWith: .success) {
            try ValueLimitTests.write {
                $0.set(TableID(0), column: 1, key: 0, to: .string(String(ValueLimitTests.long.dropLast())))
            }
        }
    }

    /// The encoding of an element or of a mixed value may be a little longer than the limit of a value, but the value
    /// itself may not.
    @Test(arguments: [1, 63, 64]) func aLongerElementOrMixedValueStopsTheProgram(extra: Int) async {
        await #expect(processExitsWith: .failure) { [extra] in
            try ValueLimitTests.write {
                $0.edit(TableID(0), column: 4, key: 0) { $0.append(ValueLimitTests.text(extra)) }
            }
        }
        await #expect(processExitsWith: .failure) { [extra] in
            try ValueLimitTests.write {
                $0.set(TableID(0), column: 4, key: 0, to: .list([ValueLimitTests.text(extra)]))
            }
        }
        await #expect(processExitsWith: .failure) { [extra] in
            try ValueLimitTests.write {
                var row = $0.beginRow(TableID(0))
                $0.fill(&row, column: 4, value: .list([ValueLimitTests.text(extra)]))
            }
        }
        await #expect(processExitsWith: .failure) { [extra] in
            try ValueLimitTests.write { $0.set(TableID(0), column: 3, key: 0, to: ValueLimitTests.text(extra)) }
        }
        await #expect(processExitsWith: .failure) { [extra] in
            try ValueLimitTests.write {
                $0.set(
                    TableID(0), column: 3, key: 0, to: .data(Array(repeating: 1, count: Limits.valueByteCount + extra)))
            }
        }
    }

    /// Earlier releases accepted such values.
    @Test(arguments: [1, 63]) func aStoreWithLongerValuesOpens(extra: Int) throws {
        let storage = MemoryStorage()
        let text = Self.text(extra)
        do {
            let store = try Self.prepared(storage)
            let transaction = try store.beginWrite()
            transaction.isReplay = true
            transaction.edit(TableID(0), column: 4, key: 0) { $0.append(text) }
            transaction.set(TableID(0), column: 3, key: 0, to: text)
            var row = transaction.beginRow(TableID(0))
            for (column, value) in [(0, .int(7)), (3, text), (4, .list([text]))] as [(Int, Value)] {
                transaction.fill(&row, column: column, value: value)
            }
            try transaction.endRow(row)
            try transaction.commit()
            try store.close()
        }
        let store = try Store.open(on: storage)
        let table = store.pin().snapshot.table(TableID(0))
        for key in 0..<Int64(2) {
            let isThere = table.value(3, of: key) == text && table.value(4, of: key) == .list([text])
            #expect(isThere, "object \(key)")
        }
        try store.close()
    }

    private static func text(_ extra: Int) -> Value {
        .string(String(repeating: "x", count: Limits.valueByteCount + extra))
    }

    private static var long: String { String(repeating: "x", count: Limits.valueByteCount + 1) }

    private static func write(_ body: (WriteTransaction) -> Void) throws {
        let store = try prepared(MemoryStorage())
        let transaction = try store.beginWrite()
        body(transaction)
        try transaction.commit()
    }

    @Test func namesAreLimited() throws {
        let long = String(repeating: "n", count: Limits.nameByteCount)
        for (name, isGood) in [
            ("", false), ("n", true), (long, true), (long + "n", false),
            (String(repeating: "n", count: 1 << 20), false),
        ] {
            for isClass in [true, false] {
                let store = try Store.open(on: MemoryStorage())
                let transaction = try store.beginWrite()
                let schema = StoreSchema(tables: [
                    TableSchema(
                        name: isClass ? name : "Thing", columns: [ColumnSchema(name: isClass ? "id" : name, type: .int)]
                    )
                ])
                if isGood {
                    try transaction.changeSchema(to: schema)
                    try transaction.commit()
                    #expect(store.schema == schema)
                } else {
                    let error = try #require(throws: StoreError.self) { try transaction.changeSchema(to: schema) }
                    #expect(error.code == .schema && "\(error)".count < 400)
                    transaction.cancel()
                    #expect(store.schema.tables.isEmpty)
                }
            }
        }
    }
}

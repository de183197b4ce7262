import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// The schema of a store with data may change: values are kept if their type is, and replay does the same.
@Suite(.timeLimit(.minutes(20))) struct SchemaChangeTests {
    private static func schema(_ columns: [ColumnSchema], version: UInt64) -> StoreSchema {
        StoreSchema(version: version, tables: [TableSchema(name: "Thing", primaryKey: 0, columns: columns)])
    }

    @Test func optionalityChangesKeepValuesAndNullsBecomeBlank() throws {
        let storage = MemoryStorage()
        let types: [ColumnType] = [.bool, .int, .float, .double, .string, .data, .date, .objectID, .uuid]
        func columns(nullable: Bool, indexed: Bool) -> [ColumnSchema] {
            [ColumnSchema(name: "id", type: .int)]
                + types.map {
                    ColumnSchema(
                        name: "v\($0)", type: $0, isNullable: nullable,
                        isIndexed: indexed && $0 != .double && $0 != .float)
                }
                + types.map { ColumnSchema(name: "l\($0)", type: $0, collection: .list, isNullable: nullable) }
        }
        var values = ValueMaker(random: SeededRandom(seed: 5))
        var expected: [[Value]] = []
        let first = columns(nullable: true, indexed: false)
        do {
            let store = try Store.open(on: storage)
            var transaction = try store.beginWrite()
            try transaction.changeSchema(to: Self.schema(first, version: 0))
            try transaction.commit()
            transaction = try store.beginWrite()
            for id in 0..<700 {
                var row = transaction.beginRow(TableID(0))
                var made: [Value] = [.int(Int64(id))]
                transaction.fill(&row, column: 0, value: made[0])
                for (number, column) in first.enumerated().dropFirst() {
                    let value: Value =
                        column.collection == .none
                        ? values.value(column) : .list((0..<id % 5).map { _ in values.value(column) })
                    transaction.fill(&row, column: number, value: value)
                    made.append(value)
                }
                try transaction.endRow(row)
                expected.append(made)
            }
            try transaction.commit()

            // First required and indexed; then one column is removed and one added; then optional again.
            let second = columns(nullable: false, indexed: true)
            var third = columns(nullable: true, indexed: true)
            third[1].isRemoved = true
            third[1].isIndexed = false
            third.append(ColumnSchema(name: "added", type: .string, isNullable: true, isIndexed: true))
            for (version, next) in [second, third].enumerated() {
                let pin = store.pin()
                let transaction = try store.beginWrite()
                try transaction.changeSchema(to: Self.schema(next, version: UInt64(version + 1)))
                try transaction.commit()
                if version == 0 {
                    expected = expected.map { row in
                        row.enumerated().map { number, value in
                            switch value {
                            case .null: next[number].type.blankValue
                            case .list(let elements):
                                .list(elements.map { $0 == .null ? next[number].type.blankValue : $0 })
                            default: value
                            }
                        }
                    }
                } else {
                    expected = expected.map { $0 + [.null] }
                }
                store._checkInvariants()
                pin.snapshot._checkInvariants()
            }
            Self.check(store, expected, removed: 1)
            try store.close()
        }
        let store = try Store.open(on: storage)
        store._checkInvariants()
        Self.check(store, expected, removed: 1)
    }

    private static func check(_ store: Store, _ expected: [[Value]], removed: Int) {
        let pin = store.pin()
        let view = pin.snapshot.table(TableID(0))
        #expect(view.count == expected.count)
        for (id, row) in expected.enumerated() {
            for (number, value) in row.enumerated() where number != removed {
                let found = view.value(number, of: Int64(id))
                #expect(found == value, "column \(number) of \(id)")
                if found != value { return }
            }
        }
    }

    /// Whether links are nullable changes neither their layout nor their targets.
    @Test(arguments: [false, true]) func linksKeepTheirBacklinks(isNullable: Bool) throws {
        let storage = MemoryStorage()
        let table = TableID(0)
        func columns(_ isNullable: Bool) -> [ColumnSchema] {
            [
                ColumnSchema(name: "id", type: .int),
                ColumnSchema(name: "friends", type: .link, collection: .list, isNullable: isNullable, target: table),
                ColumnSchema(name: "friend", type: .link, isNullable: isNullable, target: table),
            ]
        }
        var store = try Store.open(on: storage)
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            let transaction = try store.beginWrite()
            try body(transaction)
            try transaction.commit()
            store._checkInvariants()
        }
        try commit { transaction in
            try transaction.changeSchema(to: Self.schema(columns(isNullable), version: 0))
            for id in 0..<300 {
                var row = transaction.beginRow(table)
                transaction.fill(&row, column: 0, value: .int(Int64(id)))
                try transaction.endRow(row)
            }
            transaction.edit(table, column: 1, key: 5) { list in
                for key in [1, 2] as [Int64] { list.append(.link(key)) }
            }
            transaction.edit(table, column: 1, key: 6) { list in for key in Int64(0)..<300 { list.append(.link(key)) } }
            transaction.setLink(table, column: 2, key: 7, to: 1)
        }
        _ = try store.compact()
        try store.close()
        store = try Store.open(on: storage)
        // This validates the leaves as those of the old schema.
        try store.verify()
        try commit { try $0.changeSchema(to: Self.schema(columns(!isNullable), version: 1)) }
        try commit { transaction in
            transaction.edit(table, column: 1, key: 5) { _ = $0.remove(at: 0) }
            transaction.delete(table, 2)
        }
        _ = try store.compact(garbageShare: 10)
        try store.verify()
        try store.close()
        store = try Store.open(on: storage)
        try store.verify()
        let view = store.pin().snapshot.table(table)
        #expect(view.value(1, of: 5) == .list([]) && view.value(2, of: 7) == .link(1))
        #expect(view.value(1, of: 6) == .list((0..<300).filter { $0 != 2 }.map { .link($0) }))
        store._checkInvariants()
        try store.close()
    }

    /// Tables and columns may be filled in the transaction that adds them.
    @Test func addedTablesAndColumnsMayBeFilledInTheSameTransaction() throws {
        let storage = MemoryStorage()
        var schema = Self.schema(
            [ColumnSchema(name: "id", type: .int), ColumnSchema(name: "list", type: .int, collection: .list)],
            version: 0)
        do {
            let store = try Store.open(on: storage)
            var transaction = try store.beginWrite()
            try transaction.changeSchema(to: schema)
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .int(7))
            try transaction.endRow(row)
            transaction.edit(TableID(0), column: 1, key: row.key) { $0.append(.int(1)) }
            try transaction.commit()
            transaction = try store.beginWrite()
            schema.tables[0].columns.append(
                ColumnSchema(name: "name", type: .string, isNullable: true, isIndexed: true))
            schema.tables[0].columns[0].isNullable = true
            schema.version = 1
            try transaction.changeSchema(to: schema)
            transaction.set(TableID(0), column: 2, key: row.key, to: .string("Rex"))
            transaction.set(TableID(0), column: 0, key: row.key, to: .null)
            try transaction.commit()
            store._checkInvariants()
            try store.close()
        }
        let store = try Store.open(on: storage)
        store._checkInvariants()
        let pin = store.pin()
        let view = pin.snapshot.table(TableID(0))
        #expect(
            view.value(0, of: 0) == .null && view.value(1, of: 0) == .list([.int(1)])
                && view.value(2, of: 0) == .string("Rex"))
    }

    /// The schema comes first in the log, so a list that was edited under the old schema is logged completely under
    /// the new one.
    @Test func aListThatIsEditedBeforeItsOptionalityChangesIsLoggedInFull() throws {
        let storage = MemoryStorage()
        let thing = TableID(0)
        func columns(isNullable: Bool) -> [ColumnSchema] {
            [
                ColumnSchema(name: "id", type: .int),
                ColumnSchema(name: "list", type: .int, collection: .list, isNullable: isNullable),
                ColumnSchema(name: "gone", type: .int, collection: .list),
            ]
        }
        var lists: [Value] = [.list([.int(1), .null]), .list([.int(2), .null]), .list([.int(3)]), .list([])]
        do {
            let store = try Store.open(on: storage)
            var transaction = try store.beginWrite()
            try transaction.changeSchema(to: Self.schema(columns(isNullable: true), version: 0))
            for (id, list) in lists.enumerated() {
                var row = transaction.beginRow(thing)
                transaction.fill(&row, column: 0, value: .int(Int64(id)))
                transaction.fill(&row, column: 1, value: list)
                try transaction.endRow(row)
            }
            try transaction.commit()
            transaction = try store.beginWrite()
            transaction.edit(thing, column: 1, key: 0) { $0.append(.null) }
            transaction.edit(thing, column: 1, key: 2) { _ = $0.remove(at: 0) }
            transaction.edit(thing, column: 1, key: 3) { $0.append(.int(9)) }
            transaction.edit(thing, column: 2, key: 0) { $0.append(.int(5)) }
            var schema = Self.schema(columns(isNullable: false), version: 1)
            schema.tables[0].columns[2].isRemoved = true
            try transaction.changeSchema(to: schema)
            // The list is edited again after the change.
            transaction.edit(thing, column: 1, key: 3) { $0.append(.int(10)) }
            try transaction.commit()
            lists = [
                .list([.int(1), .int(0), .int(0)]), .list([.int(2), .int(0)]), .list([]), .list([.int(9), .int(10)]),
            ]
            for (id, list) in lists.enumerated() {
                #expect(store.pin().snapshot.table(thing).value(1, of: Int64(id)) == list)
            }
            try store.close()
        }
        let store = try Store.open(on: storage)
        store._checkInvariants()
        for (id, list) in lists.enumerated() {
            #expect(store.pin().snapshot.table(thing).value(1, of: Int64(id)) == list, "object \(id)")
        }
        try store.close()
    }

    /// Edits in a class that the same transaction then removes are not reported.
    @Test func aListMayBeEditedBeforeItsClassIsRemoved() throws {
        let storage = MemoryStorage()
        let thing = TableID(0)
        var schema = Self.schema(
            [ColumnSchema(name: "id", type: .int), ColumnSchema(name: "list", type: .int, collection: .list)],
            version: 0)
        do {
            let store = try Store.open(on: storage)
            var transaction = try store.beginWrite()
            try transaction.changeSchema(to: schema)
            try transaction.endRow(transaction.beginRow(thing))
            try transaction.commit()
            transaction = try store.beginWrite()
            transaction.edit(thing, column: 1, key: 0) { $0.append(.int(1)) }
            schema.tables[0].isRemoved = true
            try transaction.changeSchema(to: schema)
            try transaction.commit()
            try store.close()
        }
        try Store.open(on: storage).close()
    }

    @Test func removingATableFreesItsMemory() throws {
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        var transaction = try store.beginWrite()
        try transaction.changeSchema(to: modelSchema())
        try transaction.commit()
        let before = (store.heap.nodeCount, store.heap.byteCount)
        transaction = try store.beginWrite()
        for id in 0..<500 {
            var row = transaction.beginRow(TableID(1))
            transaction.fill(&row, column: 0, value: .string(String(repeating: "x", count: id * 10)))
            try transaction.endRow(row)
        }
        try transaction.commit()
        #expect(store.heap.nodeCount > before.0)
        var schema = modelSchema()
        schema.tables[1].isRemoved = true
        for (number, column) in schema.tables[0].columns.enumerated() where column.target == TableID(1) {
            schema.tables[0].columns[number].isRemoved = true
        }
        transaction = try store.beginWrite()
        try transaction.changeSchema(to: schema)
        try transaction.commit()
        store._checkInvariants()
        #expect(store.heap.nodeCount <= before.0)
    }

    @Test func aColumnNumberIsNotReusedForAnotherType() throws {
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: modelSchema())
        var schema = modelSchema()
        schema.tables[0].columns[1].type = .string
        #expect(throws: StoreError.self) { try transaction.changeSchema(to: schema) }
        schema = modelSchema()
        schema.tables.removeLast()
        #expect(throws: StoreError.self) { try transaction.changeSchema(to: schema) }
        schema = modelSchema()
        schema.tables[0].name = String(repeating: "n", count: 256)
        #expect(throws: StoreError.self) { try transaction.changeSchema(to: schema) }
        transaction.cancel()
    }
}

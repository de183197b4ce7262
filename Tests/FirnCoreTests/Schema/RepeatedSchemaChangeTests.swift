import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A transaction may change the schema several times, with changes of the data between, as a migration block does: what
/// was there before is shown to readers of the old version, and what is there after is what the log has.
@Suite(.timeLimit(.minutes(20))) struct RepeatedSchemaChangeTests {
    @Test(arguments: 0..<60) func aMigrationLikeTransactionIsWhatItsLogSays(_ seed: UInt64) throws {
        let storage = MemoryStorage()
        var run = try Run(seed, storage)
        for _ in 0..<6 { try run.migrate() }
        try run.store.close()
        let reopened = try Store.open(on: storage)
        #expect(reopened.schema == run.schema)
        run.check(reopened.pin(), schema: run.schema, rows: run.rows, context: "reopened")
        reopened._checkInvariants()
    }

    /// A store of one table of any columns, and a plain copy of what it holds: by key, a value for each column.
    private struct Run {
        let store: Store
        var random: SeededRandom
        var values: ValueMaker
        var schema = StoreSchema()
        var rows: [Int64: [Value]] = [:]
        private let table = TableID(0)
        private var names = 0

        init(_ seed: UInt64, _ storage: MemoryStorage) throws {
            store = try Store.open(on: storage)
            random = SeededRandom(seed: seed)
            values = ValueMaker(random: SeededRandom(seed: seed + 1000))
            let transaction = try store.beginWrite()
            schema.tables = [TableSchema(name: "T", columns: [ColumnSchema(name: "id", type: .int)])]
            try transaction.changeSchema(to: schema)
            try transaction.commit()
        }

        /// Runs a transaction of several changes of the schema and the data, which now and then is cancelled.
        mutating func migrate() throws {
            let (before, old) = (self, store.pin())
            let transaction = try store.beginWrite()
            try change(transaction)
            for _ in 0...random.below(3) {
                changeSchema()
                try transaction.changeSchema(to: schema)
                check(transaction.pinSnapshot(), schema: schema, rows: rows, context: "within")
                try change(transaction)
            }
            if random.below(5) == 0 {
                transaction.cancel()
                (schema, rows) = (before.schema, before.rows)
            } else {
                try transaction.commit()
            }
            check(old, schema: before.schema, rows: before.rows, context: "before")
            check(store.pin(), schema: schema, rows: rows, context: "after")
            store._checkInvariants()
        }

        private var present: [Int] {
            schema.tables[0].columns.indices.filter { !schema.tables[0].columns[$0].isRemoved }
        }

        /// Adds, removes, renames and converts columns, and adds and drops indexes.
        private mutating func changeSchema() {
            let old = present.dropFirst()
            for _ in 0...random.below(2) {
                names += 1
                var column = ColumnSchema(name: "c\(names)", type: Self.types[random.below(Self.types.count)])
                column.collection = random.below(3) == 0 ? .list : .none
                column.isNullable = column.type == .link || random.below(2) == 0
                if column.type == .link { (column.target, column.isNullable) = (table, column.collection == .none) }
                schema.tables[0].columns.append(column)
                for key in rows.keys { rows[key]?.append(Self.blank(column)) }
            }
            for number in old where random.below(4) == 0 {
                switch random.below(4) {
                case 0:
                    schema.tables[0].columns[number].isRemoved = true
                    schema.tables[0].columns[number].isIndexed = false
                case 1: schema.tables[0].columns[number].name += "x"
                case 2:
                    let column = schema.tables[0].columns[number]
                    if column.collection == .none, [.int, .string, .date].contains(column.type) {
                        schema.tables[0].columns[number].isIndexed.toggle()
                    }
                default: toggleNull(number)
                }
            }
        }

        private mutating func toggleNull(_ number: Int) {
            let column = schema.tables[0].columns[number]
            guard column.type != .link else { return }
            schema.tables[0].columns[number].isNullable.toggle()
            guard column.isNullable else { return }
            let blank = column.type.blankValue
            for key in rows.keys {
                switch rows[key]?[number] {
                case .null?: rows[key]?[number] = blank
                case .list(let elements)?: rows[key]?[number] = .list(elements.map { $0 == .null ? blank : $0 })
                default: break
                }
            }
        }

        /// Creates, changes and deletes objects.
        private mutating func change(_ transaction: WriteTransaction) throws {
            for _ in 0..<random.below(80) {
                let keys = rows.keys.sorted()
                switch keys.isEmpty ? 0 : random.below(4) {
                case 0, 1:
                    var row = transaction.beginRow(table)
                    var made = schema.tables[0].columns.map { Self.blank($0) }
                    for number in present where random.below(3) > 0 {
                        made[number] = value(schema.tables[0].columns[number], keys)
                        transaction.fill(&row, column: number, value: made[number])
                    }
                    try transaction.endRow(row)
                    rows[row.key] = made
                case 2:
                    let (key, number) = (keys[random.below(keys.count)], present[random.below(present.count)])
                    let new = value(schema.tables[0].columns[number], keys)
                    transaction.set(table, column: number, key: key, to: new)
                    rows[key]?[number] = new
                default: delete(keys[random.below(keys.count)], transaction)
                }
            }
        }

        private mutating func delete(_ key: Int64, _ transaction: WriteTransaction) {
            transaction.delete(table, key)
            rows[key] = nil
            for number in schema.tables[0].columns.indices where schema.tables[0].columns[number].isLink {
                for other in rows.keys {
                    switch rows[other]?[number] {
                    case .link(key)?: rows[other]?[number] = .null
                    case .list(let elements)?: rows[other]?[number] = .list(elements.filter { $0 != .link(key) })
                    default: break
                    }
                }
            }
        }

        private mutating func value(_ column: ColumnSchema, _ keys: [Int64]) -> Value {
            guard column.collection == .none else {
                return .list((0..<random.below(4)).compactMap { _ in element(column, keys) })
            }
            return element(column, keys) ?? .null
        }

        private mutating func element(_ column: ColumnSchema, _ keys: [Int64]) -> Value? {
            if column.type == .link { return keys.isEmpty ? nil : .link(keys[random.below(keys.count)]) }
            var single = column
            single.collection = .none
            return values.value(single)
        }

        private static let types: [ColumnType] = [.int, .string, .double, .date, .data, .uuid, .link]

        private static func blank(_ column: ColumnSchema) -> Value {
            if column.collection != .none { return .list([]) }
            return column.isNullable ? .null : column.type.blankValue
        }

        func check(_ pin: Pin, schema: StoreSchema, rows: [Int64: [Value]], context: String) {
            #expect(pin.snapshot.schema == schema, "\(context)")
            let view = pin.snapshot.table(table)
            #expect(view.count == rows.count, "\(context)")
            for (key, values) in rows {
                for (number, value) in values.enumerated() where !schema.tables[0].columns[number].isRemoved {
                    let found = view.value(number, of: key)
                    if found != value {
                        Issue.record("\(context): column \(number) of \(key) is \(found as Any), not \(value)")
                    }
                }
            }
        }
    }
}

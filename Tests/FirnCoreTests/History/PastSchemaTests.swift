import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A past version is shown in the current schema: values are kept if their column still exists, and later columns are
/// blank.
@Suite(.timeLimit(.minutes(20))) struct PastSchemaTests {
    /// A store whose schema changes again and again, and the content of its versions in the schemas that they had.
    private final class Script {
        let store: Store
        var schema = StoreSchema(tables: [
            TableSchema(
                name: "Thing", primaryKey: 0,
                columns: [
                    ColumnSchema(name: "id", type: .int),
                    ColumnSchema(name: "number", type: .int, isNullable: true),
                    ColumnSchema(name: "text", type: .string, isNullable: true),
                    ColumnSchema(name: "list", type: .int, collection: .list, isNullable: true),
                    ColumnSchema(name: "friend", type: .link, target: TableID(0)),
                ])
        ])
        /// By version: the schema and, for each table and key, the values by column.
        private(set) var held: [UInt64: (schema: StoreSchema, tables: [[Int64: [Int: Value]]])] = [:]
        private var values = ValueMaker(random: SeededRandom(seed: 3))

        init() throws {
            var options = StoreOptions(log: LogOptions(folder: "store"))
            options.log?.usesThreads = false
            options.historyRetention = .everything
            store = try Store(options, storage: MemoryStorage())
            try change { _ in }
        }

        private func record() {
            let pin = store.pin()
            held[pin.version] = (
                pin.snapshot.schema,
                pin.snapshot.schema.tables.indices.map { table in
                    var rows: [Int64: [Int: Value]] = [:]
                    let view = pin.snapshot.table(TableID(table))
                    view.forEachLeaf { leaf, _ in
                        for row in 0..<leaf.count {
                            for (column, schema) in view.schema.columns.enumerated() where !schema.isRemoved {
                                rows[leaf.key(row), default: [:]][column] = view.value(column, leaf: leaf, row: row)
                            }
                        }
                        return true
                    }
                    return rows
                }
            )
        }

        func change(_ body: (inout StoreSchema) -> Void) throws {
            body(&schema)
            schema.version += 1
            let transaction = try store.beginWrite()
            try transaction.changeSchema(to: schema)
            try transaction.commit()
            record()
        }

        /// Adds objects to each table, changes one and deletes one.
        func write() throws {
            let transaction = try store.beginWrite()
            for table in schema.tables.indices {
                let view = transaction.table(TableID(table))
                let old = view.count == 0 ? nil : key(view, view.count / 2)
                for _ in 0..<5 {
                    var row = transaction.beginRow(TableID(table))
                    for (column, schema) in schema.tables[table].columns.enumerated() where !schema.isRemoved {
                        transaction.fill(
                            &row, column: column, value: column == 0 ? .int(row.key) : value(schema, transaction))
                    }
                    try transaction.endRow(row)
                }
                guard let old else { continue }
                for (column, schema) in schema.tables[table].columns.enumerated().dropFirst() where !schema.isRemoved {
                    transaction.set(TableID(table), column: column, key: old, to: value(schema, transaction))
                }
                transaction.delete(TableID(table), key(transaction.table(TableID(table)), 0))
            }
            try transaction.commit()
            record()
        }

        private func key(_ view: TableView, _ position: Int) -> Int64 {
            let location = view.location(at: position)
            return location.leaf.key(location.row)
        }

        private func value(_ column: ColumnSchema, _ transaction: WriteTransaction) -> Value {
            let targets = column.target.map { transaction.table($0) }
            let target = targets.flatMap { $0.count == 0 ? nil : Value.link(key($0, $0.count / 2)) }
            if column.collection == .list {
                return .list((0..<3).compactMap { _ in column.isLink ? target : values.value(column) })
            }
            return column.isLink ? target ?? .null : values.value(column)
        }
    }

    /// Opens a version and checks it against its recorded content, as seen through the current schema.
    private func check(_ script: Script, _ number: UInt64) throws {
        let (schema, tables) = try #require(script.held[number])
        let version = try script.store.version(number)
        let snapshot = version.pin.snapshot
        #expect(version.schema == schema && version.pin.version == number)
        snapshot._checkInvariants()
        for (table, now) in script.schema.tables.enumerated() {
            let view = snapshot.table(TableID(table))
            let rows = table < tables.count ? tables[table] : [:]
            #expect(view.count == rows.count, "version \(number), \(now.name)")
            for (key, values) in rows {
                for (column, property) in now.columns.enumerated() where !property.isRemoved {
                    var expected = values[column] ?? blank(property)
                    if !property.isNullable {
                        switch expected {
                        case .null where property.type != .link: expected = property.type.blankValue
                        case .list(let elements):
                            expected = .list(elements.map { $0 == .null ? property.type.blankValue : $0 })
                        default: break
                        }
                    }
                    let found = view.value(column, of: key)
                    #expect(found == expected, "version \(number), \(now.name).\(property.name) of \(key)")
                }
            }
            // Indexes are those of the current schema.
            for (column, property) in view.schema.columns.enumerated() where !now.columns[column].isRemoved {
                #expect(property.isIndexed == now.columns[column].isIndexed)
            }
            #expect(view.schema.primaryKey == now.primaryKey)
        }
    }

    private func blank(_ column: ColumnSchema) -> Value {
        column.collection == .list ? .list([]) : column.isNullable ? .null : column.type.blankValue
    }

    @Test func everyVersionIsShownInTheCurrentSchema() throws {
        let script = try Script()
        for _ in 0..<3 { try script.write() }
        // Adds a column, a table with links in both directions, and an index.
        try script.change {
            $0.tables.append(
                TableSchema(
                    name: "Place", primaryKey: 0,
                    columns: [
                        ColumnSchema(name: "id", type: .int),
                        ColumnSchema(name: "things", type: .link, collection: .list, target: TableID(0)),
                    ]))
            $0.tables[0].columns.append(ColumnSchema(name: "place", type: .link, target: TableID(1)))
            $0.tables[0].columns.append(ColumnSchema(name: "passing", type: .string, isNullable: true))
            $0.tables[0].columns[2].isIndexed = true
        }
        for _ in 0..<3 { try script.write() }
        for number in 1...script.store.publishedVersion { try check(script, number) }
        // Removes what was added, and begins a list again with another type.
        try script.change {
            $0.tables[0].columns[6].isRemoved = true
            $0.tables[0].columns[3].isRemoved = true
            $0.tables[0].columns.append(ColumnSchema(name: "list", type: .string, collection: .list))
        }
        for _ in 0..<3 { try script.write() }
        for number in 1...script.store.publishedVersion { try check(script, number) }
        // No conversion is needed, so one store can be moved forward through all versions.
        #expect(script.store.history.tips.allSatisfy { $0 == script.store.publishedVersion - 1 })
        // Optional becomes required, and the other way round.
        try script.change {
            $0.tables[0].columns[1].isNullable = false
            $0.tables[0].columns[2].isNullable = false
            $0.tables[0].columns[2].isIndexed = false
            $0.tables[0].columns[1].isIndexed = true
            $0.tables[0].columns[7].isNullable = true
        }
        for _ in 0..<3 { try script.write() }
        var random = SeededRandom(seed: 1)
        for number in (1...script.store.publishedVersion).shuffled(using: &random) { try check(script, number) }
        for number in (1...script.store.publishedVersion).shuffled(using: &random) { try check(script, number) }
        // A primary key is removed and another added.
        try script.change { $0.tables[0].primaryKey = nil }
        try script.write()
        try script.change { $0.tables[0].primaryKey = 1 }
        for number in (1...script.store.publishedVersion).shuffled(using: &random) { try check(script, number) }
    }

    /// A held version that lacks what the current classes have is replayed, even if nothing is retained.
    @Test func aHeldVersionOfAnEarlierSchemaIsShownInTheNewOne() throws {
        let script = try Script()
        try script.write()
        let pin = script.store.pin()
        try script.change { $0.tables[0].columns.append(ColumnSchema(name: "more", type: .string)) }
        #expect(pin.snapshot.schema.tables[0].columns.count == 5)
        let version = try script.store.version(pin.version)
        #expect(version.pin.snapshot.schema.tables[0].columns.count == 6)
        try check(script, pin.version)
    }

    @Test func aStoreCanChangeFromOneExtendedSchemaToTheNext() throws {
        let script = try Script()
        try script.change { $0.tables[0].columns.append(ColumnSchema(name: "passing", type: .int)) }
        try script.change { $0.tables[0].columns[5].isRemoved = true }
        let schemas = (1...3).map { script.held[$0]!.schema }
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        for schema in [StoreSchema()] + schemas {
            let transaction = try store.beginWrite()
            try transaction.changeSchema(to: schema.extended(to: schemas[2]))
            try transaction.commit()
        }
        #expect(
            store.schema == schemas[2] && schemas[2].canBeRead(as: schemas[2]) && !schemas[0].canBeRead(as: schemas[2]))
    }
}

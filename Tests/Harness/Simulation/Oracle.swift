import FirnCore
import FirnTestSupport

/// What a store must contain, in the simplest form: dictionaries of values. A copy of it is a version.
package struct Oracle: Sendable {
    package var schema: StoreSchema
    /// The objects' values, by table and key.
    package private(set) var tables: [[Int64: [Value]]]
    /// The objects' keys, ascending.
    package private(set) var keys: [[Int64]]
    private var byPrimaryKey: [[Value: Int64]]

    package init(_ schema: StoreSchema) {
        self.schema = schema
        tables = schema.tables.map { _ in [:] }
        keys = schema.tables.map { _ in [] }
        byPrimaryKey = schema.tables.map { _ in [:] }
    }

    package subscript(table: Int, key: Int64, column: Int) -> Value {
        get { tables[table][key]![column] }
        set { tables[table][key]![column] = newValue }
    }

    package mutating func insert(_ table: Int, key: Int64, values: [Value]) {
        tables[table][key] = values
        keys[table].append(key)
        byPrimaryKey[table][values[schema.tables[table].primaryKey!]] = key
    }

    package mutating func delete(_ table: Int, _ key: Int64) {
        byPrimaryKey[table][tables[table][key]![schema.tables[table].primaryKey!]] = nil
        tables[table][key] = nil
        keys[table].remove(at: keys[table].firstIndex(of: key)!)
        for (origin, other) in schema.tables.enumerated() {
            for (column, property) in other.columns.enumerated()
            where property.isLink && property.target == TableID(table) {
                for source in keys[origin] {
                    switch tables[origin][source]![column] {
                    case .link(key): tables[origin][source]![column] = .null
                    case .list(let elements) where elements.contains(.link(key)):
                        tables[origin][source]![column] = .list(elements.filter { $0 != .link(key) })
                    default: break
                    }
                }
            }
        }
    }

    /// Adds a column in which every object has `value`.
    package mutating func addColumn(_ table: Int, _ column: ColumnSchema, holding value: Value) {
        schema.tables[table].columns.append(column)
        for key in keys[table] { tables[table][key]!.append(value) }
    }

    /// Adds an empty table.
    package mutating func addTable(_ table: TableSchema) {
        schema.tables.append(table)
        tables.append([:])
        keys.append([])
        byPrimaryKey.append([:])
    }

    package mutating func deleteAll(_ table: Int) {
        for key in keys[table] { delete(table, key) }
    }

    package func key(_ table: Int, primaryKey: Value) -> Int64? { byPrimaryKey[table][primaryKey] }

    /// Describes the first difference between the snapshot and the oracle; nil if they are equal.
    package func check(_ snapshot: Snapshot, _ label: @autoclosure () -> String) -> String? {
        for (table, rows) in tables.enumerated() {
            let view = snapshot.table(TableID(table))
            if view.count != rows.count {
                return "\(label()): table \(table) has \(view.count) objects, not \(rows.count)"
            }
            for (position, key) in keys[table].enumerated() {
                guard let (leaf, row) = view.find(key) else {
                    return "\(label()): object \(key) of table \(table) is missing"
                }
                let at = view.location(at: position)
                if at.leaf.key(at.row) != key { return "\(label()): object \(key) is not at position \(position)" }
                if view.position(of: key) != position { return "\(label()): the position of object \(key) is wrong" }
                for (column, value) in rows[key]!.enumerated() where !schema.tables[table].columns[column].isRemoved {
                    let found = view.value(column, leaf: leaf, row: row)
                    if found != value {
                        return
                            "\(label()): \(schema.tables[table].columns[column].name) of \(key) is \(found), not \(value)"
                    }
                }
            }
        }
        return nil
    }
}

/// A schema with many kinds of columns.
package func modelSchema() -> StoreSchema {
    StoreSchema(tables: [
        TableSchema(
            name: "A", primaryKey: 0,
            columns: [
                ColumnSchema(name: "id", type: .int),
                ColumnSchema(name: "count", type: .int),
                ColumnSchema(name: "age", type: .int, isNullable: true, isIndexed: true),
                ColumnSchema(name: "name", type: .string, isIndexed: true),
                ColumnSchema(name: "note", type: .string, isNullable: true),
                ColumnSchema(name: "data", type: .data),
                ColumnSchema(name: "score", type: .double),
                ColumnSchema(name: "flag", type: .bool, isNullable: true),
                ColumnSchema(name: "date", type: .date, isIndexed: true),
                ColumnSchema(name: "friend", type: .link, target: TableID(0)),
                ColumnSchema(name: "home", type: .link, target: TableID(1)),
                ColumnSchema(name: "numbers", type: .int, collection: .list),
                ColumnSchema(name: "tags", type: .string, collection: .list, isNullable: true),
                ColumnSchema(name: "friends", type: .link, collection: .list, target: TableID(0)),
            ]),
        TableSchema(
            name: "B", primaryKey: 0,
            columns: [
                ColumnSchema(name: "code", type: .string, isNullable: true),
                ColumnSchema(name: "ratio", type: .float),
                ColumnSchema(name: "oid", type: .objectID),
                ColumnSchema(name: "uuid", type: .uuid, isNullable: true, isIndexed: true),
                ColumnSchema(name: "people", type: .link, collection: .list, target: TableID(0)),
            ]),
    ])
}

/// Makes random values of a column's type, edge cases included.
package struct ValueMaker {
    package var random: SeededRandom

    package init(random: SeededRandom) { self.random = random }

    package mutating func value(_ column: ColumnSchema, isLong: Bool = false) -> Value {
        if column.isNullable, random.below(6) == 0 { return .null }
        switch column.type {
        case .bool: return .bool(random.below(2) == 0)
        case .int:
            return .int(
                random.below(10) == 0 ? [Int64.min, .max, 0, -1][random.below(4)] : Int64(random.below(1000)) - 500)
        case .float: return .float([0, -0.0, .nan, .infinity, 1.5, -2.25][random.below(6)])
        case .double:
            return .double(
                random.below(5) == 0 ? [.nan, -.infinity, 0, -0.0][random.below(4)] : Double(random.below(100_000)) / 7)
        case .string: return .string(string())
        case .data: return .data((0..<length()).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        case .date: return .date(Timestamp(seconds: Int64(random.below(2000)) - 1000, nanoseconds: 0))
        case .objectID:
            return .objectID(ObjectIDBytes(a: UInt32(random.below(9)), b: 0, c: UInt32(random.below(1 << 30))))
        case .uuid: return .uuid(UUIDBytes(high: UInt64(random.below(3)), low: random.next()))
        case .decimal: return .decimal(DecimalBits(high: random.next(), low: random.next()))
        case .link, .mixed: return .null
        }
    }

    private mutating func length() -> Int {
        switch random.below(40) {
        case 0: 1020 + random.below(10)
        case 1: 3000 + random.below(3000)
        case 2...5: 0
        case 6...9: 100 + random.below(300)
        default: random.below(24)
        }
    }

    private mutating func string() -> String {
        let alphabet = ["a", "b", "é", "🐕", "z", "/", "\u{0}"]
        let minimumLength = length()
        var text = ""
        while text.utf8.count < minimumLength { text += alphabet[random.below(alphabet.count)] }
        return text
    }
}

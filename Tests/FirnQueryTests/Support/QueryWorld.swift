import FirnCore
import FirnLog
import FirnQuery
import FirnStorage
import FirnTestSupport

/// Two classes with a property of every type, random objects of them, and the same objects as plain values for the
/// oracle.
final class QueryWorld {
    static let thing = TableID(0)
    static let owner = TableID(1)

    let schema: StoreSchema
    let store: Store
    let resolver: WorldResolver
    var random: SeededRandom
    /// The values of all columns, by table and then by object key.
    private(set) var objects: [[Int64: [Value]]] = [[:], [:]]
    private(set) var pin: Pin

    static let thingColumns: [ColumnSchema] = [
        ColumnSchema(name: "id", type: .int),
        ColumnSchema(name: "age", type: .int, isIndexed: true),
        ColumnSchema(name: "small", type: .int, isNullable: true, isIndexed: true),
        ColumnSchema(name: "score", type: .double, isIndexed: true),
        ColumnSchema(name: "scoreN", type: .double, isNullable: true),
        ColumnSchema(name: "ratio", type: .float),
        ColumnSchema(name: "active", type: .bool),
        ColumnSchema(name: "flag", type: .bool, isNullable: true),
        ColumnSchema(name: "name", type: .string, isIndexed: true),
        ColumnSchema(name: "nick", type: .string, isNullable: true, isIndexed: true),
        ColumnSchema(name: "blob", type: .data),
        ColumnSchema(name: "blobN", type: .data, isNullable: true),
        ColumnSchema(name: "when", type: .date, isIndexed: true),
        ColumnSchema(name: "whenN", type: .date, isNullable: true),
        ColumnSchema(name: "oid", type: .objectID),
        ColumnSchema(name: "uid", type: .uuid, isNullable: true),
        ColumnSchema(name: "dec", type: .decimal),
        ColumnSchema(name: "mix", type: .mixed, isNullable: true),
        ColumnSchema(name: "friend", type: .link, isNullable: true, target: thing),
        ColumnSchema(name: "owner", type: .link, isNullable: true, target: owner),
        ColumnSchema(name: "tags", type: .string, collection: .list, isNullable: true),
        ColumnSchema(name: "numbers", type: .int, collection: .list),
        ColumnSchema(name: "friends", type: .link, collection: .list, target: thing),
        ColumnSchema(name: "levels", type: .int, collection: .map, isNullable: true),
        ColumnSchema(name: "kinds", type: .string, collection: .set),
        ColumnSchema(name: "age2", type: .int),
        ColumnSchema(name: "score2", type: .double),
        ColumnSchema(name: "note", type: .string),
    ]
    static let ownerColumns: [ColumnSchema] = [
        ColumnSchema(name: "id", type: .string),
        ColumnSchema(name: "title", type: .string, isNullable: true),
        ColumnSchema(name: "weight", type: .int, isIndexed: true),
        ColumnSchema(name: "things", type: .link, collection: .list, target: thing),
        ColumnSchema(name: "boss", type: .link, isNullable: true, target: owner),
        ColumnSchema(name: "note", type: .string),
    ]

    /// - Parameter hasFiles: whether the store can be compacted.
    init(seed: UInt64, things: Int, owners: Int = 12, hasFiles: Bool = false) throws {
        schema = StoreSchema(tables: [
            TableSchema(name: "Thing", primaryKey: 0, columns: Self.thingColumns),
            TableSchema(name: "Owner", primaryKey: 0, columns: Self.ownerColumns),
        ])
        random = SeededRandom(seed: seed)
        resolver = WorldResolver(base: SchemaResolver(schema))
        var log = LogOptions(folder: "/store")
        log.usesThreads = false
        store = try Store(StoreOptions(log: hasFiles ? log : nil), storage: MemoryStorage())
        pin = store.pin()
        let first = try store.beginWrite()
        try first.changeSchema(to: schema)
        try first.commit()
        let transaction = try store.beginWrite()
        for _ in 0..<things { try add(transaction, table: Self.thing, columns: Self.thingColumns) }
        for _ in 0..<owners { try add(transaction, table: Self.owner, columns: Self.ownerColumns) }
        // Links are set once their targets exist. Some objects are deleted, which leaves gaps among the keys.
        for key in objects[0].keys.sorted() where random.below(12) == 0 && objects[0].count > 3 {
            transaction.delete(Self.thing, key)
            objects[0][key] = nil
        }
        let keys = objects.map { $0.keys.sorted() }
        for (table, columns) in [(Self.thing, Self.thingColumns), (Self.owner, Self.ownerColumns)] {
            for key in keys[table.index] {
                for (columnIndex, column) in columns.enumerated() where column.isLink {
                    link(
                        transaction, table: table, key: key, columnIndex: columnIndex, column: column,
                        to: keys[column.target!.index])
                }
            }
        }
        try transaction.commit()
        pin = store.pin()
    }

    private func add(_ transaction: WriteTransaction, table: TableID, columns: [ColumnSchema]) throws {
        var fresh = transaction.beginRow(table)
        var values: [Value] = []
        for (columnIndex, column) in columns.enumerated() {
            var value: Value
            if column.isLink {
                value = column.collection == .none ? .null : .list([])
            } else if columnIndex == 0 {
                value = column.type == .int ? .int(fresh.key * 3) : .string("owner \(fresh.key)")
            } else if column.name == "note" {
                // A text that compaction compresses.
                value = .string("\(fresh.key): " + String(repeating: "the same words ", count: 3))
            } else {
                value = pool.cell(column, &random)
            }
            // Transactions can't fill maps yet, so the value is the empty map that a new row has.
            if column.collection == .map { value = .map([]) }
            if column.type == .mixed, column.collection == .none, random.below(9) == 0 {
                value = .typedLink(table, fresh.key)
            }
            if !column.isLink, column.collection != .map { transaction.fill(&fresh, column: columnIndex, value: value) }
            values.append(value)
        }
        try transaction.endRow(fresh)
        objects[table.index][fresh.key] = values
    }

    private func link(
        _ transaction: WriteTransaction, table: TableID, key: Int64, columnIndex: Int, column: ColumnSchema,
        to targets: [Int64]
    ) {
        guard !targets.isEmpty else { return }
        if column.collection == .none {
            guard random.below(4) > 0 else { return }
            let target = targets[random.below(targets.count)]
            transaction.set(table, column: columnIndex, key: key, to: .link(target))
            objects[table.index][key]![columnIndex] = .link(target)
        } else {
            let links = (0..<random.below(5)).map { _ in Value.link(targets[random.below(targets.count)]) }
            transaction.set(table, column: columnIndex, key: key, to: .list(links))
            objects[table.index][key]![columnIndex] = .list(links)
        }
    }

    /// Writes the objects to a checkpoint, in which their chunks are packed.
    func compact() throws {
        _ = try store.compact()
        pin = store.pin()
    }

    let pool = ValuePool()

    func column(_ name: String, _ table: TableID) -> Int? { schema[table].column(named: name) }
}

/// Resolves the names of columns, and the backlinks that the object layer would add.
struct WorldResolver: PropertyResolver {
    let base: SchemaResolver

    func property(_ name: String, of table: TableID) -> ResolvedProperty? {
        switch (name, table) {
        case ("owners", QueryWorld.thing): .backlinks(QueryWorld.owner, 3)
        case ("fans", QueryWorld.thing): .backlinks(QueryWorld.thing, 18)
        case ("holders", QueryWorld.thing): .backlinks(QueryWorld.thing, 22)
        case ("owned", QueryWorld.owner): .backlinks(QueryWorld.thing, 19)
        default: base.property(name, of: table)
        }
    }

    func className(of table: TableID) -> String { base.className(of: table) }
    func propertyNames(of table: TableID) -> [String] { base.propertyNames(of: table) }
}

/// A few values of each type, including odd ones, so that constants often equal the values of objects.
struct ValuePool {
    static let strings = [
        "", "a", "A", "ab", "Ab", "abc", "ABC", "é", "É", "e", "e\u{301}", "ß", "straße", "Zürich", "zurich", "🙂",
        "a🙂b", "*", "a*c", "a?c",
        "ab\0", "x\ny", "日本", "ǻ", "Ω", "ω", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghij", "abcdefg\0", "it's",
        "\"quoted\"", "\\",
        String(repeating: "long", count: 60), String(repeating: "long", count: 300),
        String(repeating: "long", count: 300) + "er",
    ]
    static let ints: [Int64] = [.min, .min + 1, -7, -1, 0, 1, 2, 3, 5, 8, 50, 51, 1 << 53, 1 << 53 + 1, .max - 1, .max]
    static let doubles: [Double] = [
        -.infinity, -1.5, -0.0, 0.0, .leastNonzeroMagnitude, 0.5, 1, 2.5, 3, 50, 9_007_199_254_740_992, 0x1p63,
        .infinity, .nan, -.nan, Double(nan: 5, signaling: false), -Double(nan: 1 << 40, signaling: true),
    ]
    static let floats: [Float] = [
        -.infinity, -1.5, -0.0, 0, 0.1, 0.5, 1, 2.5, 3, .infinity, .nan, -Float(nan: 5, signaling: false),
    ]
    static let datas: [[UInt8]] = [
        [], [0], [0, 1], [1], [1, 2, 3], [0xFF], [0xFF, 0xFF], [UInt8](repeating: 7, count: 2000),
    ]
    static let dates = [
        Timestamp(seconds: 0, nanoseconds: 0), Timestamp(seconds: 0, nanoseconds: 5),
        Timestamp(seconds: 0, nanoseconds: -5),
        Timestamp(seconds: 1, nanoseconds: 0), Timestamp(seconds: -1, nanoseconds: -999_999_999),
        Timestamp(seconds: 1_700_000_000, nanoseconds: 123_456_789), Timestamp(seconds: .max, nanoseconds: 999_999_999),
    ]
    static let oids = [
        ObjectIDBytes(a: 0, b: 0, c: 0), ObjectIDBytes(a: 1, b: 2, c: 3), ObjectIDBytes(a: 1, b: 2, c: 4),
        ObjectIDBytes(a: .max, b: .max, c: .max),
    ]
    static let uuids = [
        UUIDBytes(high: 0, low: 0), UUIDBytes(high: 0, low: .max), UUIDBytes(high: 1, low: 0),
        UUIDBytes(high: .max, low: .max),
    ]
    /// The numbers 0, 1, 1.0, 2.5, -3, 1E30.
    static let decimals = [
        decimal(0, 0), decimal(1, 0), decimal(10, -1), decimal(25, -1), decimal(3, 0, isNegative: true), decimal(1, 30),
    ]

    static func decimal(_ coefficient: UInt64, _ exponent: Int, isNegative: Bool = false) -> DecimalBits {
        DecimalBits(high: UInt64(exponent + 6176) << 49 | (isNegative ? 1 << 63 : 0), low: coefficient)
    }

    func cell(_ column: ColumnSchema, _ random: inout SeededRandom) -> Value {
        func element() -> Value { column.isNullable && random.below(4) == 0 ? .null : value(column.type, &random) }
        switch column.collection {
        case .none: return element()
        case .list: return .list((0..<random.below(4)).map { _ in element() })
        case .set:
            var values: [Value] = []
            for _ in 0..<random.below(4) {
                let value = element()
                if !values.contains(where: { Value.order($0, value) == 0 }) { values.append(value) }
            }
            return .set(values.sorted { Value.order($0, $1) < 0 })
        case .map:
            var entries: [Value.MapEntry] = []
            for key in ["", "a", "b", "c"] where random.below(2) == 0 {
                entries.append(Value.MapEntry(key: key, value: element()))
            }
            return .map(entries)
        }
    }

    func value(_ type: ColumnType, _ random: inout SeededRandom) -> Value {
        func pick<T>(_ values: [T]) -> T { values[random.below(values.count)] }
        switch type {
        case .bool: return .bool(random.below(2) == 0)
        case .int: return .int(pick(Self.ints))
        case .float: return .float(pick(Self.floats))
        case .double: return .double(pick(Self.doubles))
        case .string: return .string(pick(Self.strings))
        case .data: return .data(pick(Self.datas))
        case .date: return .date(pick(Self.dates))
        case .objectID: return .objectID(pick(Self.oids))
        case .uuid: return .uuid(pick(Self.uuids))
        case .decimal: return .decimal(pick(Self.decimals))
        case .link: return .null
        case .mixed:
            let types: [ColumnType] = [.bool, .int, .float, .double, .string, .data, .date, .objectID, .uuid, .decimal]
            return value(pick(types), &random)
        }
    }
}

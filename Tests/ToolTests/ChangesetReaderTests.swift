import FirnBytes
import FirnTestSupport
import Testing

@testable import FirnCore
@testable import FirnTool

/// Two readers of one format that were written independently above the byte cursor: the tool must read what FirnCore
/// encodes as it was meant.
@Suite("The tool's reader of changesets", .timeLimit(.minutes(20))) struct ChangesetReaderTests {
    static let schema: StoreSchema = {
        var columns: [ColumnSchema] = []
        for type in ColumnType.allCases {
            for collection in CollectionKind.allCases {
                for isNullable in [false, true] {
                    columns.append(
                        ColumnSchema(
                            name: "c\(columns.count)", type: type, collection: collection, isNullable: isNullable,
                            target: type == .link ? TableID(0) : nil))
                }
            }
        }
        return StoreSchema(version: 1, tables: [TableSchema(name: "Any", columns: columns)])
    }()

    struct Maker {
        var random: SeededRandom

        mutating func scalar(_ type: ColumnType) -> Value {
            switch type {
            case .bool: return .bool(random.below(2) == 0)
            case .int: return .int(Int64(truncatingIfNeeded: random.next()) >> Int64(random.below(64)))
            case .float: return .float(Float(random.below(1000)) / 7)
            case .double: return .double(Double(random.below(1000)) / 7)
            case .string: return .string(String(repeating: "aé", count: length()))
            case .data: return .data((0..<length()).map { UInt8(truncatingIfNeeded: $0) })
            case .date:
                return .date(
                    Timestamp(seconds: Int64(random.below(1 << 40)), nanoseconds: Int32(random.below(1_000_000_000))))
            case .objectID:
                return .objectID(ObjectIDBytes(a: UInt32(random.below(1 << 30)), b: 7, c: UInt32(random.below(9))))
            case .uuid: return .uuid(UUIDBytes(high: random.next(), low: random.next()))
            case .decimal: return .decimal(DecimalBits(high: 0x3040_0000_0000_0000, low: random.next()))
            case .link: return .link(Int64(random.below(50)))
            case .mixed:
                let types: [ColumnType] = [.bool, .int, .double, .string, .data, .date, .uuid]
                if random.below(8) == 0 { return .typedLink(TableID(0), 3) }
                if random.below(8) == 0 { return .list([.int(1), .null, .list([.string("deep")])]) }
                if random.below(8) == 0 { return .map([Value.MapEntry(key: "k", value: .int(2))]) }
                return scalar(types[random.below(types.count)])
            }
        }

        /// Sometimes so long that the value is written ahead of its block, as a blob.
        mutating func length() -> Int { random.below(400) == 0 ? 50_000 : random.below(20) }

        mutating func value(_ column: ColumnSchema) -> Value {
            func element(_ maker: inout Maker) -> Value {
                column.isNullable && column.type != .link && maker.random.below(4) == 0
                    ? .null : maker.scalar(column.type)
            }
            // Sometimes so long that the elements follow in blocks of their own.
            let count = random.below(60) == 0 ? 2500 : random.below(4)
            switch column.collection {
            case .none: return element(&self)
            case .list: return .list((0..<count).map { _ in element(&self) })
            case .set: return .set([element(&self)])
            case .map:
                return .map((0..<min(count, 900)).map { Value.MapEntry(key: "k\(1000 + $0)", value: element(&self)) })
            }
        }

        mutating func changeset(_ schema: StoreSchema) -> Changeset {
            var changes = TableChanges()
            let columns = schema.tables[0].columns
            for key in 0..<Int64(6) {
                changes.inserted[100 + key] = Dictionary(
                    uniqueKeysWithValues: columns.indices.map { ($0, value(columns[$0])) })
                changes.deleted[key] = Dictionary(
                    uniqueKeysWithValues: columns.indices.map { ($0, value(columns[$0])) })
            }
            for column in columns.indices {
                for key in 10..<Int64(16) {
                    let new = value(columns[column])
                    let isUnchanged = random.below(4) == 0
                    changes.updated[column, default: [:]][key] = CellChange(
                        new: new, old: isUnchanged ? new : value(columns[column]), isUnchanged: isUnchanged)
                }
            }
            changes.nextKey = 200
            return Changeset(version: 7, time: 5, tables: [TableID(0): changes])
        }
    }

    /// What the tool read, cell by cell.
    struct Seen {
        var inserted: [Int64: [Int: Value]] = [:]
        var deleted: [Int64: [Int: Value]] = [:]
        var new: [Int: [Int64: Value]] = [:]
        var old: [Int: [Int64: Value]] = [:]
        var unchanged: [Int: Set<Int64>] = [:]
        var deletedKeys: Set<Int64> = []
        var nextKey: Int64 = 0

        mutating func add(_ block: ChangeBlock) {
            switch block {
            case .insert(let rows), .insertMore(let rows):
                for (column, values) in rows.columns {
                    for index in 0..<rows.keys.count {
                        inserted[rows.keys[index], default: [:]][column] = values.cell(index).value
                    }
                }
            case .deleteOld(let rows):
                for (column, values) in rows.columns {
                    for index in 0..<rows.keys.count {
                        deleted[rows.keys[index], default: [:]][column] = values.cell(index).value
                    }
                }
            case .delete(let rows): for index in 0..<rows.keys.count { deletedKeys.insert(rows.keys[index]) }
            case .update(let update):
                var oldIndex = 0
                for index in 0..<update.keys.count {
                    let key = update.keys[index]
                    new[update.column, default: [:]][key] = update.values.cell(index).value
                    if update.unchanged?[index] ?? false {
                        unchanged[update.column, default: []].insert(key)
                    } else if let values = update.old {
                        old[update.column, default: [:]][key] = values.cell(oldIndex).value
                        oldIndex += 1
                    }
                }
            case .elements(let more):
                let value = more.values.cell(0).value
                switch more.owner {
                case .inserted: inserted[more.key]?[more.column]?.extend(value)
                case .deleted: deleted[more.key]?[more.column]?.extend(value)
                case .updated: new[more.column]?[more.key]?.extend(value)
                case .updatedOld: old[more.column]?[more.key]?.extend(value)
                }
            case .nextKey(_, let key): nextKey = key
            case .schema, .script, .unknown: break
            }
        }
    }

    static func toolSchema() throws -> DecodedSchema {
        // Through a changeset, which is how the tool itself gets a schema.
        let parts = Changeset(version: 1, time: 0, schema: schema).encoded(schema: schema)
        var reader = FirnTool.ChangesetReader(schema: nil)
        for part in parts { try part.withUnsafeBytes { try reader.read(part: $0) { _ in } } }
        return try #require(reader.schema)
    }

    @Test("reads what FirnCore's encoder wrote, value for value", arguments: [1, 2, 3, 4] as [UInt64])
    func agrees(seed: UInt64) throws {
        var maker = Maker(random: SeededRandom(seed: seed))
        let changeset = maker.changeset(Self.schema)
        var seen = Seen()
        var reader = FirnTool.ChangesetReader(schema: try Self.toolSchema())
        for part in changeset.encoded(schema: Self.schema) {
            try part.withUnsafeBytes { try reader.read(part: $0) { seen.add($0) } }
        }
        try reader.finish()
        let expected = try #require(changeset.tables[TableID(0)])
        for (key, cells) in expected.inserted {
            for (column, value) in cells {
                #expect(seen.inserted[key]?[column] == value, "seed \(seed), inserted \(key).\(column)")
            }
        }
        for (key, cells) in expected.deleted {
            for (column, value) in cells {
                #expect(seen.deleted[key]?[column] == value, "seed \(seed), deleted \(key).\(column)")
            }
        }
        #expect(seen.deletedKeys == Set(expected.deleted.keys))
        for (column, cells) in expected.updated {
            for (key, change) in cells {
                #expect(seen.new[column]?[key] == change.new, "seed \(seed), new \(key).\(column)")
                #expect(
                    seen.unchanged[column]?.contains(key) ?? false == change.isUnchanged,
                    "seed \(seed), unchanged \(key).\(column)")
                let old = change.isUnchanged ? seen.new[column]?[key] : seen.old[column]?[key]
                #expect(old == change.old, "seed \(seed), old \(key).\(column)")
            }
        }
        #expect(seen.nextKey == 200)
    }

    @Test("bytes changed anywhere in a part are read or refused, never trapped on", arguments: [1, 2, 3] as [UInt64])
    func hostileParts(seed: UInt64) throws {
        var maker = Maker(random: SeededRandom(seed: seed))
        let schema = try Self.toolSchema()
        let parts = maker.changeset(Self.schema).encoded(schema: Self.schema).filter { $0.count < 200_000 }
        var random = SeededRandom(seed: seed &+ 100)
        var refused = 0
        for _ in 0..<150 {
            guard !parts.isEmpty else { break }
            var part = parts[random.below(parts.count)]
            for _ in 0...random.below(3) { part[random.below(part.count)] = UInt8(random.below(256)) }
            if random.below(3) == 0 { part.removeLast(random.below(part.count)) }
            var reader = FirnTool.ChangesetReader(schema: random.below(2) == 0 ? schema : nil)
            var seen = Seen()
            do {
                try part.withUnsafeBytes { try reader.read(part: $0) { seen.add($0) } }
            } catch is Damage {
                refused += 1
            }
        }
        #expect(parts.isEmpty || refused > 0)
    }
}

extension Cell {
    /// The value in FirnCore's form.
    var value: Value {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .float(let value): .float(value)
        case .double(let value): .double(value)
        case .string(let bytes): .string(String(decoding: bytes, as: UTF8.self))
        case .data(let bytes): .data(Array(bytes))
        case .date(let seconds, let nanoseconds): .date(Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds)))
        case .objectID(let bytes):
            .objectID(
                ObjectIDBytes(
                    a: Self.word(bytes[0..<4]), b: Self.word(bytes[4..<8]), c: Self.word(bytes[8..<12])))
        case .uuid(let high, let low): .uuid(UUIDBytes(high: high, low: low))
        case .decimal(let high, let low): .decimal(DecimalBits(high: high, low: low))
        case .link(let key): .link(key)
        case .anyLink(let table, let key): .typedLink(TableID(table), key)
        case .list(let cells): .list(cells.map(\.value))
        case .set(let cells): .set(cells.map(\.value))
        case .map(let entries):
            .map(entries.map { Value.MapEntry(key: String(decoding: $0.key, as: UTF8.self), value: $0.value.value) })
        }
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}

extension Value {
    /// Appends another collection's elements.
    mutating func extend(_ more: Value) {
        switch (self, more) {
        case (.list(let a), .list(let b)): self = .list(a + b)
        case (.set(let a), .set(let b)): self = .set(a + b)
        case (.map(let a), .map(let b)): self = .map(a + b)
        default: self = .null
        }
    }
}

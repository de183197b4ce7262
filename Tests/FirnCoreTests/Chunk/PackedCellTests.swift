import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Reading a single cell of a checkpoint's chunk in place gives what was written and what the unpacked chunk holds,
/// in every encoding.
@Suite(.timeLimit(.minutes(20))) struct PackedCellTests {
    private static let rows = 1500

    private struct Column {
        let schema: ColumnSchema
        let value: @Sendable (Int, inout SeededRandom) -> Value

        init(
            name: String, type: ColumnType, isNullable: Bool = false,
            _ value: @escaping @Sendable (Int, inout SeededRandom) -> Value
        ) {
            schema = ColumnSchema(name: name, type: type, isNullable: isNullable)
            self.value = value
        }
    }

    private static func text(_ length: Int, _ random: inout SeededRandom) -> String {
        String(decoding: (0..<length).map { _ in UInt8(33 + random.below(90)) }, as: UTF8.self)
    }

    private static let columns: [Column] = [
        Column(name: "id", type: .int) { row, _ in .int(Int64(row) * 3 - 5) },
        Column(name: "constant", type: .int) { _, _ in .int(-7) },
        Column(name: "byte", type: .int) { _, random in .int(Int64(random.below(256)) - 200) },
        Column(name: "word", type: .int) { _, random in .int(Int64(random.below(60_000)) - 30_000) },
        Column(name: "half", type: .int) { _, random in .int(Int64.max - Int64(random.below(4_000_000_000))) },
        Column(name: "whole", type: .int) { _, random in .int(Int64(bitPattern: random.next())) },
        Column(name: "maybe", type: .int, isNullable: true) { row, random in
            row % 5 == 0 ? .null : .int(Int64(random.below(100)))
        },
        Column(name: "flag", type: .bool) { _, random in .bool(random.below(2) == 1) },
        Column(name: "maybeFlag", type: .bool, isNullable: true) { row, random in
            row % 7 == 0 ? .null : .bool(random.below(2) == 1)
        },
        Column(name: "float", type: .float) { row, _ in .float(Float(row) / 3) },
        Column(name: "double", type: .double, isNullable: true) { row, _ in
            row % 3 == 0 ? .null : .double(Double(row) / 7)
        },
        Column(name: "date", type: .date) { row, _ in
            .date(Timestamp(seconds: Int64(row) - 700, nanoseconds: Int32(row)))
        },
        Column(name: "uuid", type: .uuid) { _, random in .uuid(UUIDBytes(high: random.next(), low: random.next())) },
        Column(name: "oid", type: .objectID, isNullable: true) { row, _ in
            row % 11 == 0 ? .null : .objectID(ObjectIDBytes(a: UInt32(row), b: 7, c: UInt32(row * row)))
        },
        Column(name: "decimal", type: .decimal) { row, _ in
            .decimal(DecimalBits(high: 0x3040_0000_0000_0000, low: UInt64(row)))
        },
        Column(name: "short", type: .string) { _, random in .string(text(random.below(24), &random)) },
        Column(name: "maybeText", type: .string, isNullable: true) { row, random in
            row % 4 == 0 ? .null : .string(text(random.below(12) + (row % 97 == 0 ? 9000 : 0), &random))
        },
        Column(name: "long", type: .string) { _, random in .string(text(random.below(280), &random)) },
        Column(name: "english", type: .string) { row, _ in
            .string("of the many that there are, this is the one that bears the number \(row), and no other does")
        },
        Column(name: "city", type: .string, isNullable: true) { _, random in
            let city = random.below(40)
            return city == 0 ? .null : .string("a town by the name of \(city)")
        },
        Column(name: "data", type: .data) { _, random in .data((0..<random.below(20)).map { UInt8($0) }) },
        Column(name: "mixed", type: .mixed) { row, random in
            switch row % 4 {
            case 0: .null
            case 1: .int(Int64(random.below(1000)))
            case 2: .string(text(random.below(10), &random))
            default: .double(Double(row))
            }
        },
    ]

    private static func values() -> [[Value]] {
        var random = SeededRandom(seed: 77)
        return (0..<rows).map { row in columns.map { $0.value(row, &random) } }
    }

    private static func fill(_ store: Store, _ values: [[Value]]) throws {
        let transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(tables: [TableSchema(name: "Thing", primaryKey: 0, columns: columns.map(\.schema))]))
        for record in values {
            var row = transaction.beginRow(TableID(0))
            for (column, value) in record.enumerated() { transaction.fill(&row, column: column, value: value) }
            try transaction.endRow(row)
        }
        try transaction.commit()
    }

    @Test(arguments: [true, false]) func aCellReadsBackAsItWasWritten(byMapping: Bool) throws {
        let folder = TemporaryFolder()
        var options = StoreOptions(log: LogOptions(folder: folder.path + "/store"))
        options.readsByMapping = byMapping
        let values = Self.values()
        var store = try Store(options, storage: PosixStorage.shared)
        try Self.fill(store, values)
        try store.compact()
        try store.close()
        store = try Store(options, storage: PosixStorage.shared)
        let table = store.pin().snapshot.table(TableID(0))
        var forms = Set<UInt8>()
        var next = 0
        table.forEachLeaf { leaf, _ in
            for row in 0..<leaf.count {
                for (column, wanted) in values[next].enumerated() {
                    let schema = Self.columns[column].schema
                    forms.insert(leaf.chunkNode(column).form)
                    let found = table.value(column, leaf: leaf, row: row)
                    #expect(found == wanted, "\(schema.name) of row \(next)")
                    #expect(leaf.isNull(column, row) == (wanted == .null))
                    let chunk = leaf.chunk(column)
                    #expect(chunk.isNull(row) == (wanted == .null))
                    if schema.type.fixedWidth == nil {
                        #expect(
                            chunk.bytes(row).map { [UInt8]($0) } == leaf.cell(column, row).bytes.map { [UInt8]($0) })
                    } else if wanted != .null {
                        #expect(FixedCoding.load(chunk.address(row), as: schema.type) == wanted)
                    }
                }
                next += 1
            }
            return true
        }
        #expect(next == Self.rows)
        // The test must have covered all forms. Variable chunks of single values are always packed.
        let packed: [ChunkEncoding.Form] = [.integers, .bits, .text, .lz4, .dictionary]
        let plain: [Chunk.Form] = [.fixed, .nullable]
        #expect(forms == Set(packed.map(\.rawValue) + plain.map(\.rawValue)))
    }

    /// Sums and ranges of packed integers agree with the values one by one.
    @Test func packedIntegersAreScannedInPlace() throws {
        let folder = TemporaryFolder()
        let values = Self.values()
        let store = try Store(
            StoreOptions(log: LogOptions(folder: folder.path + "/store")), storage: PosixStorage.shared)
        try Self.fill(store, values)
        try store.compact()
        var random = SeededRandom(seed: 5)
        var selected = 0
        var next = 0
        store.pin().snapshot.table(TableID(0)).forEachLeaf { leaf, _ in
            for column in 0..<5 {
                let numbers = (0..<leaf.count).map { row -> Int64 in
                    guard case .int(let number) = values[next + row][column] else { return 0 }
                    return number
                }
                guard let packed = leaf.packedIntegers(column) else {
                    Issue.record("\(Self.columns[column].schema.name) is not packed")
                    continue
                }
                for count in [leaf.count, random.below(leaf.count)] {
                    #expect(packed.sum(count: count) == numbers[..<count].reduce(Int128(0)) { $0 + Int128($1) })
                }
                for bound in 0..<12 {
                    var (low, high) = (numbers[random.below(leaf.count)], numbers[random.below(leaf.count)])
                    if bound % 4 == 1 { low = .min }
                    if bound % 4 == 2 { high = .max }
                    if bound % 4 == 3 { (low, high) = (low &- Int64(random.below(3)), low &+ Int64(random.below(3))) }
                    var mask: [UInt64] = [1, 2, 3, 4]
                    guard packed.select(low, high: high, count: leaf.count, into: &mask) else {
                        #expect(column < 2)
                        continue
                    }
                    selected += 1
                    for (row, number) in numbers.enumerated() {
                        #expect((mask[row >> 6] >> UInt64(row & 63) & 1 == 1) == (number >= low && number <= high))
                    }
                }
            }
            #expect(leaf.packedIntegers(5) == nil && leaf.packedIntegers(6) == nil)
            next += leaf.count
            return true
        }
        #expect(selected >= 3 * 12 * (Self.rows / 256))
    }
}

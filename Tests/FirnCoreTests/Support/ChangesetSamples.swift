import FirnBytes
import FirnTestSupport

import FirnTestSupport

@testable import FirnCore

/// Generates values, rows, leaves and changesets for tests from a seed.
struct ChangesetSamples {
    var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    mutating func chance(_ percent: Int) -> Bool { int(0...99) < percent }

    // MARK: Values

    mutating func string(_ longest: Int) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyzäöü🦊 ")
        return String((0..<int(0...longest)).map { _ in letters[int(0...letters.count - 1)] })
    }

    /// The spread of integers is chosen once per column.
    mutating func integer(_ spread: Int) -> Int64 {
        switch spread {
        case 0: 7
        case 1: Int64(int(-100...100))
        case 2: Int64(int(0...65535)) - 3000
        case 3: Int64(int(0...0xFFFF_FFFF)) + 1_000_000_000_000
        case 4: [Int64.min, Int64.max, 0, -1][int(0...3)]
        default: Int64.random(in: .min ... .max, using: &random)
        }
    }

    mutating func scalar(_ type: ColumnType, _ spread: Int, isNullable: Bool, longest: Int) -> Value {
        if isNullable, chance(20) { return .null }
        switch type {
        case .bool: return .bool(spread == 0 ? false : spread == 1 ? true : chance(50))
        case .int: return .int(integer(spread))
        case .float: return .float(Float(bitPattern: UInt32.random(in: 0...0x7F00_0000, using: &random)))
        case .double: return .double(Double(int(-1000...1000)) / 7)
        case .string: return .string(string(longest))
        case .data: return .data((0..<int(0...longest)).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        case .date:
            let seconds = Int64(int(-2_000_000_000...2_000_000_000))
            let nanoseconds = spread == 0 ? 0 : Int32(int(0...999_999_999)) * (seconds < 0 ? -1 : 1)
            return .date(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
        case .objectID:
            return .objectID(ObjectIDBytes(a: UInt32(int(0...100)), b: .random(in: 0 ... .max, using: &random), c: 3))
        case .uuid:
            return .uuid(UUIDBytes(high: .random(in: 0 ... .max, using: &random), low: UInt64(int(0...9))))
        case .decimal:
            return .decimal(DecimalBits(high: UInt64(int(0...9)), low: .random(in: 0 ... .max, using: &random)))
        case .link: return chance(20) ? .null : .link(Int64(int(0...100_000)))
        case .mixed:
            switch int(0...5) {
            case 0: return .int(integer(5))
            case 1: return .string(string(longest))
            case 2: return .typedLink(TableID(3), 9)
            case 3: return .list([.int(1), .null, .string("x"), .map([Value.MapEntry(key: "k", value: .bool(true))])])
            case 4: return chance(50) ? .null : .double(0.5)
            default: return .data([1, 2, 3])
            }
        }
    }

    mutating func value(_ column: ColumnSchema, _ spread: Int, longest: Int = 40) -> Value {
        let isNullable = column.isNullable && column.type != .link
        guard column.collection != .none else {
            return scalar(column.type, spread, isNullable: isNullable || column.type == .mixed, longest: longest)
        }
        let count = chance(30) ? 0 : chance(5) ? int(0...400) : int(0...6)
        var elements: [Value] = []
        for _ in 0..<count { elements.append(scalar(column.type, spread, isNullable: isNullable, longest: longest)) }
        switch column.collection {
        case .map:
            return .map((0..<elements.count).map { Value.MapEntry(key: "key \(10_000 + $0)", value: elements[$0]) })
        case .set: return .set(elements)
        case .list, .none: return .list(elements)
        }
    }

    // MARK: Schemas

    /// A table with a column of each type, nullable and not, scalar and collection; one of them removed.
    static let everyColumn: TableSchema = {
        var columns: [ColumnSchema] = []
        for type in ColumnType.allCases {
            for collection in CollectionKind.allCases {
                for isNullable in [false, true] where type != .link || !isNullable {
                    columns.append(
                        ColumnSchema(
                            name: "\(type)\(collection)\(isNullable)", type: type, collection: collection,
                            isNullable: isNullable, target: type == .link ? TableID(0) : nil))
                }
            }
        }
        columns[3].isRemoved = true
        return TableSchema(name: "Every", primaryKey: 2, columns: columns)
    }()

    static let person = TableSchema(
        name: "Person", primaryKey: 0,
        columns: [
            ColumnSchema(name: "id", type: .int, isIndexed: true), ColumnSchema(name: "name", type: .string),
            ColumnSchema(name: "email", type: .string), ColumnSchema(name: "age", type: .int),
            ColumnSchema(name: "score", type: .double), ColumnSchema(name: "city", type: .string),
            ColumnSchema(name: "active", type: .bool), ColumnSchema(name: "created", type: .int),
            ColumnSchema(name: "bio", type: .string),
        ])

    mutating func row(_ table: TableSchema, _ spread: Int, longest: Int = 40) -> [Int: Value] {
        var row: [Int: Value] = [:]
        for (number, column) in table.columns.enumerated() where !column.isRemoved {
            row[number] = value(column, (spread + number) % 6, longest: longest)
        }
        return row
    }
}

/// Makes leaves by hand and frees them when it is deallocated.
final class LeafFactory {
    let writer = NodeWriter(stamp: 1)
    private let scratch = UnsafeMutableRawPointer.allocate(byteCount: ListEditor.scratchByteCount, alignment: 16)

    deinit {
        for index in 0..<writer.state.pointee.madeCount { NodeHeap.free(writer.state.pointee.made[index]) }
        scratch.deallocate()
        writer.dispose().deallocate()
    }

    /// A leaf of rows with these keys. Keys that are not consecutive get their own chunk. `gaps` leaves gaps in the
    /// heaps.
    func leaf(_ table: TableSchema, keys: [Int64], rows: [[Int: Value]], gaps: Bool = false) -> Leaf {
        let node = writer.make(.leaf, byteCount: NodeLayout.Leaf.byteCount(columns: table.columns.count))
        (node.address + 32).initializeMemory(as: UInt8.self, repeating: 0, count: node.byteCount - 32)
        node.store(UInt32(table.columns.count), 48)
        let leaf = Leaf(node)
        leaf.firstKey = keys[0]
        leaf.count = rows.count
        if keys != (0..<Int64(keys.count)).map({ keys[0] + $0 }) {
            let chunk = Chunk.make(ChunkLayout(form: .fixed, width: 8), capacity: 256, writer)
            for (row, key) in keys.enumerated() { chunk.store(key, row) }
            leaf.keysSlot.pointee = NodeRef(chunk.node).word
        }
        for (number, column) in table.columns.enumerated() where !column.isRemoved {
            let chunk = Chunk.make(column.layout, capacity: 256, heap: 65_000, writer)
            for (row, values) in rows.enumerated() {
                guard let value = values[number] else { preconditionFailure("a row lacks column \(number)") }
                put(value, column: column, chunk: chunk, row: row)
                if gaps, column.layout.form == .variable, row % 5 == 4 { chunk.heapUsed += 3 }
            }
            leaf.chunkSlot(number).pointee = NodeRef(chunk.node).word
        }
        return leaf
    }

    private func put(_ value: Value, column: ColumnSchema, chunk: Chunk, row: Int) {
        if column.collection != .none {
            putCollection(value, column: column, chunk: chunk, row: row)
        } else if chunk.form == .variable {
            PlainCoding.withBytes(value, as: column.type) { bytes in
                guard let bytes else { return chunk.putNull(row) }
                if bytes.count <= Limits.inlineByteCount {
                    precondition(chunk.put(bytes, length: UInt16(bytes.count), row, replacing: false))
                } else {
                    putReference(Blob.make(bytes, writer).node, length: Chunk.Slot.blob, chunk: chunk, row: row)
                }
            }
        } else if value == .null, column.type != .link {
            chunk.putNull(row)
        } else {
            FixedCoding.store(value, as: column.type, to: chunk.address(row))
            if chunk.form == .nullable { chunk.nullFlags[row] = 0 }
        }
    }

    private func putReference(_ node: Node, length: UInt16, chunk: Chunk, row: Int) {
        withUnsafeBytes(of: NodeRef(node).word) { precondition(chunk.put($0, length: length, row, replacing: false)) }
    }

    private func putCollection(_ value: Value, column: ColumnSchema, chunk: Chunk, row: Int) {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        var editor = ListEditor(ListCell(inline: nothing, ElementLayout(column)), writer, scratch: scratch)
        editor.append(contentsOf: value.elements)
        switch editor.finish() {
        case .inline(let bytes): precondition(chunk.put(bytes, length: UInt16(bytes.count), row, replacing: false))
        case .tree(let root): putReference(root.node, length: Chunk.Slot.tree, chunk: chunk, row: row)
        }
    }
}

/// The encoded parts of everything that `body` writes.
func encodedParts(_ body: (inout ChangesetEncoder) -> Void) -> [[UInt8]] {
    var parts: [[UInt8]] = []
    withoutActuallyEscaping({ (part: consuming ByteWriter, _: Bool) -> ByteWriter in
        parts.append(part.array())
        return part
    }) { sink in
        var encoder = ChangesetEncoder(sink: sink)
        body(&encoder)
        encoder.flush()
    }
    return parts
}

import FirnBytes
import Testing

@testable import FirnCore

@Suite("Decoding gives what was encoded from leaves", .timeLimit(.minutes(20)))
struct ChangesetEncodingTests {
    static let table = TableID(2)

    @Test("every type, nullable or not, scalar or collection, consecutive keys or not, heaps with gaps or without")
    func rowsOfEveryType() throws {
        for seed in 0..<24 as Range<UInt64> {
            var samples = ChangesetSamples(seed: seed)
            let factory = LeafFactory()
            let schema = ChangesetSamples.everyColumn
            let count = [1, 2, 7, 40, 8][Int(seed) % 5]
            let rows = (0..<count).map { _ in samples.row(schema, Int(seed)) }
            let step: Int64 = seed % 2 == 0 ? 1 : 3
            let keys = (0..<Int64(count)).map { 1000 + $0 * step }
            let leaf = factory.leaf(schema, keys: keys, rows: rows, gaps: seed % 3 == 0)
            let parts = encodedParts { encoder in
                encoder.beginTable(Self.table, schema)
                encoder.inserted(leaf, 0..<count)
                encoder.deleted(leaf, 0..<count)
            }
            let onlyInserts = encodedParts { encoder in
                encoder.beginTable(Self.table, schema)
                encoder.inserted(leaf, 0..<count)
            }
            let onlyDeletes = encodedParts { encoder in
                encoder.beginTable(Self.table, schema)
                for row in 0..<count { encoder.deleted(leaf, row) }
            }
            let wanted = Dictionary(uniqueKeysWithValues: zip(keys, rows))
            let inserts = try Changeset(version: 5, time: 6, parts: onlyInserts)
            #expect(inserts.tables[Self.table]?.inserted == wanted, "seed \(seed)")
            let deletes = try Changeset(version: 5, time: 6, parts: onlyDeletes)
            #expect(deletes.tables[Self.table]?.deleted == wanted, "seed \(seed)")
            #expect(
                try Changeset(version: 5, time: 6, parts: parts).isEmpty,
                "seed \(seed): inserting and deleting leaves nothing")
        }
    }

    @Test("a range of rows in the middle of a leaf")
    func rangeOfRows() throws {
        var samples = ChangesetSamples(seed: 3)
        let factory = LeafFactory()
        let schema = ChangesetSamples.person
        let rows = (0..<200).map { _ in samples.row(schema, 1) }
        let leaf = factory.leaf(schema, keys: (0..<200).map { 50 + $0 }, rows: rows)
        let parts = encodedParts { encoder in
            encoder.beginTable(Self.table, schema)
            encoder.inserted(leaf, 37..<161)
        }
        let changes = try #require(try Changeset(version: 1, time: 0, parts: parts).tables[Self.table])
        #expect(changes.inserted.count == 124)
        for row in 37..<161 { #expect(changes.inserted[Int64(50 + row)] == rows[row]) }
    }

    @Test("updates have new and old values, and mark cells that were assigned an equal value")
    func updates() throws {
        for seed in 0..<12 as Range<UInt64> {
            var samples = ChangesetSamples(seed: seed)
            let factory = LeafFactory()
            let schema = ChangesetSamples.everyColumn
            let keys = (0..<30).map { Int64($0) * 2 }
            let old = keys.map { _ in samples.row(schema, Int(seed)) }
            var new = keys.map { _ in samples.row(schema, Int(seed) + 1) }
            for row in 0..<30 {
                for column in new[row].keys.sorted() where samples.chance(30) { new[row][column] = old[row][column] }
            }
            let oldLeaf = factory.leaf(schema, keys: keys, rows: old, gaps: true)
            let newLeaf = factory.leaf(schema, keys: keys, rows: new)
            let parts = encodedParts { encoder in
                encoder.beginTable(Self.table, schema)
                for row in 0..<30 {
                    for (number, column) in schema.columns.enumerated() where !column.isRemoved {
                        encoder.updated(
                            column: number,
                            UpdatedCell(
                                key: keys[row], chunk: newLeaf.chunk(number), row: row,
                                oldRef: NodeRef(oldLeaf.chunk(number).node),
                                oldRow: row))
                    }
                }
            }
            let changes = try #require(try Changeset(version: 1, time: 0, parts: parts).tables[Self.table])
            for row in 0..<30 {
                for (number, column) in schema.columns.enumerated() where !column.isRemoved {
                    let cell = try #require(changes.updated[number]?[keys[row]])
                    #expect(cell.new == new[row][number] && cell.old == old[row][number], "seed \(seed)")
                    // A collection with its own tree counts as changed even if it holds the same elements.
                    if column.collection == .none {
                        #expect(
                            cell.isUnchanged == (new[row][number] == old[row][number]), "seed \(seed) \(column.name)")
                    }
                }
            }
        }
    }

    @Test("integers take the width that their spread needs, at every boundary")
    func integerWidths() throws {
        let cases: [(spread: [Int64], width: Int)] = [
            ([5, 5, 5], 0), ([5, 6, 7], 16), ([0, 255], 1), ([0, 256], 2), ([-1, 65534], 2), ([-1, 65535], 4),
            ([-3, 0xFFFF_FFFC], 4), ([-3, 0xFFFF_FFFD], 8), ([Int64.min, Int64.max], 8), ([Int64.min, -1], 8),
            ([Int64.max, Int64.max - 1], 1), ([], 0), ([Int64.min], 0), ([Int64.max - 1, Int64.max], 16),
        ]
        for (values, width) in cases {
            var writer = ByteWriter()
            writer.append(count: IntRun.bound(values.count)) { buffer in
                var cursor = RawCursor(buffer.baseAddress!)
                values.withUnsafeBufferPointer { source in
                    let nothing = UnsafeMutablePointer<Int64>.allocate(capacity: 1)
                    IntRun.encode(source.baseAddress ?? UnsafePointer(nothing), count: values.count, into: &cursor)
                    nothing.deallocate()
                }
                let used = cursor.address - buffer.baseAddress!
                buffer.baseAddress!.advanced(by: used).initializeMemory(
                    as: UInt8.self, repeating: 0, count: buffer.count - used)
            }
            var reader = ByteReader(writer.bytes)
            let run = try IntRun(&reader, values.count)
            #expect(run.width == width, "\(values)")
            #expect((0..<values.count).map { run[$0] } == values)
            var expanded = [Int64](repeating: 0, count: values.count)
            expanded.withUnsafeMutableBufferPointer {
                if let base = $0.baseAddress { run.expand(0..<values.count, into: base) }
            }
            #expect(expanded == values)
        }
    }

    @Test("parts are cut at the limit, between blocks, and together they make the changeset")
    func parts() throws {
        var samples = ChangesetSamples(seed: 11)
        let factory = LeafFactory()
        let schema = ChangesetSamples.person
        var wanted: [Int64: [Int: Value]] = [:]
        var leaves: [Leaf] = []
        for start in 0..<40 as Range<Int64> {
            let keys = (0..<250).map { start * 250 + $0 }
            let rows = keys.map { _ in samples.row(schema, Int(start), longest: 60) }
            for (key, row) in zip(keys, rows) { wanted[key] = row }
            leaves.append(factory.leaf(schema, keys: keys, rows: rows))
        }
        let parts = encodedParts { encoder in
            encoder.beginTable(Self.table, schema)
            for leaf in leaves { encoder.inserted(leaf, 0..<leaf.count) }
        }
        #expect(parts.count > 1)
        for part in parts { #expect(part.count <= Limits.partByteCount) }
        for part in parts.dropLast() {
            #expect(part.count > Limits.partByteCount * 9 / 10, "parts must be nearly full")
        }
        #expect(try Changeset(version: 1, time: 0, parts: parts).tables[Self.table]?.inserted == wanted)
        // Each part can be decoded alone.
        var alone: [Int64: [Int: Value]] = [:]
        for part in parts {
            let changes = try #require(try Changeset(version: 1, time: 0, parts: [part]).tables[Self.table])
            alone.merge(changes.inserted) { $1 }
        }
        #expect(alone == wanted)
    }

    @Test("a part never exceeds its cell limit, however few bytes the cells take")
    func cellLimit() throws {
        let factory = LeafFactory()
        let schema = TableSchema(
            name: "Flat", columns: (0..<20).map { ColumnSchema(name: "c\($0)", type: .int) })
        let row = Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, Value.int(1)) })
        let leaf = factory.leaf(schema, keys: Array(0..<256), rows: Array(repeating: row, count: 256))
        let blocks = Limits.partCellCount / (256 * 21) + 2
        var keys: [Int64] = []
        let parts = encodedParts { encoder in
            encoder.beginTable(Self.table, schema)
            for block in 0..<blocks {
                leaf.firstKey = Int64(block) * 256
                encoder.inserted(leaf, 0..<256)
                keys.append(leaf.firstKey)
            }
        }
        #expect(parts.count == 2)
        #expect(try Changeset(version: 1, time: 0, parts: parts).tables[Self.table]?.inserted.count == blocks * 256)
    }

    @Test(
        "values up to 16 MiB are written ahead as blobs, and forward readers skip the old ones",
        arguments: [65_536, 65_537, 1_100_000, 16 << 20])
    func blobs(_ length: Int) throws {
        let factory = LeafFactory()
        let schema = TableSchema(
            name: "Blobs",
            columns: [
                ColumnSchema(name: "a", type: .data), ColumnSchema(name: "b", type: .string, isNullable: true),
                ColumnSchema(name: "c", type: .mixed),
            ])
        func row(_ byte: UInt8) -> [Int: Value] {
            [
                0: .data([UInt8](repeating: byte, count: length)), 1: byte == 3 ? .null : .string("short"),
                2: byte == 1 ? .string(String(repeating: "é", count: length / 2)) : .int(1),
            ]
        }
        let (old, new) = ([row(1), row(2)], [row(3), row(4)])
        let (oldLeaf, newLeaf) = (
            factory.leaf(schema, keys: [1, 2], rows: old), factory.leaf(schema, keys: [1, 2], rows: new)
        )
        let parts = encodedParts { encoder in
            encoder.beginTable(Self.table, schema)
            for column in 0..<3 {
                for row in 0..<2 {
                    encoder.updated(
                        column: column,
                        UpdatedCell(
                            key: Int64(row + 1), chunk: newLeaf.chunk(column), row: row,
                            oldRef: NodeRef(oldLeaf.chunk(column).node),
                            oldRow: row))
                }
            }
        }
        for part in parts { #expect(part.count <= Limits.partByteCount) }
        let changes = try #require(try Changeset(version: 1, time: 0, parts: parts).tables[Self.table])
        for row in 0..<2 {
            for column in 0..<3 {
                let cell = try #require(changes.updated[column]?[Int64(row + 1)])
                #expect(cell.new == new[row][column] && cell.old == old[row][column])
            }
        }
        let reader = ChangesetReader(version: 1, direction: .forward)
        var seen = 0
        for part in parts {
            try part.withUnsafeBytes {
                try reader.read($0) { block in
                    guard case .update(var cells) = block else { return }
                    #expect(cells.old == nil)
                    for row in 0..<cells.keys.count {
                        #expect(cells.new.nextValue() == new[Int(cells.keys[row]) - 1][cells.column])
                        seen += 1
                    }
                }
            }
        }
        try reader.finish()
        #expect(seen == 6)
    }

    @Test("long collections are written in their own blocks, inserted, deleted and updated")
    func longCollections() throws {
        let factory = LeafFactory()
        let schema = TableSchema(
            name: "Lists",
            columns: [
                ColumnSchema(name: "i", type: .int, collection: .list),
                ColumnSchema(name: "s", type: .string, collection: .list, isNullable: true),
                ColumnSchema(name: "m", type: .int, collection: .map, isNullable: true),
            ])
        func row(_ base: Int) -> [Int: Value] {
            [
                0: .list((0..<40_000).map { .int(Int64($0 * base)) }),
                1: .list(
                    (0..<3000).map {
                        $0 == 7 ? .null : .string(String(repeating: "x\($0)", count: $0 == 9 ? 30_000 : base))
                    }),
                2: .map(
                    (0..<5000).map {
                        Value.MapEntry(key: "key \(10_000 + $0)", value: $0 == 3 ? .null : .int(Int64($0)))
                    }),
            ]
        }
        let (old, new) = (row(9), row(11))
        let (oldLeaf, newLeaf) = (
            factory.leaf(schema, keys: [4], rows: [old]), factory.leaf(schema, keys: [4], rows: [new])
        )
        let inserted = encodedParts {
            $0.beginTable(Self.table, schema)
            $0.inserted(newLeaf, 0..<1)
        }
        #expect(try Changeset(version: 1, time: 0, parts: inserted).tables[Self.table]?.inserted == [4: new])
        let deleted = encodedParts {
            $0.beginTable(Self.table, schema)
            $0.deleted(oldLeaf, 0)
        }
        #expect(try Changeset(version: 1, time: 0, parts: deleted).tables[Self.table]?.deleted == [4: old])
        let updated = encodedParts { encoder in
            encoder.beginTable(Self.table, schema)
            for column in 0..<3 {
                encoder.updated(
                    column: column,
                    UpdatedCell(
                        key: 4, chunk: newLeaf.chunk(column), row: 0, oldRef: NodeRef(oldLeaf.chunk(column).node),
                        oldRow: 0))
            }
        }
        let changes = try #require(try Changeset(version: 1, time: 0, parts: updated).tables[Self.table])
        for column in 0..<3 {
            #expect(changes.updated[column]?[4] == CellChange(new: new[column]!, old: old[column]!))
        }
    }

    @Test("a row wider than a part is cut between columns")
    func wideRow() throws {
        let factory = LeafFactory()
        let schema = TableSchema(
            name: "Wide", columns: (0..<60).map { ColumnSchema(name: "c\($0)", type: .string) })
        let row = Dictionary(
            uniqueKeysWithValues: (0..<60).map { ($0, Value.string(String(repeating: "\($0 % 10)", count: 50_000))) })
        let leaf = factory.leaf(schema, keys: [8, 9], rows: [row, row])
        let inserted = encodedParts {
            $0.beginTable(Self.table, schema)
            $0.inserted(leaf, 0..<2)
        }
        #expect(inserted.count >= 6)
        #expect(try Changeset(version: 1, time: 0, parts: inserted).tables[Self.table]?.inserted == [8: row, 9: row])
        let deleted = encodedParts {
            $0.beginTable(Self.table, schema)
            $0.deleted(leaf, 0)
            $0.deleted(leaf, 1)
        }
        #expect(try Changeset(version: 1, time: 0, parts: deleted).tables[Self.table]?.deleted == [8: row, 9: row])
    }

    @Test("an empty changeset is one empty part")
    func nothing() throws {
        let parts = encodedParts { $0.beginTable(Self.table, ChangesetSamples.person) }
        #expect(parts == [[]])
        #expect(try Changeset(version: 1, time: 0, parts: parts).isEmpty)
    }
}

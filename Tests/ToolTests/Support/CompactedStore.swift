import FirnBytes
import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// A store that Firn compacted: every type of column, every form of chunk, every kind of node.
struct CompactedStore {
    static let any = TableID(0)
    static let person = TableID(1)

    let sample: SampleStore
    let store: Store
    private let clock: ManualClock
    /// The version of the live checkpoint.
    private(set) var checkpoint: UInt64 = 0

    var storage: MemoryStorage { sample.storage }

    static let schema = StoreSchema(
        version: 2,
        tables: [
            ChangesetReaderTests.schema.tables[0],
            TableSchema(
                name: "Person", primaryKey: 0,
                columns: [
                    ColumnSchema(name: "id", type: .int),
                    ColumnSchema(name: "name", type: .string, isIndexed: true),
                    ColumnSchema(name: "kind", type: .string),
                    ColumnSchema(name: "notes", type: .string),
                    ColumnSchema(name: "score", type: .int, isNullable: true, isIndexed: true),
                    ColumnSchema(name: "isGood", type: .bool, isNullable: true),
                    ColumnSchema(name: "friend", type: .link, target: person),
                    ColumnSchema(name: "friends", type: .link, collection: .list, target: person),
                    ColumnSchema(name: "tags", type: .string, collection: .list),
                    ColumnSchema(name: "photo", type: .data, isNullable: true),
                    ColumnSchema(name: "weight", type: .double, isIndexed: true),
                ]),
        ])

    /// A store with this schema and `people` persons, and with objects of class `Any` if there is a seed. It is not
    /// compacted yet.
    init(seed: UInt64? = nil, schema: StoreSchema = Self.schema, people: Int = 300) throws {
        sample = SampleStore(empty: ())
        clock = sample.clock
        store = try sample.open()
        try commit { try $0.changeSchema(to: schema) }
        if people > 0 { try commit { transaction in for id in 0..<people { try Self.add(transaction, id) } } }
        if let seed { try fillAny(seed) }
    }

    func commit(_ body: (WriteTransaction) throws -> Void) throws {
        clock.advance(by: 1_000_000_000)
        let transaction = try store.beginWrite()
        try body(transaction)
        _ = try transaction.commit()
    }

    /// Writes a checkpoint of everything, or of what has changed, as a further file of the mapping.
    mutating func compact(wholly isWhole: Bool) throws -> CompactionReport? {
        let report = try store.compact(wholly: isWhole)
        if let report { checkpoint = report.version }
        return report
    }

    static func add(_ transaction: WriteTransaction, _ id: Int) throws {
        try SampleStore.add(
            transaction, table: person,
            values: [
                0: .int(Int64(id)), 1: .string("Person \(id * 7919 % 1000) of many"), 2: .string("kind \(id % 5)"),
                3: .string("The notes on person \(id), which say nothing that the notes on others do not say."),
                4: id % 3 == 0 ? .null : .int(Int64(id * id % 1000)), 5: id % 4 == 0 ? .null : .bool(id % 2 == 0),
                6: id == 0 ? .null : .link(Int64(id / 2)),
                9: id % 50 == 0 ? .data((0..<3000).map { UInt8(truncatingIfNeeded: $0 &* id) }) : .null,
                10: .double(Double(id) / 8),
            ])
        let key = Int64(id)
        if id % 10 == 0 {
            transaction.edit(person, column: 8, key: key) { list in
                for tag in 0..<4 { list.append(.string("tag \(tag) of \(id)")) }
            }
            transaction.edit(person, column: 7, key: key) { list in
                for other in 0...id / 10 { list.append(.link(Int64(other))) }
            }
        }
        // This one is so long that it is stored in a tree.
        if id == 20 {
            transaction.edit(person, column: 8, key: key) { list in
                for tag in 0..<1500 { list.append(.string("long \(tag)")) }
            }
        }
    }

    /// Adds 60 objects of class `Any`, and sets values of each type in the first 12. Links lead to the first 50.
    private func fillAny(_ seed: UInt64) throws {
        var maker = ChangesetReaderTests.Maker(random: SeededRandom(seed: seed))
        let columns = Self.schema.tables[0].columns
        try commit { transaction in
            for _ in 0..<60 { try SampleStore.add(transaction, table: Self.any, values: [:]) }
            for key in 0..<Int64(12) {
                // Firn does not assign maps yet: these are always empty.
                for (number, column) in columns.enumerated() where column.collection != .map {
                    transaction.set(Self.any, column: number, key: key, to: maker.value(column))
                }
            }
        }
    }

    // MARK: Files

    func checkpointFiles() throws -> [String] {
        try storage.list(SampleStore.path + "/checkpoint").sorted().map { SampleStore.path + "/checkpoint/" + $0 }
    }

    func opened() throws -> OpenedCheckpoint {
        let opened = try OpenedStore.open(SampleStore.path, storage: storage).openCheckpoint()
        #expect(opened.findings == [])
        return try #require(opened.checkpoint)
    }

    /// Every node in the files of the live checkpoint, front to back.
    static func nodes(_ checkpoint: OpenedCheckpoint) throws -> [OnDiskNode] {
        var nodes: [OnDiskNode] = []
        for file in checkpoint.files {
            var offset = CheckpointHeader.byteCount
            while offset < file.entry.byteCount {
                if let hole = checkpoint.footer.holes.first(where: { $0.lowerBound == file.entry.start + offset }) {
                    offset += hole.count
                    continue
                }
                guard let node = try? checkpoint.node(at: file.entry.start + offset) else {
                    #expect(offset + 32 == file.entry.byteCount)
                    break
                }
                nodes.append(node)
                offset += node.bytes.count
            }
        }
        return nodes
    }

    /// Changes a node's bytes in its file, and makes its checksum right.
    func change(_ node: OnDiskNode, in checkpoint: OpenedCheckpoint, _ body: (inout [UInt8]) -> Void) throws {
        let file = try #require(checkpoint.files.last { $0.entry.start <= node.position })
        var bytes = Array(node.bytes)
        body(&bytes)
        bytes.replaceSubrange(8..<12, with: [0, 0, 0, 0])
        let crc = CRC32C.checksum(bytes)
        for index in 0..<4 { bytes[8 + index] = UInt8(truncatingIfNeeded: crc >> UInt32(8 * index)) }
        var whole = try sample.bytes(file.path)
        let offset = node.position - file.entry.start
        whole.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        try sample.write(file.path, whole)
    }

    func changeManifest(_ body: (inout Manifest) -> Void) throws {
        let path = SampleStore.path + "/manifest"
        let bytes = try sample.bytes(path)
        var (block, byteCount) = try bytes.withUnsafeBytes { try Manifest.read($0) }
        body(&block)
        var writer = ByteWriter()
        block.write(to: &writer)
        try sample.write(path, writer.array() + bytes[byteCount...])
    }
}

import FirnBytes
import FirnCore
import FirnStorage
import FirnTestSupport
import ForgedStores
import Testing

@testable import FirnTool

@Suite("What the subcommands report about a damaged checkpoint", .timeLimit(.minutes(20))) struct CheckpointDamageTests
{
    static let schema = StoreSchema(
        version: 1,
        tables: [
            TableSchema(
                name: "Note", primaryKey: 0,
                columns: [
                    ColumnSchema(name: "id", type: .int), ColumnSchema(name: "text", type: .string),
                    ColumnSchema(name: "words", type: .string, collection: .list),
                ])
        ])
    private static let note = TableID(0)

    /// A few objects in a checkpoint of two files, and a version after it.
    static func small() throws -> CompactedStore {
        var made = try CompactedStore(schema: schema, people: 0)
        try made.commit { transaction in
            for id in 0..<3 {
                try SampleStore.add(transaction, table: note, values: [0: .int(Int64(id)), 1: .string("note \(id)")])
                transaction.edit(note, column: 2, key: Int64(id)) { $0.append(.string("word")) }
            }
            // A value that is stored in a blob.
            transaction.set(note, column: 1, key: 2, to: .string(String(repeating: "long ", count: 250)))
        }
        _ = try made.compact(wholly: true)
        try made.commit { $0.set(note, column: 1, key: 0, to: .string("changed")) }
        #expect(try made.compact(wholly: false)?.isWhole == false)
        try made.commit { $0.set(note, column: 0, key: 1, to: .int(10)) }
        try made.store.close()
        return made
    }

    /// The file and offset that the first line of damage names.
    private static func location(_ run: Run) -> (file: String, offset: Int)? {
        guard let line = run.out.split(separator: "\n").first, line.hasPrefix("damage: ") else { return nil }
        let words = line.dropFirst("damage: ".count)
        guard let comma = words.range(of: ", byte ") else { return nil }
        let number = words[comma.upperBound...].prefix { $0.isNumber }
        return Int(number).map { (String(words[..<comma.lowerBound]), $0) }
    }

    @Test("each byte of a checkpoint's files is checked, and damage is reported where it is") func everyByte() throws {
        let made = try Self.small()
        #expect(try Run.verify(made.storage).status == .fine)
        let checkpoint = try made.opened()
        #expect(checkpoint.files.count == 2)
        let starts = try CompactedStore.nodes(checkpoint).map(\.position)
        for file in checkpoint.files {
            for byte in 0..<file.byteCount {
                try made.sample.flip(file.path, byte: byte, bit: byte % 8)
                // Either way, all bytes are scanned first.
                let run = try Run.verify(made.storage, deep: byte % 2 == 0)
                let found = Self.location(run)
                #expect(run.status == .damage && found?.file == file.path, "\(file.path), byte \(byte): \(run.out)")
                if byte < CheckpointHeader.byteCount {
                    #expect(found?.offset == 0)
                } else if byte < file.entry.byteCount {
                    // The node that the byte belongs to, or the zeros that fill the file up behind the last node.
                    let start = starts.last { $0 <= file.entry.start + byte }.map { $0 - file.entry.start } ?? 0
                    #expect(
                        found.map { $0.offset == start || $0.offset > start && $0.offset <= byte } ?? false,
                        "\(file.path), byte \(byte): \(run.out)")
                }
                try made.sample.flip(file.path, byte: byte, bit: byte % 8)
            }
        }
        #expect(try Run.verify(made.storage).status == .fine)
    }

    @Test("the bytes between a footer's state and its end must be zeros, whatever the checksum says")
    func footerZeros() throws {
        let made = try Self.small()
        let path = try #require(try made.checkpointFiles().last)
        let bytes = try made.sample.bytes(path)
        let count = Int(Forging.get(bytes, offset: bytes.count - 8, UInt32.self))
        var footer = Array(bytes.suffix(count))
        let end =
            48 + 24 * Int(Forging.get(footer, offset: 40, UInt32.self))
            + Int(Forging.get(footer, offset: 44, UInt32.self))
        try #require(end < count - 8, "this footer has none")
        #expect(throws: Never.self) { try footer.withUnsafeBytes { try CheckpointFooter.read($0) } }
        for offset in end..<count - 8 {
            footer[offset] = 1
            Forging.put(CRC32C.checksum(Array(footer.dropLast(4))), into: &footer, offset: count - 4)
            let damage = #expect(throws: Damage.self) {
                try footer.withUnsafeBytes { try CheckpointFooter.read($0) }
            }
            #expect(damage?.offset == end && damage?.text.contains("must be zero") == true)
            footer[offset] = 0
        }
    }

    @Test("a file that is cut short, missing, or not the one in the manifest is damage") func files() throws {
        for index in 0..<2 {
            for cut in [1, 64, 1000, .max] {
                let made = try Self.small()
                let path = try made.checkpointFiles()[index]
                let bytes = try made.sample.bytes(path)
                try made.sample.write(path, Array(bytes.dropLast(min(cut, bytes.count))))
                let run = try Run.verify(made.storage)
                #expect(run.status == .damage && Self.location(run)?.file == path, "\(index), \(cut): \(run.out)")
                #expect(run.out.contains("`firn recover STORE --output NEW`"))
            }
            let made = try Self.small()
            let path = try made.checkpointFiles()[index]
            try made.storage.remove(path)
            let run = try Run.verify(made.storage)
            #expect(run.status == .damage && run.out.contains("damage: \(path): "), "\(run.out)")
            #expect(run.out.contains("missing"))
            let info = try Run.info(made.storage)
            #expect(info.status == .damage && !info.out.isEmpty, "\(info.error)")
            let replay = try Run.replay(made.storage, to: 4)
            #expect(replay.status == .damage && replay.error.contains("/new was not made"), "\(replay.error)")
            #expect(try made.storage.status("/new") == nil)
        }
    }

    @Test("the manifest and the checkpoint's footer must agree") func manifest() throws {
        let made = try Self.small()
        let live = try #require(try made.checkpointFiles().last)
        try made.changeManifest { $0.checkpoint?.crc ^= 1 }
        let crc = try Run.verify(made.storage)
        #expect(crc.status == .damage && crc.out.hasPrefix("damage: \(live), byte "), "\(crc.out)")
        #expect(crc.out.contains("the footer's checksum is not the one that the manifest names"))
        try made.changeManifest {
            $0.checkpoint?.crc ^= 1
            $0.checkpoint?.version -= 1
        }
        #expect(try Run.verify(made.storage).out.contains("not that of the checkpoint that the manifest names"))
        try made.changeManifest { $0.checkpoint = nil }
        let none = try Run.verify(made.storage)
        #expect(
            none.status == .damage && none.out.contains("the log begins with version 4, but there is no checkpoint"))
        #expect(try Run.replay(made.storage, to: 4).status == .usage)
    }

    @Test("nodes whose checksums are right must still form the tables") func structure() throws {
        /// Changes the first node of a kind, and expects verify to say so.
        func expect(
            _ text: String, _ kind: NodeKind, _ isWanted: (OnDiskNode) throws -> Bool = { _ in true },
            _ change: (inout [UInt8], OpenedCheckpoint) -> Void
        ) throws {
            var made = try CompactedStore()
            _ = try made.compact(wholly: true)
            try made.store.close()
            let checkpoint = try made.opened()
            let nodes = try CompactedStore.nodes(checkpoint).filter { try $0.kind == kind && isWanted($0) }
            try made.change(try #require(nodes.first), in: checkpoint) { change(&$0, checkpoint) }
            let run = try Run.verify(made.storage)
            #expect(run.status == .damage && run.out.contains(text), "\(kind): \(run.out)")
            #expect(run.out.hasPrefix("damage: /store/checkpoint/0000000001.checkpoint, byte "), "\(run.out)")
        }
        func put(_ value: Int, _ bytes: inout [UInt8], at offset: Int) {
            for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
        }
        try expect("leads to a root, not to a chunk", .leaf) { bytes, checkpoint in
            put(checkpoint.footer.root + 1, &bytes, at: 64)
        }
        try expect("lacks the chunk of id", .leaf) { bytes, _ in put(0, &bytes, at: 64) }
        try expect("that is not a reference", .leaf) { bytes, _ in put(64, &bytes, at: 64) }
        try expect("lies in none of the checkpoint's files", .leaf) { bytes, _ in put(1 << 40 | 1, &bytes, at: 64) }
        try expect("that must be zero", .leaf) { bytes, _ in bytes[52] = 1 }
        try expect("is not between its keys and those before", .leaf, { try $0.i64(32) > 0 }) { bytes, _ in
            put(1, &bytes, at: 32)
        }
        try expect("is not between its keys and those before", .rowInner) { bytes, _ in put(299, &bytes, at: 40) }
        try expect("is counted with 257 rows and has 256", .rowInner) { bytes, _ in put(257, &bytes, at: 1056) }
        try expect("rows below the key", .table, { try $0.i64(40) == 300 }) { bytes, _ in put(301, &bytes, at: 40) }
        try expect("the table counts 299 rows and has 300", .table, { try $0.i64(40) == 300 }) { bytes, _ in
            put(299, &bytes, at: 40)
        }
        try expect("entries and has", .integerIndexInner) { bytes, _ in bytes[1568] ^= 1 }
        try expect("is out of order", .integerIndexLeaf, { $0.header.form == 0 }) { bytes, _ in
            bytes[47] ^= 0xFF
        }
        try expect("is not that of its key", .bytesIndexLeaf) { bytes, _ in bytes[44] ^= 1 }
        try expect("elements of a list are counted as", .listInner) { bytes, _ in bytes[544] ^= 1 }
        func isOf(_ form: FirnTool.ChunkForm) -> (OnDiskNode) -> Bool { { $0.header.form == form.rawValue } }
        try expect("UTF-8", .chunk, isOf(.text)) { bytes, _ in bytes[64 + 256 + 5] = 0xFF }
        try expect("has a code that is not in the dictionary", .chunk, isOf(.dictionary)) { bytes, _ in bytes[64] = 200
        }
        try expect("does not decompress", .chunk, isOf(.compressed)) { bytes, _ in bytes[44] ^= 1 }
        try expect("is not that of its values", .chunk, { try $0.u32(36) > 1 }) { bytes, _ in
            // The first entry of the reference table becomes the second.
            let table = Int(bytes[32]) | Int(bytes[33]) << 8
            bytes.replaceSubrange(table..<table + 4, with: Array(bytes[table + 4..<table + 8]))
        }
        try expect("unknown kind", .blob) { bytes, _ in bytes[16] = 64 + 13 }
        try expect("another position", .blob) { bytes, _ in bytes[12] ^= 1 }
    }

    @Test("no subcommand traps, whatever nodes with right checksums hold", arguments: [1, 2, 3] as [UInt64])
    func hostile(seed: UInt64) throws {
        let made = try Self.small()
        var random = SeededRandom(seed: seed)
        let checkpoint = try made.opened()
        let nodes = try CompactedStore.nodes(checkpoint)
        let whole = try checkpoint.files.map { try made.sample.bytes($0.path) }
        var damaged = 0
        for round in 0..<60 {
            let node = nodes[random.below(nodes.count)]
            try made.change(node, in: checkpoint) { bytes in
                for _ in 0...random.below(3) {
                    let offset = random.below(3) == 0 ? 16 + random.below(16) : random.below(bytes.count)
                    bytes[offset] = UInt8(random.below(256))
                }
            }
            let runs = [
                try Run.verify(made.storage), try Run.info(made.storage), try Run.log(made.storage),
                try Run.show(made.storage, 4), try Run.replay(made.storage, to: 4, output: "/new\(seed)-\(round)"),
            ]
            for (number, run) in runs.enumerated() where run.status != .fine {
                #expect(
                    run.status == .damage && !(run.out + run.error).isEmpty,
                    "seed \(seed), round \(round), run \(number)")
            }
            if runs[0].status == .damage { damaged += 1 }
            for (file, bytes) in zip(checkpoint.files, whole) { try made.sample.write(file.path, bytes) }
        }
        #expect(damaged > 0)
    }
}

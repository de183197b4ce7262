import FirnBytes
import FirnStorage
import FirnTestSupport
import ForgedStores
import Testing

@testable import FirnTool

@Suite("Each subcommand reports a forged changeset as damage, whatever its checksums say", .timeLimit(.minutes(20)))
struct ForgedChangesetTests {
    /// The base store with a commit of these parts at the end of its log, as version 9.
    private func storage(_ parts: [[UInt8]]) throws -> MemoryStorage {
        var store = ForgedStore()
        store.segment = Forging.appendCommit(parts.flatMap(ForgedStore.part), to: store.segment)
        return try store.storage()
    }

    private func run(_ name: String, _ parts: [[UInt8]]) throws -> Run {
        let (verify, _) = try ForgedStore.run(storage(parts), name, shows: [8, 9], replays: [8, 9])
        #expect(verify.status == .damage, "\(name): \(verify.out)")
        return verify
    }

    private func varint(_ value: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendVarint(value)
        return writer.array()
    }

    @Test("collections that are said to hold collections, a third of a million deep") func nested() throws {
        // elements: table 1, column 6, key 60, owner inserted; then runs of collections, each of no elements.
        var body: [UInt8] = [1, 6, 60, 0]
        for _ in 0..<340_000 { body += [0x15, 0, 0] }
        #expect(try run("lists", [ForgedStore.block(11, body)]).out.contains("can't be read"))
        // The same of maps, whose keys come first.
        body = [1, 6, 60, 0]
        for _ in 0..<340_000 { body += [0x35, 0, 0] }
        #expect(try run("maps", [ForgedStore.block(11, body)]).out.contains("can't be read"))
    }

    @Test("a mixed value whose collections are nested a thousand deep") func mixed() throws {
        var value: [UInt8] = [0]
        for _ in 0..<1000 { value = [13, 1] + varint(UInt64(value.count)) + value }
        // update of Any's column of mixed values, object 3.
        let column = BaseStore.schema.tables[0].columns.firstIndex { $0.type == .mixed && $0.collection == .none }!
        let body: [UInt8] =
            [0] + varint(UInt64(column)) + [1, 0, 6, 0, 12] + [0] + varint(Varint.zigzag(Int64(value.count))) + value
        #expect(try run("mixed", [ForgedStore.block(7, body)]).out.contains("deep"))
    }

    @Test("very many blobs of one byte, for each of which memory for a long one might be reserved") func blobs() throws
    {
        var part: [UInt8] = []
        for id in 0..<UInt64(80_000) { part += ForgedStore.block(2, varint(id) + [0, 1]) }
        #expect(try run("blobs", [part]).out.contains("more than 65536 blobs"))
    }

    @Test("a million cells in a few bytes, many times over") func cells() throws {
        let ascending: [UInt8] = [0x80, 0x80, 0x40, 16, 0]
        // insert: table 1, 2^20 keys, and a value of each.
        let insert = try storage([ForgedStore.block(3, [1] + ascending + [1, 0, 2, 0, 0])])
        #expect(try Run.verify(insert).out.contains("more than 1048576 values"))
        // delete: as many keys as a part may have, twice.
        let block = ForgedStore.block(5, [1] + ascending)
        let delete = try storage([block, block])
        #expect(try Run.verify(delete).out.contains("2097152 objects of Person are deleted, more than there are"))
        let replay = try Run.replay(delete, to: 9)
        #expect(replay.status == .damage && replay.error.contains("Versions up to 8 can be saved"), "\(replay.error)")
        #expect(try delete.status("/new") == nil)
    }

    @Test("old values of objects that no block deletes are remembered up to a limit only") func oldValues() throws {
        var collector = ChangeCollector(
            isJSON: false, names: PrimaryKeys(none: ()),
            output: Output(showsProgress: false, out: { _ in }, error: { _ in }))
        // deleteOld: table 1, 2^18 keys from a number on, no columns.
        for start in 0..<Int64(6) {
            var body: [UInt8] = [1, 0x80, 0x80, 0x10, 16]
            body += varint(Varint.zigzag(start << 18)) + [0]
            var reader = ChangesetReader(schema: nil)
            try ForgedStore.block(6, body, flags: 1).withUnsafeBytes {
                try reader.read(part: $0) { try collector.add($0) }
            }
            #expect(collector.rememberedCount <= 1 << 20)
        }
        #expect(collector.rememberedCount > 0)
    }

    @Test("numbers that no block can have") func numbers() throws {
        let most: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
        for (name, kind, body) in [
            ("table", 3, most), ("count of keys", 3, [1] + most), ("keys of 2^63 - 1", 5, [1, 1, 0] + most),
            ("width of keys", 5, [1, 1, 3, 0]), ("column", 3, [1, 1, 0, 0, 1] + most),
            ("columns", 3, [1, 1, 0, 0] + most), ("script's key", 9, [1, 6] + most),
            ("script's operations", 9, [1, 6, 60] + most), ("script's index", 9, [1, 6, 60, 1, 1] + most),
            ("owner", 11, [1, 6, 60, 4]), ("next key", 12, [1] + most), ("schema's form", 1, [2]),
            ("schema's blob", 1, [1] + most + most), ("schema's tables", 1, [0, 1] + most),
            ("schema's columns", 1, [0, 1, 1, 1, 65, 0] + most),
            ("primary key", 1, [0, 1, 1, 1, 65, 4, 3, 1, 1, 65, 2, 0]),
            ("primary key that is a list", 1, [0, 1, 1, 1, 65, 4, 0, 1, 1, 65, 5, 1]),
            ("index of a list", 1, [0, 1, 1, 1, 65, 0, 1, 1, 65, 5, 9]),
            ("target", 1, [0, 1, 1, 1, 65, 0, 1, 1, 65, 11, 32, 9]), ("table that does not exist", 12, [7, 1]),
            ("blob's id", 2, most + [0, 1]), ("blob's offset", 2, [0] + most + [1]),
        ] as [(String, UInt8, [UInt8])] {
            _ = try run(name, [ForgedStore.block(kind, body)])
        }
    }
}

import FirnBytes
import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

@Suite("What the subcommands show of a compacted store", .timeLimit(.minutes(20))) struct CheckpointTests {
    /// A checkpoint of two files from two compactions, and commits in the log after it.
    static func sample(seed: UInt64 = 1) throws -> CompactedStore {
        var made = try CompactedStore(seed: seed)
        #expect(try made.compact(wholly: true)?.isWhole == true)
        try made.commit { transaction in
            for key in [3, 4, 250] as [Int64] { transaction.delete(CompactedStore.person, key) }
            transaction.set(CompactedStore.person, column: 3, key: 7, to: .string("changed"))
        }
        #expect(try made.compact(wholly: false)?.isWhole == false)
        try made.commit { transaction in
            try CompactedStore.add(transaction, 301)
            transaction.set(CompactedStore.person, column: 4, key: 7, to: .int(-1))
        }
        try made.commit { $0.delete(CompactedStore.person, 9) }
        return made
    }

    @Test("every value of a checkpoint is read as FirnCore reads it", arguments: [1, 2, 3] as [UInt64])
    func values(seed: UInt64) throws {
        var made = try CompactedStore(seed: seed)
        #expect(try made.compact(wholly: true)?.isWhole == true)
        try made.commit { transaction in
            for key in [3, 4, 250] as [Int64] { transaction.delete(CompactedStore.person, key) }
            transaction.set(CompactedStore.person, column: 3, key: 7, to: .string("changed"))
        }
        #expect(try made.compact(wholly: false)?.isWhole == false)
        let checkpoint = try made.opened()
        #expect(checkpoint.files.count == 2)
        let pin = made.store.pin()
        var forms: Set<UInt8> = []
        for stored in try checkpoint.tables() {
            let table = pin.snapshot.table(TableID(stored.number))
            #expect(stored.rowCount == Int64(table.count) && stored.nextKey == table.nextKey)
            var rows = 0
            try checkpoint.forEachLeaf(stored) { leaf in
                for (number, column) in checkpoint.schema.tables[stored.number].columns.enumerated() {
                    let run = try #require(try leaf.run(checkpoint, number: number, column: column))
                    forms.insert(run.node.header.form)
                    try run.checkReferences()
                    for (row, key) in leaf.keys.enumerated() {
                        let value = try run.cell(row).value
                        #expect(value == table.value(number, of: key), "seed \(seed), \(column.name) of \(key)")
                        run.forget()
                    }
                }
                rows += leaf.keys.count
            }
            #expect(rows == table.count)
        }
        #expect(forms.sorted() == [0, 1, 2, 8, 9, 10, 11, 12])
        #expect(Set(try CompactedStore.nodes(checkpoint).map(\.kind)) == Set(NodeKind.allCases))
        withExtendedLifetime(pin) {}
    }

    @Test("the entries of a map are read with their keys, which must ascend") func mapBlocks() throws {
        let column = DecodedSchema.Column(
            name: "map", type: .int, collection: .map, isNullable: true, isIndexed: false, isRemoved: false, target: nil
        )
        func entries(_ bytes: [UInt8]) throws -> [String] {
            var entries: [String] = []
            try bytes.withUnsafeBytes { bytes in
                let block = try ElementBlock(bytes, column)
                try block.forEach({ $0 }) { key, value in
                    entries.append("\(String(decoding: try #require(key), as: UTF8.self)) \(value.value)")
                }
            }
            return entries
        }
        let (a, b): ([UInt8], [UInt8]) = ([3, 97, 10, 7, 0, 0, 0, 0, 0, 0, 0], [4, 97, 98, 0])
        #expect(try entries([2, 0] + a + b) == ["a int(7)", "ab null"])
        for bytes in [[2, 0] + b + a, [2, 0] + a, [1, 0] + a + b, [1, 0, 0, 0], [2, 0] + a + a] {
            #expect(throws: Damage.self) { try entries(bytes) }
        }
    }

    @Test("verify finds no damage in what Firn wrote, and names what is not part of it", arguments: [1, 2] as [UInt64])
    func verifyIsClean(seed: UInt64) throws {
        let made = try Self.sample(seed: seed)
        #expect(try made.checkpointFiles().count == 2)
        for isOpen in [true, false] {
            if !isOpen { try made.store.close() }
            let run = try Run.verify(made.storage)
            #expect(run.status == .fine && run.out.hasPrefix("no damage"), "\(run.out)\(run.error)")
            #expect(run.out.contains(" nodes, last version 6"), "\(run.out)")
        }
        _ = try made.storage.open(SampleStore.path + "/checkpoint/0000000099.checkpoint", .create)
        let run = try Run.verify(made.storage)
        #expect(run.status == .fine)
        #expect(run.out.hasPrefix("note: /store/checkpoint/0000000099.checkpoint: not needed"), "\(run.out)")
    }

    @Test("verify reads the checkpoints that past versions are opened from, too") func keptCheckpoints() throws {
        var made = try CompactedStore(seed: 3)
        #expect(try made.compact(wholly: true) != nil)
        made.store.retain(.everything)
        for id in 0..<3 {
            try made.commit { try CompactedStore.add($0, 300 + id) }
            #expect(try made.compact(wholly: false) != nil)
        }
        let clean = try Run.verify(made.storage)
        #expect(clean.status == .fine && clean.out.hasPrefix("no damage"), "\(clean.out)\(clean.error)")
        let file = try made.storage.open(SampleStore.path + "/checkpoint/0000000001.checkpoint", .readWrite)
        let offset = try file.size() - 9
        try withUnsafeBytes(of: UInt8(0xEE)) { try file.write($0, at: offset) }
        let damaged = try Run.verify(made.storage)
        #expect(damaged.status == .damage && damaged.out.contains("0000000001.checkpoint"), "\(damaged.out)")
    }

    @Test("info shows the checkpoint, and counts its objects and the log's after it") func info() throws {
        let made = try Self.sample()
        let pin = made.store.pin()
        let people = pin.snapshot.table(CompactedStore.person).count
        #expect(people == 300 - 3 + 1 - 1)
        for isOpen in [true, false] {
            if !isOpen { try made.store.close() }
            let run = try Run.info(made.storage)
            #expect(run.status == .fine, "\(run.error)")
            #expect(run.out.contains("\ncheckpoint    version \(made.checkpoint), 2023-11-14T"), "\(run.out)")
            #expect(run.out.contains(" in 2 files, about "))
            #expect(run.out.contains("\n  0000000001.checkpoint  ") && run.out.contains("\n  0000000002.checkpoint  "))
            // The first root lies in a hole, together with the nodes that led to the same values.
            #expect(run.out.contains("1 root, "), "\(run.out)")
            #expect(run.out.contains(" leaves, ") && run.out.contains(" blobs, "))
            #expect(run.out.contains("Person  \(people) objects") && run.out.contains("Any  60 objects"), "\(run.out)")
            #expect(run.out.contains("last version  \(made.checkpoint + 2), "))
        }
        let json = try Run.info(made.storage, json: true).out
        #expect(json.contains(#""checkpoint":{"id":2,"version":\#(made.checkpoint),"#), "\(json)")
        #expect(json.contains(#""name":"Person","embedded":false,"objects":\#(people)"#))
        // FirnCore gets the same result.
        let again = try made.sample.open()
        #expect(again.pin().snapshot.table(CompactedStore.person).count == people)
        try again.close()
    }

    @Test("info counts the objects if nothing follows the checkpoint") func infoWithoutTail() throws {
        var made = try CompactedStore(people: 5)
        _ = try made.compact(wholly: true)
        try made.store.close()
        let run = try Run.info(made.storage)
        #expect(run.status == .fine && run.out.contains("Person  5 objects"), "\(run.out)\(run.error)")
        #expect(run.out.contains("last version  2, 2023-11-14T"))
        #expect(try Run.verify(made.storage).status == .fine)
        #expect(try Run.log(made.storage).out.isEmpty)
        #expect(try Run.log(made.storage, to: 2).status == .usage)
    }

    @Test("log and show begin where the log does, and show finds names in the checkpoint") func logAndShow() throws {
        let made = try Self.sample()
        let next = made.checkpoint + 1
        let log = try Run.log(made.storage)
        #expect(log.status == .fine && log.out.split(separator: "\n").count == 2, "\(log.out)\(log.error)")
        #expect(log.out.hasPrefix("\(next)  ") && log.out.contains("Person +1 ~1"), "\(log.out)")
        let early = try Run.log(made.storage, to: made.checkpoint)
        #expect(early.status == .usage && early.error.contains("the log begins with version \(next)"))
        let show = try Run.show(made.storage, next)
        #expect(
            show.status == .fine && show.out.contains("~ Person #7 7\n    score: 49 -> -1"), "\(show.out)\(show.error)")
        let shown = try Run.show(made.storage, next, json: true)
        #expect(shown.out.contains(#""key":7,"primaryKey":7,"#), "\(shown.out)")
        #expect(try Run.show(made.storage, made.checkpoint).status == .usage)
    }

    @Test(
        "replay begins with the checkpoint if the log does not go back to version 1", arguments: [0, 1, 2] as [UInt64])
    func replay(more: UInt64) throws {
        let made = try Self.sample()
        let version = made.checkpoint + more
        try made.store.close()
        let run = try Run.replay(made.storage, to: version)
        #expect(run.status == .fine && run.out.contains(" and a checkpoint of "), "\(run.out)\(run.error)")
        let verified = try Run.verify(made.storage, path: "/new")
        #expect(verified.status == .fine && verified.out.hasPrefix("no damage"), "\(verified.out)")
        var options = LogOptions(folder: "/new", verify: .everything)
        options.usesThreads = false
        let store = try Store(StoreOptions(log: options), storage: made.storage, clock: made.sample.clock)
        #expect(store.recovery?.outcome == .clean && store.publishedVersion == version)
        let table = store.pin().snapshot.table(CompactedStore.person)
        #expect(table.count == [297, 298, 297][Int(more)])
        #expect(table.value(4, of: 7) == .int(more == 0 ? 49 : -1))
        #expect(
            table.value(8, of: 20).map { value in if case .list(let tags) = value { tags.count } else { 0 } } == 1504)
        store._checkInvariants()
        // The new store can be written to like any other.
        let transaction = try store.beginWrite()
        transaction.delete(CompactedStore.person, 0)
        #expect(try transaction.commit().number == version + 1)
        try store.compact()
        try store.close()
        #expect(try Run.verify(made.storage, path: "/new").status == .fine)
    }

    @Test("replay says which versions are available") func replayTooEarly() throws {
        let made = try Self.sample()
        for version in [1, made.checkpoint - 1] {
            let run = try Run.replay(made.storage, to: version)
            #expect(run.status == .usage)
            #expect(run.error.contains("begins with the checkpoint of version \(made.checkpoint)"), "\(run.error)")
        }
        let late = try Run.replay(made.storage, to: made.checkpoint + 3)
        #expect(late.status == .usage && late.error.contains("holds versions up to \(made.checkpoint + 2)"))
        #expect(try made.storage.status("/new") == nil)
    }

    @Test("without its manifest a compacted store can still be listed and saved") func manifestGone() throws {
        let made = try Self.sample()
        try made.store.close()
        try made.storage.remove(SampleStore.path + "/manifest")
        let info = try Run.info(made.storage)
        #expect(info.status == .damage && info.out.contains("Person  297 objects"), "\(info.out)\(info.error)")
        let verified = try Run.verify(made.storage)
        #expect(verified.out.split(separator: "\n").count == 2, "\(verified.out)")
        let run = try Run.replay(made.storage, to: made.checkpoint + 2)
        #expect(run.status == .fine, "\(run.error)")
        #expect(try Run.verify(made.storage, path: "/new").status == .fine)
    }

    @Test("if the log begins before the checkpoint, both must lead to the same counts, and the log is replayed")
    func logBeforeCheckpoint() throws {
        for isDeceiving in [false, true] {
            let made = try Self.withWholeLog(isDeceiving: isDeceiving)
            let run = try Run.verify(made.storage)
            #expect(run.status == (isDeceiving ? .damage : .fine), "\(run.out)\(run.error)")
            #expect(run.out.contains("the log leads to 5 objects of Person, the checkpoint has 6") == isDeceiving)
            let replay = try Run.replay(made.storage, to: 1)
            #expect(replay.status == .fine && replay.out.contains("holds version 1: "), "\(replay.out)\(replay.error)")
            #expect(try Run.log(made.storage).out.split(separator: "\n").count == 2)
        }
    }

    /// A compacted store in which the segment that the compaction removed is put back. If `isDeceiving`, a segment of
    /// another history is put there instead.
    private static func withWholeLog(isDeceiving: Bool) throws -> CompactedStore {
        var made = try CompactedStore(people: 6)
        let old = try CompactedStore(people: isDeceiving ? 5 : 6)
        try old.store.close()
        _ = try made.compact(wholly: true)
        try made.store.close()
        let path = SampleStore.path + "/log/0000000001.segment"
        var bytes = try old.sample.bytes(path)
        // The other store's id, and so all checksums, are replaced by this store's.
        let manifest = try OpenedStore.open(SampleStore.path, storage: made.storage).manifest
        let (chain, end) = try reseal(&bytes, manifest, chain: 0)
        let file = try made.storage.open(path, .create)
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
        file.close()
        let second = SampleStore.path + "/log/0000000002.segment"
        var next = try made.sample.bytes(second)
        _ = try reseal(&next, manifest, chain: chain)
        try made.sample.write(second, next)
        try made.changeManifest { block in
            block.segments.insert(
                Manifest.Segment(
                    number: 1, epoch: 1, firstVersion: 1,
                    seal: Manifest.Seal(lastVersion: 2, chainEnd: chain, byteCount: end)), at: 0)
        }
        return made
    }

    /// Gives a segment the store's id and a position in the chain. Returns the end of the chain, and of its frames.
    private static func reseal(
        _ bytes: inout [UInt8], _ manifest: Manifest, chain: UInt32
    ) throws -> (chain: UInt32, end: Int) {
        var writer = ByteWriter()
        let end = bytes.withUnsafeBytes { bytes in
            guard var header = try? SegmentHeader.read(bytes) else { return 0 }
            header.storeHigh = manifest.storeHigh
            header.storeLow = manifest.storeLow
            header.chain = chain
            var chain = header.write(to: &writer)
            while var frame = try? FrameHeader.read(UnsafeRawBufferPointer(rebasing: bytes[writer.count...])) {
                let start = writer.count
                frame.storeHigh = manifest.storeHigh
                frame.chain = chain
                chain = frame.write(to: &writer)
                writer.append(
                    UnsafeRawBufferPointer(rebasing: bytes[writer.count..<start + frame.frameByteCount]))
            }
            return writer.count
        }
        #expect(end > SegmentHeader.byteCount)
        let last = try #require(lastChain(writer.array()))
        bytes = writer.array()
        return (last, end)
    }

    /// The checksum of the last header in a segment.
    private static func lastChain(_ bytes: [UInt8]) -> UInt32? {
        bytes.withUnsafeBytes { bytes in
            guard let header = try? SegmentHeader.read(bytes) else { return nil }
            var (chain, offset) = (header.crc, SegmentHeader.byteCount)
            while let frame = try? FrameHeader.read(UnsafeRawBufferPointer(rebasing: bytes[offset...])) {
                chain = frame.crc
                offset += frame.frameByteCount
            }
            return chain
        }
    }
}

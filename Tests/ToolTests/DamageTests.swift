import FirnBytes
import FirnCore
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

@Suite("What the subcommands report about damage", .timeLimit(.minutes(20))) struct DamageTests {
    /// A store in the state that it has while it is in use: with preallocated space, and with the last version marked
    /// durable in the shared page only.
    ///
    /// - Parameter more: what the version behind the last one changes; nil if there is none.
    static func crashed(withPage: Bool, more: ((WriteTransaction) throws -> Void)? = nil) throws -> SampleStore {
        let sample = try SampleStore(more: 3)
        let store = try sample.open()
        func commit(_ change: (WriteTransaction) throws -> Void) throws {
            let transaction = try store.beginWrite()
            try change(transaction)
            try transaction.commit()
        }
        try commit { $0.set(SampleStore.person, column: 1, key: 0, to: .int(99)) }
        if let more { try commit(more) }
        let crashed = SampleStore(empty: ())
        for folder in ["", "/log", "/checkpoint"] { try crashed.storage.createFolder(SampleStore.path + folder) }
        for path in try sample.files() + (withPage ? [SampleStore.path + "/shared"] : []) {
            try crashed.write(path, try sample.bytes(path))
        }
        try store.close()
        return crashed
    }

    @Test(
        "a flipped bit is found wherever it is, even in padding and preallocated space", arguments: [1, 2] as [UInt64])
    func flips(seed: UInt64) throws {
        let sample = try Self.crashed(withPage: seed == 1)
        #expect(try Run.verify(sample.storage).status == .fine)
        var random = SeededRandom(seed: seed)
        for path in try sample.files() {
            let count = try sample.bytes(path).count
            let offsets =
                Array(stride(from: 0, to: min(count, 5000), by: 7)) + (0..<40).map { _ in random.below(count) }
            for byte in offsets {
                let bit = random.below(8)
                try sample.flip(path, byte: byte, bit: bit)
                for deep in [false, true] {
                    let run = try Run.verify(sample.storage, deep: deep)
                    #expect(
                        run.status == .damage || run.out.contains("torn tail: "),
                        "seed \(seed): \(path), byte \(byte), bit \(bit), deep \(deep): \(run.out)")
                }
                try sample.flip(path, byte: byte, bit: bit)
            }
        }
        #expect(try Run.verify(sample.storage).status == .fine)
        #expect(try Run.verify(sample.storage, deep: false).status == .fine)
    }

    @Test(
        "no subcommand traps, and each that fails says why, whatever the files hold", arguments: [1, 2, 3] as [UInt64])
    func hostile(seed: UInt64) throws {
        let sample = try Self.crashed(withPage: seed != 2)
        var random = SeededRandom(seed: seed)
        let files = try sample.files()
        let whole = try files.map { try sample.bytes($0) }
        for round in 0..<48 {
            let index = random.below(files.count)
            var bytes = Array(whole[index].prefix(6000))
            switch round % 4 {
            case 0: bytes = Array(bytes.prefix(random.below(bytes.count + 1)))
            case 1: for _ in 0...random.below(4) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            case 2:
                // A header whose checksum is right and whose fields are not.
                let starts = stride(from: 0, to: bytes.count - 128, by: 64).filter {
                    bytes[$0..<$0 + 4].elementsEqual("FIRN".utf8)
                }
                let start = starts[random.below(starts.count)]
                bytes[start + 4 + random.below(56)] = UInt8(random.below(256))
                let isFrame = start > 0 && index > 0
                let end = isFrame ? 76 : 60
                let crc = CRC32C.checksum(Array(bytes[start..<start + end]))
                for index in 0..<4 { bytes[start + end + index] = UInt8(truncatingIfNeeded: crc >> UInt32(8 * index)) }
            default: bytes = []
            }
            try sample.write(files[index], bytes)
            let runs = [
                try Run.info(sample.storage), try Run.log(sample.storage), try Run.show(sample.storage, 3),
                try Run.verify(sample.storage), try Run.replay(sample.storage, to: 4, output: "/new\(round)"),
                try Run.log(sample.storage, json: true), try Run.show(sample.storage, 2, json: true),
            ]
            for (number, run) in runs.enumerated() where run.status != .fine {
                #expect(
                    !(run.out + run.error).isEmpty && run.status.rawValue <= 3,
                    "seed \(seed), round \(round), run \(number): \(run.status)")
            }
            try sample.write(files[index], whole[index])
        }
    }

    @Test("a break that no mark covers is a torn tail; one that a mark covers is damage") func tornOrDamaged() throws {
        for withPage in [false, true] {
            let sample = try Self.crashed(withPage: withPage)
            let path = try sample.files()[1]
            var bytes = try sample.bytes(path)
            let end = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
            bytes.removeLast(bytes.count - end + 10)
            try sample.write(path, bytes)
            let run = try Run.verify(sample.storage)
            #expect(run.status == (withPage ? .damage : .fine), "\(run.out)")
            #expect(
                run.out.contains(withPage ? "version 9, which should begin here, was durable" : "torn tail: "),
                "\(run.out)")
            if !withPage {
                // Preallocated zeros behind the tail are not counted, but the last 64 bytes are that hold anything.
                func cutByteCount(_ text: String) throws -> Int {
                    try #require(text.firstMatch(of: #/(\d+) bytes with 0 intact frames/#).flatMap { Int($0.1) })
                }
                let count = try cutByteCount(run.out)
                #expect(count > 64 && count < bytes.count)
                try sample.write(path, bytes + [UInt8](repeating: 0, count: 70_000))
                #expect(try cutByteCount(Run.verify(sample.storage).out) == (count + 63) / 64 * 64)
                try sample.write(path, bytes)
            }
            let log = try Run.log(sample.storage)
            #expect(log.out.split(separator: "\n").count == 8)
            #expect(log.status == (withPage ? .damage : .fine))
            #expect(try Run.replay(sample.storage, to: 8).status == .fine)
            let more = try Run.replay(sample.storage, to: 9, output: "/more")
            #expect(more.status == (withPage ? .damage : .usage))
            #expect(try sample.storage.status("/more") == nil)
        }
    }

    @Test("a torn tail behind damage begins where its commit begins") func tornBehindDamage() throws {
        // Version 10 has several parts.
        let sample = try Self.crashed(withPage: false) { transaction in
            var random = SeededRandom(seed: 1)
            for number in 0..<2 {
                var photo = ByteWriter(capacity: 900_000)
                for _ in 0..<900_000 / 8 { photo.append(random.next()) }
                try SampleStore.add(
                    transaction, table: SampleStore.person,
                    values: [0: .string("photo \(number)"), 5: .data(photo.array())])
            }
        }
        let path = try sample.files()[1]
        var bytes = try sample.bytes(path)
        var parts: [UInt64: [Int]] = [:]
        var offset = SegmentHeader.byteCount
        while offset < bytes.count, let header = try? bytes[offset...].withUnsafeBytes(FrameHeader.read) {
            if header.kind.isPart { parts[header.version, default: []].append(offset) }
            offset = header.end
        }
        let torn = try #require(parts[10])
        let (first, last) = try (#require(torn.first), #require(torn.last))
        #expect(torn.count > 1)
        // The last part is missing, and version 9 is damaged.
        bytes.removeLast(bytes.count - last)
        bytes[try #require(parts[9]?.first)] ^= 1
        try sample.write(path, bytes)
        let run = try Run.verify(sample.storage)
        #expect(run.status == .damage && run.out.contains("version 9, which should begin here"), "\(run.out)")
        #expect(run.out.contains("\(last - first) bytes with \(torn.count - 1) intact frames"), "\(run.out)")
    }

    @Test("behind damage in a sealed segment the rest is still checked, and everything before it can be saved")
    func sealedDamage() throws {
        let sample = try SampleStore(more: 100, segmentByteCount: 4096)
        let files = try sample.files()
        #expect(files.count > 3)
        // In the middle of the second segment.
        try sample.flip(files[2], byte: 2200, bit: 3)
        let run = try Run.verify(sample.storage)
        #expect(run.status == .damage)
        #expect(run.out.contains("can't be read"), "\(run.out)")
        #expect(run.out.split(separator: "\n").count <= 4, "\(run.out)")
        let log = try Run.log(sample.storage)
        #expect(log.status == .damage)
        let last = try #require(log.out.split(separator: "\n").last?.split(separator: " ").first.flatMap { UInt64($0) })
        let refused = try Run.replay(sample.storage, to: last + 1, output: "/refused")
        #expect(refused.status == .damage)
        #expect(refused.error.contains("--to \(last)"), "\(refused.error)")
        #expect(try sample.storage.status("/refused") == nil)
        #expect(try Run.replay(sample.storage, to: last).status == .fine)
        #expect(try Run.verify(sample.storage, path: "/new").status == .fine)
    }

    @Test("without its manifest a store can still be listed and saved", arguments: [0, 1]) func manifestGone(how: Int)
        throws
    {
        let sample = try SampleStore(more: 100, segmentByteCount: 4096)
        if how == 0 {
            try sample.storage.remove(SampleStore.path + "/manifest")
        } else {
            try sample.flip(SampleStore.path + "/manifest", byte: 20, bit: 1)
        }
        let run = try Run.verify(sample.storage)
        #expect(run.status == .damage)
        #expect(run.out.split(separator: "\n").count == 2, "\(run.out)")
        #expect(try Run.log(sample.storage).out.split(separator: "\n").count == 105)
        #expect(try Run.replay(sample.storage, to: 105).status == .fine)
        #expect(try Run.verify(sample.storage, path: "/new").status == .fine)
    }

    @Test("a path that is not a store is refused with a reason") func noStore() throws {
        let storage = MemoryStorage()
        #expect(try Run.info(storage).status == .input)
        try storage.createFolder(SampleStore.path)
        #expect(try Run.verify(storage).error.contains("the folder is empty"))
        _ = try storage.open(SampleStore.path + "/x", .create)
        #expect(try Run.log(storage).error.contains("holds other things"))
        #expect(
            try Run { try InfoCommand.run("/store/x", json: false, storage: storage, $0) }.error.contains(
                "it is a file"))
    }
}

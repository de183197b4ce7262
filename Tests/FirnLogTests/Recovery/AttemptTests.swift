import FirnBytes
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// Two attempts at one version leave frames that are equal in all but their content and their chain. After a power
/// cut, a part of the earlier attempt may follow the frames of the later one, at the right offset.
@Suite("Frames of another attempt", .timeLimit(.minutes(20))) struct AttemptTests {
    private static let path = "/store/log/0000000001.segment"

    private struct Made {
        let storage: MemoryStorage
        /// The offsets of version 2's frames, and where the last one ends.
        let offsets: [Int]
        let end: Int
    }

    /// A log of two versions, the second of three parts that don't compress.
    private func make(attempt: UInt64, hasMark: Bool = false) throws -> Made {
        let storage = MemoryStorage()
        let log = try Log.open(
            options, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
        try LogScript.commit(log, version: 1, [100])
        try log.waitUntilDurable(1)
        if hasMark { try log.writeMark() }
        var chance = SeededRandom(seed: attempt)
        var appender = try log.beginCommit(version: 2)
        for _ in 0..<3 {
            var part = log.takeBuffer()
            part.append((0..<1000).map { _ in UInt8(chance.below(256)) })
            try appender.add(.changes, part)
        }
        let position = try appender.seal()
        try log.waitUntilDurable(2)
        try log.close()
        let (start, end) = (position.range.lowerBound, position.range.upperBound)
        return Made(storage: storage, offsets: (0..<3).map { start + $0 * (end - start) / 3 }, end: end)
    }

    private var options: LogOptions {
        var options = LogOptions(folder: "/store", verify: .everything)
        options.usesThreads = false
        options.reserveByteCount = 0
        return options
    }

    private func read(_ storage: any Storage) throws -> [UInt8] {
        let file = try storage.open(Self.path, .read)
        var bytes = [UInt8](repeating: 0, count: try file.size())
        _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        return bytes
    }

    /// Keeps the second attempt's frames up to the part `from`, and puts the first attempt's frames behind them.
    private func mix(from part: Int, _ made: Made, with earlier: Made) throws {
        let (old, new) = (try read(earlier.storage), try read(made.storage))
        #expect(old.count == new.count && earlier.offsets == made.offsets)
        let start = made.offsets[part]
        #expect(old[..<made.offsets[0]] == new[..<made.offsets[0]] && old[start...] != new[start...])
        let file = try made.storage.open(Self.path, .readWrite)
        try old[start...].withUnsafeBytes { try file.write($0, at: start) }
    }

    @Test(
        "are not part of a commit, even if version, part, offset and checksums are right", arguments: [1, 2])
    func recovery(part: Int) throws {
        let made = try make(attempt: 2)
        try mix(from: part, made, with: make(attempt: 1))
        // These frames do not show that version 2 was durable. The mark behind them is the other attempt's, too, and
        // counts.
        let folder = try StoreFolder(path: "/store", storage: made.storage)
        let manifest = try folder.readManifest()
        let reader = try SegmentReader(folder, manifest.openSegment, storeID: manifest.storeID)
        let scan = try SegmentScan.scan(reader, chainStart: nil, previousTime: 0)
        #expect(scan.lastVersion == 1 && scan.end == made.offsets[0])
        #expect(scan.broken?.offset == made.offsets[part] && scan.broken?.version == 2)
        #expect(scan.framesBehind >= 3)
        // But closing left a mark behind version 2: so it was durable, and this is damage.
        let error = #expect(throws: LogError.self) { _ = try Log.open(options, storage: made.storage) }
        #expect(error?.code == .damage && error?.offset == made.offsets[part])
    }

    @Test("are cut off if nothing says that they were durable", arguments: [1, 2]) func torn(part: Int) throws {
        let made = try make(attempt: 2)
        try mix(from: part, made, with: make(attempt: 1))
        // This is what a power cut before any sync of version 2 leaves: no mark, and no page.
        let file = try made.storage.open(Self.path, .readWrite)
        try file.truncate(to: made.end)
        try made.storage.remove("/store/shared")
        let log = try Log.open(options, storage: made.storage)
        #expect(log.recovery.lastVersion == 1)
        guard case .tornTail(let torn) = log.recovery.outcome else {
            Issue.record("\(log.recovery.outcome)")
            return
        }
        #expect(torn.version == 2 && torn.offset == made.offsets[part] && torn.wholeFrames == 3)
    }

    /// All frames that are there are intact and follow each other; only the rest of the commit is missing.
    @Test("of a commit that ends between two parts are torn", arguments: [1, 2]) func betweenParts(part: Int) throws {
        let made = try make(attempt: 1)
        let file = try made.storage.open(Self.path, .readWrite)
        try file.truncate(to: made.offsets[part])
        try made.storage.remove("/store/shared")
        let log = try Log.open(options, storage: made.storage)
        guard case .tornTail(let torn) = log.recovery.outcome else {
            Issue.record("\(log.recovery.outcome)")
            return
        }
        #expect(log.recovery.lastVersion == 1 && torn.version == 2 && torn.offset == made.offsets[part])
        #expect(torn.byteCount == made.offsets[part] - made.offsets[0] && torn.wholeFrames == part)
        try LogScript.commit(log, version: 2, [700])
        try log.waitUntilDurable(2)
        try log.close()
        let again = try Log.open(options, storage: made.storage)
        #expect(again.recovery.outcome == .clean && again.recovery.lastVersion == 2)
    }

    /// The readers: one reads commits, one skips them, one reads headers, one follows.
    private func waysToRead(_ made: Made) throws -> [() throws -> Void] {
        let folder = try StoreFolder(path: "/store", storage: made.storage)
        let manifest = try folder.readManifest()
        func replay(_ body: (inout CommitReader) throws -> Void) throws {
            var cursor = LogCursor(folder: folder, manifest: manifest)
            _ = try cursor.replay(after: 0, through: 2, from: nil, body)
        }
        return [
            { try replay { commit in while try commit.next() != nil {} } },
            { try replay { _ in } },
            {
                try LogCursor(folder: folder, manifest: manifest)
                    .forEachHeader(in: manifest.openSegment, through: 2) { _ in true }
            },
            { _ = try LogFollower(folder).read(from: LogReadPosition(version: 0), manifest, through: 2) { _ in } },
        ]
    }

    private func isRefused(_ body: () throws -> Void) {
        let error = #expect(throws: LogError.self, performing: body)
        #expect(error?.code == .damage)
    }

    @Test(
        "are damage for every reader of commits or headers, and for a follower", arguments: [1, 2])
    func readers(part: Int) throws {
        let made = try make(attempt: 2)
        let readers = try waysToRead(made)
        for body in readers { try body() }
        try mix(from: part, made, with: make(attempt: 1))
        for body in readers { isRefused(body) }
    }

    @Test(
        "of a complete commit after a different one are damage, too, even with a mark between",
        .disabled(if: TestEnvironment.hasKey, "only the key could make the frames that it forges"),
        arguments: [false, true])
    func wholeCommit(hasMark: Bool) throws {
        // The commit before is a different one, so only the chain of the first part, or of the mark, is wrong.
        let made = try make(attempt: 2, hasMark: hasMark)
        let start = made.offsets[0] - (hasMark ? FrameHeader.frameByteCount(stored: 0) : 0)
        let file = try made.storage.open(Self.path, .readWrite)
        var bytes = try read(made.storage)
        // Version 1's payload changes, and all its checksums with it.
        let first = 64
        bytes[first + FrameHeader.byteCount] ^= 1
        let stored = Int(UInt32(bytes[first + 64]) | UInt32(bytes[first + 65]) << 8)
        let payload = CRC32C.checksum(
            Array(bytes[first + FrameHeader.byteCount..<first + FrameHeader.byteCount + stored]))
        withUnsafeBytes(of: payload.littleEndian) { bytes.replaceSubrange(first + 68..<first + 72, with: $0) }
        let header = CRC32C.checksum(Array(bytes[first..<first + 76]))
        withUnsafeBytes(of: header.littleEndian) { bytes.replaceSubrange(first + 76..<first + 80, with: $0) }
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
        for body in try waysToRead(made) { isRefused(body) }
        let error = #expect(throws: LogError.self) { _ = try Log.open(options, storage: made.storage) }
        #expect(error?.code == .damage && error?.offset == start)
    }

    @Test(
        "are damage in a sealed segment: the manifest has its last frame's checksum",
        .disabled(if: TestEnvironment.hasKey, "only the key could make the frame that it forges"))
    func sealed() throws {
        let storage = MemoryStorage()
        let clock = ManualClock()
        let log = try Log.open(options, storage: storage, clock: clock, randomness: SeededRandomness(seed: 1))
        for version in 1...3 as ClosedRange<UInt64> {
            clock.advance(by: 1000)
            try LogScript.commit(log, version: version, [100])
            try log.waitUntilDurable(version)
            if version == 2 { try log.sealSegment() }
        }
        try log.close()
        let folder = try StoreFolder(path: "/store", storage: storage)
        let manifest = try folder.readManifest()
        let reader = try SegmentReader(folder, manifest.segments[0], storeID: manifest.storeID)
        var last: FrameHeader?
        var offset = SegmentHeader.byteCount
        while let (frame, _) = try reader.header(at: offset) {
            last = frame
            offset = frame.end
        }
        // The other attempt was made a little earlier; apart from that it is intact and correct.
        var forged = try #require(last)
        #expect(forged.end == Int(manifest.segments[0].byteCount) && manifest.segments[0].isSealed)
        forged.time -= 1
        var bytes = [UInt8](repeating: 0, count: FrameHeader.byteCount)
        _ = bytes.withUnsafeMutableBytes { forged.encode(at: $0.baseAddress!) }
        let file = try storage.open(Self.path, .readWrite)
        try bytes.withUnsafeBytes { try file.write($0, at: Int(forged.offset)) }
        let error = #expect(throws: LogError.self) { _ = try Log.open(options, storage: storage) }
        #expect(error?.code == .damage && error?.path == Self.path)
        #expect(error?.detail == "the segment's last frame is not the one that the manifest names")
    }
}

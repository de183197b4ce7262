import FirnBytes
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// The number of bytes that opening reads grows with the file's length, not with its square.
@Suite("Opening examines each byte a few times at most", .timeLimit(.minutes(20))) struct ZerosTests {
    /// A log broken at its third commit, with `gaps` behind it: zeros, then bytes that are no frame.
    func broken(zeros: Int, gaps: Int) throws -> (scan: SegmentScan, reader: SegmentReader) {
        let storage = MemoryStorage()
        var options = LogOptions(folder: "/store", durability: .none)
        options.usesThreads = false
        options.reserveByteCount = 0
        let log = try Log.open(options, storage: storage)
        for version in 1...2 { try LogScript.commit(log, version: UInt64(version), [100]) }
        let path = "/store/log/0000000001.segment"
        let file = try storage.open(path, .readWrite)
        var end = try file.size()
        for _ in 0..<gaps {
            end += zeros
            try [1 as UInt8].withUnsafeBytes { try file.write($0, at: end) }
            end += 64
        }
        try file.truncate(to: end)
        let manifest = try log.folder.readManifest()
        let reader = try SegmentReader(log.folder, manifest.openSegment, storeID: manifest.storeID)
        let scan = try SegmentScan.scan(reader, chainStart: nil, previousTime: 0)
        return (scan, reader)
    }

    @Test(
        "after a broken frame, in long runs of zeros and in many short ones",
        arguments: [(8 << 20, 1), (64 << 10, 40), (64, 6000), (4096, 300)])
    func work(zeros: Int, gaps: Int) throws {
        let (scan, reader) = try broken(zeros: zeros, gaps: gaps)
        #expect(scan.lastVersion == 2)
        let broken = try #require(scan.broken)
        #expect(broken.version == 3 && broken.offset == scan.end)
        #expect(reader.examinedByteCount <= 2 * reader.byteCount)
        #expect(reader.readByteCount <= 2 * reader.byteCount + (512 << 10))
    }

    @Test("a frame behind the zeros still shows what was durable") func frameBehindZeros() throws {
        let storage = MemoryStorage()
        var options = LogOptions(folder: "/store")
        options.usesThreads = false
        options.reserveByteCount = 0
        let log = try Log.open(options, storage: storage)
        for version in 1...4 {
            try LogScript.commit(log, version: UInt64(version), [3000])
            try log.waitUntilDurable(UInt64(version))
        }
        try log.close()
        try storage.remove("/store/shared")
        // The second commit's frame is wiped; the frames behind it have its mark.
        let path = "/store/log/0000000001.segment"
        let file = try storage.open(path, .readWrite)
        let size = try file.size()
        try [UInt8](repeating: 0, count: size / 2 - size / 2 % 64 - 1024).withUnsafeBytes {
            try file.write($0, at: 1024)
        }
        let error = #expect(throws: LogError.self) { try Log.open(options, storage: storage) }
        #expect(error?.code == .damage)
    }

    /// Each header of a forged tail claims the same long payload, with a wrong checksum.
    @Test("after a broken frame, however many headers claim long payloads") func forgedHeaders() throws {
        let bench = Bench { $0.segmentByteCount = 4 << 20 }
        let log = try bench.open()
        try bench.commit(log)
        try log.close()
        let file = try bench.storage.open(Bench.segment, .readWrite)
        let start = try file.size()
        let manifest = try log.folder.readManifest()
        let (count, payload) = (300, 1 << 20)
        var bytes = [UInt8](repeating: 1, count: count * 128 + payload)
        for number in 0..<count {
            let frame = FrameHeader(
                kind: .changes, flags: .last, storeHigh: manifest.storeID.high, epoch: 1, segment: 1,
                offset: UInt64(start + number * 128), version: 2, time: 0, mark: number == count - 1 ? 1 : 0, part: 0,
                rawCount: UInt32(payload), storedCount: UInt32(payload), payloadCRC: 1, chain: 0)
            bytes.withUnsafeMutableBytes { _ = frame.encode(at: $0.baseAddress! + number * 128) }
        }
        try bytes.withUnsafeBytes { try file.write($0, at: start) }
        let reader = try SegmentReader(log.folder, manifest.openSegment, storeID: manifest.storeID)
        let scan = try SegmentScan.scan(reader, chainStart: nil, previousTime: 0)
        #expect(scan.lastVersion == 1 && scan.broken?.offset == start)
        // Yet no header is skipped.
        #expect(scan.markBehind == 1 && scan.framesBehind == 0)
        #expect(reader.readByteCount <= 4 * reader.byteCount)
    }
}

import FirnBytes
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

@Suite("The format on disk", .timeLimit(.minutes(20))) struct FormatTests {
    func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test("a frame header has the documented bytes") func frameHeader() throws {
        let header = FrameHeader(
            kind: .changes, flags: [.last, .lz4], storeHigh: 0x0102_0304_0506_0708, epoch: 9, segment: 10, offset: 64,
            version: 11, time: 12, mark: 10, part: 3, rawCount: 500, storedCount: 400, payloadCRC: 0xAABB_CCDD,
            chain: 0x1122_3344)
        var bytes = [UInt8](repeating: 0, count: 80)
        let crc = bytes.withUnsafeMutableBytes { header.encode(at: $0.baseAddress!) }
        #expect(
            hexadecimal(Array(bytes[..<76]))
                == "4649524e01000203" + "0807060504030201" + "09000000" + "0a000000" + "4000000000000000"
                + "0b00000000000000" + "0c00000000000000" + "0a00000000000000" + "03000000" + "f4010000" + "90010000"
                + "ddccbbaa" + "44332211")
        #expect(crc == CRC32C.checksum(Array(bytes[..<76])))
        let back = try #require(bytes.withUnsafeBytes { FrameHeader.decode($0) })
        #expect(back.header == header && back.crc == crc && header.frameByteCount == 512)
        // Every single flipped bit is refused.
        for bit in 0..<(80 * 8) {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(damaged.withUnsafeBytes { FrameHeader.decode($0) } == nil, "bit \(bit)")
        }
    }

    @Test("headers that claim too much are refused, whatever their checksum") func hostileHeaders() {
        var bytes = [UInt8](repeating: 0, count: 80)
        func decode(_ change: (inout FrameHeader) -> Void) -> Bool {
            var header = FrameHeader(
                kind: .changes, flags: .last, storeHigh: 1, epoch: 1, segment: 1, offset: 64, version: 1, time: 0,
                mark: 0, part: 0, rawCount: 8, storedCount: 8, payloadCRC: 0, chain: 0)
            change(&header)
            return bytes.withUnsafeMutableBytes {
                _ = header.encode(at: $0.baseAddress!)
                return FrameHeader.decode(UnsafeRawBufferPointer($0)) != nil
            }
        }
        #expect(decode { _ in })
        #expect(
            !decode {
                $0.rawCount = .max; $0.storedCount = .max
            })
        #expect(!decode { $0.storedCount = 9 })
        #expect(!decode { $0.storedCount = 7 })  // shorter, but not marked as compressed
        #expect(!decode { $0.flags = FrameHeader.Flags(rawValue: 0x81) })
        #expect(!decode { $0.kind = .mark })  // a mark with a payload
    }

    @Test("a manifest is decoded; its blocks are the current and the previous generation") func manifest() throws {
        let first = Manifest(
            storeID: StoreID(high: 7, low: 8), created: 99,
            segments: [Manifest.Segment(segment: 1, epoch: 1, firstVersion: 1)])
        var second = first
        second.generation = 2
        second.epoch = 2
        second.segments[0].isSealed = true
        second.segments[0].lastVersion = 5
        second.segments[0].byteCount = 6400
        second.segments[0].chainEnd = 77
        second.segments.append(Manifest.Segment(segment: 2, epoch: 2, firstVersion: 6))
        let file = second.encode() + first.encode()
        #expect(first.encode().count == 192 && second.encode().count == 256)
        try file.withUnsafeBytes { bytes in
            let (current, previous) = try Manifest.decode(file: bytes, path: "")
            #expect(current == second && previous == first)
        }
        for bit in 0..<(file.count * 8) {
            var damaged = file
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            _ = damaged.withUnsafeBytes { bytes in
                #expect(throws: LogError.self, "bit \(bit)") { _ = try Manifest.decode(file: bytes, path: "") }
            }
        }
        for count in 0..<file.count where count != 256 {
            _ = file.withUnsafeBytes { bytes in
                #expect(throws: LogError.self, "cut to \(count)") {
                    _ = try Manifest.decode(file: UnsafeRawBufferPointer(rebasing: bytes[..<count]), path: "")
                }
            }
        }
    }

    // MARK: The golden store

    static let golden = String(#filePath.dropLast("Format/FormatTests.swift".utf8.count)) + "Golden/format-1"
    /// Nothing may hide in bytes that a later format will use.
    @Test(
        "a manifest with reserved bytes that are not 0 is refused, even if its checksums are right",
        arguments: [52, 92, 112, 168])
    func reservedBytes(offset: Int) throws {
        let manifest = Manifest(
            storeID: StoreID(high: 1, low: 2), created: 5,
            segments: [Manifest.Segment(segment: 1, epoch: 1, firstVersion: 1)])
        var bytes = manifest.encode()
        func seal() {
            bytes.withUnsafeMutableBytes { bytes in
                let header = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<60]))
                bytes.storeBytes(of: header.littleEndian, toByteOffset: 60, as: UInt32.self)
                let all = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<(bytes.count - 4)]))
                bytes.storeBytes(of: all.littleEndian, toByteOffset: bytes.count - 4, as: UInt32.self)
            }
        }
        seal()
        #expect(try bytes.withUnsafeBytes { try Manifest.decode(file: $0, path: "").current } == manifest)
        bytes[offset] ^= 4
        seal()
        #expect(throws: LogError.self) { try bytes.withUnsafeBytes { _ = try Manifest.decode(file: $0, path: "") } }
    }

    static let files = ["manifest", "log/0000000001.segment", "log/0000000002.segment"]
    static let lengths: [[Int]] = [[20], [200], [3000, 1000, 40], [63, 64, 65], [0], [4096], [100]]

    func write(_ log: Log, _ version: UInt64) throws {
        var appender = try log.beginCommit(version: version)
        if version == 1 || version == 6 {
            var schema = log.takeBuffer()
            schema.append(Array("schema \(version)".utf8))
            try appender.add(.schema, schema)
        }
        for (part, length) in Self.lengths[Int(version - 1)].enumerated() {
            var bytes = log.takeBuffer()
            bytes.append(Payload.bytes(version: version, part: part, count: length))
            try appender.add(.changes, bytes)
        }
        _ = try appender.seal()
    }

    /// Writes the golden store: run this once for each released format, and commit the result.
    @Test(.enabled(if: getenv("FIRN_WRITE_GOLDEN") != nil)) func writeGolden() throws {
        var options = LogOptions(folder: Self.golden)
        options.segmentByteCount = 4096
        options.reserveByteCount = 0
        options.usesThreads = false
        let log = try Log.open(
            options, storage: PosixStorage.shared, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
        for version in 1...UInt64(Self.lengths.count) {
            try write(log, version)
            try log.waitUntilDurable(version)
        }
        try log.close()
    }

    @Test("the first release's format is still read: the golden store has what was committed") func golden()
        throws
    {
        let storage = try GoldenStore.copy(of: Self.golden, files: Self.files)
        let log = try Log.open(LogOptions(folder: "/g", verify: .everything), storage: storage)
        #expect(log.recovery.outcome == .clean && log.recovery.lastVersion == UInt64(Self.lengths.count))
        #expect(log.schema == Array("schema 6".utf8))
        var next: UInt64 = 1
        try log.replay(after: 0, through: log.recovery.lastVersion) { commit in
            #expect(commit.version == next)
            if next == 1 || next == 6 {
                let part = try #require(try commit.next())
                #expect(part.kind == .schema && part.bytes.elementsEqual("schema \(next)".utf8))
            }
            for (part, length) in Self.lengths[Int(next - 1)].enumerated() {
                let found = try #require(try commit.next())
                #expect(found.kind == .changes)
                #expect(Payload.isEqual(found.bytes, version: next, part: part, count: length))
            }
            #expect(try commit.next() == nil)
            next += 1
        }
        #expect(next == UInt64(Self.lengths.count) + 1)
    }
}

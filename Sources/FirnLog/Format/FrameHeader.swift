import FirnBytes
import FirnCrypto

/// The header of a frame. A frame is this header, a payload and zeros up to the next multiple of 64 bytes. A
/// segment is its own header, then frames without a gap. Numbers are little-endian.
///
/// ```
/// byte   0      4        6       7      8
///        ┌──────┬────────┬───────┬──────┬───────────────┐
///        │ FIRN │ format │ kind  │flags │ store id high │
///     16 ├──────┴─┬──────┴──┬────┴──────┴───────────────┤
///        │ epoch  │ segment │ offset in the segment     │
///     32 ├────────┴─────────┼───────────────────────────┤
///        │ version          │ time, ns since 1970 (UTC) │
///     48 ├──────────────────┼─────────────┬─────────────┤
///        │ durable mark     │ part        │ raw length  │
///     64 ├────────┬─────────┼─────────────┼─────────────┤
///        │ stored │ payload │ chain: CRC  │ header CRC  │
///        │ length │ CRC     │ of previous │ (0 ..< 76)  │
///     80 ├────────┴─────────┴─────────────┴─────────────┤
///        │ payload, `stored length` bytes               │
///        ├──────────────────────────────────────────────┤
///        │ zeros to the next multiple of 64             │
///        └──────────────────────────────────────────────┘
/// ```
///
/// - **kind**:
///   - 1 schema, 2 changes: the two kinds of a commit's parts.
///   - 3 mark: no payload. It repeats the durable mark.
///   - 4 segment schema: the schema in force where the segment begins. It is not a part of a commit.
/// - **flags**: all bits but these are zero.
///   - bit 0 LAST: this part ends the commit. It is also set on marks and segment schemas.
///   - bit 1 LZ4: the payload is one LZ4 block that decompresses to `raw length` bytes. Without it the two lengths are
///     equal.
///   - bit 2 ENCRYPTED: set in all frames of an encrypted store, and in no others. The payload is encrypted after it is
///     compressed. A nonce (12) and a tag (16) follow it, and `stored length` counts them.
/// - **version**: of a part, the version that the commit makes; of a mark or a segment schema, the last version
///   before it.
/// - **time**: when the commit began; never less than the time of the frame before.
/// - **durable mark**: the highest version known to be durable when the frame was written.
/// - **part**: counts from 0 within a commit; 0 for marks and segment schemas.
/// - **payload CRC**: CRC-32C of the stored payload.
/// - **header CRC**: CRC-32C of bytes 0 ..< 76. These include the payload's CRC, so the header CRC identifies the whole
///   frame.
/// - **chain**: the header CRC of the frame before or, in the first frame, of the segment's header. So no frame can be
///   left out, inserted or moved.
struct FrameHeader: Equatable {
    static let byteCount = 80
    static let magic: UInt32 = 0x4E52_4946  // "FIRN"

    enum Kind: UInt8 {
        case schema = 1
        case changes = 2
        case mark = 3
        case segmentSchema = 4

        /// Parts belong to a commit; the other kinds stand alone.
        var isPart: Bool { self == .schema || self == .changes }
    }

    struct Flags: OptionSet {
        var rawValue: UInt8
        static let last = Flags(rawValue: 1)
        static let lz4 = Flags(rawValue: 2)
        static let encrypted = Flags(rawValue: 4)
        static let all: Flags = [.last, .lz4, .encrypted]

        /// The number of bytes that encryption adds to the payload.
        var sealByteCount: Int { contains(.encrypted) ? SealSize.total : 0 }
    }

    var kind: Kind
    var flags: Flags
    var storeHigh: UInt64
    var epoch: UInt32
    var segment: UInt32
    var offset: UInt64
    var version: UInt64
    var time: Int64
    var mark: UInt64
    var part: UInt32
    var rawCount: UInt32
    var storedCount: UInt32
    var payloadCRC: UInt32
    var chain: UInt32

    /// The number of bytes that the whole frame takes in the file.
    var frameByteCount: Int { Self.frameByteCount(stored: Int(storedCount)) }

    /// The offset in the segment at which the frame ends.
    var end: Int { Int(offset) + frameByteCount }

    static func frameByteCount(stored: Int) -> Int {
        (byteCount + stored + LogLimits.frameAlignment - 1) & ~(LogLimits.frameAlignment - 1)
    }

    /// Writes the header to `target`, which has 80 bytes, and returns its CRC.
    func encode(at target: UnsafeMutableRawPointer) -> UInt32 {
        func put<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, _ offset: Int) {
            target.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
        }
        put(Self.magic, 0)
        put(LogLimits.format, 4)
        put(kind.rawValue, 6)
        put(flags.rawValue, 7)
        put(storeHigh, 8)
        put(epoch, 16)
        put(segment, 20)
        put(offset, 24)
        put(version, 32)
        put(time, 40)
        put(mark, 48)
        put(part, 56)
        put(rawCount, 60)
        put(storedCount, 64)
        put(payloadCRC, 68)
        put(chain, 72)
        let crc = CRC32C.checksum(UnsafeRawBufferPointer(start: target, count: 76))
        put(crc, 76)
        return crc
    }

    /// Decodes a header from untrusted bytes; nil if they are not a valid header. `crc` is the header's own checksum,
    /// which the next frame's chain repeats.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> (header: FrameHeader, crc: UInt32)? {
        guard bytes.count >= byteCount else { return nil }
        func get<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: T.Type = T.self) -> T {
            T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
        }
        guard get(0) == magic else { return nil }
        let crc: UInt32 = get(76)
        guard crc == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<76])) else { return nil }
        guard get(4) == LogLimits.format, let kind = Kind(rawValue: get(6)) else { return nil }
        let flags = Flags(rawValue: get(7))
        guard flags.isSubset(of: .all) else { return nil }
        let header = FrameHeader(
            kind: kind, flags: flags, storeHigh: get(8), epoch: get(16), segment: get(20), offset: get(24),
            version: get(32), time: get(40), mark: get(48), part: get(56), rawCount: get(60), storedCount: get(64),
            payloadCRC: get(68), chain: get(72))
        let payload = Int(header.storedCount) - flags.sealByteCount
        guard header.rawCount <= LogLimits.payloadByteCount, payload >= 0, payload <= Int(header.rawCount),
            flags.contains(.lz4) || payload == Int(header.rawCount)
        else { return nil }
        if !kind.isPart {
            guard flags.contains(.last), header.part == 0, kind == .segmentSchema || header.rawCount == 0 else {
                return nil
            }
        }
        return (header, crc)
    }
}

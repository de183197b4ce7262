import FirnBytes
import FirnCrypto

/// The 80 bytes before a frame's payload, as the format describes them:
///
/// ```
///  0 magic FIRN · 4 format u16 · 6 kind u8 · 7 flags u8 · 8 store id, first half u64
/// 16 epoch u32 · 20 segment u32 · 24 offset in the segment u64
/// 32 version u64 · 40 time i64 (ns since 1970)
/// 48 durable mark u64 · 56 part u32 · 60 raw length u32
/// 64 stored length u32 · 68 payload's CRC u32 · 72 chain u32 · 76 CRC of bytes 0 ..< 76
/// ```
struct FrameHeader: Equatable {
    static let byteCount = 80
    static let magic: UInt32 = 0x4E52_4946

    enum Kind: UInt8 {
        case schema = 1
        case changes, mark, segmentSchema

        /// Parts make up commits; marks and segment schemas lie between commits.
        var isPart: Bool { self == .schema || self == .changes }
    }

    var kind: Kind
    var isLast: Bool
    var isCompressed: Bool
    var isEncrypted = false
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
    /// The header's own checksum, which the next frame's `chain` repeats.
    var crc: UInt32 = 0

    /// The bytes of the frame in the file, including the zeros at its end.
    var frameByteCount: Int { FormatNumbers.aligned(Self.byteCount + Int(storedCount)) }

    /// The offset in its segment where the frame ends.
    var end: Int { Int(offset) + frameByteCount }

    /// Reads a header from at least 80 bytes, whatever they contain.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(Damage) -> FrameHeader {
        guard bytes.count >= byteCount else { throw Damage("the file ends within a frame's header") }
        let fields = Fields(bytes)
        guard fields.u32(0) == magic else { throw Damage("no frame begins here") }
        let crc = fields.u32(76)
        guard crc == fields.crc(to: 76) else { throw Damage("the checksum of the frame's header is wrong") }
        guard fields.u16(4) == UInt16(FormatNumbers.format) else {
            throw Damage("the frame is of format \(fields.u16(4))")
        }
        guard let kind = Kind(rawValue: fields.u8(6)) else {
            throw Damage("the frame is of the unknown kind \(fields.u8(6))")
        }
        let flags = fields.u8(7)
        guard flags & ~7 == 0 else { throw Damage("the frame has unknown flags (\(flags))") }
        let offset = try fields.count(24, "the frame's offset", upTo: FormatNumbers.fileByteCount)
        // Version and mark have no limit here, since the walk compares them with the version and the marks that it
        // expects. The mark of a frame behind a break counts, whatever its value.
        let header = FrameHeader(
            kind: kind, isLast: flags & 1 != 0, isCompressed: flags & 2 != 0, isEncrypted: flags & 4 != 0,
            storeHigh: fields.u64(8),
            epoch: fields.u32(16), segment: fields.u32(20), offset: UInt64(offset), version: fields.u64(32),
            time: fields.i64(40), mark: fields.u64(48), part: fields.u32(56), rawCount: fields.u32(60),
            storedCount: fields.u32(64), payloadCRC: fields.u32(68), chain: fields.u32(72), crc: crc)
        let payload = Int(header.storedCount) - (header.isEncrypted ? SealSize.total : 0)
        guard header.rawCount <= UInt32(FormatNumbers.payloadByteCount), payload >= 0, payload <= Int(header.rawCount),
            header.isCompressed || payload == Int(header.rawCount)
        else { throw Damage("the lengths in the frame's header do not agree") }
        if !kind.isPart {
            guard header.isLast, header.part == 0, kind == .segmentSchema || header.rawCount == 0 else {
                throw Damage("the frame's header does not fit a mark or a segment schema")
            }
        }
        return header
    }

    /// Appends the header's 80 bytes and returns their checksum.
    func write(to writer: inout ByteWriter) -> UInt32 {
        let start = writer.count
        writer.append(Self.magic)
        writer.append(UInt16(FormatNumbers.format))
        writer.append(kind.rawValue)
        writer.append(UInt8((isLast ? 1 : 0) | (isCompressed ? 2 : 0) | (isEncrypted ? 4 : 0)))
        writer.append(storeHigh)
        writer.append(epoch)
        writer.append(segment)
        writer.append(offset)
        writer.append(version)
        writer.append(time)
        writer.append(mark)
        writer.append(part)
        writer.append(rawCount)
        writer.append(storedCount)
        writer.append(payloadCRC)
        writer.append(chain)
        let crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: writer.bytes[start...]))
        writer.append(crc)
        return crc
    }
}

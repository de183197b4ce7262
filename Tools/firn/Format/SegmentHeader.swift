import FirnBytes

/// The 64 bytes that a segment begins with:
///
/// ```
///  0 magic FIRNSEGM · 8 format u32 · 12 segment u32 · 16 store id, two u64
/// 32 epoch u32 · 36 chain u32 · 40 first version u64 · 48 durable mark u64 · 56 salt follows: 0 or 64 u32
/// 60 CRC of bytes 0 ..< 60
/// ```
struct SegmentHeader: Equatable {
    static let byteCount = 64
    static let magic: UInt64 = 0x4D47_4553_4E52_4946

    var segment: UInt32
    var storeHigh: UInt64
    var storeLow: UInt64
    var epoch: UInt32
    var chain: UInt32
    var firstVersion: UInt64
    var mark: UInt64
    /// Whether a salt of 64 bytes follows the header: whether the segment is encrypted.
    var hasSalt = false
    /// Where the first frame begins.
    var end: Int { hasSalt ? SealedParts.headerByteCount : Self.byteCount }
    /// The header's own checksum, with which the chain of the segment's frames begins.
    var crc: UInt32 = 0

    static func read(_ bytes: UnsafeRawBufferPointer) throws(Damage) -> SegmentHeader {
        guard bytes.count >= byteCount else {
            throw Damage("the file ends after \(bytes.count) bytes, within the segment's header")
        }
        let fields = Fields(bytes)
        guard fields.u64(0) == magic else { throw Damage("the file does not begin with a segment's header") }
        let crc = fields.u32(60)
        guard crc == fields.crc(to: 60) else { throw Damage("the checksum of the segment's header is wrong") }
        guard fields.u32(8) == FormatNumbers.format else {
            throw Damage("the segment is of format \(fields.u32(8))")
        }
        guard fields.u32(56) == 0 || Int(fields.u32(56)) == SealedParts.saltByteCount else {
            throw Damage("a reserved byte of the segment's header is not 0")
        }
        // The mark has no limit, since it is only compared. A mark above all versions means that the log has lost some.
        let header = SegmentHeader(
            segment: try fields.number32(12, "the segment's number", upTo: FormatNumbers.epoch),
            storeHigh: fields.u64(16), storeLow: fields.u64(24),
            epoch: try fields.number32(32, "the segment's epoch", upTo: FormatNumbers.epoch),
            chain: fields.u32(36), firstVersion: try fields.number(40, "the segment's first version"),
            mark: fields.u64(48), hasSalt: fields.u32(56) != 0, crc: crc)
        guard header.firstVersion >= 1 else { throw Damage("the segment's header names version 0 as its first") }
        return header
    }

    /// Appends the header's 64 bytes and returns their checksum.
    func write(to writer: inout ByteWriter) -> UInt32 {
        let start = writer.count
        writer.append(Self.magic)
        writer.append(FormatNumbers.format)
        writer.append(segment)
        writer.append(storeHigh)
        writer.append(storeLow)
        writer.append(epoch)
        writer.append(chain)
        writer.append(firstVersion)
        writer.append(mark)
        writer.append(UInt32(hasSalt ? SealedParts.saltByteCount : 0))
        let crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: writer.bytes[start...]))
        writer.append(crc)
        return crc
    }
}

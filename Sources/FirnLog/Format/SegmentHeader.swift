import FirnBytes

/// The header of a segment, which is a file of the log folder: 64 bytes, then frames. Numbers are little-endian.
///
/// ```
/// byte   0                       8           12          16
///        ┌───────────────────────┬───────────┬───────────┐
///        │ FIRNSEGM              │ format    │ segment   │
///     16 ├───────────────────────┴───────────┴───────────┤
///        │ store id (high, low)                          │
///     32 ├───────────┬───────────┬───────────────────────┤
///        │ epoch     │ chain     │ first version         │
///     48 ├───────────┴───────────┼───────────┬───────────┤
///        │ durable mark          │ reserved  │ CRC of    │
///        │                       │ (zero)    │ 0 ..< 60  │
///     64 └───────────────────────┴───────────┴───────────┘
/// ```
///
/// **chain** is the header CRC of the last frame before the segment (0 in a store's first segment). **first
/// version** is the version that the segment's first commit makes. **durable mark** is the highest version known to
/// be durable when the segment was made. All frames of a segment have its epoch.
struct SegmentHeader: Equatable {
    static let byteCount = 64
    static let magic: UInt64 = 0x4D47_4553_4E52_4946  // "FIRNSEGM"

    var storeID: StoreID
    var epoch: UInt32
    var segment: UInt32
    var chain: UInt32
    var firstVersion: UInt64
    var mark: UInt64

    /// Appends the header and returns its CRC, which is the start of the segment's chain.
    @discardableResult
    func encode(into writer: inout ByteWriter) -> UInt32 {
        let start = writer.count
        writer.append(Self.magic)
        writer.append(UInt32(LogLimits.format))
        writer.append(segment)
        writer.append(storeID.high)
        writer.append(storeID.low)
        writer.append(epoch)
        writer.append(chain)
        writer.append(firstVersion)
        writer.append(mark)
        writer.append(UInt32(0))
        let crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: writer.bytes[start...]))
        writer.append(crc)
        return crc
    }

    /// Reads a header; nil if the bytes are not a header of this format.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> (header: SegmentHeader, crc: UInt32)? {
        guard bytes.count >= byteCount else { return nil }
        func get<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: T.Type = T.self) -> T {
            T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
        }
        let crc: UInt32 = get(60)
        guard get(0) == magic, crc == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<60])),
            get(8) == UInt32(LogLimits.format), get(56) == UInt32(0)
        else { return nil }
        let header = SegmentHeader(
            storeID: StoreID(high: get(16), low: get(24)), epoch: get(32), segment: get(12), chain: get(36),
            firstVersion: get(40), mark: get(48))
        return (header, crc)
    }
}

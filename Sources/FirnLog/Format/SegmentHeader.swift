import FirnBytes

/// The header of a segment, which is a file of the log folder: 64 bytes, or 128 in an encrypted store, then frames.
/// Numbers are little-endian.
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
///        │ durable mark          │ more: 0   │ CRC of    │
///        │                       │ or 64     │ 0 ..< 60  │
///     64 ├───────────────────────┴───────────┴───────────┤
///        │ salt (32)                                     │   only if `more` is 64: encrypted
///     96 ├───────────────────────────────────┬───────────┤
///        │ zero                              │ CRC of    │
///        │                                   │ 64 ..< 124│
///    128 └───────────────────────────────────┴───────────┘
/// ```
///
/// **chain** is the header CRC of the last frame before the segment (0 in a store's first segment). **first
/// version** is the version that the segment's first commit makes. **durable mark** is the highest version known to
/// be durable when the segment was made. All frames of a segment have its epoch.
struct SegmentHeader: Equatable {
    /// The number of bytes of the header of a segment without encryption.
    static let byteCount = 64
    /// The number of bytes of the header of an encrypted segment: the most that a header has.
    static let mostByteCount = byteCount + FileSalt.byteCount
    static let magic: UInt64 = 0x4D47_4553_4E52_4946  // "FIRNSEGM"

    var storeID: StoreID
    var epoch: UInt32
    var segment: UInt32
    var chain: UInt32
    var firstVersion: UInt64
    var mark: UInt64
    /// What the key of an encrypted segment is made of.
    var salt: FileSalt?

    /// The offset of the segment's first frame.
    var byteCount: Int { salt == nil ? Self.byteCount : Self.mostByteCount }

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
        writer.append(UInt32(salt == nil ? 0 : FileSalt.byteCount))
        let crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: writer.bytes[start...]))
        writer.append(crc)
        salt?.encode(into: &writer)
        return crc
    }

    /// Reads the header at the beginning of `bytes`; nil if there is no header of this format.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> (header: SegmentHeader, crc: UInt32)? {
        guard bytes.count >= byteCount else { return nil }
        func get<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: T.Type = T.self) -> T {
            T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
        }
        let crc: UInt32 = get(60)
        guard get(0) == magic, crc == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<60])),
            get(8) == UInt32(LogLimits.format)
        else { return nil }
        let more: UInt32 = get(56)
        var salt: FileSalt?
        if more != 0 {
            guard more == FileSalt.byteCount, bytes.count >= mostByteCount,
                let found = FileSalt(UnsafeRawBufferPointer(rebasing: bytes[byteCount..<mostByteCount]))
            else { return nil }
            salt = found
        }
        let header = SegmentHeader(
            storeID: StoreID(high: get(16), low: get(24)), epoch: get(32), segment: get(12), chain: get(36),
            firstVersion: get(40), mark: get(48), salt: salt)
        return (header, crc)
    }
}

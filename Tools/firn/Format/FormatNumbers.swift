import FirnBytes

/// The format's numbers that more than one structure needs.
enum FormatNumbers {
    /// The newest format that this tool reads.
    static let format: UInt32 = 1
    /// Frames begin at multiples of this.
    static let alignment = 64
    /// The most bytes of a frame's payload, stored or raw.
    static let payloadByteCount = 16 << 20
    static let segmentCount = 1 << 20
    static let checkpointCount = 1 << 16
    /// The length at which the log continues in a new segment.
    static let segmentByteCount = 64 << 20
    static let reserveByteCount = 4 << 20
    static let partByteCount = 1 << 20
    /// The most keys, values and elements in one part.
    static let partCellCount = 1 << 20
    static let cellByteCount = 65_536
    static let blobByteCount = (16 << 20) + 64
    static let blobsByteCount = 64 << 20
    static let keyLimit: Int64 = 1 << 62
    static let tableCount = 16_384
    static let columnCount = 1_024
    /// The longest text, data or mixed value.
    static let valueByteCount = 16 << 20
    static let nameByteCount = 255
    static let nesting = 100
    /// No version, no generation and no id of a checkpoint is greater, so that adding to one never overflows.
    static let number: UInt64 = 1 << 62
    /// No epoch and no number of a segment is greater.
    static let epoch: UInt64 = 1 << 31
    /// No file is longer, and no file of a checkpoint begins after this offset of the mapping. So sums of lengths never
    /// overflow, and reading a sparse file comes to an end.
    static let fileByteCount = 1 << 42
    /// A checkpoint's files begin at multiples of this in the mapping.
    static let checkpointAlignment = 64 << 10
    static let checkpointFileCount = 1 << 10
    /// The most bytes of values in a chunk's heap.
    static let chunkHeapByteCount = 128 << 10
    /// The largest position at which a file of a checkpoint may end in the mapping.
    static let mappingByteCount = 2 * fileByteCount
    /// The most bytes of a blob's node, and of any other node.
    static let blobNodeByteCount = blobByteCount + 64
    static let nodeByteCount = 256 << 10
    /// The most blobs before one block. Firn writes only values of more than 64 KiB as blobs. So the 64 MiB of blobs
    /// before a block (`blobsByteCount`) hold at most 1,024 of these.
    static let blobCount = 1 << 16

    static func aligned(_ count: Int) -> Int { (count + alignment - 1) & ~(alignment - 1) }
}

/// Fixed-width little-endian numbers at known offsets of a structure whose length has been checked.
///
/// A number that is added to, multiplied or turned into an `Int` is read by `number` or `count`. They refuse values
/// beyond their limit: even if the checksum is right, a field may hold any value. The other methods are for numbers
/// that are only compared, masked or shown.
struct Fields {
    let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    private func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) -> T {
        precondition(
            offset >= 0 && offset + MemoryLayout<T>.size <= bytes.count, "Firn: a field lies within its structure")
        return T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    func u8(_ offset: Int) -> UInt8 { load(offset) }
    func u16(_ offset: Int) -> UInt16 { load(offset) }
    func u32(_ offset: Int) -> UInt32 { load(offset) }
    func u64(_ offset: Int) -> UInt64 { load(offset) }
    func i64(_ offset: Int) -> Int64 { load(offset) }

    /// A number that is at most `limit`.
    func number(
        _ offset: Int, _ what: String, upTo limit: UInt64 = FormatNumbers.number
    ) throws(Damage) -> UInt64 {
        try checked(u64(offset), offset: offset, what: what, limit: limit)
    }

    /// A number of 32 bits that is at most `limit`.
    func number32(_ offset: Int, _ what: String, upTo limit: UInt64) throws(Damage) -> UInt32 {
        UInt32(try checked(UInt64(u32(offset)), offset: offset, what: what, limit: limit))
    }

    /// A count, length or offset that is at most `limit`.
    func count(_ offset: Int, _ what: String, upTo limit: Int) throws(Damage) -> Int {
        Int(try checked(u64(offset), offset: offset, what: what, limit: UInt64(limit)))
    }

    private func checked(_ value: UInt64, offset: Int, what: String, limit: UInt64) throws(Damage) -> UInt64 {
        guard value <= limit else {
            throw Damage("\(what) is \(value), but none is above \(limit)", at: offset)
        }
        return value
    }

    /// The CRC-32C of the bytes before `end`.
    func crc(to end: Int) -> UInt32 { CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<end])) }
}

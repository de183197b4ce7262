import FirnBytes

/// The numbers of the format that more than one structure needs.
enum FormatNumbers {
    /// The newest format that this tool reads.
    static let format: UInt32 = 1
    /// Features of a store that this tool knows: segments may have sectors.
    static let requiredFeatures: UInt32 = 1
    /// Frames begin at multiples of this.
    static let alignment = 64
    /// The most that a frame's payload may be, stored or raw.
    static let payloadByteCount = 16 << 20
    static let segmentCount = 1 << 20
    static let checkpointCount = 1 << 16
    /// The length at which the log goes on in a new segment.
    static let segmentByteCount = 64 << 20
    static let reserveByteCount = 4 << 20
    static let partByteCount = 1 << 20
    /// Keys, values and elements in one part.
    static let partCellCount = 1 << 20
    static let cellByteCount = 65_536
    static let blobByteCount = (16 << 20) + 64
    static let blobsByteCount = 64 << 20
    static let keyLimit: Int64 = 1 << 62
    static let tableCount = 16_384
    static let columnCount = 1_024
    static let nameByteCount = 255
    static let nesting = 100
    /// Files of a checkpoint begin at multiples of this in their space.
    static let checkpointAlignment = 64 << 10
    static let checkpointFileCount = 1 << 10
    static let chunkHeapByteCount = 1 << 20
    static let spaceByteCount: UInt64 = 1 << 47

    static func aligned(_ count: Int) -> Int { (count + alignment - 1) & ~(alignment - 1) }
}

/// Fixed-width little-endian numbers at known places of a structure whose length was checked.
struct Fields {
    let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    private func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) -> T {
        precondition(offset >= 0 && offset + MemoryLayout<T>.size <= bytes.count, "a field lies within its structure")
        return T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    func u8(_ offset: Int) -> UInt8 { load(offset) }
    func u16(_ offset: Int) -> UInt16 { load(offset) }
    func u32(_ offset: Int) -> UInt32 { load(offset) }
    func u64(_ offset: Int) -> UInt64 { load(offset) }
    func i64(_ offset: Int) -> Int64 { load(offset) }

    /// The CRC-32C of the bytes before `end`.
    func crc(to end: Int) -> UInt32 { CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<end])) }
}

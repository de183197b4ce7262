/// What ties a frame to the one before it: no frame can be left out, inserted, moved or exchanged.
struct FrameChain: Equatable, Sendable {
    /// The header CRC of the frame before or, for the first frame of a segment, of the segment's header.
    var crc: UInt32
    /// In an encrypted segment, the tag of the frame before; 0 for the first frame, and in other segments. A checksum
    /// can be forged, and a tag can't.
    var tag = FrameTag()
}

/// The 16 bytes that authenticate a frame of an encrypted segment.
struct FrameTag: Equatable, Sendable {
    /// The first 8 bytes, which the manifest repeats when it seals a segment.
    var head: UInt64 = 0
    var tail: UInt64 = 0

    init() {}

    init(_ bytes: UnsafeRawBufferPointer) {
        head = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        tail = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
}

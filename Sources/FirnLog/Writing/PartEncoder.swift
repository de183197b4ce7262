import FirnBytes
import FirnCrypto

/// A part whose payload is encoded in a frame buffer. Its offset in the log is not known yet.
struct EncodedPart {
    var kind: FrameHeader.Kind
    var flags: FrameHeader.Flags
    var version: UInt64
    var part: UInt32
    var rawCount: UInt32
    var storedCount: UInt32
    var payloadCRC: UInt32
}

/// Compresses parts into frame buffers. Each thread that does so has its own encoder.
struct PartEncoder: ~Copyable {
    private var lz4 = LZ4()
    /// Whether frames have space for a nonce and a tag.
    private let isEncrypting: Bool
    /// Parts with fewer bytes than this are not compressed, because nothing is gained.
    private static let smallest = 64
    /// A commit waits for the compression of parts of at least this size, so it is less thorough.
    private static let large = 64 << 10
    private static let acceleration = 6

    init(isEncrypting: Bool) { self.isEncrypting = isEncrypting }

    /// Lays out a frame in `buffer`: space for the header, the payload (compressed, if that makes it shorter), zeros.
    /// In an encrypted store, space for a nonce and a tag follows the payload.
    mutating func encode(
        _ raw: UnsafeRawBufferPointer, kind: FrameHeader.Kind, version: UInt64, part: UInt32,
        into buffer: inout ByteWriter
    ) -> EncodedPart {
        buffer.removeAll()
        buffer.appendZeros(FrameHeader.byteCount)
        var stored = raw.count
        var flags: FrameHeader.Flags = []
        if raw.count >= Self.smallest {
            let bound = LZ4.bound(raw.count)
            var count: Int?
            buffer.append(count: bound) { target in
                count = lz4.compress(raw, into: target, acceleration: raw.count >= Self.large ? Self.acceleration : 1)
            }
            buffer.truncate(to: FrameHeader.byteCount)
            if let count, count < raw.count {
                stored = count
                flags = .lz4
                buffer.append(count: count) { _ in }  // the bytes are there already
            }
        }
        if !flags.contains(.lz4) { buffer.append(raw) }
        var crc: UInt32 = 0
        if isEncrypting {
            // The frame is encrypted when its offset is known, and its checksum is made then.
            flags.insert(.encrypted)
            stored += SealSize.total
            buffer.appendZeros(SealSize.total)
        } else {
            crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: buffer.bytes[FrameHeader.byteCount...]))
        }
        buffer.appendZeros(FrameHeader.frameByteCount(stored: stored) - buffer.count)
        return EncodedPart(
            kind: kind, flags: flags, version: version, part: part, rawCount: UInt32(raw.count),
            storedCount: UInt32(stored), payloadCRC: crc)
    }
}

/// The bytes that a segment begins with: its header, and the schema in force, if there is one.
enum SegmentPrologue {
    /// Returns the bytes and the chain with which the log continues.
    static func encode(
        _ header: SegmentHeader, schema: [UInt8], time: Int64, cipher: SealingCipher?
    ) -> (bytes: [UInt8], chain: FrameChain) {
        var out = ByteWriter(capacity: 256 + schema.count)
        let chain = FrameChain(crc: header.encode(into: &out))
        guard !schema.isEmpty else { return (out.array(), chain) }
        var encoder = PartEncoder(isEncrypting: cipher != nil)
        var frame = ByteWriter()
        let part = schema.withUnsafeBytes {
            encoder.encode($0, kind: .segmentSchema, version: header.firstVersion - 1, part: 0, into: &frame)
        }
        let frameHeader = FrameHeader(
            kind: .segmentSchema, flags: part.flags.union(.last), storeHigh: header.storeID.high, epoch: header.epoch,
            segment: header.segment, offset: UInt64(header.byteCount), version: part.version, time: time,
            mark: header.mark, part: 0, rawCount: part.rawCount, storedCount: part.storedCount,
            payloadCRC: part.payloadCRC, chain: chain.crc)
        let next = FrameSealing.complete(frameHeader, in: frame.mutableBytes, cipher: cipher, after: chain)
        out.append(frame.bytes)
        return (out.array(), next)
    }
}

import FirnBytes
import FirnCrypto
import FirnStorage

/// The cipher of a segment or a checkpoint file, and where its nonces come from.
struct SealingCipher: Sendable {
    let cipher: FileCipher
    let nonces: NoncePool

    /// Encrypts the first bytes of `bytes` in place. The last 28 bytes of `bytes` become the nonce and the tag.
    func seal(_ bytes: UnsafeMutableRawBufferPointer, authenticating data: UnsafeRawBufferPointer) {
        let end = bytes.count - SealSize.total
        let nonce = UnsafeMutableRawBufferPointer(rebasing: bytes[end..<end + SealSize.nonce])
        nonces.fill(nonce)
        cipher.seal(
            UnsafeMutableRawBufferPointer(rebasing: bytes[..<end]), nonce: UnsafeRawBufferPointer(nonce),
            tag: UnsafeMutableRawBufferPointer(rebasing: bytes[(end + SealSize.nonce)...]), authenticating: data)
    }

    /// Decrypts into `target` what `seal` has made. Returns false if the bytes are not authentic.
    func open(
        _ bytes: UnsafeRawBufferPointer, authenticating data: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let end = bytes.count - SealSize.total
        guard end >= 0 else { return false }
        return cipher.open(
            UnsafeRawBufferPointer(rebasing: bytes[..<end]),
            nonce: UnsafeRawBufferPointer(rebasing: bytes[end..<end + SealSize.nonce]),
            tag: UnsafeRawBufferPointer(rebasing: bytes[(end + SealSize.nonce)...]), authenticating: data, into: target)
    }
}

/// Completes a frame, and opens it again.
///
/// In an encrypted segment, what is authenticated beside the payload is the header without its two CRCs, and the tag of
/// the frame before:
///
/// ```
/// byte 0                     68          72                     88
///      ┌─────────────────────┬───────────┬──────────────────────┐
///      │ header, 0 ..< 68    │ chain     │ tag of frame before  │
///      └─────────────────────┴───────────┴──────────────────────┘
/// ```
enum FrameSealing {
    private static let dataByteCount = 88

    /// Completes the frame in `frame`, which holds space for the header, the payload, space for nonce and tag if there
    /// is a cipher, and padding. Returns the chain behind it.
    static func complete(
        _ header: FrameHeader, in frame: UnsafeMutableRawBufferPointer, cipher: SealingCipher?, after chain: FrameChain
    ) -> FrameChain {
        var header = header
        header.chain = chain.crc
        guard let cipher else { return FrameChain(crc: header.encode(at: frame.baseAddress!)) }
        let stored = UnsafeMutableRawBufferPointer(
            rebasing: frame[FrameHeader.byteCount..<FrameHeader.byteCount + Int(header.storedCount)])
        withData(header, after: chain) { cipher.seal(stored, authenticating: $0) }
        header.payloadCRC = CRC32C.checksum(UnsafeRawBufferPointer(stored))
        return FrameChain(crc: header.encode(at: frame.baseAddress!), tag: tag(of: UnsafeRawBufferPointer(stored)))
    }

    /// Decrypts a frame's stored payload into `target`, which has space for all but nonce and tag. Returns false if it
    /// is not what was written behind the frame before.
    static func open(
        _ header: FrameHeader, _ stored: UnsafeRawBufferPointer, cipher: SealingCipher, after chain: FrameChain,
        into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        withData(header, after: chain) { cipher.open(stored, authenticating: $0, into: target) }
    }

    /// The tag at the end of an encrypted frame's stored payload.
    static func tag(of stored: UnsafeRawBufferPointer) -> FrameTag {
        FrameTag(UnsafeRawBufferPointer(rebasing: stored[(stored.count - SealSize.tag)...]))
    }

    private static func withData<Result>(
        _ header: FrameHeader, after chain: FrameChain, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(byteCount: dataByteCount, alignment: 8) { bytes in
            _ = header.encode(at: bytes.baseAddress!)
            bytes.storeBytes(of: chain.crc.littleEndian, toByteOffset: 68, as: UInt32.self)
            bytes.storeBytes(of: chain.tag.head.littleEndian, toByteOffset: 72, as: UInt64.self)
            bytes.storeBytes(of: chain.tag.tail.littleEndian, toByteOffset: 80, as: UInt64.self)
            return body(UnsafeRawBufferPointer(bytes))
        }
    }
}

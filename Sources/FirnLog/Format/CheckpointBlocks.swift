import FirnBytes
import FirnCrypto

/// How a checkpoint file of an encrypted store is laid out.
///
/// The header and the salt are as they are. What a file without encryption holds before its footer, header included, is
/// cut into **blocks** of 16 KiB; the last one is shorter. Each is encrypted by itself, so that any node can be read
/// without the others. The footer is encrypted as one text.
///
/// ```
///          0        64       128                     16,544
///          ┌────────┬────────┬───────────────────────┬───── ┬──────────┬──────────────────────┐
/// file     │ header │ salt   │ block 0               │ …    │ block n  │ footer               │
///          └────────┴────────┴───────────────────────┴───── ┴──────────┴──────────────────────┘
///
/// block    0                                   16,384        16,396    16,412  16,416
///          ┌───────────────────────────────────┬─────────────┬─────────┬───────┐
///          │ encrypted                         │ nonce (12)  │ tag (16)│ 0 (4) │
///          └───────────────────────────────────┴─────────────┴─────────┴───────┘
///
/// footer   0                   n               n + 12        n + 28      n + 56      n + 60   n + 64
///          ┌───────────────────┬───────────────┬─────────────┬───────────┬───────────┬────────┐
///          │ encrypted         │ nonce (12)    │ tag (16)    │ 0 (28)    │ byte count│ CRC    │
///          └───────────────────┴───────────────┴─────────────┴───────────┴───────────┴────────┘
/// ```
///
/// A block is authenticated with its number and its length, and the footer with the number of the block behind the
/// last one. The byte count and the CRC are of the whole footer, as in a file without encryption. The manifest repeats
/// the CRC.
///
/// A **hole** consists of whole blocks. They may be zeros, and are not read.
enum CheckpointBlocks {
    /// The number of bytes of a block before it is encrypted.
    static let textByteCount = 16 << 10
    /// What encryption adds to a block.
    static let addedByteCount = 32
    /// The distance of blocks in the file.
    static let stride = textByteCount + addedByteCount
    /// What encryption adds to the footer.
    static let footerAddedByteCount = 64

    /// The offset of a block in the file.
    static func offset(of block: Int) -> Int { CheckpointHeader.encryptedByteCount + block * stride }

    /// The number of blocks of a text.
    static func count(_ textByteCount: Int) -> Int { (textByteCount + self.textByteCount - 1) / self.textByteCount }

    /// The offset in the file of the footer behind a text.
    static func end(_ textByteCount: Int) -> Int {
        CheckpointHeader.encryptedByteCount + textByteCount + count(textByteCount) * addedByteCount
    }

    /// The part of the file that can be given back to the file system if a range of the text is not read any more. The
    /// range consists of whole blocks, the part of whole blocks of 4 KiB.
    static func hole(_ range: Range<Int>) -> Range<Int> {
        let start = (offset(of: range.lowerBound / textByteCount) + 4095) & ~4095
        let end = offset(of: range.upperBound / textByteCount) & ~4095
        return start..<max(start, end)
    }

    /// Encrypts a block in place. Its last 32 bytes are for what is added.
    static func seal(_ block: UnsafeMutableRawBufferPointer, number: Int, _ cipher: SealingCipher) {
        let end = block.count - addedByteCount + SealSize.total
        withData(number, byteCount: block.count - addedByteCount) {
            cipher.seal(UnsafeMutableRawBufferPointer(rebasing: block[..<end]), authenticating: $0)
        }
        UnsafeMutableRawBufferPointer(rebasing: block[end...]).initializeMemory(as: UInt8.self, repeating: 0)
    }

    /// Decrypts a block into `target`, which has its length without what is added. Returns false if the block is not
    /// authentic.
    static func open(
        _ block: UnsafeRawBufferPointer, number: Int, _ cipher: SealingCipher,
        into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let end = block.count - addedByteCount + SealSize.total
        return UnsafeRawBufferPointer(rebasing: block[end...]).isAllZero
            && withData(number, byteCount: target.count) {
                cipher.open(UnsafeRawBufferPointer(rebasing: block[..<end]), authenticating: $0, into: target)
            }
    }

    /// Returns the bytes of an encrypted footer.
    static func seal(footer: [UInt8], behind blockCount: Int, _ cipher: SealingCipher) -> [UInt8] {
        let byteCount = footer.count + footerAddedByteCount
        var bytes = footer + [UInt8](repeating: 0, count: SealSize.total)
        bytes.withUnsafeMutableBytes { bytes in
            withData(blockCount, byteCount: footer.count) { cipher.seal(bytes, authenticating: $0) }
        }
        var writer = ByteWriter(capacity: byteCount)
        writer.append(bytes)
        writer.appendZeros(byteCount - 8 - writer.count)
        writer.append(UInt32(byteCount))
        writer.append(CRC32C.checksum(writer.bytes))
        return writer.array()
    }

    /// Decrypts a footer, whose byte count was checked; nil if it is not authentic.
    static func open(footer bytes: [UInt8], behind blockCount: Int, _ cipher: SealingCipher) -> [UInt8]? {
        let count = bytes.count - footerAddedByteCount
        guard count > 0 else { return nil }
        return bytes.withUnsafeBytes { bytes in
            let end = count + SealSize.total
            let crc = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self))
            guard crc == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - 4)])),
                UnsafeRawBufferPointer(rebasing: bytes[end..<(bytes.count - 8)]).isAllZero
            else { return nil }
            var footer = [UInt8](repeating: 0, count: count)
            let isAuthentic = footer.withUnsafeMutableBytes { target in
                withData(blockCount, byteCount: count) {
                    cipher.open(UnsafeRawBufferPointer(rebasing: bytes[..<end]), authenticating: $0, into: target)
                }
            }
            return isAuthentic ? footer : nil
        }
    }

    private static func withData<Result>(
        _ number: Int, byteCount: Int, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        withUnsafeBytes(of: (UInt64(number).littleEndian, UInt64(byteCount).littleEndian), body)
    }
}

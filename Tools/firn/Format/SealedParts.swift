import FirnBytes
import FirnCrypto
import FirnStorage

/// How the parts of an encrypted store's files are opened, as the format describes it.
///
/// ```
/// key of a file: HKDF(data key, salt, "Firn file" + its 128 bytes of header and salt)
/// salt           32 random · 28 zero · CRC of these 60 bytes
/// frame          encrypted · nonce 12 · tag 16; authenticated with bytes 0 ..< 68 and 72 ..< 76 of the header, and
///                the tag of the frame before
/// block          encrypted, 16 KiB · nonce 12 · tag 16 · 4 zero; authenticated with its number and length, two u64
/// footer         encrypted · nonce 12 · tag 16 · 28 zero · length u32 · CRC u32; as a block behind the last one
/// ```
enum SealedParts {
    static let saltByteCount = 64
    static let headerByteCount = 64 + saltByteCount
    static let blockByteCount = 16 << 10
    static let addedByteCount = 32
    static let footerAddedByteCount = 64

    /// The cipher of a file that begins with these bytes; nil if its salt is damaged.
    static func cipher(_ start: UnsafeRawBufferPointer, _ keys: StoreKeys) -> FileCipher? {
        guard start.count >= headerByteCount else { return nil }
        let salt = UnsafeRawBufferPointer(rebasing: start[64..<headerByteCount])
        guard Fields(salt).u32(60) == Fields(salt).crc(to: 60),
            UnsafeRawBufferPointer(rebasing: salt[32..<60]).isAllZero
        else { return nil }
        return keys.cipher(
            salt: [UInt8](salt[..<32]), header: UnsafeRawBufferPointer(rebasing: start[..<headerByteCount]))
    }

    /// Decrypts the first bytes of a part, behind which nonce and tag lie; nil if it is not authentic.
    static func open(
        _ part: UnsafeRawBufferPointer, _ cipher: FileCipher, authenticating data: [UInt8]
    ) -> [UInt8]? {
        let end = part.count - SealSize.total
        guard end >= 0 else { return nil }
        var text = [UInt8](repeating: 0, count: end)
        let isAuthentic = text.withUnsafeMutableBytes { target in
            data.withUnsafeBytes { data in
                cipher.open(
                    UnsafeRawBufferPointer(rebasing: part[..<end]),
                    nonce: UnsafeRawBufferPointer(rebasing: part[end..<end + SealSize.nonce]),
                    tag: UnsafeRawBufferPointer(rebasing: part[(end + SealSize.nonce)...]), authenticating: data,
                    into: target)
            }
        }
        return isAuthentic ? text : nil
    }

    /// What a block or footer is authenticated with.
    static func data(_ number: Int, _ byteCount: Int) -> [UInt8] {
        var writer = ByteWriter(capacity: 16)
        writer.append(UInt64(number))
        writer.append(UInt64(byteCount))
        return writer.array()
    }

    /// The bytes of header and nodes in the whole blocks of a file with this length.
    static func wholeBlocksByteCount(_ fileByteCount: Int) -> Int {
        max(fileByteCount - headerByteCount, 0) / (blockByteCount + addedByteCount) * blockByteCount
    }
}

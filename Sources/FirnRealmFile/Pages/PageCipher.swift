import FirnStorage

#if canImport(CommonCrypto)
    import CommonCrypto
#elseif EncryptedRealmFiles
    import CFirnLibcrypto
#endif

/// Decrypts the pages of an encrypted Realm file.
///
/// The decrypted file is cut into pages of 4 KiB. In the file, each group of 64 pages stands behind a page of IVs:
///
/// ```
/// page of IVs: 64 x | iv1 4 | hmac1 28 | iv2 4 | hmac2 28 |   then 64 pages of 4096 bytes
/// ```
///
/// `iv1` and `hmac1` belong to the newest write of a page, `iv2` and `hmac2` to the one before. They differ because a
/// page's record is written before the page itself: if the process ended in between, the older one fits. A page is
/// encrypted with AES-256-CBC by the first half of the key; `hmac` is HMAC-SHA224 of the encrypted page by the second.
///
/// The system's libraries do both, since swift-crypto has no SHA-224.
struct PageCipher {
    static let pageByteCount = 4096
    private static let groupPageCount = 64
    private static let recordByteCount = 64

    private let key: [UInt8]

    /// - Parameter key: 64 bytes.
    init(key: [UInt8]) {
        precondition(key.count == 64, "Firn: the key of a Realm file has 64 bytes")
        self.key = key
    }

    /// Whether the package was built with what decrypts.
    static var isAvailable: Bool {
        #if canImport(CommonCrypto) || EncryptedRealmFiles
            true
        #else
            false
        #endif
    }

    /// The number of decrypted bytes in a file: whole pages only, without those of IVs.
    static func plainByteCount(of byteCount: Int) -> Int {
        let pages = byteCount / pageByteCount
        let (groups, rest) = pages.quotientAndRemainder(dividingBy: groupPageCount + 1)
        return (groups * groupPageCount + max(rest - 1, 0)) * pageByteCount
    }

    /// Reads a group of pages and decrypts it to `target`, which has the length of the group.
    func read(
        group: Int, of file: any StorageFile, into target: UnsafeMutableRawBufferPointer
    ) throws(RealmFileError) {
        let page = Self.pageByteCount
        let stored = UnsafeMutableRawBufferPointer.allocate(byteCount: page + target.count, alignment: 16)
        defer { stored.deallocate() }
        try file.fill(stored, at: group * (Self.groupPageCount + 1) * page)
        for index in 0..<target.count / page {
            let number = group * Self.groupPageCount + index
            let record = UnsafeRawBufferPointer(
                rebasing: stored[index * Self.recordByteCount..<(index + 1) * Self.recordByteCount])
            let encrypted = UnsafeRawBufferPointer(rebasing: stored[(index + 1) * page..<(index + 2) * page])
            let plain = UnsafeMutableRawBufferPointer(rebasing: target[index * page..<(index + 1) * page])
            try decrypt(encrypted, record, number: number, into: plain)
        }
    }

    /// Decrypts one page. A page that was never written whole has only zeros.
    private func decrypt(
        _ encrypted: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, number: Int,
        into plain: UnsafeMutableRawBufferPointer
    ) throws(RealmFileError) {
        let newest = record.loadUnaligned(as: UInt32.self)
        let before = record.loadUnaligned(fromByteOffset: 32, as: UInt32.self)
        let zeros = { _ = plain.initializeMemory(as: UInt8.self, repeating: 0) }
        guard newest != 0 else { return zeros() }
        let tag = authenticationTag(of: encrypted)
        let iv: UInt32
        if tag.elementsEqual(record[4..<32]) {
            iv = newest
        } else if before != 0, tag.elementsEqual(record[36..<64]) {
            iv = before
        } else if number == 0 {
            throw RealmFileError(.wrongKey, detail: "The first page does not fit it.")
        } else if before == 0 || encrypted.allSatisfy({ $0 == 0 }) {
            return zeros()
        } else {
            throw .damage("page \(number) does not fit its HMAC", at: number * Self.pageByteCount)
        }
        decrypt(encrypted, iv: iv, offset: number * Self.pageByteCount, into: plain)
    }

    /// The IV of a page: its number of writes, its offset and zeros.
    private func initialVector(_ iv: UInt32, _ offset: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 16)
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: iv.littleEndian, as: UInt32.self)
            $0.storeBytes(of: UInt64(offset).littleEndian, toByteOffset: 4, as: UInt64.self)
        }
        return bytes
    }

    #if canImport(CommonCrypto)
        private func authenticationTag(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
            var tag = [UInt8](repeating: 0, count: Int(CC_SHA224_DIGEST_LENGTH))
            key[32...].withUnsafeBytes {
                CCHmac(CCHmacAlgorithm(kCCHmacAlgSHA224), $0.baseAddress, 32, bytes.baseAddress, bytes.count, &tag)
            }
            return tag
        }

        private func decrypt(
            _ encrypted: UnsafeRawBufferPointer, iv: UInt32, offset: Int, into plain: UnsafeMutableRawBufferPointer
        ) {
            var count = 0
            let status = CCCrypt(
                CCOperation(kCCDecrypt), CCAlgorithm(kCCAlgorithmAES), 0, key, 32, initialVector(iv, offset),
                encrypted.baseAddress, encrypted.count, plain.baseAddress, plain.count, &count)
            precondition(status == kCCSuccess && count == plain.count, "Firn: AES-256-CBC failed (\(status))")
        }
    #elseif EncryptedRealmFiles
        private func authenticationTag(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
            var tag = [UInt8](repeating: 0, count: 28)
            var count: UInt32 = 0
            let result = key[32...].withUnsafeBytes {
                HMAC(
                    EVP_sha224(), $0.baseAddress, 32, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    bytes.count, &tag, &count)
            }
            precondition(result != nil && count == 28, "Firn: HMAC-SHA224 failed")
            return tag
        }

        private func decrypt(
            _ encrypted: UnsafeRawBufferPointer, iv: UInt32, offset: Int, into plain: UnsafeMutableRawBufferPointer
        ) {
            let context = EVP_CIPHER_CTX_new()
            defer { EVP_CIPHER_CTX_free(context) }
            var count: Int32 = 0
            let isDone =
                EVP_DecryptInit_ex(context, EVP_aes_256_cbc(), nil, key, initialVector(iv, offset)) == 1
                && EVP_CIPHER_CTX_set_padding(context, 0) == 1
                && EVP_DecryptUpdate(
                    context, plain.baseAddress?.assumingMemoryBound(to: UInt8.self), &count,
                    encrypted.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(encrypted.count)) == 1
            precondition(isDone && Int(count) == plain.count, "Firn: AES-256-CBC failed")
        }
    #else
        private func authenticationTag(of bytes: UnsafeRawBufferPointer) -> [UInt8] { unavailable() }

        private func decrypt(
            _ encrypted: UnsafeRawBufferPointer, iv: UInt32, offset: Int, into plain: UnsafeMutableRawBufferPointer
        ) { unavailable() }

        private func unavailable() -> Never { fatalError("Firn: a Realm file is decrypted without isAvailable") }
    #endif
}

import FirnBytes
import FirnCrypto
import FirnStorage

/// The keys of an encrypted store that the tool makes, and how its parts are encrypted (`SealedParts`).
struct StoreSealing {
    let keys: StoreKeys
    let wrapped: WrappedKey
    private let randomness: any Randomness

    /// Makes the keys of a new store with the algorithm of another one, which the same user's key opens.
    init(_ key: EncryptionKey, algorithm: EncryptionAlgorithm, randomness: any Randomness) {
        keys = StoreKeys(algorithm: algorithm, dataKey: SecretBytes(count: 32) { randomness.fill($0) })
        wrapped = keys.wrap(for: key, salt: randomness.bytes(WrappedKey.saltByteCount))
        self.randomness = randomness
    }

    /// Appends a salt to a file's header, with which the file begins, and returns the file's cipher.
    func addSalt(to file: inout ByteWriter) -> FileCipher {
        let salt = randomness.bytes(32)
        let start = file.count
        file.append(salt)
        file.appendZeros(28)
        file.append(CRC32C.checksum(UnsafeRawBufferPointer(rebasing: file.bytes[start...])))
        return keys.cipher(salt: salt, header: file.bytes)
    }

    /// The encrypted text, a new nonce, and the tag.
    func seal(_ text: [UInt8], _ cipher: FileCipher, authenticating data: [UInt8]) -> [UInt8] {
        let nonce = randomness.bytes(SealSize.nonce)
        var sealed = text
        var tag = [UInt8](repeating: 0, count: SealSize.tag)
        sealed.withUnsafeMutableBytes { text in
            tag.withUnsafeMutableBytes { tag in
                nonce.withUnsafeBytes { nonce in
                    data.withUnsafeBytes { cipher.seal(text, nonce: nonce, tag: tag, authenticating: $0) }
                }
            }
        }
        return sealed + nonce + tag
    }
}

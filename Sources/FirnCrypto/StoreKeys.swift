import FirnStorage

#if Encryption
    import Crypto
    import Foundation
#elseif canImport(CryptoKit)
    import CryptoKit
    import Foundation
#endif

/// The data key of an encrypted store as the manifest holds it: wrapped by the user's key.
package struct WrappedKey: Sendable, Equatable {
    package static let saltByteCount = 32
    package var algorithm: EncryptionAlgorithm
    /// Random; with the user's key it gives the key that wraps the data key.
    package var salt: [UInt8]
    /// The wrapped data key (RFC 3394): 40 bytes, 8 more than the data key has.
    package var bytes: [UInt8]

    package init(algorithm: EncryptionAlgorithm, salt: [UInt8], bytes: [UInt8]) {
        self.algorithm = algorithm
        self.salt = salt
        self.bytes = bytes
    }
}

#if Encryption || canImport(CryptoKit)
    /// The keys of one store. All of them come from its **data key**: 32 random bytes, made with the store.
    ///
    /// ```
    /// user's key (64 bytes) ─ HKDF, salt ─▶ wrapping key ─ unwraps ─▶ data key
    ///                                                               ├─ HKDF ─▶ manifest key: HMAC-SHA256
    ///                                                               └─ HKDF, salt and header ─▶ a key for each file
    /// ```
    ///
    /// So the user's key is changed by wrapping the same data key again (`wrap(for:salt:)`). HKDF (RFC 5869) is with
    /// SHA-256; its `info` begins with a name for each purpose.
    package struct StoreKeys: Sendable {
        package let algorithm: EncryptionAlgorithm
        let dataKey: SecretBytes
        let manifestKey: SymmetricKey

        /// The keys of a new store.
        ///
        /// - Parameter dataKey: 32 random bytes.
        package init(algorithm: EncryptionAlgorithm, dataKey: SecretBytes) {
            self.algorithm = algorithm
            self.dataKey = dataKey
            manifestKey = Self.derive(dataKey, salt: [], info: "Firn manifest", [])
        }

        /// Unwraps a store's data key; nil if `key` is not the key that it was wrapped with.
        package init?(_ wrapped: WrappedKey, key: EncryptionKey) {
            let wrapping = Self.wrappingKey(key, salt: wrapped.salt)
            guard let dataKey = try? AES.KeyWrap.unwrap(wrapped.bytes, using: wrapping), dataKey.bitCount == 256 else {
                return nil
            }
            self.init(
                algorithm: wrapped.algorithm, dataKey: dataKey.withUnsafeBytes { SecretBytes(copying: $0) })
        }

        /// Wraps the data key for a user's key.
        ///
        /// - Parameter salt: 32 random bytes.
        package func wrap(for key: EncryptionKey, salt: [UInt8]) -> WrappedKey {
            let dataKey = self.dataKey.withBytes { SymmetricKey(data: $0) }
            do {
                let bytes = try AES.KeyWrap.wrap(dataKey, using: Self.wrappingKey(key, salt: salt))
                return WrappedKey(algorithm: algorithm, salt: salt, bytes: [UInt8](bytes))
            } catch {
                // Only a key of the wrong size fails here.
                fatalError("Firn: wrapping a key failed: \(error)")
            }
        }

        /// The 32 bytes that authenticate a block of the manifest.
        package func manifestTag(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
            [UInt8](HMAC<SHA256>.authenticationCode(for: bytes, using: manifestKey))
        }

        /// The cipher of a file.
        ///
        /// - Parameters:
        ///   - salt: the 32 random bytes in its header.
        ///   - header: its whole header. A header that was changed gives another key, with which nothing is opened.
        package func cipher(salt: [UInt8], header: UnsafeRawBufferPointer) -> FileCipher {
            FileCipher(algorithm: algorithm, key: Self.derive(dataKey, salt: salt, info: "Firn file", header))
        }

        private static func wrappingKey(_ key: EncryptionKey, salt: [UInt8]) -> SymmetricKey {
            derive(key.bytes, salt: salt, info: "Firn wrap", [])
        }

        private static func derive(
            _ secret: SecretBytes, salt: [UInt8], info: String, _ more: some Sequence<UInt8>
        ) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: secret.withBytes { SymmetricKey(data: $0) }, salt: salt,
                info: Array(info.utf8) + more,
                outputByteCount: 32)
        }
    }
#else
    /// Keys of a build without cryptography. Nothing makes them: `EncryptionAlgorithm` has nothing available.
    package struct StoreKeys: Sendable {
        package init?(_ wrapped: WrappedKey, key: EncryptionKey) { return nil }

        package var algorithm: EncryptionAlgorithm { stopForMissingCryptography() }

        package init(algorithm: EncryptionAlgorithm, dataKey: SecretBytes) { stopForMissingCryptography() }

        package func wrap(for key: EncryptionKey, salt: [UInt8]) -> WrappedKey { stopForMissingCryptography() }

        package func manifestTag(_ bytes: UnsafeRawBufferPointer) -> [UInt8] { stopForMissingCryptography() }

        package func cipher(salt: [UInt8], header: UnsafeRawBufferPointer) -> FileCipher {
            stopForMissingCryptography()
        }
    }
#endif

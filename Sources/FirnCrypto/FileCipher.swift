#if Encryption
    import Crypto
    import CryptoExtras
    import Foundation
#elseif canImport(CryptoKit)
    import CryptoKit
    import Foundation
#endif

#if Encryption || canImport(CryptoKit)
    /// Encrypts and decrypts the parts of one file: the frames of a segment, or the blocks of a checkpoint file.
    ///
    /// Each file has a key of its own (`StoreKeys.cipher(salt:header:)`), so parts of different files can't be
    /// exchanged. Every nonce is random. It is never made from an offset, a version or a counter. `LogTail.cut` lets
    /// the same offset and version be written again with other bytes, and two copies of a store's folder have the same
    /// open segment.
    package struct FileCipher: Sendable {
        let algorithm: EncryptionAlgorithm
        let key: SymmetricKey

        /// Encrypts `text` in place, and writes the tag to `tag`, which has 16 bytes.
        ///
        /// - Parameters:
        ///   - nonce: 12 random bytes that no other call has got.
        ///   - data: bytes that are authenticated too, and are not encrypted.
        package func seal(
            _ text: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer, tag: UnsafeMutableRawBufferPointer,
            authenticating data: UnsafeRawBufferPointer
        ) {
            precondition(
                nonce.count == SealSize.nonce && tag.count == SealSize.tag, "Firn: a nonce or a tag has a wrong length")
            do {
                let message = UnsafeRawBufferPointer(text)
                // Nonce, encrypted text and tag.
                let sealed: Data
                switch algorithm {
                case .aesGCMSIV:
                    #if Encryption
                        sealed = try AES.GCM._SIV.seal(
                            message, using: key, nonce: AES.GCM._SIV.Nonce(data: nonce), authenticating: data
                        ).combined
                    #else
                        throw CryptoKitError.incorrectParameterSize
                    #endif
                case .aesGCM:
                    guard
                        let box = try AES.GCM.seal(
                            message, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: data
                        ).combined
                    else { throw CryptoKitError.incorrectParameterSize }
                    sealed = box
                case .chaChaPoly:
                    sealed = try ChaChaPoly.seal(
                        message, using: key, nonce: ChaChaPoly.Nonce(data: nonce), authenticating: data
                    ).combined
                }
                precondition(sealed.count == text.count + SealSize.total, "Firn: a cipher returned a wrong length")
                sealed.withUnsafeBytes { bytes in
                    let end = SealSize.nonce + text.count
                    text.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[SealSize.nonce..<end]))
                    tag.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[end...]))
                }
            } catch {
                // Only a parameter of the wrong size fails here, and all of them have fixed sizes.
                fatalError("Firn: encrypting \(text.count) bytes failed: \(error)")
            }
        }

        /// Decrypts `text` into `target`, which has the same length. Returns false, with `target` unchanged, if any bit
        /// of the text, the nonce, the tag or the data differs from what was sealed.
        package func open(
            _ text: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer,
            authenticating data: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
        ) -> Bool {
            precondition(
                nonce.count == SealSize.nonce && tag.count == SealSize.tag && target.count == text.count,
                "Firn: a nonce, a tag or a decrypted text has a wrong length")
            let sealed = Self.combined(nonce, text, tag)
            let opened: Data?
            switch algorithm {
            case .aesGCMSIV:
                #if Encryption
                    opened = try? AES.GCM._SIV.open(
                        AES.GCM._SIV.SealedBox(combined: sealed), using: key, authenticating: data)
                #else
                    opened = nil
                #endif
            case .aesGCM:
                opened = try? AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key, authenticating: data)
            case .chaChaPoly:
                opened = try? ChaChaPoly.open(
                    ChaChaPoly.SealedBox(combined: sealed), using: key, authenticating: data)
            }
            guard let opened, opened.count == target.count else { return false }
            opened.withUnsafeBytes { target.copyMemory(from: $0) }
            return true
        }

        /// What a `SealedBox` consists of, in this order. It can also be made of the three parts, but for a block of
        /// 16 KiB that took longer than decrypting it.
        private static func combined(_ parts: UnsafeRawBufferPointer...) -> Data {
            var combined = Data(count: parts.reduce(0) { $0 + $1.count })
            combined.withUnsafeMutableBytes { bytes in
                var rest = bytes[...]
                for part in parts {
                    UnsafeMutableRawBufferPointer(rebasing: rest).copyMemory(from: part)
                    rest = rest.dropFirst(part.count)
                }
            }
            return combined
        }
    }
#else
    /// A cipher of a build without cryptography. Nothing makes one: `EncryptionAlgorithm` has nothing available.
    package struct FileCipher: Sendable {
        private init() {}

        package func seal(
            _ text: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer, tag: UnsafeMutableRawBufferPointer,
            authenticating data: UnsafeRawBufferPointer
        ) {
            stopForMissingCryptography()
        }

        package func open(
            _ text: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer,
            authenticating data: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
        ) -> Bool {
            stopForMissingCryptography()
        }
    }

    /// Stops a program that uses keys which `EncryptionAlgorithm` calls unavailable.
    func stopForMissingCryptography() -> Never {
        preconditionFailure("Firn: this build has no cryptography. Turn on the package's trait Encryption.")
    }
#endif

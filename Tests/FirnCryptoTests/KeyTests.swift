#if Encryption
    import FirnStorage
    import Testing

    @testable import FirnCrypto

    /// Keys and ciphers against values that another library gives for the same rules (Python's `cryptography` 48).
    @Suite struct KeyTests {
        private static let userKey = bytes(0, 64)
        private static let salt = Array<UInt8>(100..<132)
        private static let dataKey = SecretBytes(count: 32) { $0.copyBytes(from: Array<UInt8>(200..<232)) }

        private static func bytes(_ first: UInt8, _ count: UInt8) -> EncryptionKey {
            Array<UInt8>(first..<first + count).withUnsafeBytes { EncryptionKey($0)! }
        }

        private func hex(_ bytes: [UInt8]) -> String {
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }

        /// A short text, encrypted with the cipher of a file. The nonce and the tag follow it.
        private func sealed(_ algorithm: EncryptionAlgorithm) -> (cipher: FileCipher, text: [UInt8], tag: [UInt8]) {
            let keys = StoreKeys(algorithm: algorithm, dataKey: Self.dataKey)
            let cipher = Array("header".utf8).withUnsafeBytes { keys.cipher(salt: Self.salt, header: $0) }
            var text = Array("the text of a frame".utf8)
            var tag = [UInt8](repeating: 0, count: SealSize.tag)
            text.withUnsafeMutableBytes { text in
                tag.withUnsafeMutableBytes { tag in
                    Array<UInt8>(0..<12).withUnsafeBytes { nonce in
                        Array("its header".utf8).withUnsafeBytes {
                            cipher.seal(text, nonce: nonce, tag: tag, authenticating: $0)
                        }
                    }
                }
            }
            return (cipher, text, tag)
        }

        @Test(
            arguments: [
                (.aesGCMSIV, "f794fed0b8cc48363bbb68d55c34cff68b237a5753d24314b13c96dd48df71ca3e104d"),
                (.aesGCM, "3cbbd2152049e98ef12ad15d8a3c097ebc7eabd687ef36f7190c00fc6f7c7d92fb0497"),
                (.chaChaPoly, "97e4492db5b6231b035dd3911beca4cbac586824c5e79dd149a507fcab0ad918e84fe6"),
            ] as [(EncryptionAlgorithm, String)])
        func aTextIsEncryptedAsOthersDo(algorithm: EncryptionAlgorithm, expected: String) {
            let (_, text, tag) = sealed(algorithm)
            #expect(hex(text + tag) == expected)
        }

        @Test func aDataKeyIsWrappedAsOthersDo() throws {
            let keys = StoreKeys(algorithm: .aesGCMSIV, dataKey: Self.dataKey)
            let wrapped = keys.wrap(for: Self.userKey, salt: Self.salt)
            #expect(
                hex(wrapped.bytes) == "6be603bfe708f27debb7c4e888462646abc193191e71e52a082a934ec07211ba5d5478a0ccd64547"
            )
            let again = try #require(StoreKeys(wrapped, key: Self.userKey))
            for keys in [keys, again] {
                let tag = Array("abc".utf8).withUnsafeBytes { keys.manifestTag($0) }
                #expect(hex(tag) == "b931578c6c6fd41476bbed4cd64dbd5bacd03a831b2c0090b50cbef76244311a")
            }
            #expect(StoreKeys(wrapped, key: Self.bytes(1, 64)) == nil)
            for bit in 0..<(40 * 8) {
                var other = wrapped
                other.bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect(StoreKeys(other, key: Self.userKey) == nil)
            }
        }

        /// A change of any bit of what was encrypted, of the nonce, of the tag or of what is only authenticated.
        @Test(arguments: EncryptionAlgorithm.allCases) func whatWasChangedIsNotOpened(algorithm: EncryptionAlgorithm) {
            let (cipher, text, tag) = sealed(algorithm)
            let parts = [text, Array<UInt8>(0..<12), tag, Array("its header".utf8)]
            func open(_ parts: [[UInt8]]) -> [UInt8]? {
                var target = [UInt8](repeating: 0, count: parts[0].count)
                let isOpened = target.withUnsafeMutableBytes { target in
                    parts[0].withUnsafeBytes { text in
                        parts[1].withUnsafeBytes { nonce in
                            parts[2].withUnsafeBytes { tag in
                                parts[3].withUnsafeBytes {
                                    cipher.open(text, nonce: nonce, tag: tag, authenticating: $0, into: target)
                                }
                            }
                        }
                    }
                }
                return isOpened ? target : nil
            }
            #expect(open(parts) == Array("the text of a frame".utf8))
            for part in 0..<parts.count {
                for bit in 0..<(parts[part].count * 8) {
                    var changed = parts
                    changed[part][bit / 8] ^= 1 << UInt8(bit % 8)
                    #expect(open(changed) == nil, "part \(part), bit \(bit)")
                }
            }
        }

        @Test func keysAreComparedByAllBytes() {
            #expect(Self.bytes(0, 64) == Self.bytes(0, 64) && Self.bytes(0, 64) != Self.bytes(1, 64))
            #expect(Array<UInt8>(0..<63).withUnsafeBytes { EncryptionKey($0) } == nil)
        }
    }
#endif

import FirnStorage

/// The 64 bytes with which a user opens an encrypted store.
///
/// They lie in memory that is locked and is zeroed when the last copy is released (`SecretBytes`).
package struct EncryptionKey: Sendable, Equatable {
    /// The number of bytes of a key, as Realm's.
    package static let byteCount = 64

    let bytes: SecretBytes

    /// Copies a key; nil if it does not have 64 bytes.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = SecretBytes(copying: bytes)
    }

    /// The key of stores that are opened without one: nil, except in debug builds if the environment has
    /// `FIRN_TEST_KEY`. Then the tests run with encrypted stores only.
    package static var ofTests: EncryptionKey? {
        #if DEBUG
            isTestedWithKey ? [UInt8](repeating: 0x46, count: byteCount).withUnsafeBytes { EncryptionKey($0) } : nil
        #else
            nil
        #endif
    }

    #if DEBUG
        private static let isTestedWithKey = hasEnvironmentVariable("FIRN_TEST_KEY")
    #endif

    /// Calls `body` with the bytes, which are valid only during the call.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { bytes.withBytes(body) }

    package static func == (left: EncryptionKey, right: EncryptionKey) -> Bool {
        right.bytes.withBytes { left.isEqual(to: $0) }
    }

    /// Compares all bytes, so the time does not tell how many are equal.
    package func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard other.count == Self.byteCount else { return false }
        return bytes.withBytes { own in
            var difference: UInt8 = 0
            for index in 0..<Self.byteCount { difference |= own[index] ^ other[index] }
            return difference == 0
        }
    }
}

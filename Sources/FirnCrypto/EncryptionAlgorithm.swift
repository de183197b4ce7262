import CFirn

/// How the frames and blocks of a store are encrypted. The manifest names it; it never changes.
package enum EncryptionAlgorithm: UInt8, Sendable, CaseIterable {
    /// AES-256-GCM-SIV (RFC 8452). A nonce that is used twice shows only whether two texts are equal.
    case aesGCMSIV = 1
    /// AES-256-GCM (NIST SP 800-38D), for systems whose library has nothing else.
    case aesGCM = 2
    /// ChaCha20-Poly1305 (RFC 8439), for processors without instructions for AES.
    case chaChaPoly = 3

    /// The algorithm of a new store; nil if this build has no cryptography.
    package static var preferred: EncryptionAlgorithm? {
        guard firn_has_aes() else { return chaChaPoly.isAvailable ? .chaChaPoly : nil }
        return [.aesGCMSIV, .aesGCM].first(where: \.isAvailable)
    }

    /// The name by which specifications call it.
    package var name: String {
        switch self {
        case .aesGCMSIV: "AES-256-GCM-SIV"
        case .aesGCM: "AES-256-GCM"
        case .chaChaPoly: "ChaCha20-Poly1305"
        }
    }

    /// Whether this build can read and write it.
    package var isAvailable: Bool {
        #if Encryption
            true
        #elseif canImport(CryptoKit)
            self != .aesGCMSIV
        #else
            false
        #endif
    }
}

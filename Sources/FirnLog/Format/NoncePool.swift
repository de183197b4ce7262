import FirnCrypto
import FirnStorage

/// The nonces of a file, which the system makes `count` at a time.
///
/// Asking the system for each nonce costs more than encrypting a small frame. With AES-256-GCM-SIV they are made in
/// advance. A machine that is resumed twice from one image of its memory then takes nonces twice. With this algorithm
/// that shows only whether two texts are equal (RFC 8452). The other algorithms do not forgive it, so their nonces are
/// made when they are needed.
final class NoncePool: Sendable {
    /// The most nonces of a call: the system makes up to 256 bytes in one piece.
    static let mostCount = 256 / SealSize.nonce

    private let randomness: any Randomness
    private let byteCount: Int
    private let rest = Guarded<ArraySlice<UInt8>>(.innermost, [])

    init(_ randomness: any Randomness, count: Int) {
        self.randomness = randomness
        byteCount = count * SealSize.nonce
    }

    convenience init(_ randomness: any Randomness, for algorithm: EncryptionAlgorithm) {
        self.init(randomness, count: algorithm == .aesGCMSIV ? Self.mostCount : 1)
    }

    func fill(_ nonce: UnsafeMutableRawBufferPointer) {
        rest.withLock { rest in
            if rest.isEmpty { rest = randomness.bytes(byteCount)[...] }
            nonce.copyBytes(from: rest.prefix(SealSize.nonce))
            rest = rest.dropFirst(SealSize.nonce)
        }
    }
}

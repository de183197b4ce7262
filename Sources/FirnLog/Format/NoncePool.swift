import FirnCrypto
import FirnStorage

/// Nonces of AES-256-GCM-SIV, which the system makes 21 at a time: asking it for each one costs more than encrypting a
/// small frame.
///
/// A machine that is resumed twice from one image of its memory takes the nonces of the pool twice. With this algorithm
/// that shows only whether two texts are equal (RFC 8452). The other algorithms do not forgive it, so their nonces
/// are made when they are needed.
final class NoncePool: Sendable {
    /// The number of bytes of a call. The system makes up to 256 bytes in one piece.
    static let byteCount = 256 / SealSize.nonce * SealSize.nonce

    private let randomness: any Randomness
    private let bytes = Guarded(.innermost, (bytes: [UInt8](repeating: 0, count: NoncePool.byteCount), next: byteCount))

    init(_ randomness: any Randomness) { self.randomness = randomness }

    func fill(_ nonce: UnsafeMutableRawBufferPointer) {
        bytes.withLock { pool in
            if pool.next == Self.byteCount {
                pool.bytes.withUnsafeMutableBytes { randomness.fill($0) }
                pool.next = 0
            }
            pool.bytes.withUnsafeBytes {
                nonce.copyMemory(from: .init(rebasing: $0[pool.next..<pool.next + nonce.count]))
            }
            pool.next += nonce.count
        }
    }
}

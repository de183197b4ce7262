import FirnCrypto
import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnLog

/// A pool hands out each nonce once, as the source has made it.
@Suite(.timeLimit(.minutes(20))) struct NoncePoolTests {
    /// Bytes that count up, and what was asked for.
    private final class Counter: Randomness {
        private let state = Mutex((next: 0, calls: 0))
        func next() -> UInt64 { 0 }
        func fill(_ buffer: UnsafeMutableRawBufferPointer) {
            state.withLock { state in
                state.calls += 1
                for start in stride(from: 0, to: buffer.count, by: 4) {
                    buffer.storeBytes(of: UInt32(state.next), toByteOffset: start, as: UInt32.self)
                    state.next += 1
                }
            }
        }
        var calls: Int { state.withLock { $0.calls } }
    }

    @Test(arguments: [1, NoncePool.mostCount]) func eachNonceIsHandedOutOnce(_ count: Int) {
        let counter = Counter()
        let pool = NoncePool(counter, count: count)
        #expect(counter.calls == 0)
        for number in 0..<100 {
            var nonce: (UInt32, UInt32, UInt32) = (0, 0, 0)
            withUnsafeMutableBytes(of: &nonce) { pool.fill($0) }
            #expect(nonce == (UInt32(3 * number), UInt32(3 * number + 1), UInt32(3 * number + 2)))
        }
        #expect(NoncePool.mostCount * SealSize.nonce <= 256 && counter.calls == (100 - 1) / count + 1)
    }
}

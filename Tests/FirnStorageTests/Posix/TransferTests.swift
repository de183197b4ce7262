import FirnTestSupport
import Testing

@testable import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Below the `Storage` protocol: system calls that a signal interrupts, or that move only a part of the bytes.
@Suite(.timeLimit(.minutes(20))) struct TransferTests {
    /// A system that interrupts and shortens calls at random, depending on a seed.
    private final class UnreliableSystem {
        private var random: SeededRandom
        var interruptions = 0
        var shortCalls = 0

        init(seed: UInt64) { random = SeededRandom(seed: seed) }

        /// The length that is moved; -1 and `errno` if the call is interrupted.
        func length(_ wanted: Int) -> Int {
            if random.below(3) == 0 {
                interruptions += 1
                errno = EINTR
                return -1
            }
            let length = 1 + random.below(wanted)
            if length < wanted { shortCalls += 1 }
            return length
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func interruptedAndShortReadsReturnEveryByteOnce(seed: UInt64) throws {
        let file = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let system = UnreliableSystem(seed: seed)
        var target = [UInt8](repeating: 0, count: 800)
        let count = try Transfer.read(count: target.count, path: "f") { done, length in
            let moved = system.length(length)
            if moved > 0 {
                target.replaceSubrange(done..<(done + moved), with: file[(100 + done)..<(100 + done + moved)])
            }
            return moved
        }
        #expect(count == 800 && target == Array(file[100..<900]))
        #expect(system.interruptions + system.shortCalls > 0)
    }

    @Test func aReadStopsAtTheEndOfTheFile() throws {
        var calls = 0
        let count = try Transfer.read(count: 100, path: "f") { done, _ in
            calls += 1
            return done == 0 ? 30 : 0
        }
        #expect(count == 30 && calls == 2)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func interruptedAndShortWritesWriteEveryByteOnceAndInOrder(seed: UInt64) throws {
        let system = UnreliableSystem(seed: seed)
        var written: [Int] = []
        try Transfer.write(count: 800, path: "f") { done, length in
            let moved = system.length(length)
            if moved > 0 { written += Array(done..<(done + moved)) }
            return moved
        }
        #expect(written == Array(0..<800))
        #expect(system.interruptions + system.shortCalls > 0)
    }

    @Test func otherErrorsAndLackOfProgressEndATransfer() {
        #expect(throws: StorageError(number: EIO, operation: "write", path: "f")) {
            try Transfer.write(count: 10, path: "f") { _, _ in
                errno = EIO
                return -1
            }
        }
        #expect(throws: StorageError(.io, operation: "write", path: "f")) {
            try Transfer.write(count: 10, path: "f") { _, _ in 0 }
        }
        #expect(throws: StorageError(number: EIO, operation: "read", path: "f")) {
            _ = try Transfer.read(count: 10, path: "f") { _, _ in
                errno = EIO
                return -1
            }
        }
    }

    @Test func aCallThatASignalInterruptedIsRepeated() {
        var calls = 0
        let result = retrying {
            calls += 1
            if calls < 4 {
                errno = EINTR
                return -1
            }
            return 7
        }
        #expect(result == 7 && calls == 4)
    }
}

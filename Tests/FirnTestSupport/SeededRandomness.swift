import FirnStorage
import Synchronization

/// The splitmix64 sequence of a seed: the same numbers each time, if one thread asks for them.
public final class SeededRandomness: Randomness, CustomStringConvertible {
    public let seed: UInt64
    // Atomic, so that each call gets a state of its own, on any thread.
    private let state: Atomic<UInt64>

    public init(seed: UInt64) {
        self.seed = seed
        state = Atomic(seed)
    }

    public func next() -> UInt64 {
        var z = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    public var description: String { "seed \(seed)" }
}

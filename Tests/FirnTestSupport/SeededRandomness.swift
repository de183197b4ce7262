import FirnStorage
import Synchronization

/// The numbers of `SeededRandom`, for any thread: the same ones each time, if one thread asks for them.
public final class SeededRandomness: Randomness, CustomStringConvertible {
    public let seed: UInt64
    // Atomic, so that each call gets a state of its own, on any thread.
    private let state: Atomic<UInt64>

    public init(seed: UInt64) {
        self.seed = seed
        state = Atomic(seed)
    }

    public func next() -> UInt64 {
        SeededRandom.mixed(state.wrappingAdd(SeededRandom.step, ordering: .relaxed).newValue)
    }

    public var description: String { "seed \(seed)" }
}

/// The splitmix64 generator: small, seeded, and the same everywhere. A test that uses it reports its seed when it
/// fails.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= Self.step
        return Self.mixed(state)
    }

    /// What is added to the state for each number.
    static var step: UInt64 { 0x9E37_79B9_7F4A_7C15 }

    /// The number of a state.
    static func mixed(_ state: UInt64) -> UInt64 {
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// A number from 0 up to, but not including, `limit`.
    public mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}

import FirnStorage

/// The identity of a store: 128 random bits, given when it is made and kept for life. Frames carry the first half.
public struct StoreID: Sendable, Hashable, CustomStringConvertible {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init(_ randomness: any Randomness) {
        // Never zero, so that zeroed memory is nobody's.
        self.init(high: randomness.next() | 1, low: randomness.next())
    }

    public var description: String {
        func hexadecimal(_ value: UInt64) -> String {
            let digits = String(value, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return hexadecimal(high) + hexadecimal(low)
    }
}

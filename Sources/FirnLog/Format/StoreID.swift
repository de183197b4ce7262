import FirnStorage

/// The identity of a store: 128 random bits, chosen when the store is made and never changed. Frames carry the
/// first half.
package struct StoreID: Sendable, Hashable, CustomStringConvertible {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init(_ randomness: any Randomness) {
        // Never zero, so that zeroed memory belongs to no store.
        self.init(high: randomness.next() | 1, low: randomness.next())
    }

    package var description: String {
        func hexadecimal(_ value: UInt64) -> String {
            let digits = String(value, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return hexadecimal(high) + hexadecimal(low)
    }
}

/// One bit for each unit of a mapping. The bits lie in memory that the caller owns, which begins as zeros and costs
/// nothing where no bit was ever set.
struct UnitBits {
    private let words: UnsafeMutablePointer<UInt64>

    init(_ memory: UnsafeMutableRawPointer) { words = memory.assumingMemoryBound(to: UInt64.self) }

    @inline(__always)
    func contains(_ unit: Int) -> Bool { words[unit >> 6] >> UInt64(unit & 63) & 1 != 0 }

    /// Whether a bit of a range is set. O(units / 64).
    func areAny(in units: Range<Int>) -> Bool {
        var isAny = false
        BitSet.forEachWord(of: units) { if words[$0] & $1 != 0 { isAny = true } }
        return isAny
    }

    func insert(_ unit: Int) { words[unit >> 6] |= 1 << UInt64(unit & 63) }

    func insert(_ units: Range<Int>) { BitSet.forEachWord(of: units) { words[$0] |= $1 } }
}

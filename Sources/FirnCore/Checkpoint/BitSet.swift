/// A set of small integers, a bit each.
struct BitSet {
    private var words: [UInt64]

    /// - Parameter count: what is asked for is below it, or below the end of what was inserted.
    init(count: Int) { words = [UInt64](repeating: 0, count: count / 64 + 1) }

    @inline(__always)
    func contains(_ member: Int) -> Bool { words[member >> 6] >> UInt64(member & 63) & 1 != 0 }

    mutating func insert(_ range: Range<Int>) {
        while words.count * 64 < range.upperBound { words.append(0) }
        BitSet.forEachWord(of: range) { words[$0] |= $1 }
    }

    mutating func insert(_ member: Int) { insert(member..<member + 1) }

    mutating func remove(_ member: Int) { words[member >> 6] &= ~(1 << UInt64(member & 63)) }

    /// The least member above another number.
    func next(after member: Int) -> Int? {
        let end = words.count * 64
        let next = next(from: member + 1, to: end, isMember: true)
        return next < end ? next : nil
    }

    /// How many members lie in a range, which may end behind the last possible one.
    func count(in range: Range<Int>) -> Int {
        var count = 0
        BitSet.forEachWord(of: range.clamped(to: 0..<words.count * 64)) { count += (words[$0] & $1).nonzeroBitCount }
        return count
    }

    /// Calls `body` with each run in a range, as long as can be, that has no member.
    func forEachGap(in range: Range<Int>, _ body: (Range<Int>) -> Void) {
        var start = range.lowerBound
        while start < range.upperBound {
            start = next(from: start, to: range.upperBound, isMember: false)
            let end = next(from: start, to: range.upperBound, isMember: true)
            if start < end { body(start..<end) }
            start = end
        }
    }

    /// The first place from `start` on that is a member or not, or `end`.
    private func next(from start: Int, to end: Int, isMember: Bool) -> Int {
        var place = start
        while place < end {
            let word = (isMember ? words[place >> 6] : ~words[place >> 6]) >> UInt64(place & 63)
            if word != 0 { return min(end, place + word.trailingZeroBitCount) }
            place = (place >> 6 + 1) << 6
        }
        return end
    }

    /// Calls `body` with each word's place and the bits of it that are in a range.
    static func forEachWord(of range: Range<Int>, _ body: (Int, UInt64) -> Void) {
        guard !range.isEmpty else { return }
        let (first, last) = (range.lowerBound >> 6, (range.upperBound - 1) >> 6)
        for place in first...last {
            var mask = UInt64.max
            if place == first { mask &= .max << UInt64(range.lowerBound & 63) }
            if place == last { mask &= .max >> UInt64(63 - (range.upperBound - 1) & 63) }
            body(place, mask)
        }
    }
}

/// A set of small integers, with one bit for each.
struct BitSet {
    private var words: [UInt64]

    /// - Parameter count: callers test and remove only members below this number, or below the end of what was
    ///   inserted.
    init(count: Int) { words = [UInt64](repeating: 0, count: count / 64 + 1) }

    @inline(__always)
    func contains(_ member: Int) -> Bool { words[member >> 6] >> UInt64(member & 63) & 1 != 0 }

    mutating func insert(_ range: Range<Int>) {
        while words.count * 64 < range.upperBound { words.append(0) }
        BitSet.forEachWord(of: range) { words[$0] |= $1 }
    }

    mutating func insert(_ member: Int) { insert(member..<member + 1) }

    mutating func remove(_ range: Range<Int>) {
        BitSet.forEachWord(of: range) { words[$0] &= ~$1 }
    }

    mutating func remove(_ member: Int) { remove(member..<member + 1) }

    /// Returns the least member above a number; nil if there is none.
    func next(after member: Int) -> Int? {
        let end = words.count * 64
        let next = next(from: member + 1, to: end, isMember: true)
        return next < end ? next : nil
    }

    /// Returns how many members lie in a range, which may end beyond the last possible member.
    func count(in range: Range<Int>) -> Int {
        var count = 0
        BitSet.forEachWord(of: range.clamped(to: 0..<words.count * 64)) { count += (words[$0] & $1).nonzeroBitCount }
        return count
    }

    /// Calls `body` with each maximal run in a range that has no member.
    func forEachGap(in range: Range<Int>, _ body: (Range<Int>) -> Void) {
        var start = range.lowerBound
        while start < range.upperBound {
            start = next(from: start, to: range.upperBound, isMember: false)
            let end = next(from: start, to: range.upperBound, isMember: true)
            if start < end { body(start..<end) }
            start = end
        }
    }

    /// Returns the first number from `start` on that is a member, or that is no member if `isMember` is false. Returns
    /// `end` if there is none below it.
    private func next(from start: Int, to end: Int, isMember: Bool) -> Int {
        var number = start
        while number < end {
            let word = (isMember ? words[number >> 6] : ~words[number >> 6]) >> UInt64(number & 63)
            if word != 0 { return min(end, number + word.trailingZeroBitCount) }
            number = (number >> 6 + 1) << 6
        }
        return end
    }

    /// Calls `body` with the index of each word that a range covers, and the bits of that word that are in the range.
    static func forEachWord(of range: Range<Int>, _ body: (Int, UInt64) -> Void) {
        guard !range.isEmpty else { return }
        let (first, last) = (range.lowerBound >> 6, (range.upperBound - 1) >> 6)
        for index in first...last {
            var mask = UInt64.max
            if index == first { mask &= .max << UInt64(range.lowerBound & 63) }
            if index == last { mask &= .max >> UInt64(63 - (range.upperBound - 1) & 63) }
            body(index, mask)
        }
    }
}

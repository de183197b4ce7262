import CFirn
import FirnCore

/// A selection among the rows of one leaf: bit i is set if row i is selected.
package struct RowMask: Equatable, Sendable {
    var words: SIMD4<UInt64>

    @inline(__always)
    init(words: SIMD4<UInt64>) { self.words = words }

    /// Selects no row.
    @inline(__always)
    package init() { words = .zero }

    /// Selects one row.
    @inline(__always)
    package init(row: Int) {
        words = .zero
        words[row >> 6] = 1 << UInt64(row & 63)
    }

    /// Selects the first `count` rows.
    @inline(__always)
    package init(count: Int) {
        if count == Limits.rowsPerLeaf {
            words = SIMD4(repeating: .max)
            return
        }
        words = .zero
        for word in 0..<4 {
            let remaining = count - word * 64
            words[word] = remaining >= 64 ? .max : remaining <= 0 ? 0 : (1 << UInt64(remaining)) - 1
        }
    }

    package var isEmpty: Bool { @inline(__always) get { words == .zero } }

    package var count: Int {
        words[0].nonzeroBitCount + words[1].nonzeroBitCount + words[2].nonzeroBitCount + words[3].nonzeroBitCount
    }

    package func contains(_ row: Int) -> Bool { words[row >> 6] >> UInt64(row & 63) & 1 == 1 }

    @inline(__always)
    package mutating func insert(_ row: Int) { words[row >> 6] |= 1 << UInt64(row & 63) }

    @inline(__always)
    static func & (a: RowMask, b: RowMask) -> RowMask { RowMask(words: a.words & b.words) }
    @inline(__always)
    static func | (a: RowMask, b: RowMask) -> RowMask { RowMask(words: a.words | b.words) }
    /// The rows of `a` that are not in `b`.
    @inline(__always)
    static func - (a: RowMask, b: RowMask) -> RowMask { RowMask(words: a.words & ~b.words) }

    /// Calls `body` with each row, in ascending order.
    @inline(__always)
    package func forEach<E: Error>(_ body: (Int) throws(E) -> Void) throws(E) {
        for word in 0..<4 {
            var remaining = words[word]
            while remaining != 0 {
                try body(word << 6 | remaining.trailingZeroBitCount)
                remaining &= remaining &- 1
            }
        }
    }

    /// Keeps only the rows for which `body` returns true.
    @inline(__always)
    mutating func filter(_ body: (Int) -> Bool) {
        for word in 0..<4 {
            var remaining = words[word]
            var kept: UInt64 = 0
            while remaining != 0 {
                let bit = remaining.trailingZeroBitCount
                if body(word << 6 | bit) { kept |= 1 << UInt64(bit) }
                remaining &= remaining &- 1
            }
            words[word] = kept
        }
    }

    /// Passes the words to a kernel, which overwrites or narrows the mask.
    @inline(__always)
    mutating func withWords<R>(_ body: (UnsafeMutablePointer<UInt64>) -> R) -> R {
        withUnsafeMutableBytes(of: &words) {
            body($0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt64.self))
        }
    }

    /// The mask that a kernel writes.
    @inline(__always)
    static func from(_ body: (UnsafeMutablePointer<UInt64>) -> Void) -> RowMask {
        var mask = RowMask()
        mask.withWords(body)
        return mask
    }

    /// The rows of a leaf whose value is null.
    static func nulls(_ chunk: Chunk, _ count: Int) -> RowMask {
        switch Chunk.Form(rawValue: chunk.node.form) {
        case .nullable: from { firn_select_u8(chunk.nullFlags, UInt32(count), 1, .max, $0) }
        case .variable: from { firn_bytes_null(chunk.slots, UInt32(count), $0) }
        default: RowMask()
        }
    }
}

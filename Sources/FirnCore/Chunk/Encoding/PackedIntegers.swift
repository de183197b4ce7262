import CFirn

/// The integers of an encoded chunk without nulls, as they are in a checkpoint.
///
/// Value i is `base + i · step + number i`. A scan mostly reads a byte or two for each row instead of eight.
package struct PackedIntegers {
    private let numbers: UnsafeRawPointer
    /// Bytes of a number: 0, 1, 2 or 4.
    private let width: Int
    private let base: Int64
    private let step: Int64

    @inline(__always)
    fileprivate init(_ node: Node) {
        numbers = UnsafeRawPointer(ChunkEncoding.payload(node))
        width = ChunkEncoding.width(node)
        base = node.load(NodeLayout.EncodedChunk.base)
        step = node.load(NodeLayout.EncodedChunk.step)
    }

    /// The sum of the first `count` values, which are at most 256.
    package func sum(count: Int) -> Int128 {
        let offsets = Int128(firn_sum_numbers(numbers, UInt32(width), UInt32(count)))
        return Int128(base) * Int128(count) + Int128(step) * Int128(count * (count - 1) / 2) + offsets
    }

    /// Sets the bit of each of the first `count` values that is in `low ... high`, and clears all other bits. Returns
    /// false and does nothing if there is no kernel for this form.
    package func select(_ low: Int64, high: Int64, count: Int, into mask: UnsafeMutablePointer<UInt64>) -> Bool {
        guard step == 0, width > 0 else { return false }
        let most = UInt64(truncatingIfNeeded: (1 << (8 * width)) - 1)
        let from = low <= base ? 0 : UInt64(bitPattern: low &- base)
        let to = high < base ? nil : min(UInt64(bitPattern: high &- base), most)
        guard let to, from <= to else {
            for word in 0..<4 { mask[word] = 0 }
            return true
        }
        let count = UInt32(count)
        switch width {
        case 1:
            firn_select_u8(
                numbers.assumingMemoryBound(to: UInt8.self), count, UInt8(from), UInt8(to), mask)
        case 2:
            firn_select_u16(
                numbers.assumingMemoryBound(to: UInt16.self), count, UInt16(from), UInt16(to), mask)
        default:
            firn_select_u32(
                numbers.assumingMemoryBound(to: UInt32.self), count, UInt32(from), UInt32(to), mask)
        }
        return true
    }
}

extension Leaf {
    /// The encoded integers of a column; nil if its chunk has another encoding or may hold nulls.
    @inline(__always)
    package func packedIntegers(_ column: Int) -> PackedIntegers? {
        let word = chunkSlot(column).pointee
        guard word & 1 != 0 else { return nil }
        return Leaf.onDiskIntegers(word)
    }

    @inline(never)
    private static func onDiskIntegers(_ word: UInt64) -> PackedIntegers? {
        let node = NodeRef(word).node
        guard node.form == ChunkEncoding.Form.integers.rawValue, !ChunkEncoding.hasNulls(node) else { return nil }
        return PackedIntegers(node)
    }
}

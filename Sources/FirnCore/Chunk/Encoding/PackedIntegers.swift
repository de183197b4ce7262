import CFirn

/// A packed chunk of integers of which none is null, as it lies in a checkpoint: value i is `base + i · step + number i`. A scan reads a byte or two for each row
/// instead of eight.
public struct PackedIntegers {
    private let numbers: UnsafeRawPointer
    /// Bytes of a number: 0, 1, 2 or 4.
    private let width: Int
    private let base: Int64
    private let step: Int64

    @inline(__always)
    fileprivate init(_ node: Node) {
        numbers = UnsafeRawPointer(node.address + 64)
        width = Int(node.load(ChunkEncoding.widthOffset, as: UInt8.self))
        base = node.load(ChunkEncoding.baseOffset)
        step = node.load(ChunkEncoding.stepOffset)
    }

    /// The sum of the first `count` values, which are at most 256.
    public func sum(count: Int) -> Int128 {
        let offsets = Int128(firn_sum_numbers(numbers, UInt32(width), UInt32(count)))
        return Int128(base) * Int128(count) + Int128(step) * Int128(count * (count - 1) / 2) + offsets
    }

    /// Sets the bits of those of the first `count` values that lie in `low ... high`, and clears the others; false, and nothing done, where the form has no kernel for it.
    public func select(_ low: Int64, _ high: Int64, count: Int, _ mask: UnsafeMutablePointer<UInt64>) -> Bool {
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
    /// A column of integers as it lies packed; nil where it does not, or may hold nulls.
    @inline(__always)
    public func packedIntegers(_ column: Int) -> PackedIntegers? {
        let word = chunkSlot(column).pointee
        guard word & 1 != 0 else { return nil }
        return Leaf.storedIntegers(word)
    }

    @inline(never)
    private static func storedIntegers(_ word: UInt64) -> PackedIntegers? {
        let node = NodeRef(word).node
        guard node.form == ChunkEncoding.Form.integers.rawValue,
            node.load(ChunkEncoding.nullOffset, as: UInt8.self) == 0
        else {
            return nil
        }
        return PackedIntegers(node)
    }
}

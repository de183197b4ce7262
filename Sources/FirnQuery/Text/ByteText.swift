import CFirn

/// Comparison and search of bytes.
enum ByteText {
    static func begins(_ value: UnsafeRawBufferPointer, with needle: UnsafeRawBufferPointer) -> Bool {
        value.count >= needle.count && order(UnsafeRawBufferPointer(rebasing: value.prefix(needle.count)), needle) == 0
    }

    /// Compares by unsigned bytes, then by length.
    static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        Int(firn_bytes_compare(a.baseAddress, Int64(a.count), b.baseAddress, Int64(b.count)))
    }

    static func contains(_ value: UnsafeRawBufferPointer, _ needle: UnsafeRawBufferPointer) -> Bool {
        value.count >= needle.count
            && firn_bytes_find(value.baseAddress, Int64(value.count), needle.baseAddress, Int64(needle.count)) >= 0
    }

    /// Whether UTF-8 text matches a pattern in which `*` matches any text and `?` matches any one code point.
    ///
    /// It does not use recursion. The worst case is the product of the lengths.
    static func isLike(_ value: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer) -> Bool {
        var (index, patternIndex) = (0, 0)
        // The position of the last star, and the end of the text that this star matches so far.
        var star: Int?
        var covered = 0
        while index < value.count {
            if patternIndex < pattern.count, pattern[patternIndex] == UInt8(ascii: "*") {
                star = patternIndex
                covered = index
                patternIndex += 1
            } else if patternIndex < pattern.count, pattern[patternIndex] == UInt8(ascii: "?") {
                index = end(ofScalarAt: index, value)
                patternIndex += 1
            } else if patternIndex < pattern.count, pattern[patternIndex] == value[index] {
                index += 1
                patternIndex += 1
            } else if let star {
                covered = end(ofScalarAt: covered, value)
                index = covered
                patternIndex = star + 1
            } else {
                return false
            }
        }
        while patternIndex < pattern.count, pattern[patternIndex] == UInt8(ascii: "*") { patternIndex += 1 }
        return patternIndex == pattern.count
    }

    private static func end(ofScalarAt start: Int, _ value: UnsafeRawBufferPointer) -> Int {
        var next = start + 1
        while next < value.count, value[next] & 0xC0 == 0x80 { next += 1 }
        return next
    }
}

/// A set of byte strings. A search creates no byte string: the set is open addressing over a hash of 8 bytes at a time.
struct ByteSet: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = [0]
    /// Each entry is 0 if free, or 1 plus the index of a value, which is also the index of the value's end in `ends`.
    private var table: [Int32]
    let count: Int

    init(_ values: [[UInt8]]) {
        let unique = Set(values)
        count = unique.count
        var capacity = 8
        while capacity < unique.count * 2 { capacity *= 2 }
        table = [Int32](repeating: 0, count: capacity)
        for value in unique {
            bytes += value
            ends.append(bytes.count)
            var slot = value.withUnsafeBytes { ByteSet.hash($0) } & (capacity - 1)
            while table[slot] != 0 { slot = (slot + 1) & (capacity - 1) }
            table[slot] = Int32(ends.count - 1)
        }
    }

    /// The members of the set.
    var elements: [[UInt8]] { (0..<count).map { Array(bytes[ends[$0]..<ends[$0 + 1]]) } }

    func contains(_ value: UnsafeRawBufferPointer) -> Bool {
        let mask = table.count - 1
        var slot = ByteSet.hash(value) & mask
        return bytes.withUnsafeBytes { bytes in
            while table[slot] != 0 {
                let index = Int(table[slot])
                let range = ends[index - 1]..<ends[index]
                if range.count == value.count,
                    ByteText.begins(value, with: UnsafeRawBufferPointer(rebasing: bytes[range]))
                {
                    return true
                }
                slot = (slot + 1) & mask
            }
            return false
        }
    }

    private static func hash(_ value: UnsafeRawBufferPointer) -> Int {
        var hash = UInt64(truncatingIfNeeded: value.count) &* 0x9E37_79B9_7F4A_7C15
        var index = 0
        while index + 8 <= value.count {
            hash = mixed(hash ^ value.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index += 8
        }
        var tail: UInt64 = 0
        while index < value.count {
            tail = tail << 8 | UInt64(value[index])
            index += 1
        }
        return Int(truncatingIfNeeded: mixed(hash ^ tail) >> 16)
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }
}

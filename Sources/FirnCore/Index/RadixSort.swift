/// Sorts pairs of 64-bit words byte by byte, least significant first.
///
/// Bytes that are the same in all keys are skipped, so short or clustered keys cost few passes.
enum RadixSort {
    /// Orders both arrays by key, then by value.
    static func sort(_ keys: inout [UInt64], _ values: inout [Int64]) {
        // Rows usually come in the order of their object keys. Then a stable sort by key alone is enough.
        var isAscending = true
        for index in 1..<max(values.count, 1) where values[index - 1] > values[index] {
            isAscending = false
            break
        }
        if !isAscending {
            var words = values.map { UInt64(bitPattern: $0) ^ 1 << 63 }
            var carried = keys.map { Int64(bitPattern: $0) }
            sortByKey(&words, &carried)
            values = words.map { Int64(bitPattern: $0 ^ 1 << 63) }
            keys = carried.map { UInt64(bitPattern: $0) }
        }
        sortByKey(&keys, &values)
    }

    private static func sortByKey(_ keys: inout [UInt64], _ values: inout [Int64]) {
        let count = keys.count
        guard count > 1 else { return }
        var keysOut = [UInt64](repeating: 0, count: count)
        var valuesOut = [Int64](repeating: 0, count: count)
        keys.withUnsafeMutableBufferPointer { keys in
            values.withUnsafeMutableBufferPointer { values in
                keysOut.withUnsafeMutableBufferPointer { keysOut in
                    valuesOut.withUnsafeMutableBufferPointer { valuesOut in
                        // None of the four is empty here.
                        let isSwapped = sort(
                            keys.baseAddress!, values: values.baseAddress!, otherKeys: keysOut.baseAddress!,
                            otherValues: valuesOut.baseAddress!, count: count)
                        if isSwapped {
                            keys.baseAddress!.update(from: keysOut.baseAddress!, count: count)
                            values.baseAddress!.update(from: valuesOut.baseAddress!, count: count)
                        }
                    }
                }
            }
        }
    }

    /// A stable sort by key. Returns true if the result is in the second pair of arrays.
    static func sort(
        _ keys: UnsafeMutablePointer<UInt64>, values: UnsafeMutablePointer<Int64>,
        otherKeys: UnsafeMutablePointer<UInt64>, otherValues: UnsafeMutablePointer<Int64>, count: Int
    ) -> Bool {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 8 * 256) { histogram in
            histogram.initialize(repeating: 0)
            let counts = histogram.baseAddress!
            for index in 0..<count {
                let key = keys[index]
                for byte in 0..<8 {
                    counts[byte &* 256 &+ Int(truncatingIfNeeded: key &>> UInt64(byte &* 8) & 255)] &+= 1
                }
            }
            var (from, fromValues, to, toValues) = (keys, values, otherKeys, otherValues)
            var isSwapped = false
            for byte in 0..<8 {
                let offsets = counts + byte * 256
                let shift = UInt64(byte * 8)
                if offsets[Int(from[0] &>> shift & 255)] == count { continue }
                var sum = 0
                for digit in 0..<256 {
                    let length = offsets[digit]
                    offsets[digit] = sum
                    sum += length
                }
                for index in 0..<count {
                    let key = from[index]
                    let digit = Int(truncatingIfNeeded: key &>> shift & 255)
                    let position = offsets[digit]
                    offsets[digit] = position &+ 1
                    to[position] = key
                    toValues[position] = fromValues[index]
                }
                (from, to) = (to, from)
                (fromValues, toValues) = (toValues, fromValues)
                isSwapped.toggle()
            }
            return isSwapped
        }
    }
}

/// Keys of mixed values: their total order over all types.
///
/// ```
///   0    1                      2
/// ┌─────┬──────────────────────┬─────────────────────────────┐
/// │ 1   │ class                │ bytes as in a typed column  │   a null is the tag 0 alone
/// └─────┴──────────────────────┴─────────────────────────────┘
/// class  1 bool · 2 number · 3 string · 4 data · 5 date · 6 object id · 7 UUID
///        8 link: table (u32), key (i64) · 9 list · 10 set · 11 map
/// number ┌───────────────────────────────┬──────────────┬───────────────────────────┐
///        │ the largest double not above  │ 0 equal to   │ the number as a decimal   │
///        │ it, ordered bits (u64)        │ it · 1 above │ (19 bytes), if above      │
///        └───────────────────────────────┴──────────────┴───────────────────────────┘
/// ```
///
/// Numbers with exactly the same value have the same key, whatever their types. So the order of ints above 2^53 and of
/// decimals among doubles is exact. A decimal NaN is among the other NaNs, below all numbers: its key has 0 instead of
/// the double, then its 16 bytes. Collections of one kind share a key: a lookup finds them as candidates.
extension IndexKey.Encoder {
    mutating func appendMixed(_ value: Value) {
        if case .null = value {
            append(UInt8(0))
            return
        }
        append(UInt8(1))
        switch value {
        case .null: break
        case .bool(let x):
            append(UInt8(1))
            append(UInt8(x ? 1 : 0))
        case .int(let x):
            append(UInt8(2))
            append(number: x)
        case .float(let x):
            append(UInt8(2))
            append(number: Double(x))
        case .double(let x):
            append(UInt8(2))
            append(number: x)
        case .decimal(let x):
            append(UInt8(2))
            append(number: x)
        case .string(let x):
            append(UInt8(3))
            append(string: x)
        case .data(let x):
            append(UInt8(4))
            x.withUnsafeBytes { append($0) }
        case .date(let x):
            append(UInt8(5))
            append(x)
        case .objectID(let x):
            append(UInt8(6))
            append(x)
        case .uuid(let x):
            append(UInt8(7))
            append(x)
        case .link(let key):
            append(UInt8(8))
            append(bigEndian: UInt32(0))
            append(key)
        case .typedLink(let table, let key):
            append(UInt8(8))
            append(bigEndian: table.rawValue)
            append(key)
        case .list: append(UInt8(9))
        case .set: append(UInt8(10))
        case .map: append(UInt8(11))
        }
    }

    private mutating func append(number: Double) {
        append(bigEndian: IndexKey.orderedBits(number))
        append(UInt8(0))
    }

    private mutating func append(number: Int64) {
        var floor = Double(number)
        // The highest ints are rounded up to 2^63, which is not an Int64.
        if floor >= 0x1p63 || Int64(floor) > number { floor = floor.nextDown }
        append(bigEndian: IndexKey.orderedBits(floor))
        if Int64(floor) == number {
            append(UInt8(0))
        } else {
            append(UInt8(1))
            append(finite: UInt128(number.magnitude), 0, isNegative: number < 0)
        }
    }

    private mutating func append(number: DecimalBits) {
        switch DecimalParts(number) {
        case .notANumber:
            append(bigEndian: UInt64(0))
            append(bigEndian: number.high)
            append(bigEndian: number.low)
        case .infinity(let isNegative):
            append(number: isNegative ? -Double.infinity : .infinity)
        case .finite(let isNegative, let coefficient, let exponent):
            let (floor, isExact) = ExactNumber.floor(isNegative: isNegative, coefficient, exponent)
            append(bigEndian: IndexKey.orderedBits(floor))
            append(UInt8(isExact ? 0 : 1))
            if !isExact { append(finite: coefficient, exponent, isNegative: isNegative) }
        }
    }
}

/// Compares decimals with doubles exactly.
enum ExactNumber {
    /// The largest double that is not above ±coefficient x 10^exponent, and whether it is equal to that number.
    static func floor(isNegative: Bool, _ coefficient: UInt128, _ exponent: Int) -> (Double, isExact: Bool) {
        guard coefficient != 0 else { return (0, true) }
        // The parser rounds correctly to the nearest double, which is the one below the number, the one above it, or
        // the number itself.
        let nearest = Double("\(coefficient)e\(exponent)") ?? .infinity
        let order = compare(nearest, coefficient: coefficient, exponent: exponent)
        if order == 0 { return (isNegative ? -nearest : nearest, true) }
        if isNegative { return (order > 0 ? -nearest : -nearest.nextUp, false) }
        return (order > 0 ? nearest.nextDown : nearest, false)
    }

    /// Compares `double`, which is not negative, with coefficient x 10^exponent. The result is negative, zero or
    /// positive if `double` is below, equal to or above that number.
    private static func compare(_ double: Double, coefficient: UInt128, exponent: Int) -> Int {
        if double == .infinity { return 1 }
        if double == 0 { return -1 }
        // double = significand x 2^power; both sides are multiplied until they are whole numbers.
        let significand: UInt64
        let power: Int
        if double.isNormal {
            significand = double.significandBitPattern | 1 << 52
            power = Int(double.exponentBitPattern) - 1075
        } else {
            significand = double.significandBitPattern
            power = -1074
        }
        var left = Natural(UInt128(significand))
        var right = Natural(coefficient)
        for _ in 0..<max(-exponent, 0) { left.multiply(by: 5) }
        for _ in 0..<max(exponent, 0) { right.multiply(by: 5) }
        left.shiftLeft(by: max(power - exponent, 0))
        right.shiftLeft(by: max(exponent - power, 0))
        return left.compare(right)
    }

    /// A natural number of any size. The lowest word comes first, and the highest word is not 0.
    private struct Natural {
        private var words: [UInt32] = []

        init(_ number: UInt128) {
            var remaining = number
            while remaining != 0 {
                words.append(UInt32(truncatingIfNeeded: remaining))
                remaining >>= 32
            }
        }

        mutating func multiply(by factor: UInt32) {
            var carry: UInt64 = 0
            for index in words.indices {
                carry += UInt64(words[index]) * UInt64(factor)
                words[index] = UInt32(truncatingIfNeeded: carry)
                carry >>= 32
            }
            if carry != 0 { words.append(UInt32(carry)) }
        }

        mutating func shiftLeft(by count: Int) {
            for _ in 0..<(count % 32) { multiply(by: 2) }
            words.insert(contentsOf: repeatElement(0, count: count / 32), at: 0)
        }

        func compare(_ other: Natural) -> Int {
            if words.count != other.words.count { return words.count < other.words.count ? -1 : 1 }
            for index in words.indices.reversed() where words[index] != other.words[index] {
                return words[index] < other.words[index] ? -1 : 1
            }
            return 0
        }
    }
}

/// A number of any of the four numeric types, for comparing numbers of different types by their exact value.
enum Number {
    case int(Int64)
    case float(Float)
    case double(Double)
    case decimal(DecimalBits)

    /// See `Value.order`.
    static func order(_ a: Number, _ b: Number) -> Int {
        switch (a, b) {
        case (.int(let x), .int(let y)): return x < y ? -1 : x == y ? 0 : 1
        case (.double(let x), .double(let y)) where !x.isNaN && !y.isNaN: return x < y ? -1 : x == y ? 0 : 1
        case (.float(let x), .float(let y)) where !x.isNaN && !y.isNaN: return x < y ? -1 : x == y ? 0 : 1
        default: break
        }
        if let x = a.nan, let y = b.nan { return x.type != y.type ? x.type - y.type : order(x.bits, y.bits) }
        if a.nan != nil { return -1 }
        if b.nan != nil { return 1 }
        switch (a, b) {
        case (.decimal(let x), .decimal(let y)): return order(Magnitude(x), Magnitude(y))
        case (.decimal(let x), .int(let y)): return order(Magnitude(x), Magnitude(y))
        case (.int(let x), .decimal(let y)): return order(Magnitude(x), Magnitude(y))
        case (.decimal(let x), _): return order(x, b.asDouble)
        case (_, .decimal(let y)): return -order(y, a.asDouble)
        case (.int(let x), _): return order(x, b.asDouble)
        case (_, .int(let y)): return -order(y, a.asDouble)
        default:
            let x = a.asDouble
            let y = b.asDouble
            return x < y ? -1 : x == y ? 0 : 1
        }
    }

    /// The exact value of a binary floating-point number.
    private var asDouble: Double {
        switch self {
        case .float(let x): Double(x)
        case .double(let x): x
        case .int, .decimal: preconditionFailure("Firn: not a binary floating-point number")
        }
    }

    /// For a NaN: the rank of its type, and its bits. Nil for any other number.
    private var nan: (type: Int, bits: (UInt64, UInt64))? {
        switch self {
        case .int: nil
        case .float(let x): x.isNaN ? (0, (0, UInt64(x.bitPattern))) : nil
        case .double(let x): x.isNaN ? (1, (0, x.bitPattern)) : nil
        case .decimal(let x): x.isNaN ? (2, (x.high, x.low)) : nil
        }
    }

    private static func order(_ a: (UInt64, UInt64), _ b: (UInt64, UInt64)) -> Int { a < b ? -1 : a == b ? 0 : 1 }

    /// Compares an integer with a binary floating-point number that is not NaN.
    private static func order(_ a: Int64, _ b: Double) -> Int {
        // Every double of 2^63 or more is above every Int64, and every double below -2^63 is below every Int64.
        if b >= 0x1p63 { return -1 }
        if b < -0x1p63 { return 1 }
        let truncated = b.rounded(.towardZero)
        let integer = Int64(truncated)
        if a != integer { return a < integer ? -1 : 1 }
        return truncated < b ? -1 : truncated == b ? 0 : 1
    }

    /// Compares two decimals, or integers as decimals.
    private static func order(_ a: Magnitude, _ b: Magnitude) -> Int {
        if a.sign != b.sign || a.sign == 0 { return a.sign - b.sign }
        return a.sign * orderOfAmounts(a, b)
    }

    private static func orderOfAmounts(_ a: Magnitude, _ b: Magnitude) -> Int {
        if a.isInfinite || b.isInfinite { return (a.isInfinite ? 1 : 0) - (b.isInfinite ? 1 : 0) }
        let leading = a.leadingExponent - b.leadingExponent
        if leading != 0 { return leading }
        // The leading digits have the same power of ten, so the exponents are at most 33 apart, and both numbers fit in
        // 34 digits.
        let gap = a.exponent - b.exponent
        let x = gap > 0 ? a.coefficient * Magnitude.power(of: gap) : a.coefficient
        let y = gap < 0 ? b.coefficient * Magnitude.power(of: -gap) : b.coefficient
        return x < y ? -1 : x == y ? 0 : 1
    }

    /// Compares a decimal with a binary floating-point number; neither is NaN.
    private static func order(_ a: DecimalBits, _ b: Double) -> Int {
        let x = Magnitude(a)
        let sign = b == 0 ? 0 : b < 0 ? -1 : 1
        if x.sign != sign || sign == 0 { return x.sign - sign }
        if x.isInfinite || b.isInfinite { return sign * ((x.isInfinite ? 1 : 0) - (b.isInfinite ? 1 : 0)) }
        // Doubles are between 10^-324 and 10^309; decimals outside of that need no arithmetic.
        if x.leadingExponent >= 309 { return sign }
        if x.leadingExponent < -324 { return -sign }
        // x = c · 10^e and |b| = m · 2^k. Both are multiplied by the same factor, which makes them integers.
        let amount = b.magnitude
        let exponent = amount.isNormal ? Int(amount.exponent) - 52 : -1074
        let significand = amount.isNormal ? amount.significandBitPattern | 1 << 52 : amount.significandBitPattern
        var left = WideInteger(x.coefficient)
        var right = WideInteger(UInt128(significand))
        if x.exponent >= 0 {
            left.multiply(byPowerOfFive: x.exponent)
        } else {
            right.multiply(byPowerOfFive: -x.exponent)
        }
        let shift = x.exponent - exponent
        if shift >= 0 { left.shiftLeft(shift) } else { right.shiftLeft(-shift) }
        return sign * WideInteger.order(left, right)
    }
}

extension DecimalBits {
    private var combination: UInt64 { high >> 58 & 0x1F }

    package var isNaN: Bool { combination == 0x1F }
    package var isInfinite: Bool { combination == 0x1E }
    package var isNegative: Bool { high >> 63 == 1 }

    /// Coefficient and exponent of a finite number.
    ///
    /// ```
    /// high  ┌──────┬─────────────────┬────────────────────────────┐
    ///       │ sign │ exponent + 6176 │ coefficient, upper 49 bits │   low: its lower 64
    ///       └──────┴─────────────────┴────────────────────────────┘
    ///         1      14
    /// ```
    ///
    /// An exponent that begins with the bits 11 would mean a coefficient of 114 bits, which has more than 34 digits. By
    /// the standard such a number is zero, and so is any other number whose coefficient has more than 34 digits.
    var parts: (coefficient: UInt128, exponent: Int) {
        if high >> 61 & 3 == 3 { return (0, Int(high >> 47 & 0x3FFF) - 6176) }
        let coefficient = UInt128(high & 0x1_FFFF_FFFF_FFFF) << 64 | UInt128(low)
        return (coefficient < Magnitude.power(of: 34) ? coefficient : 0, Int(high >> 49 & 0x3FFF) - 6176)
    }
}

/// A signed decimal number: `sign · coefficient · 10^exponent`.
struct Magnitude {
    /// 0 if the number is zero.
    let sign: Int
    let coefficient: UInt128
    let exponent: Int
    let isInfinite: Bool

    init(_ bits: DecimalBits) {
        isInfinite = bits.isInfinite
        let parts = isInfinite ? (coefficient: 1, exponent: 0) : bits.parts
        coefficient = parts.coefficient
        exponent = parts.exponent
        sign = coefficient == 0 ? 0 : bits.isNegative ? -1 : 1
    }

    init(_ integer: Int64) {
        isInfinite = false
        coefficient = UInt128(integer.magnitude)
        exponent = 0
        sign = Int(integer.signum())
    }

    /// The power of ten of the first digit.
    var leadingExponent: Int { exponent + Magnitude.digitCount(coefficient) - 1 }

    /// The number of decimal digits of a number below 10^39; 0 for zero.
    static func digitCount(_ number: UInt128) -> Int {
        var digits = 0
        while digits < 39, number >= power(of: digits) { digits += 1 }
        return digits
    }

    /// 10^n, for n up to 38.
    static func power(of n: Int) -> UInt128 { powers[n] }

    private static let powers: [UInt128] = {
        var powers: [UInt128] = [1]
        for _ in 0..<38 { powers.append(powers[powers.count - 1] * 10) }
        return powers
    }()
}

/// A natural number of any length: 32-bit digits, the lowest first.
struct WideInteger {
    private var digits: [UInt32] = []

    init(_ value: UInt128) {
        var rest = value
        while rest != 0 {
            digits.append(UInt32(truncatingIfNeeded: rest))
            rest >>= 32
        }
    }

    mutating func multiply(byPowerOfFive exponent: Int) {
        var rest = exponent
        // 5^13 is the largest power of five in 32 bits.
        while rest >= 13 {
            multiply(by: 1_220_703_125)
            rest -= 13
        }
        for _ in 0..<rest { multiply(by: 5) }
    }

    private mutating func multiply(by factor: UInt32) {
        var carry: UInt64 = 0
        for index in digits.indices {
            carry += UInt64(digits[index]) * UInt64(factor)
            digits[index] = UInt32(truncatingIfNeeded: carry)
            carry >>= 32
        }
        if carry != 0 { digits.append(UInt32(carry)) }
    }

    mutating func shiftLeft(_ count: Int) {
        guard !digits.isEmpty else { return }
        let bits = UInt64(count % 32)
        var carry: UInt64 = 0
        for index in digits.indices {
            carry |= UInt64(digits[index]) << bits
            digits[index] = UInt32(truncatingIfNeeded: carry)
            carry >>= 32
        }
        if carry != 0 { digits.append(UInt32(carry)) }
        digits.insert(contentsOf: repeatElement(0, count: count / 32), at: 0)
    }

    static func order(_ a: WideInteger, _ b: WideInteger) -> Int {
        if a.digits.count != b.digits.count { return a.digits.count < b.digits.count ? -1 : 1 }
        for index in a.digits.indices.reversed() where a.digits[index] != b.digits[index] {
            return a.digits[index] < b.digits[index] ? -1 : 1
        }
        return 0
    }
}

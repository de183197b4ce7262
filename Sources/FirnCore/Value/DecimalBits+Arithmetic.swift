/// Arithmetic of decimal128, as IEEE 754-2008 describes it: each result is the exact one, rounded once, half to even.
///
/// A result that is exact has the exponent that the standard prefers, if its digits allow that. For sums this is the
/// lower one of the operands' exponents, for products their sum, and for quotients their difference. The result for a
/// NaN operand is the same NaN, but a quiet one.
extension DecimalBits {
    /// The limits of decimal128: digits of a coefficient, and exponents.
    static var digitCount: Int { 34 }
    static var exponents: ClosedRange<Int> { -6176...6111 }

    package static var nan: DecimalBits { DecimalBits(high: 0x7C00 << 48, low: 0) }
    package static func infinity(isNegative: Bool) -> DecimalBits {
        DecimalBits(high: (isNegative ? 0xF800 : 0x7800) << 48, low: 0)
    }
    /// The finite number that is farthest from zero.
    package static func greatest(isNegative: Bool) -> DecimalBits {
        DecimalBits(
            isNegative: isNegative, coefficient: Magnitude.power(of: digitCount) - 1, exponent: exponents.upperBound)
    }

    /// A finite number. The coefficient is below 10^34, and the exponent is one of `exponents`.
    init(isNegative: Bool, coefficient: UInt128, exponent: Int) {
        self.init(
            high: (isNegative ? 1 << 63 : 0) | UInt64(exponent - Self.exponents.lowerBound) << 49
                | UInt64(coefficient >> 64),
            low: UInt64(truncatingIfNeeded: coefficient))
    }

    package init(integer: Int64) {
        self.init(isNegative: integer < 0, coefficient: UInt128(integer.magnitude), exponent: 0)
    }

    package var isSignalingNaN: Bool { isNaN && high >> 57 & 1 == 1 }
    package var isZero: Bool { !isNaN && !isInfinite && parts.coefficient == 0 }

    /// The same number with the other sign. A NaN also has a sign.
    package var negated: DecimalBits { DecimalBits(high: high ^ 1 << 63, low: low) }

    private var quieted: DecimalBits { DecimalBits(high: high & ~(1 << 57), low: low) }

    // MARK: Operations

    package static func + (a: DecimalBits, b: DecimalBits) -> DecimalBits {
        if a.isNaN { return a.quieted }
        if b.isNaN { return b.quieted }
        if a.isInfinite || b.isInfinite {
            return a.isInfinite && b.isInfinite && a.isNegative != b.isNegative ? nan : a.isInfinite ? a : b
        }
        let (x, y) = (a.parts, b.parts)
        return x.exponent >= y.exponent
            ? sum(
                a.isNegative, coefficient: x.coefficient, exponent: x.exponent, isOtherNegative: b.isNegative,
                other: y.coefficient, lower: y.exponent)
            : sum(
                b.isNegative, coefficient: y.coefficient, exponent: y.exponent, isOtherNegative: a.isNegative,
                other: x.coefficient, lower: x.exponent)
    }

    /// The sum of two finite numbers. The second has the exponent `lower`, which is not above `exponent`.
    private static func sum(
        _ isNegative: Bool, coefficient: UInt128, exponent: Int, isOtherNegative: Bool, other: UInt128,
        lower: Int
    ) -> DecimalBits {
        if coefficient == 0 {
            return DecimalBits(
                isNegative: other == 0 ? isNegative && isOtherNegative : isOtherNegative, coefficient: other,
                exponent: lower)
        }
        // Both numbers are expressed as multiples of 10^scale. If their exponents differ by more than 38, the remainder
        // of the second number is far behind the digits of the result. It only decides how the result is rounded.
        let scale = max(lower, exponent - 38)
        let x = WideCoefficient(coefficient, timesPowerOfTen: exponent - scale)
        let (y, rest) =
            scale - lower > 38
            ? (0, other) : other.quotientAndRemainder(dividingBy: Magnitude.power(of: scale - lower))
        if isNegative == isOtherNegative {
            return rounded(isNegative, coefficient: x + WideCoefficient(y), exponent: scale, hasRest: rest != 0)
        }
        if x < WideCoefficient(y) {
            return rounded(isOtherNegative, coefficient: WideCoefficient(y) - x, exponent: scale, hasRest: false)
        }
        var difference = x - WideCoefficient(y)
        if difference.isZero, rest == 0 { return DecimalBits(isNegative: false, coefficient: 0, exponent: lower) }
        if rest != 0 { difference = difference - WideCoefficient(1) }
        return rounded(isNegative, coefficient: difference, exponent: scale, hasRest: rest != 0)
    }

    package static func - (a: DecimalBits, b: DecimalBits) -> DecimalBits { a + (b.isNaN ? b : b.negated) }

    package static func * (a: DecimalBits, b: DecimalBits) -> DecimalBits {
        if a.isNaN { return a.quieted }
        if b.isNaN { return b.quieted }
        let isNegative = a.isNegative != b.isNegative
        if a.isInfinite || b.isInfinite { return a.isZero || b.isZero ? nan : infinity(isNegative: isNegative) }
        let (x, y) = (a.parts, b.parts)
        return rounded(
            isNegative, coefficient: WideCoefficient(x.coefficient, times: y.coefficient),
            exponent: x.exponent + y.exponent, hasRest: false)
    }

    package static func / (a: DecimalBits, b: DecimalBits) -> DecimalBits {
        if a.isNaN { return a.quieted }
        if b.isNaN { return b.quieted }
        let isNegative = a.isNegative != b.isNegative
        if a.isInfinite { return b.isInfinite ? nan : infinity(isNegative: isNegative) }
        if b.isInfinite { return DecimalBits(isNegative: isNegative, coefficient: 0, exponent: exponents.lowerBound) }
        let (x, y) = (a.parts, b.parts)
        let preferred = x.exponent - y.exponent
        if y.coefficient == 0 { return x.coefficient == 0 ? nan : infinity(isNegative: isNegative) }
        if x.coefficient == 0 {
            return rounded(isNegative, coefficient: WideCoefficient(0), exponent: preferred, hasRest: false)
        }
        // Enough zeros for a quotient of 36 or 37 digits.
        let zeros = max(0, 36 + Magnitude.digitCount(y.coefficient) - Magnitude.digitCount(x.coefficient))
        let dividend = WideCoefficient(x.coefficient, timesPowerOfTen: min(zeros, 38))
            .times(powerOfTen: max(0, zeros - 38))
        var (quotient, rest) = dividend.divided(by: y.coefficient)
        var exponent = preferred - zeros
        while rest == 0, exponent < preferred {
            let (tenth, digit) = quotient.divided(by: 10)
            if digit != 0 { break }
            (quotient, exponent) = (tenth, exponent + 1)
        }
        return rounded(isNegative, coefficient: quotient, exponent: exponent, hasRest: rest != 0)
    }

    /// The decimal nearest to `coefficient · 10^exponent`. If `hasRest` is true, the exact amount is a little more than
    /// that, and the coefficient has more than 34 digits.
    static func rounded(
        _ isNegative: Bool, coefficient: WideCoefficient, exponent: Int, hasRest: Bool
    ) -> DecimalBits {
        let dropped = max(coefficient.digitCount - digitCount, exponents.lowerBound - exponent)
        guard dropped > 0 else { return clamped(isNegative, coefficient: coefficient.low, exponent: exponent) }
        // The amount is below a tenth of the least positive decimal.
        if dropped > coefficient.digitCount {
            return DecimalBits(isNegative: isNegative, coefficient: 0, exponent: exponents.lowerBound)
        }
        var (kept, hasRest) = (coefficient, hasRest)
        var left = dropped - 1
        while left > 0 {
            let (quotient, rest) = kept.divided(by: Magnitude.power(of: min(left, 38)))
            kept = quotient
            if rest != 0 { hasRest = true }
            left -= min(left, 38)
        }
        let (quotient, digit) = kept.divided(by: 10)
        var result = quotient.low
        if digit > 5 || digit == 5 && (hasRest || result & 1 == 1) { result += 1 }
        let hasCarry = result == Magnitude.power(of: digitCount)
        return clamped(
            isNegative, coefficient: hasCarry ? result / 10 : result, exponent: exponent + dropped + (hasCarry ? 1 : 0))
    }

    /// The decimal with a coefficient below 10^34 and an exponent that may be too high or, for zero, too low.
    private static func clamped(_ isNegative: Bool, coefficient: UInt128, exponent: Int) -> DecimalBits {
        if coefficient == 0 {
            return DecimalBits(
                isNegative: isNegative, coefficient: 0,
                exponent: min(max(exponent, exponents.lowerBound), exponents.upperBound))
        }
        let excess = exponent - exponents.upperBound
        guard excess > 0 else {
            return DecimalBits(isNegative: isNegative, coefficient: coefficient, exponent: exponent)
        }
        guard Magnitude.digitCount(coefficient) + excess <= digitCount else { return infinity(isNegative: isNegative) }
        return DecimalBits(
            isNegative: isNegative, coefficient: coefficient * Magnitude.power(of: excess),
            exponent: exponents.upperBound)
    }

    // MARK: Comparison

    /// The order of all decimals. NaNs come first, by their bits; numbers of the same value are equal.
    package static func order(_ a: DecimalBits, _ b: DecimalBits) -> Int { Number.order(.decimal(a), .decimal(b)) }

    /// The number in a form whose bits are the same for all numbers that are equal in `order`.
    package var normalized: DecimalBits {
        if isNaN { return self }
        if isInfinite { return .infinity(isNegative: isNegative) }
        var (coefficient, exponent) = parts
        if coefficient == 0 { return DecimalBits(isNegative: false, coefficient: 0, exponent: 0) }
        while exponent < Self.exponents.upperBound, coefficient % 10 == 0 {
            (coefficient, exponent) = (coefficient / 10, exponent + 1)
        }
        return DecimalBits(isNegative: isNegative, coefficient: coefficient, exponent: exponent)
    }

    /// The number without its fraction. An amount of 2^127 or more becomes 2^127 - 1, with the same sign. Nil for NaN.
    package var wholePart: Int128? {
        if isNaN { return nil }
        let (coefficient, exponent) = isInfinite ? (1, Self.exponents.upperBound) : parts
        let amount: UInt128
        if exponent < 0 {
            amount = exponent < -38 ? 0 : coefficient / Magnitude.power(of: -exponent)
        } else if coefficient == 0 {
            amount = 0
        } else if exponent > 38 {
            amount = .max
        } else {
            let product = coefficient.multipliedReportingOverflow(by: Magnitude.power(of: exponent))
            amount = product.overflow ? .max : product.partialValue
        }
        let whole = Int128(clamping: amount)
        return isNegative ? -whole : whole
    }
}

/// A natural number below 10^76: the coefficient of a result before it is rounded. 256 bits hold it.
struct WideCoefficient {
    private(set) var high: UInt128
    private(set) var low: UInt128

    private init(high: UInt128, low: UInt128) { (self.high, self.low) = (high, low) }

    init(_ value: UInt128) { self.init(high: 0, low: value) }

    init(_ a: UInt128, times b: UInt128) {
        let product = a.multipliedFullWidth(by: b)
        self.init(high: product.high, low: product.low)
    }

    /// `value · 10^power`, for a power up to 38.
    init(_ value: UInt128, timesPowerOfTen power: Int) { self.init(value, times: Magnitude.power(of: power)) }

    var isZero: Bool { high == 0 && low == 0 }

    /// The product with 10^power, for a power up to 38. The caller must know that the product fits.
    func times(powerOfTen power: Int) -> WideCoefficient {
        let factor = Magnitude.power(of: power)
        let product = low.multipliedFullWidth(by: factor)
        return WideCoefficient(high: product.high + high * factor, low: product.low)
    }

    static func + (a: WideCoefficient, b: WideCoefficient) -> WideCoefficient {
        let (low, carries) = a.low.addingReportingOverflow(b.low)
        return WideCoefficient(high: a.high + b.high + (carries ? 1 : 0), low: low)
    }

    static func - (a: WideCoefficient, b: WideCoefficient) -> WideCoefficient {
        let (low, borrows) = a.low.subtractingReportingOverflow(b.low)
        return WideCoefficient(high: a.high - b.high - (borrows ? 1 : 0), low: low)
    }

    static func < (a: WideCoefficient, b: WideCoefficient) -> Bool {
        a.high != b.high ? a.high < b.high : a.low < b.low
    }

    func divided(by divisor: UInt128) -> (quotient: WideCoefficient, rest: UInt128) {
        let (first, rest) = high.quotientAndRemainder(dividingBy: divisor)
        let second = divisor.dividingFullWidth((rest, low))
        return (WideCoefficient(high: first, low: second.quotient), second.remainder)
    }

    /// The number of decimal digits; 0 for zero.
    var digitCount: Int {
        if high == 0 { return Magnitude.digitCount(low) }
        return 38 + Magnitude.digitCount(divided(by: Magnitude.power(of: 38)).quotient.low)
    }
}

/// A sum of decimals to 34 digits. An addition whose result needs more digits is rounded half to even, as IEEE 754
/// says.
package struct DecimalSum: Sendable {
    private var isNegative = false
    private var coefficient: UInt128 = 0
    private var exponent = 0
    /// 1 or -1 for an infinity of that sign; 2 if infinities of both signs were added; else 0.
    private var infinity = 0

    package init() {}

    /// Adds a decimal that is not NaN.
    package mutating func add(_ value: DecimalBits) {
        if value.isInfinite { return addInfinity(value.isNegative ? -1 : 1) }
        let parts = value.parts
        add(isNegative: value.isNegative, parts.coefficient, parts.exponent)
    }

    /// Adds an integer, rounded to 34 digits.
    package mutating func add(_ value: Int128) {
        let rounded = DecimalSum.rounded(value.magnitude, 0)
        add(isNegative: value < 0, rounded.coefficient, rounded.exponent)
    }

    /// Adds a double by its shortest decimal form. NaN is ignored.
    package mutating func add(_ value: Double) {
        if value.isInfinite { return addInfinity(value < 0 ? -1 : 1) }
        guard value.isFinite else { return }
        var coefficient: UInt128 = 0
        var exponent = 0
        var isFraction = false
        let text = "\(value.magnitude)".split(separator: "e")
        for byte in text[0].utf8 {
            if byte == UInt8(ascii: ".") {
                isFraction = true
            } else {
                coefficient = coefficient * 10 + UInt128(byte - UInt8(ascii: "0"))
                if isFraction { exponent -= 1 }
            }
        }
        if text.count > 1 { exponent += Int(text[1]) ?? 0 }
        add(isNegative: value < 0, coefficient, exponent)
    }

    private mutating func addInfinity(_ sign: Int) { infinity = infinity == 0 || infinity == sign ? sign : 2 }

    private mutating func add(isNegative otherIsNegative: Bool, _ otherCoefficient: UInt128, _ otherExponent: Int) {
        if otherCoefficient == 0 { return }
        if coefficient == 0 {
            (isNegative, coefficient, exponent) = (otherIsNegative, otherCoefficient, otherExponent)
            return
        }
        // The operand with the higher exponent is shifted left as far as 38 digits allow. The other one drops the
        // digits that are still too low.
        var (high, highExponent, highIsNegative) = (coefficient, exponent, isNegative)
        var (low, lowExponent, lowIsNegative) = (otherCoefficient, otherExponent, otherIsNegative)
        if highExponent < lowExponent {
            (high, low) = (low, high)
            (highExponent, lowExponent) = (lowExponent, highExponent)
            (highIsNegative, lowIsNegative) = (lowIsNegative, highIsNegative)
        }
        while highExponent > lowExponent, high < Magnitude.power(of: 36) {
            high *= 10
            highExponent -= 1
        }
        low = DecimalSum.shiftedRight(low, highExponent - lowExponent)
        isNegative = highIsNegative
        if highIsNegative == lowIsNegative {
            coefficient = high + low
        } else if high >= low {
            coefficient = high - low
        } else {
            coefficient = low - high
            isNegative = lowIsNegative
        }
        (coefficient, exponent) = DecimalSum.rounded(coefficient, highExponent)
    }

    /// Drops `count` decimal digits, rounding half to even.
    private static func shiftedRight(_ value: UInt128, _ count: Int) -> UInt128 {
        if count <= 0 { return value }
        if count > 38 { return 0 }
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: Magnitude.power(of: count))
        let half = Magnitude.power(of: count) / 2
        return rest > half || rest == half && quotient & 1 == 1 ? quotient + 1 : quotient
    }

    private static func rounded(_ value: UInt128, _ exponent: Int) -> (coefficient: UInt128, exponent: Int) {
        var dropped = 0
        while shiftedRight(value, dropped) >= Magnitude.power(of: 34) { dropped += 1 }
        return (shiftedRight(value, dropped), exponent + dropped)
    }

    /// The sum so far.
    package var bits: DecimalBits {
        if infinity != 0 {
            return DecimalBits(high: [1: 0x7800 << 48, -1: 0xF800 << 48][infinity] ?? 0x7C00 << 48, low: 0)
        }
        if exponent > 6111 {
            // Trailing zeros can make up for an exponent that is too high.
            var coefficient = coefficient
            var exponent = exponent
            while exponent > 6111, coefficient < Magnitude.power(of: 33) {
                (coefficient, exponent) = (coefficient * 10, exponent - 1)
            }
            if exponent > 6111 { return DecimalBits(high: (isNegative ? 0xF800 : 0x7800) << 48, low: 0) }
            return DecimalSum.encode(isNegative, coefficient, exponent)
        }
        if exponent < -6176 {
            return DecimalSum.encode(isNegative, DecimalSum.shiftedRight(coefficient, -6176 - exponent), -6176)
        }
        return DecimalSum.encode(isNegative, coefficient, exponent)
    }

    private static func encode(_ isNegative: Bool, _ coefficient: UInt128, _ exponent: Int) -> DecimalBits {
        DecimalBits(
            high: (isNegative ? 1 << 63 : 0) | UInt64(exponent + 6176) << 49 | UInt64(coefficient >> 64),
            low: UInt64(truncatingIfNeeded: coefficient))
    }

    /// The sum divided by a number above 0, to 34 digits.
    package func divided(by count: Int) -> DecimalBits {
        if infinity != 0 || coefficient == 0 { return bits }
        var result = self
        let divisor = UInt128(count)
        // Long division, one digit at a time, until nothing is left or the quotient has enough digits.
        var (quotient, rest) = coefficient.quotientAndRemainder(dividingBy: divisor)
        while rest != 0, quotient < Magnitude.power(of: 36) {
            let next = (rest * 10).quotientAndRemainder(dividingBy: divisor)
            quotient = quotient * 10 + next.quotient
            rest = next.remainder
            result.exponent -= 1
        }
        (result.coefficient, result.exponent) = DecimalSum.rounded(quotient, result.exponent)
        return result.bits
    }
}

/// The parts of a decimal128.
///
/// ```
/// bytes in a key, 19 for every finite number:
///   0      1           3                              19
/// ┌──────┬───────────┬──────────────────────────────┐
/// │class │ exponent  │ coefficient of 34 digits     │
/// └──────┴───────────┴──────────────────────────────┘
/// class        0 NaN (then its 16 bytes) · 1 -infinity · 2 negative · 3 zero · 4 positive · 5 infinity
/// exponent     the first digit's exponent, + 8192
///              both are inverted in a negative number, and zero in zero and the infinities
/// ```
///
/// Numbers that are equal have the same bytes, even if they were written with a different number of zeros.
enum DecimalParts {
    case notANumber
    case infinity(isNegative: Bool)
    /// coefficient x 10^exponent; the coefficient may be 0.
    case finite(isNegative: Bool, coefficient: UInt128, exponent: Int)

    static let largestCoefficient: UInt128 = 9_999_999_999_999_999_999_999_999_999_999_999

    init(_ bits: DecimalBits) {
        let isNegative = bits.high >> 63 == 1
        if bits.high >> 58 & 31 == 31 {
            self = .notANumber
        } else if bits.high >> 58 & 31 == 30 {
            self = .infinity(isNegative: isNegative)
        } else if bits.high >> 61 & 3 == 3 {
            // Coefficients of this form are all above the largest one, so they count as zero.
            self = .finite(isNegative: isNegative, coefficient: 0, exponent: 0)
        } else {
            let coefficient = UInt128(bits.high & (1 << 49 - 1)) << 64 | UInt128(bits.low)
            self = .finite(
                isNegative: isNegative, coefficient: coefficient > DecimalParts.largestCoefficient ? 0 : coefficient,
                exponent: Int(bits.high >> 49 & 0x3FFF) - 6176)
        }
    }
}

extension IndexKey.Encoder {
    mutating func append(decimal bits: DecimalBits) {
        switch DecimalParts(bits) {
        case .notANumber:
            append(UInt8(0))
            append(bigEndian: bits.high)
            append(bigEndian: bits.low)
        case .infinity(let isNegative):
            append(UInt8(isNegative ? 1 : 5))
            appendScientific(0, 0)
        case .finite(let isNegative, let coefficient, let exponent):
            append(finite: coefficient, exponent, isNegative: isNegative)
        }
    }

    /// Appends ±coefficient x 10^exponent. The coefficient has at most 34 digits.
    mutating func append(finite coefficient: UInt128, _ exponent: Int, isNegative: Bool) {
        guard coefficient != 0 else {
            append(UInt8(3))
            appendScientific(0, 0)
            return
        }
        var digits = coefficient
        var first = exponent + 33
        while digits <= DecimalParts.largestCoefficient / 10 {
            digits *= 10
            first -= 1
        }
        let biased = UInt16(first + 8192)
        append(UInt8(isNegative ? 2 : 4))
        if isNegative { appendScientific(~biased, ~digits) } else { appendScientific(biased, digits) }
    }

    private mutating func appendScientific(_ exponent: UInt16, _ coefficient: UInt128) {
        append(bigEndian: exponent)
        append(bigEndian: UInt64(truncatingIfNeeded: coefficient >> 64))
        append(bigEndian: UInt64(truncatingIfNeeded: coefficient))
    }
}

/// A sum of decimals, which may be divided by a count. Both are computed exactly and then rounded once: to 34 digits,
/// half to even, as IEEE 754-2008 says for decimal128. So the order in which values are added does not matter.
///
/// The sum is kept whole, because a value that is too small to change a sum of 34 digits may decide how it is rounded.
/// It consists of **limbs** in base 10^18:
///
/// ```
/// sum = limbs[0] · 10^(18 · lowest - 6176) + limbs[1] · 10^(18 · (lowest + 1) - 6176) + …
/// ```
///
/// Values of similar size take two or three limbs, and 700 limbs hold any values. Adding a value costs about two
/// multiplications, and computing a result about one division for each limb.
package struct DecimalSum: Sendable {
    /// A limb has any sign, and any size that fits. It is carried to the next limb only before it would overflow.
    private var limbs: [Int128] = []
    private var lowest = 0
    /// The lowest exponent of a value other than zero. An exact result has this exponent if its digits fit.
    private var exponent: Int?
    /// 1 or -1 for an infinity of that sign; 2 if infinities of both signs were added; else 0.
    private var infinity = 0

    private static let limbDigitCount = 18
    private static var base: UInt128 { 1_000_000_000_000_000_000 }
    private static var exponents: ClosedRange<Int> { DecimalBits.exponents }

    package init() {}

    /// Adds a decimal that is not NaN.
    package mutating func add(_ value: DecimalBits) {
        if value.isInfinite { return addInfinity(value.isNegative ? -1 : 1) }
        let parts = value.parts
        add(isNegative: value.isNegative, parts.coefficient, parts.exponent)
    }

    package mutating func add(_ value: Int128) { add(isNegative: value < 0, value.magnitude, 0) }

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

    private mutating func add(isNegative: Bool, _ coefficient: UInt128, _ exponent: Int) {
        if coefficient == 0 { return }
        self.exponent = min(self.exponent ?? exponent, exponent)
        var number = (exponent - Self.exponents.lowerBound) / Self.limbDigitCount
        let shift = (exponent - Self.exponents.lowerBound) % Self.limbDigitCount
        let factor = Int128(Magnitude.power(of: shift)) * (isNegative ? -1 : 1)
        var rest = coefficient
        while rest >= Self.base {
            let (quotient, digits) = rest.quotientAndRemainder(dividingBy: Self.base)
            add(Int128(digits) * factor, toLimb: number)
            (rest, number) = (quotient, number + 1)
        }
        add(Int128(rest) * factor, toLimb: number)
    }

    /// Adds to one limb a number whose amount is below 10^36.
    private mutating func add(_ value: Int128, toLimb number: Int) {
        if limbs.isEmpty { lowest = number }
        if number < lowest {
            limbs.insert(contentsOf: repeatElement(0, count: lowest - number), at: 0)
            lowest = number
        }
        let index = number - lowest
        if index >= limbs.count { limbs.append(contentsOf: repeatElement(0, count: index + 1 - limbs.count)) }
        let (sum, overflows) = limbs[index].addingReportingOverflow(value)
        guard overflows else {
            limbs[index] = sum
            return
        }
        let (carry, rest) = limbs[index].quotientAndRemainder(dividingBy: Int128(Self.base))
        limbs[index] = rest + value
        add(carry, toLimb: number + 1)
    }

    // MARK: Results

    /// The sum so far.
    package var bits: DecimalBits { divided(by: 1) }

    /// The sum divided by a number above 0.
    package func divided(by count: Int) -> DecimalBits {
        if infinity != 0 {
            return infinity == 2 ? .nan : .infinity(isNegative: infinity < 0)
        }
        let (isNegative, natural) = carried
        // Long division, limb by limb, until nothing is left or the quotient has more digits than a result.
        var quotient: [UInt128] = []
        var rest: UInt128 = 0
        var number = lowest + natural.count
        while number > lowest || rest != 0 && quotient.count < 3 {
            number -= 1
            let dividend = rest * Self.base + (number < lowest ? 0 : natural[number - lowest])
            rest = dividend % UInt128(count)
            if !quotient.isEmpty || dividend >= count { quotient.append(dividend / UInt128(count)) }
        }
        let end = number * Self.limbDigitCount + Self.exponents.lowerBound
        return rounded(isNegative, Self.digits(quotient), end: end, isExact: rest == 0)
    }

    /// The sum's sign and its amount, in limbs from 0 up to the base.
    private var carried: (isNegative: Bool, limbs: [UInt128]) {
        let base = Int128(Self.base)
        var result: [UInt128] = []
        var carry: Int128 = 0
        var index = 0
        while index < limbs.count || carry > 0 || carry < -1 {
            let limb = (index < limbs.count ? limbs[index] : 0).quotientAndRemainder(dividingBy: base)
            let value = limb.remainder + carry
            // Rounded down, so that the rest in the limb is not negative.
            let quotient = (value < 0 ? value - base + 1 : value) / base
            result.append(UInt128(value - quotient * base))
            carry = limb.quotient + quotient
            index += 1
        }
        guard carry < 0 else { return (false, result) }
        // The sum is negative, and the limbs hold base^count + sum. Their complement is the sum's amount.
        var isLowestZero = true
        for index in result.indices {
            if isLowestZero && result[index] == 0 { continue }
            result[index] = Self.base - result[index] - (isLowestZero ? 0 : 1)
            isLowestZero = false
        }
        if isLowestZero { result.append(1) }
        return (true, result)
    }

    /// The decimal digits of limbs. Both limbs and digits are in descending order of significance.
    private static func digits(_ limbs: [UInt128]) -> [UInt8] {
        var digits: [UInt8] = []
        for limb in limbs {
            let text = String(limb).utf8
            if !digits.isEmpty { digits += repeatElement(0, count: limbDigitCount - text.count) }
            digits += text.map { $0 - UInt8(ascii: "0") }
        }
        return digits
    }

    /// The decimal nearest to `digits · 10^end`. If `isExact` is false, the exact amount is a little above that number.
    private func rounded(_ isNegative: Bool, _ digits: [UInt8], end: Int, isExact: Bool) -> DecimalBits {
        let preferred = exponent ?? 0
        guard !digits.isEmpty else { return DecimalBits(isNegative: false, coefficient: 0, exponent: preferred) }
        var exponent = max(end + digits.count - DecimalBits.digitCount, Self.exponents.lowerBound)
        if isExact {
            // Zeros at the end are dropped, but only up to the preferred exponent.
            let zeros = digits.count - 1 - (digits.lastIndex { $0 != 0 } ?? 0)
            exponent = max(exponent, min(end + zeros, preferred))
        }
        // `kept` is negative if the amount is below a tenth of the least positive decimal.
        let kept = digits.count - (exponent - end)
        var coefficient = digits.prefix(max(0, kept)).reduce(UInt128(0)) { $0 * 10 + UInt128($1) }
        if kept >= 0, kept < digits.count {
            let isMore = !isExact || digits[(kept + 1)...].contains { $0 != 0 }
            if digits[kept] > 5 || digits[kept] == 5 && (isMore || coefficient & 1 == 1) { coefficient += 1 }
        }
        if coefficient == Magnitude.power(of: DecimalBits.digitCount) {
            (coefficient, exponent) = (coefficient / 10, exponent + 1)
        }
        if exponent > Self.exponents.upperBound { return .infinity(isNegative: isNegative) }
        return DecimalBits(isNegative: isNegative, coefficient: coefficient, exponent: exponent)
    }
}

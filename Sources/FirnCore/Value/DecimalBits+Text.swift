/// The decimal text of decimal128.
extension DecimalBits {
    /// The number that a text denotes, rounded to 34 digits, half to even; nil if the text is not a number.
    ///
    /// The text is a number as in `-12.50e3`, or `inf`, `infinity`, `nan` or `snan`, with or without a sign, in upper
    /// or lower case. The digits behind the point give the exponent: `1.50` and `1.5` are equal, but have different
    /// bits.
    package init?(text: some StringProtocol) {
        var rest = Substring(text).utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        if let special = DecimalBits.special(rest) {
            self = isNegative ? special.negated : special
            return
        }
        guard let number = DecimalText(rest) else { return nil }
        self = DecimalBits.rounded(
            isNegative, coefficient: number.coefficient, exponent: number.exponent, hasRest: number.hasRest)
    }

    /// The decimal number that the shortest text of a double denotes.
    package init(double number: Double) {
        // Every text of a double is a number; the sign of a NaN is kept in the text.
        self = DecimalBits(text: "\(number)") ?? .nan
    }

    /// The decimal number that the shortest text of a `Float` denotes. It can differ from the number of the equal
    /// `Double`, because the shortest texts of the two can differ.
    package init(float number: Float) { self = DecimalBits(text: "\(number)") ?? .nan }

    private static func special(_ text: Substring.UTF8View) -> DecimalBits? {
        guard let first = text.first, first > UInt8(ascii: "9"), text.count <= 8 else { return nil }
        switch String(Substring(text)).lowercased() {
        case "inf", "infinity": return .infinity(isNegative: false)
        case "nan": return .nan
        case "snan": return DecimalBits(high: 0x7E00 << 48, low: 0)
        default: return nil
        }
    }

    /// The text from which `init(text:)` makes the number again, bit by bit apart from the payload of a NaN. IEEE
    /// 754-2008 and the specification of General Decimal Arithmetic define it as `to-scientific-string`.
    package var text: String {
        let sign = isNegative ? "-" : ""
        if isNaN { return sign + (isSignalingNaN ? "sNaN" : "NaN") }
        if isInfinite { return sign + "Infinity" }
        let (coefficient, exponent) = parts
        let digits = String(coefficient)
        let scientific = exponent + digits.count - 1
        if exponent <= 0, scientific >= -6 {
            if exponent == 0 { return sign + digits }
            let wholeCount = digits.count + exponent
            if wholeCount <= 0 { return sign + "0." + String(repeating: "0", count: -wholeCount) + digits }
            return sign + digits.prefix(wholeCount) + "." + digits.dropFirst(wholeCount)
        }
        let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
        return sign + digits.prefix(1) + fraction + "E" + (scientific < 0 ? "" : "+") + String(scientific)
    }

    /// The double nearest to the number.
    package var double: Double {
        if isNaN { return .nan }
        if isInfinite { return isNegative ? -.infinity : .infinity }
        // Swift rounds a decimal text to the nearest double.
        return Double(text) ?? .nan
    }
}

/// The digits and the exponent of a number's text, without a sign.
private struct DecimalText {
    /// At most 38 digits, without leading zeros.
    private(set) var coefficient = WideCoefficient(0)
    private(set) var exponent = 0
    /// Whether any digit behind the coefficient's digits is not 0.
    private(set) var hasRest = false

    /// Nil if the text is not a number.
    init?(_ text: Substring.UTF8View) {
        var (value, count, hasDigits, isFraction) = (UInt128(0), 0, false, false)
        var rest = text
        digits: while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                hasDigits = true
                if isFraction { exponent -= 1 }
                if count < 38 {
                    value = value * 10 + UInt128(byte - UInt8(ascii: "0"))
                    if value != 0 { count += 1 }
                } else {
                    exponent += 1
                    if byte != UInt8(ascii: "0") { hasRest = true }
                }
            case UInt8(ascii: ".") where !isFraction: isFraction = true
            default: break digits
            }
            rest.removeFirst()
        }
        guard hasDigits, let written = DecimalText.exponent(rest) else { return nil }
        exponent += written
        coefficient = WideCoefficient(value)
    }

    /// The exponent behind the letter E; 0 if the text is empty; nil if it is anything else. An exponent that no
    /// coefficient's digits can compensate for may be returned as another such exponent.
    private static func exponent(_ text: Substring.UTF8View) -> Int? {
        guard let letter = text.first else { return 0 }
        guard letter | 0x20 == UInt8(ascii: "e") else { return nil }
        var rest = text.dropFirst()
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        guard !rest.isEmpty else { return nil }
        var value = 0
        for byte in rest {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            if value < 1 << 50 { value = value * 10 + Int(byte - UInt8(ascii: "0")) }
        }
        return isNegative ? -value : value
    }
}

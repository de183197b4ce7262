import FirnBytes

/// NaNs as text, for export and import. The usual NaN is a word. Any other NaN is written with its bits, as `nan(0x…)`,
/// because the store treats these as different values, and a set may hold several.
enum NaNText {
    /// The high half of the usual NaN of decimal numbers. Its low half is 0.
    private static let usualDecimal: UInt64 = 0x7C00_0000_0000_0000

    static func text(_ number: Double) -> String {
        number.bitPattern == Double.nan.bitPattern ? "nan" : "nan(0x\(hexadecimal(number.bitPattern, digits: 16)))"
    }

    static func text(_ number: Float) -> String {
        number.bitPattern == Float.nan.bitPattern
            ? "nan" : "nan(0x\(hexadecimal(UInt64(number.bitPattern), digits: 8)))"
    }

    static func text(decimal high: UInt64, _ low: UInt64) -> String {
        high == usualDecimal && low == 0
            ? "NaN" : "NaN(0x\(hexadecimal(high, digits: 16))\(hexadecimal(low, digits: 16)))"
    }

    /// The NaN whose bits stand in a text; nil if it is another text, or if the bits are those of a number.
    static func double(_ text: String) -> Double? {
        bits(text, digits: 16).map { Double(bitPattern: $0.low) }.flatMap { $0.isNaN ? $0 : nil }
    }

    static func float(_ text: String) -> Float? {
        bits(text, digits: 8).map { Float(bitPattern: UInt32(truncatingIfNeeded: $0.low)) }
            .flatMap { $0.isNaN ? $0 : nil }
    }

    /// The bits in a text that is a NaN with `count` digits; nil if it is another text.
    static func bits(_ text: String, digits count: Int) -> (high: UInt64, low: UInt64)? {
        guard text.lowercased().hasPrefix("nan(0x"), text.hasSuffix(")"), text.utf8.count == count + 7 else {
            return nil
        }
        let digits = text.dropFirst(6).dropLast()
        // A number's initialiser would also accept a sign.
        guard digits.allSatisfy(\.isHexDigit) else { return nil }
        let low = UInt64(digits.suffix(16), radix: 16)
        let high = count > 16 ? UInt64(digits.prefix(count - 16), radix: 16) : 0
        guard let low, let high else { return nil }
        return (high, low)
    }
}

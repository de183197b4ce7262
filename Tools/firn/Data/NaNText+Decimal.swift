import FirnCore

extension NaNText {
    static func decimal(_ text: String) -> DecimalBits? {
        bits(text, digits: 32).map { DecimalBits(high: $0.high, low: $0.low) }.flatMap { $0.isNaN ? $0 : nil }
    }
}

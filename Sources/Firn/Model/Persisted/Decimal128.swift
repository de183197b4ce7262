public import FirnCore
import FirnStorage
public import Foundation

/// A decimal number of 34 digits with an exponent from -6143 to 6144: decimal128 of IEEE 754-2008.
///
/// Sums of money stay exact: unlike with `Double`, 0.1 + 0.2 is 0.3. Every operation gives the exact result, rounded
/// once to 34 digits, half to even.
///
/// ```swift
/// @Persisted var price: Decimal128 = "19.90"
///
/// shop.price *= 1.19                                          // 23.6810
/// realm.objects(Item.self).where { $0.price >= 20 }
/// ```
///
/// - **Literals and texts.** `"19.90"` keeps its last zero, which shows in `stringValue` but does not count when
///   numbers are compared. A literal `0.1` is read as the shortest decimal text of the `Double`. Texts are exact.
/// - **Comparison.** `==` compares numbers, so that 1.0 equals 1.00, and equal numbers have equal hash values. Unlike
///   with `Double`, two NaNs with the same bits are equal, and `<` is a total order: NaNs come before all numbers.
/// - **Cost.** A value takes 16 bytes. An addition or a multiplication takes some ten times as long as with `Double`, a
///   division some twenty times.
///
/// It can be used on any thread; its coded form is its text.
///
/// - Note: The rounding, the exponents of exact results, and the texts follow IEEE 754-2008 and the General Decimal
///   Arithmetic specification by Mike Cowlishaw.
@frozen
public struct Decimal128: Sendable, BitwiseCopyable {
    @usableFromInline let bits: DecimalBits

    @inlinable init(_ bits: DecimalBits) { self.bits = bits }

    /// Zero.
    public init() { self.init(DecimalBits(integer: 0)) }

    /// Parses a number, and rounds it to 34 digits. The text has digits with or without a sign, a point and an
    /// exponent, as in `-1.5E+3`, or it is `Infinity` or `NaN`.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput` if the text is no number.
    public init(string: String) throws {
        guard let bits = DecimalBits(text: string) else {
            throw Realm.Error(
                .invalidInput,
                "\"\(string.prefix(64))\" is not a decimal number; write digits, as in \"-12.5\" or \"1.5E+3\".")
        }
        self.init(bits)
    }

    /// The value of an `NSNumber`. A floating-point number is read as its shortest decimal text.
    public init(number: NSNumber) {
        // Every number can be converted; see `_convert`.
        self = Decimal128._convert(number) ?? Decimal128(.nan)
    }

    /// Converts a number of any type, or parses a text. Stops the program for anything else; to read texts that may be
    /// wrong, use `init(string:)`.
    public init(value: Any) {
        guard let number = (value as? Decimal128) ?? Decimal128._convert(value) else {
            stopProgram("\(value) is not a decimal number; give a number, or a text such as \"12.5\".")
        }
        self = number
    }

    /// The least number: -9.99…E+6144.
    public static var min: Decimal128 { Decimal128(.greatest(isNegative: true)) }
    /// The largest number: 9.99…E+6144.
    public static var max: Decimal128 { Decimal128(.greatest(isNegative: false)) }

    /// Whether this is not a number, but the result of an operation that has none, such as 0 / 0.
    public var isNaN: Bool { bits.isNaN }
    /// Whether this is a signaling NaN. Firn's operations neither return nor signal one: their result is a quiet NaN.
    public var isSignaling: Bool { bits.isSignalingNaN }
    /// The same as `isSignaling`.
    public var isSignalingNaN: Bool { bits.isSignalingNaN }
    /// Whether this is infinite: the result of a division by zero, or of an operation whose result is too large.
    public var isInfinite: Bool { bits.isInfinite }

    /// The `Double` nearest to the number.
    public var doubleValue: Double { bits.double }
    /// The number as text, from which `init(string:)` makes an equal number: `19.90`, `1.5E40`, `NaN`, `-Infinity`.
    /// With an exponent it has no trailing zeros, as in RealmSwift.
    public var stringValue: String {
        let text = bits.text
        guard let end = text.firstIndex(of: "E") else { return text }
        var digits = text[..<end]
        if digits.contains(".") {
            while digits.last == "0" { digits.removeLast() }
            if digits.last == "." { digits.removeLast() }
        }
        let exponent = text[end...].dropFirst()
        return "\(digits)E\(exponent.first == "+" ? exponent.dropFirst() : exponent)"
    }
}

extension Decimal128: CustomStringConvertible {
    /// The same as `stringValue`.
    public var description: String { stringValue }
}

extension Decimal128: Hashable, Comparable {
    /// Whether two numbers have the same value, or are NaNs with the same bits.
    public static func == (a: Decimal128, b: Decimal128) -> Bool {
        a.bits == b.bits || DecimalBits.order(a.bits, b.bits) == 0
    }

    /// Whether a number is less than another one. A NaN is less than every number.
    public static func < (a: Decimal128, b: Decimal128) -> Bool { DecimalBits.order(a.bits, b.bits) < 0 }

    /// Hashes the value: numbers that are equal have the same hash.
    public func hash(into hasher: inout Hasher) { hasher.combine(bits.normalized) }
}

extension Decimal128: SignedNumeric, Strideable {
    /// The magnitude of a number is of the same type.
    public typealias Magnitude = Decimal128
    /// The distance between two numbers is of the same type.
    public typealias Stride = Decimal128

    /// Converts an integer; nil if the integer has more than 34 significant digits.
    public init?<T: BinaryInteger>(exactly source: T) {
        // A longer text would be rounded, and then differs from the integer.
        guard let bits = DecimalBits(text: "\(source)"), bits.wholePart.flatMap({ T(exactly: $0) }) == source else {
            return nil
        }
        self.init(bits)
    }

    /// The number without its sign.
    public var magnitude: Decimal128 { bits.isNegative ? Decimal128(bits.negated) : self }

    /// The sum. Infinities of both signs give NaN.
    public static func + (a: Decimal128, b: Decimal128) -> Decimal128 { Decimal128(a.bits + b.bits) }
    /// The difference. Infinities of the same sign give NaN.
    public static func - (a: Decimal128, b: Decimal128) -> Decimal128 { Decimal128(a.bits - b.bits) }
    /// The product. Zero times infinity gives NaN.
    public static func * (a: Decimal128, b: Decimal128) -> Decimal128 { Decimal128(a.bits * b.bits) }
    /// The quotient. Division by zero gives an infinity, and NaN for 0 / 0.
    public static func / (a: Decimal128, b: Decimal128) -> Decimal128 { Decimal128(a.bits / b.bits) }

    /// Adds a number.
    public static func += (a: inout Decimal128, b: Decimal128) { a = a + b }
    /// Subtracts a number.
    public static func -= (a: inout Decimal128, b: Decimal128) { a = a - b }
    /// Multiplies by a number.
    public static func *= (a: inout Decimal128, b: Decimal128) { a = a * b }
    /// Divides by a number.
    public static func /= (a: inout Decimal128, b: Decimal128) { a = a / b }

    /// Changes the sign.
    public mutating func negate() { self = Decimal128(bits.negated) }

    /// The number that must be added to this number to get another one.
    public func distance(to other: Decimal128) -> Decimal128 { other - self }
    /// The sum of this number and a distance.
    public func advanced(by distance: Decimal128) -> Decimal128 { self + distance }
}

extension Decimal128: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
    /// The number of an integer literal.
    public init(integerLiteral value: Int64) { self.init(DecimalBits(integer: value)) }
    /// The number of a floating-point literal, read as the shortest decimal text of the `Double`: 0.1 is 0.1.
    public init(floatLiteral value: Double) { self.init(DecimalBits(double: value)) }
    /// The number of a literal text. Stops the program if the text is no number.
    public init(stringLiteral value: String) {
        guard let bits = DecimalBits(text: value) else {
            stopProgram("\"\(value)\" is not a decimal number; write digits, as in \"-12.5\" or \"1.5E+3\".")
        }
        self.init(bits)
    }
}

extension Decimal128: Codable {
    /// Decodes a number from its text, or from a number.
    ///
    /// - Throws: `DecodingError.dataCorrupted` if the text is no number, and what the decoder throws.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let integer = try? container.decode(Int64.self) {
            self.init(DecimalBits(integer: integer))
        } else if let integer = try? container.decode(UInt64.self) {
            self.init(DecimalBits(text: "\(integer)") ?? .nan)
        } else if let number = try? container.decode(Double.self) {
            self.init(DecimalBits(double: number))
        } else {
            let text = try container.decode(String.self)
            guard let bits = DecimalBits(text: text) else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "\"\(text.prefix(64))\" is not a decimal number")
            }
            self.init(bits)
        }
    }

    /// Encodes the number as its text. Throws what the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(stringValue)
    }
}

extension Decimal128: _FixedScalar {
    /// The type of the column.
    public static var _type: ColumnType { .decimal }
    /// A property without an initial value starts with 0.
    public static var _initial: Decimal128 { Decimal128() }
    /// The sixteen bytes, as the column stores them.
    @inlinable public var _raw: DecimalBits { bits }
    /// The number that sixteen stored bytes encode.
    @inlinable public init(_raw: DecimalBits) { bits = _raw }
    /// The number as a value of the store.
    public var _value: Value { .decimal(bits) }
    /// The number in a value of the store; nil if the value is of another type.
    public init?(_value: Value) {
        guard case .decimal(let value) = _value else { return nil }
        self.init(value)
    }
    /// Converts a number of any type, or parses a text; nil for anything else. A floating-point number is read as its
    /// shortest decimal text.
    public static func _convert(_ any: Any) -> Decimal128? {
        // This test comes first, because a cast of an `NSNumber` to `Float` succeeds on Linux.
        if let number = instance(any, of: NSNumber.self) {
            return DecimalBits(text: number.stringValue).map { Decimal128($0) }
        }
        return switch any {
        case let text as String: DecimalBits(text: text).map { Decimal128($0) }
        case let integer as any BinaryInteger: DecimalBits(text: "\(integer)").map { Decimal128($0) }
        case let number as Float: Decimal128(DecimalBits(float: number))
        case let number as Foundation.Decimal: DecimalBits(text: "\(number)").map { Decimal128($0) }
        default:
            integer(any).map { Decimal128(DecimalBits(integer: $0)) }
                ?? floating(any).map { Decimal128(DecimalBits(double: $0)) }
        }
    }
}

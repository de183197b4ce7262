public import FirnCore
public import Foundation

/// A type that has a smallest and a largest value: numbers and dates.
public protocol MinMaxType {
    /// The result of an aggregate as this type; nil if it is null or of a type that this one can't represent.
    init?(_aggregate: Value)
    /// The smallest of values; nil if there are none.
    static func _min(_ values: some Sequence<Self>) -> Self?
    /// The largest of values; nil if there are none.
    static func _max(_ values: some Sequence<Self>) -> Self?
}

extension MinMaxType where Self: Comparable {
    /// The smallest of values; nil if there are none.
    public static func _min(_ values: some Sequence<Self>) -> Self? { values.min() }
    /// The largest of values; nil if there are none.
    public static func _max(_ values: some Sequence<Self>) -> Self? { values.max() }
}

// Swift's own `min()` and `max()` need `Comparable`, which a `MinMaxType` need not be: `AnyRealmValue` is not.
extension RealmCollection where Element: MinMaxType {
    /// The smallest element; nil if there are none. Mixed values are compared in the order of all values; nil, NaN,
    /// objects and collections are passed over. O(n).
    @_disfavoredOverload
    public func min() -> Element? { Element._min(self) }
    /// The largest element; nil if there are none. Mixed values are compared in the order of all values; nil, NaN,
    /// objects and collections are passed over. O(n).
    @_disfavoredOverload
    public func max() -> Element? { Element._max(self) }
}

/// A type that can be summed and averaged: numbers.
public protocol AddableType {
    /// The sum of no values.
    static var _zero: Self { get }
    /// The result of an aggregate as this type; nil if it is null or not a number. Integer types truncate a fraction.
    init?(_aggregate: Value)
    /// The sum of values, computed by the rules of `sum(ofProperty:)`.
    static func _sum(_ values: some Sequence<Self>) -> Self
    /// The average of values, computed by the rules of `average(ofProperty:)`; null if there are none.
    static func _average(_ values: some Collection<Self>) -> Value
}

extension FixedWidthInteger {
    /// The result of an aggregate as an integer. A fraction is truncated. A number beyond the type's range becomes the
    /// nearest number in the range. Nil for NaN and for anything that is not a number.
    static func of(aggregate value: Value) -> Self? {
        switch value {
        case .int(let number): Self(clamping: number)
        case .double(let number): of(number)
        case .float(let number): of(Double(number))
        case .decimal(let number): number.wholePart.map { Self(clamping: $0) }
        default: nil
        }
    }

    private static func of(_ number: Double) -> Self? {
        if number.isNaN { return nil }
        return Self(exactly: number.rounded(.towardZero)) ?? (number < 0 ? min : max)
    }
}

extension AddableType where Self: FixedWidthInteger {
    /// The exact sum, or the nearest number that the type has if the sum is beyond its range.
    public static func _sum(_ values: some Sequence<Self>) -> Self {
        Self(clamping: values.reduce(Int128(0)) { $0 + Int128($1) })
    }
    /// The average of values, added as doubles; null if there are none.
    public static func _average(_ values: some Collection<Self>) -> Value {
        average(values).map { .double($0) } ?? .null
    }
}

extension AddableType where Self: BinaryFloatingPoint {
    /// The sum of values, added as doubles and rounded to the type at the end.
    public static func _sum(_ values: some Sequence<Self>) -> Self { Self(values.reduce(0.0) { $0 + Double($1) }) }
    /// The average of values, added as doubles; null if there are none.
    public static func _average(_ values: some Collection<Self>) -> Value {
        average(values).map { .double($0) } ?? .null
    }
}

extension BinaryInteger {
    /// The average of values, added as doubles; nil if there are none.
    static func average(_ values: some Collection<Self>) -> Double? {
        values.isEmpty ? nil : values.reduce(0.0) { $0 + Double($1) } / Double(values.count)
    }
}

extension BinaryFloatingPoint {
    /// The average of values, added as doubles; nil if there are none.
    static func average(_ values: some Collection<Self>) -> Double? {
        values.isEmpty ? nil : values.reduce(0.0) { $0 + Double($1) } / Double(values.count)
    }

    /// The result of an aggregate as a floating-point number; nil if it is not a number.
    static func of(aggregate value: Value) -> Self? {
        switch value {
        case .int(let number): Self(number)
        case .double(let number): Self(number)
        case .float(let number): Self(number)
        case .decimal(let number): Self(number.double)
        default: nil
        }
    }
}

// The same members for each integer and floating-point type, because each type needs a conformance of its own.
extension Int: MinMaxType, AddableType {
    /// Zero.
    public static var _zero: Int { 0 }
    /// The result of an aggregate as an integer; nil if it is not a number.
    public init?(_aggregate: Value) {
        guard let value = Int.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Int8: MinMaxType, AddableType {
    /// Zero.
    public static var _zero: Int8 { 0 }
    /// The result of an aggregate as an integer; nil if it is not a number.
    public init?(_aggregate: Value) {
        guard let value = Int8.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Int16: MinMaxType, AddableType {
    /// Zero.
    public static var _zero: Int16 { 0 }
    /// The result of an aggregate as an integer; nil if it is not a number.
    public init?(_aggregate: Value) {
        guard let value = Int16.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Int32: MinMaxType, AddableType {
    /// Zero.
    public static var _zero: Int32 { 0 }
    /// The result of an aggregate as an integer; nil if it is not a number.
    public init?(_aggregate: Value) {
        guard let value = Int32.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Int64: MinMaxType, AddableType {
    /// Zero.
    public static var _zero: Int64 { 0 }
    /// The result of an aggregate as an integer; nil if it is not a number.
    public init?(_aggregate: Value) {
        guard let value = Int64.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Float: MinMaxType, AddableType {
    /// Zero.
    public static var _zero: Float { 0 }
    /// The result of an aggregate as a floating-point number; nil if it is not a number.
    public init?(_aggregate: Value) {
        guard let value = Float.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Double: MinMaxType, AddableType {
    /// Zero.
    public static var _zero: Double { 0 }
    /// The result of an aggregate as a floating-point number; nil if it is not a number.
    public init?(_aggregate: Value) {
        guard let value = Double.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Decimal128: MinMaxType, AddableType {
    /// Zero.
    public static var _zero: Decimal128 { Decimal128() }
    /// The result of an aggregate as a decimal; nil if it is not a number. A floating-point number becomes the decimal
    /// of its shortest text.
    public init?(_aggregate: Value) {
        switch _aggregate {
        case .decimal(let number): self.init(number)
        case .int(let number): self.init(DecimalBits(integer: number))
        case .double(let number): self.init(DecimalBits(double: number))
        case .float(let number): self.init(DecimalBits(float: number))
        default: return nil
        }
    }
    /// The exact sum, rounded to 34 digits at the end. NaN is passed over.
    public static func _sum(_ values: some Sequence<Decimal128>) -> Decimal128 {
        Decimal128(added(values).sum.bits)
    }

    /// The average of the values that are not NaN; null if there are none.
    public static func _average(_ values: some Collection<Decimal128>) -> Value {
        average(values).map { .decimal($0.bits) } ?? .null
    }

    /// The average of the values that are not NaN; nil if there are none.
    static func average(_ values: some Sequence<Decimal128>) -> Decimal128? {
        let (sum, count) = added(values)
        return count == 0 ? nil : Decimal128(sum.divided(by: count))
    }

    private static func added(_ values: some Sequence<Decimal128>) -> (sum: DecimalSum, count: Int) {
        var result = (sum: DecimalSum(), count: 0)
        for value in values where !value.isNaN {
            result.sum.add(value.bits)
            result.count += 1
        }
        return result
    }
}
extension Date: MinMaxType {
    /// The result of an aggregate as a date; nil if it is not a date.
    public init?(_aggregate: Value) { self.init(_value: _aggregate) }
}

public import FirnCore
public import Foundation

/// A type that has a smallest and a largest value: numbers and dates.
public protocol MinMaxType {
    init?(_aggregate: Value)
}

/// A type that can be summed: numbers.
public protocol AddableType {
    static var _zero: Self { get }
    init?(_aggregate: Value)
    /// The sum of values, as that of a property is computed.
    static func _sum(_ values: some Sequence<Self>) -> Self
}

extension FixedWidthInteger {
    /// The integer that an aggregate is; a fraction is cut off. Of a number beyond the type's range, the nearest in it.
    static func of(aggregate value: Value) -> Self? {
        switch value {
        case .int(let number): Self(clamping: number)
        case .double(let number): of(number)
        case .float(let number): of(Double(number))
        default: nil
        }
    }

    private static func of(_ number: Double) -> Self? {
        if number.isNaN { return nil }
        return Self(exactly: number.rounded(.towardZero)) ?? (number < 0 ? min : max)
    }
}

extension AddableType where Self: FixedWidthInteger {
    /// Exact; where that is beyond the type's range, the nearest in it.
    public static func _sum(_ values: some Sequence<Self>) -> Self {
        Self(clamping: values.reduce(Int128(0)) { $0 + Int128($1) })
    }
}

extension AddableType where Self: BinaryFloatingPoint {
    public static func _sum(_ values: some Sequence<Self>) -> Self { Self(values.reduce(0.0) { $0 + Double($1) }) }
}

extension BinaryFloatingPoint {
    /// The number that an aggregate is.
    static func of(aggregate value: Value) -> Self? {
        switch value {
        case .int(let number): Self(number)
        case .double(let number): Self(number)
        case .float(let number): Self(number)
        default: nil
        }
    }
}

/// What all integer and floating-point types need, spelled once each.
extension Int: MinMaxType, AddableType {
    public static var _zero: Int { 0 }
    public init?(_aggregate: Value) {
        guard let value = Int.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Int8: MinMaxType, AddableType {
    public static var _zero: Int8 { 0 }
    public init?(_aggregate: Value) {
        guard let value = Int8.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Int16: MinMaxType, AddableType {
    public static var _zero: Int16 { 0 }
    public init?(_aggregate: Value) {
        guard let value = Int16.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Int32: MinMaxType, AddableType {
    public static var _zero: Int32 { 0 }
    public init?(_aggregate: Value) {
        guard let value = Int32.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Int64: MinMaxType, AddableType {
    public static var _zero: Int64 { 0 }
    public init?(_aggregate: Value) {
        guard let value = Int64.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Float: MinMaxType, AddableType {
    public static var _zero: Float { 0 }
    public init?(_aggregate: Value) {
        guard let value = Float.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Double: MinMaxType, AddableType {
    public static var _zero: Double { 0 }
    public init?(_aggregate: Value) {
        guard let value = Double.of(aggregate: _aggregate) else { return nil }
        self = value
    }
}
extension Date: MinMaxType {
    public init?(_aggregate: Value) { self.init(_value: _aggregate) }
}

public import FirnCore
import Foundation

extension Bool: _FixedScalar, _Indexable {
    /// The type of the column.
    public static var _type: ColumnType { .bool }
    /// A Boolean can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .bool }
    /// A property without an initial value starts with false.
    @inlinable public static var _initial: Bool { @inline(__always) get { false } }
    /// 1 for true, 0 for false.
    @inlinable public var _raw: UInt8 { @inline(__always) get { self ? 1 : 0 } }
    /// True for any byte but 0.
    @inlinable @inline(__always) public init(_raw: UInt8) { self = _raw != 0 }
    /// The Boolean as a value of the store.
    public var _value: Value { .bool(self) }
    /// The Boolean of a value of the store; nil if the value is of another type.
    public init?(_value: Value) {
        guard case .bool(let value) = _value else { return nil }
        self = value
    }
    /// The Boolean as an `NSNumber`.
    public var _boxed: Any { NSNumber(value: self) }
    /// False for a number that is 0, true for one that is 1; nil for anything else.
    public static func _convert(_ any: Any) -> Bool? {
        guard let number = integer(any) else { return nil }
        return number == 0 ? false : number == 1 ? true : nil
    }
}

/// An integer type; the store holds all of them as 64 bits.
public protocol _IntegerScalar: _FixedScalar, FixedWidthInteger, _PrimaryKey, _Indexable where _Raw == Int64 {}

extension _IntegerScalar {
    /// The type of the column.
    public static var _type: ColumnType { .int }
    /// A property without an initial value starts with 0.
    @inlinable public static var _initial: Self { @inline(__always) get { 0 } }
    /// The number in 64 bits.
    @inlinable public var _raw: Int64 { @inline(__always) get { Int64(truncatingIfNeeded: self) } }
    /// The number of 64 stored bits. A narrower type keeps the lower ones.
    @inlinable @inline(__always) public init(_raw: Int64) { self = Self(truncatingIfNeeded: _raw) }
    /// The number as a value of the store.
    public var _value: Value { .int(Int64(truncatingIfNeeded: self)) }
    /// The number of a value of the store; nil if the value is of another type or does not fit this one.
    public init?(_value: Value) {
        guard case .int(let value) = _value, let narrow = Self(exactly: value) else { return nil }
        self = narrow
    }
    /// Converts a number or a Boolean of any type; nil if this type can't hold the number exactly.
    public static func _convert(_ any: Any) -> Self? { integer(any).flatMap { Self(exactly: $0) } }
}

extension Int: _IntegerScalar {
    /// An `Int` can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .int }
    /// An optional `Int` can be read from an unmanaged object's memory.
    public static var _optionalInlineStorage: _InlineStorage { .optionalInt }
    /// The number as an `NSNumber`.
    public var _boxed: Any { NSNumber(value: self) }
}
extension Int8: _IntegerScalar {
    /// An `Int8` can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .int8 }
    /// The number as an `NSNumber`.
    public var _boxed: Any { NSNumber(value: self) }
}
extension Int16: _IntegerScalar {
    /// An `Int16` can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .int16 }
    /// The number as an `NSNumber`.
    public var _boxed: Any { NSNumber(value: self) }
}
extension Int32: _IntegerScalar {
    /// An `Int32` can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .int32 }
    /// The number as an `NSNumber`.
    public var _boxed: Any { NSNumber(value: self) }
}
extension Int64: _IntegerScalar {
    /// An `Int64` can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .int }
    /// An optional `Int64` can be read from an unmanaged object's memory.
    public static var _optionalInlineStorage: _InlineStorage { .optionalInt }
    /// The number as an `NSNumber`.
    public var _boxed: Any { NSNumber(value: self) }
}

extension Float: _FixedScalar {
    /// The type of the column.
    public static var _type: ColumnType { .float }
    /// A `Float` can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .float }
    /// A property without an initial value starts with 0.
    @inlinable public static var _initial: Float { @inline(__always) get { 0 } }
    /// The number as the column stores it.
    @inlinable public var _raw: Float { @inline(__always) get { self } }
    /// The number that is stored.
    @inlinable @inline(__always) public init(_raw: Float) { self = _raw }
    /// The number as a value of the store.
    public var _value: Value { .float(self) }
    /// The number of a value of the store; nil if the value is of another type.
    public init?(_value: Value) {
        guard case .float(let value) = _value else { return nil }
        self = value
    }
    /// The number as an `NSNumber`.
    public var _boxed: Any { NSNumber(value: self) }
    /// Converts a number or a Boolean of any type. An integer becomes the nearest `Float`. A floating-point number
    /// becomes a `Float` that is equal or has the same decimal text, or nil if there is none.
    public static func _convert(_ any: Any) -> Float? {
        guard let number = floating(any) else { return nearest(any) }
        let narrow = Float(number)
        // A number with the same decimal text counts as exact: JSON gives 0.1 as a Double.
        if Double(narrow) == number || number.isNaN || "\(narrow)" == "\(number)" { return narrow }
        return nil
    }
}

extension Double: _FixedScalar {
    /// The type of the column.
    public static var _type: ColumnType { .double }
    /// A `Double` can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .double }
    /// An optional `Double` can be read from an unmanaged object's memory.
    public static var _optionalInlineStorage: _InlineStorage { .optionalDouble }
    /// A property without an initial value starts with 0.
    @inlinable public static var _initial: Double { @inline(__always) get { 0 } }
    /// The number as the column stores it.
    @inlinable public var _raw: Double { @inline(__always) get { self } }
    /// The number that is stored.
    @inlinable @inline(__always) public init(_raw: Double) { self = _raw }
    /// The number as a value of the store.
    public var _value: Value { .double(self) }
    /// The number of a value of the store; nil if the value is of another type.
    public init?(_value: Value) {
        guard case .double(let value) = _value else { return nil }
        self = value
    }
    /// The number as an `NSNumber`.
    public var _boxed: Any { NSNumber(value: self) }
    /// Converts a number or a Boolean of any type. An integer becomes the nearest `Double`.
    public static func _convert(_ any: Any) -> Double? { floating(any) ?? nearest(any) }
}

/// A number or a Boolean of any type as an integer; nil if the value is not exactly an integer.
func integer(_ any: Any) -> Int64? {
    switch any {
    case let value as Bool: return value ? 1 : 0
    case let value as any BinaryInteger: return Int64(exactly: value)
    case let value as any BinaryFloatingPoint: return Int64(exactly: value)
    default:
        guard let value = instance(any, of: NSNumber.self) else { return nil }
        switch value.objCType.pointee {
        case 0x66, 0x64: return Int64(exactly: value.doubleValue)
        case 0x51: return Int64(exactly: value.uint64Value)
        default: return value.int64Value
        }
    }
}

/// The floating-point number nearest to an integer or a Boolean of any type; nil for anything else.
private func nearest<F: BinaryFloatingPoint>(_ any: Any) -> F? {
    if let number = integer(any) { return F(number) }
    if let wide = any as? any BinaryInteger {
        // Beyond the range of the type no number is the nearest one.
        let number = F(wide)
        return number.isFinite ? number : nil
    }
    return instance(any, of: NSNumber.self).flatMap { $0.objCType.pointee == 0x51 ? F($0.uint64Value) : nil }
}

/// A floating-point value of any type as a `Double`; nil for anything else.
func floating(_ any: Any) -> Double? {
    if let value = any as? any BinaryFloatingPoint { return Double(value) }
    guard let value = instance(any, of: NSNumber.self), [0x66, 0x64].contains(value.objCType.pointee) else {
        return nil
    }
    return value.doubleValue
}

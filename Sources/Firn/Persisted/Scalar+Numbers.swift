public import FirnCore
import Foundation

extension Bool: _FixedScalar, _Indexable {
    public static var _type: ColumnType { .bool }
    public static var _inlineStorage: _InlineStorage { .bool }
    @inlinable public static var _initial: Bool { @inline(__always) get { false } }
    @inlinable public var _raw: UInt8 { @inline(__always) get { self ? 1 : 0 } }
    @inlinable @inline(__always) public init(_raw: UInt8) { self = _raw != 0 }
    public var _value: Value { .bool(self) }
    public init?(_value: Value) {
        guard case .bool(let value) = _value else { return nil }
        self = value
    }
    public var _boxed: Any { NSNumber(value: self) }
    public static func _convert(_ any: Any) -> Bool? {
        guard let number = integer(any) else { return nil }
        return number == 0 ? false : number == 1 ? true : nil
    }
}

/// An integer type; all lie in the store as 64 bits.
public protocol _IntegerScalar: _FixedScalar, FixedWidthInteger, _PrimaryKey, _Indexable where _Raw == Int64 {}

extension _IntegerScalar {
    public static var _type: ColumnType { .int }
    @inlinable public static var _initial: Self { @inline(__always) get { 0 } }
    @inlinable public var _raw: Int64 { @inline(__always) get { Int64(truncatingIfNeeded: self) } }
    @inlinable @inline(__always) public init(_raw: Int64) { self = Self(truncatingIfNeeded: _raw) }
    public var _value: Value { .int(Int64(truncatingIfNeeded: self)) }
    public init?(_value: Value) {
        guard case .int(let value) = _value, let narrow = Self(exactly: value) else { return nil }
        self = narrow
    }
    public static func _convert(_ any: Any) -> Self? { integer(any).flatMap { Self(exactly: $0) } }
}

extension Int: _IntegerScalar {
    public static var _inlineStorage: _InlineStorage { .int }
    public static var _optionalInlineStorage: _InlineStorage { .optionalInt }
    public var _boxed: Any { NSNumber(value: self) }
}
extension Int8: _IntegerScalar {
    public static var _inlineStorage: _InlineStorage { .int8 }
    public var _boxed: Any { NSNumber(value: self) }
}
extension Int16: _IntegerScalar {
    public static var _inlineStorage: _InlineStorage { .int16 }
    public var _boxed: Any { NSNumber(value: self) }
}
extension Int32: _IntegerScalar {
    public static var _inlineStorage: _InlineStorage { .int32 }
    public var _boxed: Any { NSNumber(value: self) }
}
extension Int64: _IntegerScalar {
    public static var _inlineStorage: _InlineStorage { .int }
    public static var _optionalInlineStorage: _InlineStorage { .optionalInt }
    public var _boxed: Any { NSNumber(value: self) }
}

extension Float: _FixedScalar {
    public static var _type: ColumnType { .float }
    public static var _inlineStorage: _InlineStorage { .float }
    @inlinable public static var _initial: Float { @inline(__always) get { 0 } }
    @inlinable public var _raw: Float { @inline(__always) get { self } }
    @inlinable @inline(__always) public init(_raw: Float) { self = _raw }
    public var _value: Value { .float(self) }
    public init?(_value: Value) {
        guard case .float(let value) = _value else { return nil }
        self = value
    }
    public var _boxed: Any { NSNumber(value: self) }
    public static func _convert(_ any: Any) -> Float? {
        guard let number = floating(any) else { return integer(any).flatMap { Float(exactly: $0) } }
        let narrow = Float(number)
        // The same number in decimal counts as exact: 0.1 as JSON gives it is a Double.
        if Double(narrow) == number || number.isNaN || "\(narrow)" == "\(number)" { return narrow }
        return nil
    }
}

extension Double: _FixedScalar {
    public static var _type: ColumnType { .double }
    public static var _inlineStorage: _InlineStorage { .double }
    public static var _optionalInlineStorage: _InlineStorage { .optionalDouble }
    @inlinable public static var _initial: Double { @inline(__always) get { 0 } }
    @inlinable public var _raw: Double { @inline(__always) get { self } }
    @inlinable @inline(__always) public init(_raw: Double) { self = _raw }
    public var _value: Value { .double(self) }
    public init?(_value: Value) {
        guard case .double(let value) = _value else { return nil }
        self = value
    }
    public var _boxed: Any { NSNumber(value: self) }
    public static func _convert(_ any: Any) -> Double? {
        floating(any) ?? integer(any).flatMap { Double(exactly: $0) }
    }
}

/// The integer that a number or a boolean of any type is, if it is one exactly.
func integer(_ any: Any) -> Int64? {
    switch any {
    case let value as Bool: return value ? 1 : 0
    case let value as any BinaryInteger: return Int64(exactly: value)
    case let value as any BinaryFloatingPoint: return Int64(exactly: Double(value))
    case let value as NSNumber:
        switch value.objCType.pointee {
        case 0x66, 0x64: return Int64(exactly: value.doubleValue)
        case 0x51: return Int64(exactly: value.uint64Value)
        default: return value.int64Value
        }
    default: return nil
    }
}

/// The number that a floating-point value of any type is.
func floating(_ any: Any) -> Double? {
    switch any {
    case let value as any BinaryFloatingPoint: return Double(value)
    case let value as NSNumber where [0x66, 0x64].contains(value.objCType.pointee): return value.doubleValue
    default: return nil
    }
}

public import FirnCore

/// An enum whose raw value can be stored: `enum Kind: Int, PersistableEnum { case a, b }`. The raw values are what the store holds, so keep
/// them once there are data. A property without an initial value starts with the first case.
///
/// Reading a raw value that no case has stops the program with the value and the enum's name.
public protocol PersistableEnum: _Scalar, _PrimaryKey, _Indexable, RawRepresentable, CaseIterable
where RawValue: _Scalar {}

extension PersistableEnum {
    public static var _type: ColumnType { RawValue._type }
    public static var _propertyType: _PropertyType { _PropertyType(RawValue._type, swiftType: Self.self) }
    public static var _optionalPropertyType: _PropertyType {
        _PropertyType(RawValue._type, isNullable: true, swiftType: Self?.self)
    }
    public static var _initial: Self {
        guard let first = allCases.first else { fatalError("Firn: the enum \(Self.self) has no case to start with.") }
        return first
    }
    public var _value: Value { rawValue._value }
    public init?(_value: Value) {
        guard let raw = RawValue(_value: _value), let value = Self(rawValue: raw) else { return nil }
        self = value
    }
    public var _boxed: Any { rawValue._boxed }
    public static func _convert(_ any: Any) -> Self? {
        ((any as? RawValue) ?? RawValue._convert(any)).flatMap { Self(rawValue: $0) }
    }

    @inlinable
    public static func _get(_ row: _Row, _ column: Int) -> Self { _known(RawValue._get(row, column)) }
    @inlinable
    public static func _getOptional(_ row: _Row, _ column: Int) -> Self? {
        RawValue._getOptional(row, column).map(_known)
    }
    @inlinable
    public static func _store(_ row: _Row, _ column: Int32, _ value: Self) -> Bool {
        RawValue._store(row, column, value.rawValue)
    }
    @inlinable
    public static func _storeOptional(_ row: _Row, _ column: Int32, _ value: Self?) -> Bool {
        RawValue._storeOptional(row, column, value?.rawValue)
    }
    @inlinable
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: Self) {
        RawValue._set(object, column, value.rawValue)
    }
    @inlinable
    public static func _setOptional(_ object: ObjectBase, _ column: Int32, _ value: Self?) {
        RawValue._setOptional(object, column, value?.rawValue)
    }

    @inlinable
    static func _known(_ raw: RawValue) -> Self {
        guard let value = Self(rawValue: raw) else { _stopForStrangeRawValue(raw, Self.self) }
        return value
    }
}

@usableFromInline @inline(never)
func _stopForStrangeRawValue<Raw: _Scalar>(_ raw: Raw, _ type: Any.Type) -> Never {
    stopForStrangeValue(raw._value, type)
}

public import FirnCore

/// An enum whose raw value is stored.
///
/// ```swift
/// enum Kind: Int, PersistableEnum { case a, b }
///
/// class Item: Object {
///     @Persisted(indexed: true) var kind: Kind     // starts with .a
/// }
/// ```
///
/// The store holds the raw values, so do not change them once there is data. A property without an initial value
/// starts with the first case. Reading a raw value that no case has stops the program with a message that names the
/// value and the enum.
///
/// An enum can be indexed, or be a primary key, if its raw value's type can; opening throws `.schemaMismatch`
/// otherwise.
public protocol PersistableEnum: _Scalar, _PrimaryKey, _Indexable, RawRepresentable, CaseIterable
where RawValue: _Scalar {}

extension PersistableEnum {
    /// The column type of the raw value.
    public static var _type: ColumnType { RawValue._type }
    /// The type of a property: the raw value's, under the enum's name.
    public static var _propertyType: _PropertyType { _PropertyType(RawValue._type, swiftType: Self.self) }
    /// The type of an optional property: the raw value's, under the enum's name.
    public static var _optionalPropertyType: _PropertyType {
        _PropertyType(RawValue._type, isNullable: true, swiftType: Self?.self)
    }
    /// The first case. Stops the program if the enum has none.
    public static var _initial: Self {
        guard let first = allCases.first else { fatalError("Firn: the enum \(Self.self) has no case to start with.") }
        return first
    }
    /// The raw value as a value of the store.
    public var _value: Value { rawValue._value }
    /// What decides whether an unmanaged set has the raw value.
    public var _member: _SetMember { rawValue._member }
    /// The case with a stored raw value; nil if there is none.
    public init?(_value: Value) {
        guard let raw = RawValue(_value: _value), let value = Self(rawValue: raw) else { return nil }
        self = value
    }
    /// The raw value as untyped access returns it.
    public var _boxed: Any { rawValue._boxed }
    /// The case whose raw value `any` stands for; nil if there is none.
    public static func _convert(_ any: Any) -> Self? {
        ((any as? RawValue) ?? RawValue._convert(any)).flatMap { Self(rawValue: $0) }
    }

    /// The case in a column of a current row. Stops the program if no case has the stored raw value.
    @inlinable
    public static func _get(_ row: _Row, _ column: Int) -> Self { _known(RawValue._get(row, column)) }
    /// The case in a nullable column of a current row. Stops the program if no case has the stored raw value.
    @inlinable
    public static func _getOptional(_ row: _Row, _ column: Int) -> Self? {
        RawValue._getOptional(row, column).map(_known)
    }
    /// Writes the raw value in place, if that is possible.
    @inlinable
    public static func _store(_ row: _Row, _ column: Int32, _ value: Self) -> Bool {
        RawValue._store(row, column, value.rawValue)
    }
    /// Writes the raw value in place, if that is possible.
    @inlinable
    public static func _storeOptional(_ row: _Row, _ column: Int32, _ value: Self?) -> Bool {
        RawValue._storeOptional(row, column, value?.rawValue)
    }
    /// Sets the raw value through the transaction.
    @inlinable
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: Self) {
        RawValue._set(object, column, value.rawValue)
    }
    /// Sets the raw value, or null, through the transaction.
    @inlinable
    public static func _setOptional(_ object: ObjectBase, _ column: Int32, _ value: Self?) {
        RawValue._setOptional(object, column, value?.rawValue)
    }

    /// The case with a raw value. Stops the program if there is none.
    @inlinable
    static func _known(_ raw: RawValue) -> Self {
        guard let value = Self(rawValue: raw) else { _stopForUnknownRawValue(raw, Self.self) }
        return value
    }
}

/// Stops the program: the store holds a raw value that no case has.
@usableFromInline @inline(never)
func _stopForUnknownRawValue<Raw: _Scalar>(_ raw: Raw, _ type: Any.Type) -> Never {
    stopForUnknownValue(raw._value, type)
}

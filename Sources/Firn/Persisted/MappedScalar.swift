public import FirnCore

/// A type that is stored as another one: enums (`PersistableEnum`) and types of the application (`CustomPersistable`).
public protocol _MappedScalar: _Scalar, _PrimaryKey, _Indexable {
    /// The type that is stored.
    associatedtype _Mapped: _Scalar
    /// The value that is stored.
    var _mapped: _Mapped { get }
    /// The value that a stored one stands for; nil if there is none.
    init?(_mapped: _Mapped)
    /// Whether an optional property shows nil for a stored value that stands for nothing. Otherwise reading it stops
    /// the program.
    static var _hidesUnknown: Bool { get }
}

extension _MappedScalar {
    /// The column type of the stored value.
    public static var _type: ColumnType { _Mapped._type }
    /// The type of a property: the stored value's, under this type's name.
    public static var _propertyType: _PropertyType { _PropertyType(_Mapped._type, swiftType: Self.self) }
    /// The type of an optional property: the stored value's, under this type's name.
    public static var _optionalPropertyType: _PropertyType {
        _PropertyType(_Mapped._type, isNullable: true, swiftType: Self?.self)
    }
    /// False: reading a stored value that stands for nothing stops the program.
    public static var _hidesUnknown: Bool { false }
    /// The stored value as a value of the store.
    public var _value: Value { _mapped._value }
    /// What a value of the store stands for; nil if nothing.
    public init?(_value: Value) {
        guard let stored = _Mapped(_value: _value), let value = Self(_mapped: stored) else { return nil }
        self = value
    }
    /// The stored value as untyped access returns it.
    public var _boxed: Any { _mapped._boxed }
    /// What the stored value that `any` stands for stands for; nil if nothing.
    public static func _convert(_ any: Any) -> Self? {
        ((any as? _Mapped) ?? _Mapped._convert(any)).flatMap { Self(_mapped: $0) }
    }

    /// The value in a column of a current row. Stops the program if what is stored stands for nothing.
    @inlinable
    public static func _get(_ row: _Row, _ column: Int) -> Self { _known(_Mapped._get(row, column)) }
    /// The value in a nullable column of a current row. Stops the program if what is stored stands for nothing, unless
    /// that is hidden.
    @inlinable
    public static func _getOptional(_ row: _Row, _ column: Int) -> Self? {
        guard let stored = _Mapped._getOptional(row, column) else { return nil }
        return _hidesUnknown ? Self(_mapped: stored) : _known(stored)
    }
    /// As `_getOptional`, for a column that holds no nulls.
    public static func _getPresent(_ row: _Row, _ column: Int) -> Self? {
        let stored = _Mapped._get(row, column)
        return _hidesUnknown ? Self(_mapped: stored) : _known(stored)
    }
    /// The element of a stored value; nil for null. Stops the program if what is stored stands for nothing, unless that
    /// is hidden.
    public static func _fromOptionalElement(_ value: Value, _ realm: _RealmInstance) -> Self? {
        value == .null ? nil : _hidesUnknown ? Self(_value: value) : _fromElement(value, realm)
    }
    /// Writes the stored value in place, if that is possible.
    @inlinable
    public static func _store(_ row: _Row, _ column: Int32, _ value: Self) -> Bool {
        _Mapped._store(row, column, value._mapped)
    }
    /// Writes the stored value in place, if that is possible.
    @inlinable
    public static func _storeOptional(_ row: _Row, _ column: Int32, _ value: Self?) -> Bool {
        _Mapped._storeOptional(row, column, value?._mapped)
    }
    /// Sets the stored value through the transaction.
    @inlinable
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: Self) {
        _Mapped._set(object, column, value._mapped)
    }
    /// Sets the stored value, or null, through the transaction.
    @inlinable
    public static func _setOptional(_ object: ObjectBase, _ column: Int32, _ value: Self?) {
        _Mapped._setOptional(object, column, value?._mapped)
    }

    /// What a stored value stands for. Stops the program if it stands for nothing.
    @inlinable
    static func _known(_ stored: _Mapped) -> Self {
        guard let value = Self(_mapped: stored) else { _stopForUnknown(stored, Self.self) }
        return value
    }
}

/// Stops the program: the store holds a value that stands for nothing, such as a raw value that no case has.
@usableFromInline @inline(never)
func _stopForUnknown<Stored: _Scalar>(_ stored: Stored, _ type: Any.Type) -> Never {
    stopForUnknownValue(stored._value, type)
}

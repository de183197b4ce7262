import FirnBytes
public import FirnCore
import FirnStorage

/// One value of a property or of a collection, of any of Firn's types except objects and collections. A wrapper holds
/// it as it is.
public protocol _Scalar: _MappingTarget, RealmOptionalType where _Stored == Self, _OptionalStored == Self? {
    /// The type of the column.
    static var _type: ColumnType { get }
    /// How an unmanaged value lies in memory.
    static var _inlineStorage: _InlineStorage { get }
    /// How an unmanaged optional value lies in memory.
    static var _optionalInlineStorage: _InlineStorage { get }
    /// The value as a value of the store.
    var _value: Value { get }
    /// Nil if the stored value is of another type, or is invalid for this one.
    init?(_value: Value)
    /// The value as untyped access returns it: numbers as `NSNumber`.
    var _boxed: Any { get }
    /// Converts a value of another type; nil if it does not fit exactly. Numbers and Booleans are converted if nothing
    /// is lost; text is parsed for `ObjectId` and `UUID`.
    static func _convert(_ any: Any) -> Self?
}

extension _Scalar {
    /// The type of a property with such values.
    public static var _propertyType: _PropertyType {
        _PropertyType(_type, swiftType: Self.self, memory: _inlineStorage)
    }
    /// The type of a property with such values or nil.
    public static var _optionalPropertyType: _PropertyType {
        _PropertyType(_type, isNullable: true, swiftType: Self?.self, memory: _optionalInlineStorage)
    }
    /// Opaque: an unmanaged value is read by a generic call.
    public static var _inlineStorage: _InlineStorage { .opaque }
    /// Opaque: an unmanaged optional value is read by a generic call.
    public static var _optionalInlineStorage: _InlineStorage { .opaque }
    /// The value itself.
    @inlinable @inline(__always) public static func _wrap(_ value: Self) -> Self { value }
    /// The value itself.
    @inlinable @inline(__always) public static func _unwrap(_ stored: Self) -> Self { stored }
    /// Nil.
    @inlinable public static var _optionalInitial: Self? { @inline(__always) get { nil } }
    /// The value itself.
    @inlinable @inline(__always) public static func _wrapOptional(_ value: Self?) -> Self? { value }
    /// The value itself.
    @inlinable @inline(__always) public static func _unwrapOptional(_ stored: Self?) -> Self? { stored }
    /// The value in a column of a current row that holds no nulls.
    public static func _getPresent(_ row: _Row, _ column: Int) -> Self? { _get(row, column) }
    /// Nil: a single value has no properties.
    public static func _tracedOptional(by tracer: _KeyPathTracer) -> Self?? { .none }

    /// The value itself.
    public var _boxed: Any { self }
    /// The value as untyped access returns it.
    public static func _any(_ value: Self) -> Any? { value._boxed }
    /// The value as untyped access returns it; nil if it is nil.
    public static func _anyOptional(_ value: Self?) -> Any? { value?._boxed }
    /// The value as a value of the store.
    public static func _storeValue(_ value: Self) -> Value? { value._value }
    /// The value as a value of the store; null if it is nil.
    public static func _optionalStoreValue(_ value: Self?) -> Value? { value.map(\._value) ?? .null }

    /// An untyped value converted to this type. Throws `ValueFault` for nil and for anything that does not fit.
    public static func _fromAny(_ any: Any?) throws -> Self {
        guard let any = unwrapped(any) else { throw ValueFault("nil does not fit a property that is not optional") }
        return try _fit(any)
    }

    /// An unwrapped value converted to this type. Throws `ValueFault` if it does not fit.
    private static func _fit(_ any: Any) throws -> Self {
        if let value = (any as? Self) ?? _convert(any) { return value }
        // An enum, or a value of a type of the application, is converted through its stored value.
        if let mapped = any as? any _MappedValue, let value = try? _fit(mapped._mapped) { return value }
        throw ValueFault(any, isNot: Self.self)
    }

    /// An untyped value converted to this type; nil for nil and `NSNull`. Throws `ValueFault` for anything that does
    /// not fit.
    public static func _optionalFromAny(_ any: Any?) throws -> Self? {
        guard let any = unwrapped(any) else { return nil }
        return try _fit(any)
    }

    /// The element of a stored value. Stops the program if this type has no such value.
    public static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> Self {
        guard let result = Self(_value: value) else { stopForUnknownValue("\(value)", Self.self) }
        return result
    }
    /// The element of a stored value; nil for null. Stops the program if this type has no such value.
    public static func _fromOptionalElement(_ value: Value, _ realm: _RealmInstance) -> Self? {
        value == .null ? nil : _fromElement(value, realm)
    }
    /// The element as a value of the store.
    public func _element(for write: _RealmInstance) -> Value { _value }
    /// The element as a value of the store.
    public func _existingElement(in realm: _RealmInstance) -> Value? { _value }
    /// The element as a value of the store, in the form that all equal values have.
    public var _member: _SetMember { .value(_value.unified) }
    /// The type of an element.
    public static func _elementPropertyType() -> _PropertyType { _propertyType }
    /// The type of an optional element.
    public static func _optionalElementPropertyType() -> _PropertyType { _optionalPropertyType }

    /// The type of a property with such values.
    public static var _targetType: _PropertyType { _propertyType }
    /// The initial value of a property with such values.
    public static var _targetInitial: Self { _initial }
    /// Runs the code.
    @inlinable @inline(__always)
    public static func _making(_ body: () -> Self) -> Self { body() }
    /// The value in a column of a current row.
    @inlinable @inline(__always)
    public static func _getTarget(_ row: _Row, _ column: Int) -> Self { _get(row, column) }
    /// The value itself.
    @inlinable @inline(__always)
    public static func _unwrapTarget(_ stored: Self) -> Self { stored }
}

/// Stops the program: the store holds a value that the Swift type does not have, such as an enum's raw value that no
/// case has.
@inline(never)
func stopForUnknownValue(_ value: String, _ type: Any.Type) -> Never {
    stopProgram(
        "the store holds \(DisplayText.line(value)), which is not a value of \(type). Give the enum a case for it, let init(persistedValue:) accept it, or migrate the property."
    )
}

/// A scalar whose column has a fixed width.
public protocol _FixedScalar: _Scalar {
    /// The bytes of a value in the column.
    associatedtype _Raw: BitwiseCopyable
    /// The value as the column stores it.
    var _raw: _Raw { get }
    /// The value that the column stores as `_raw`.
    init(_raw: _Raw)
}

extension _FixedScalar {
    /// The value in a column of a current row.
    @inlinable @inline(__always)
    public static func _get(_ row: _Row, _ column: Int) -> Self {
        Self(_raw: row.leafView.load(column, row.row, as: _Raw.self))
    }

    /// The value in a nullable column of a current row.
    @inlinable @inline(__always)
    public static func _getOptional(_ row: _Row, _ column: Int) -> Self? {
        let leaf = row.leafView
        return leaf.isNullFlag(column, row.row) ? nil : Self(_raw: leaf.load(column, row.row, as: _Raw.self))
    }

    /// Whether the row's chunk is writable.
    @inlinable @inline(__always)
    public static func _isStoredInPlace(_ row: _Row, _ column: Int32) -> Bool { row.writableChunk(column) != nil }
    /// Writes the value in place and marks it, if that is possible.
    @inlinable @inline(__always)
    public static func _store(_ row: _Row, column: Int32, value: Self) -> Bool {
        guard let chunk = row.writableChunk(column) else { return false }
        chunk.mark(row.row)
        chunk.store(value._raw, row.row)
        return true
    }

    /// Writes the value in place and marks it, if that is possible and the value is not nil.
    @inlinable @inline(__always)
    public static func _storeOptional(_ row: _Row, column: Int32, value: Self?) -> Bool {
        guard let value, let chunk = row.writableChunk(column) else { return false }
        chunk.mark(row.row)
        chunk.store(value._raw, row.row)
        chunk.nullFlags[row.row] = 0
        return true
    }

    /// Sets the value through the transaction.
    @inlinable @inline(__always)
    public static func _set(_ object: ObjectBase, column: Int32, value: Self) {
        withUnsafeBytes(of: value._raw) { _setFixed(object, column: column, bytes: $0) }
    }

    /// Sets the value, or null, through the transaction.
    @inlinable @inline(__always)
    public static func _setOptional(_ object: ObjectBase, column: Int32, value: Self?) {
        if let value { _set(object, column: column, value: value) } else { _setNull(object, column) }
    }
}

/// Sets a property of a fixed-width type through the transaction, or stops the program if none is running. Takes the
/// bytes that the column stores: a generic function would not be specialised for the application's module.
@usableFromInline
@_effects(releasenone) @inline(never)
func _setFixed(_ object: ObjectBase, column: Int32, bytes: UnsafeRawBufferPointer) {
    object.set(fixed: bytes, column: _BoundColumn.number(column))
}

/// Sets an optional property to nil through the transaction, or stops the program if none is running.
@usableFromInline
@_effects(releasenone) @inline(never)
func _setNull(_ object: ObjectBase, _ column: Int32) {
    object.setNull(column: _BoundColumn.number(column))
}

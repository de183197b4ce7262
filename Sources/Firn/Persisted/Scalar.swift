import FirnBytes
public import FirnCore

/// One value of a property or of a collection: everything but objects and collections. Its wrapper keeps it as it is.
public protocol _Scalar: _Persistable, _OptionalPersistable, RealmCollectionValue, _RealmCollectionValueInsideOptional
where _Stored == Self {
    static var _type: ColumnType { get }
    static var _inlineStorage: _InlineStorage { get }
    static var _optionalInlineStorage: _InlineStorage { get }
    var _value: Value { get }
    /// nil where the value is of another type, or means nothing to this one.
    init?(_value: Value)
    /// The value as untyped access gives it: numbers as `NSNumber`.
    var _boxed: Any { get }
    /// What `any` stands for by SEMANTICS 32; nil where it fits not exactly.
    static func _convert(_ any: Any) -> Self?
}

extension _Scalar {
    public static var _propertyType: _PropertyType {
        _PropertyType(_type, swiftType: Self.self, memory: _inlineStorage)
    }
    public static var _optionalPropertyType: _PropertyType {
        _PropertyType(_type, isNullable: true, swiftType: Self?.self, memory: _optionalInlineStorage)
    }
    public static var _inlineStorage: _InlineStorage { .opaque }
    public static var _optionalInlineStorage: _InlineStorage { .opaque }
    @inlinable @inline(__always) public static func _wrap(_ value: Self) -> Self { value }
    @inlinable @inline(__always) public static func _unwrap(_ stored: Self) -> Self { stored }
    public static func _getPresent(_ row: _Row, _ column: Int) -> Self? { _get(row, column) }
    public static func _tracedOptional(by tracer: KeyPathTracer) -> Self? { nil }

    public var _boxed: Any { self }
    public static func _any(_ value: Self) -> Any? { value._boxed }
    public static func _anyOptional(_ value: Self?) -> Any? { value?._boxed }
    public static func _storeValue(_ value: Self) -> Value? { value._value }
    public static func _optionalStoreValue(_ value: Self?) -> Value? { value.map(\._value) ?? .null }

    public static func _fromAny(_ any: Any?) throws -> Self {
        guard let any = unwrapped(any) else { throw ValueFault("nil is no value for a property that is not optional") }
        guard let value = (any as? Self) ?? _convert(any) else { throw ValueFault(any, isNo: Self.self) }
        return value
    }

    public static func _optionalFromAny(_ any: Any?) throws -> Self? {
        guard let any = unwrapped(any) else { return nil }
        guard let value = (any as? Self) ?? _convert(any) else { throw ValueFault(any, isNo: Self.self) }
        return value
    }

    public static func _fromElement(_ value: Value, _ realm: RealmInstance) -> Self {
        guard let result = Self(_value: value) else { stopForStrangeValue(value, Self.self) }
        return result
    }
    public static func _fromOptionalElement(_ value: Value, _ realm: RealmInstance) -> Self? {
        value == .null ? nil : _fromElement(value, realm)
    }
    public func _element(for write: RealmInstance) -> Value { _value }
    public static func _elementPropertyType() -> _PropertyType { _propertyType }
    public static func _optionalElementPropertyType() -> _PropertyType { _optionalPropertyType }
}

/// Stops the program: the store holds what the Swift type has no value for, as an enum's raw value that no case has.
@inline(never)
func stopForStrangeValue(_ value: Value, _ type: Any.Type) -> Never {
    fatalError(
        "Firn: the store holds \(DisplayText.line("\(value)")), which is no value of \(type). Give the enum a case for it, or migrate the property."
    )
}

/// A scalar whose column has a fixed width.
public protocol _FixedScalar: _Scalar {
    associatedtype _Raw: BitwiseCopyable
    var _raw: _Raw { get }
    init(_raw: _Raw)
}

extension _FixedScalar {
    @inlinable @inline(__always)
    public static func _get(_ row: _Row, _ column: Int) -> Self {
        Self(_raw: row.place.load(column, row.row, as: _Raw.self))
    }

    @inlinable @inline(__always)
    public static func _getOptional(_ row: _Row, _ column: Int) -> Self? {
        let place = row.place
        return place.isNullFlag(column, row.row) ? nil : Self(_raw: place.load(column, row.row, as: _Raw.self))
    }

    @inlinable @inline(__always)
    public static func _store(_ row: _Row, _ column: Int32, _ value: Self) -> Bool {
        guard column >= 0, row.isCurrent else { return false }
        // Outside a transaction no chunk bears the core's stamp.
        let chunk = row.chunk(Int(column))
        guard chunk.node.stamp == row.core.unsafelyUnwrapped.pointee.stamp else { return false }
        chunk.mark(row.row)
        chunk.store(value._raw, row.row)
        return true
    }

    @inlinable @inline(__always)
    public static func _storeOptional(_ row: _Row, _ column: Int32, _ value: Self?) -> Bool {
        guard column >= 0, let value, row.isCurrent else { return false }
        let chunk = row.chunk(Int(column))
        guard chunk.node.stamp == row.core.unsafelyUnwrapped.pointee.stamp else { return false }
        chunk.mark(row.row)
        chunk.store(value._raw, row.row)
        chunk.nullFlags[row.row] = 0
        return true
    }

    @inlinable @inline(__always)
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: Self) { _setSlowly(object, column, value) }

    @inlinable @inline(__always)
    public static func _setOptional(_ object: ObjectBase, _ column: Int32, _ value: Self?) {
        _setOptionalSlowly(object, column, value)
    }
}

/// Sets a property through the transaction, or stops the program where there is none.
@usableFromInline
@_effects(releasenone) @inline(never)
func _setSlowly<Value: _Scalar>(_ object: ObjectBase, _ column: Int32, _ value: Value) {
    object.set(value._value, column: _BoundColumn.number(column))
}

@usableFromInline
@_effects(releasenone) @inline(never)
func _setOptionalSlowly<Value: _Scalar>(_ object: ObjectBase, _ column: Int32, _ value: Value?) {
    object.set(value.map(\._value) ?? .null, column: _BoundColumn.number(column))
}

public import FirnCore

/// A type that others can be stored as: every scalar, and every class of embedded objects.
public protocol _MappingTarget: _Persistable, _RealmCollectionValueInsideOptional {
    /// The property type of a type that is stored as this one.
    static var _targetType: _PropertyType { get }
    /// What the wrapper of such a type's property holds, if the property has no initial value.
    static var _targetInitial: _Stored { get }
    /// The value in a column of a current row, or a new object if there is none.
    static func _getTarget(_ row: _Row, _ column: Int) -> Self
    /// The value that a wrapper holds, or a new object if it holds none.
    static func _unwrapTarget(_ stored: _Stored) -> Self
    /// Whether `_store` can write a value. The caller checks this before it computes the value, so that the value is
    /// computed once.
    static func _isStoredInPlace(_ row: _Row, _ column: Int32) -> Bool
    /// Runs code of the application that makes a value for a wrapper.
    static func _making(_ body: () -> Self) -> Self
}

/// A type that is stored as another one, its target: enums (`PersistableEnum`) and types of the application
/// (`CustomPersistable`).
///
/// A wrapper holds the target's value, so no code of the application runs for it while an object is added. A collection
/// that is unmanaged holds the values themselves.
public protocol _MappedValue: _MappingTarget, _PrimaryKey, _Indexable
where _Stored == _Mapped._Stored, _OptionalStored == _Mapped._OptionalStored {
    /// The type that is stored.
    associatedtype _Mapped: _MappingTarget
    /// The value that is stored.
    var _mapped: _Mapped { get }
    /// The value that a stored value represents; nil if the stored value is invalid.
    init?(_mapped: _Mapped)
    /// Whether an optional property shows nil for an invalid stored value. Otherwise reading such a value stops the
    /// program.
    static var _hidesUnknown: Bool { get }
}

extension _MappingTarget {
    /// False: most types have no fixed width.
    @inlinable @inline(__always)
    public static func _isStoredInPlace(_: _Row, _: Int32) -> Bool { false }
}

extension _MappedValue {
    /// False: reading an invalid stored value stops the program.
    public static var _hidesUnknown: Bool { false }

    /// The value that a stored value represents. Stops the program if the stored value is invalid.
    @inlinable
    static func _known(_ stored: _Mapped) -> Self {
        guard let value = Self(_mapped: stored) else { _stopForUnknown(stored, Self.self) }
        return value
    }

    /// The value that a stored value represents; nil if the latter is nil, or if it is invalid and such values are
    /// hidden.
    @inlinable
    static func _shown(_ stored: _Mapped?) -> Self? {
        guard let stored else { return nil }
        return _hidesUnknown ? Self(_mapped: stored) : _known(stored)
    }

    /// The value that a new stored object represents. It is shown if there is no object.
    fileprivate static var _ofNewObject: Self { _known(_Mapped._unwrapTarget(_Mapped._targetInitial)) }

    // MARK: A property

    /// The target's property type, with this type as its Swift type.
    public static var _propertyType: _PropertyType {
        var type = _Mapped._targetType.mapped(Self.self)
        type.showsNewObject = type.isMapped
        return type
    }
    /// The same as `_propertyType`, because this type can be a target, too.
    public static var _targetType: _PropertyType { _propertyType }
    /// The initial value of the target's property.
    public static var _initial: _Mapped._Stored { _Mapped._targetInitial }
    /// The same as `_initial`, because this type can be a target, too.
    public static var _targetInitial: _Mapped._Stored { _initial }
    /// Runs the code.
    @inlinable
    public static func _making(_ body: () -> Self) -> Self { body() }
    /// The target's blank value.
    public static var _blank: _Mapped._Stored { _Mapped._blank }
    /// Whether the target's blank value owns nothing.
    public static var _blankOwnsNothing: Bool { _Mapped._blankOwnsNothing }
    /// The target's value as the wrapper holds it.
    @inlinable
    public static func _wrap(_ value: Self) -> _Mapped._Stored { _Mapped._wrap(_Mapped._making { value._mapped }) }
    /// The value that the target's value represents. Stops the program if the target's value is invalid.
    @inlinable
    public static func _unwrap(_ stored: _Mapped._Stored) -> Self { _known(_Mapped._unwrapTarget(stored)) }
    /// The value that the target's value represents. Stops the program if the target's value is invalid.
    @inlinable
    public static func _unwrapTarget(_ stored: _Mapped._Stored) -> Self { _unwrap(stored) }
    /// The value in a column of a current row. Stops the program if the stored value is invalid.
    @inlinable
    public static func _get(_ row: _Row, _ column: Int) -> Self { _known(_Mapped._getTarget(row, column)) }
    /// The value in a column of a current row. Stops the program if the stored value is invalid.
    @inlinable
    public static func _getTarget(_ row: _Row, _ column: Int) -> Self { _get(row, column) }
    /// Writes the stored value in place, if that is possible.
    @inlinable
    public static func _store(_ row: _Row, column: Int32, value: Self) -> Bool {
        _Mapped._isStoredInPlace(row, column) && _Mapped._store(row, column: column, value: value._mapped)
    }
    /// Sets the stored value through the transaction.
    @inlinable
    public static func _set(_ object: ObjectBase, column: Int32, value: Self) {
        _Mapped._set(object, column: column, value: value._mapped)
    }

    // MARK: An optional property

    /// The target's optional property type, with this type's optional as its Swift type.
    public static var _optionalPropertyType: _PropertyType {
        var type = _Mapped._optionalPropertyType.mapped(Self?.self)
        type.hidesUnknown = _hidesUnknown
        return type
    }
    /// Nil.
    @inlinable public static var _optionalInitial: _Mapped._OptionalStored { _Mapped._optionalInitial }
    /// The target's value as the wrapper holds it.
    @inlinable
    public static func _wrapOptional(_ value: Self?) -> _Mapped._OptionalStored {
        _Mapped._wrapOptional(value.map { value in _Mapped._making { value._mapped } })
    }
    /// The value that the target's value represents; nil if the latter is nil, or if it is invalid and such values are
    /// hidden.
    @inlinable
    public static func _unwrapOptional(_ stored: _Mapped._OptionalStored) -> Self? {
        _shown(_Mapped._unwrapOptional(stored))
    }
    /// The value in a nullable column of a current row. Stops the program if the stored value is invalid, unless such
    /// values are hidden.
    @inlinable
    public static func _getOptional(_ row: _Row, _ column: Int) -> Self? { _shown(_Mapped._getOptional(row, column)) }
    /// Like `_getOptional`, for a column that holds no nulls.
    public static func _getPresent(_ row: _Row, _ column: Int) -> Self? { _shown(_Mapped._getPresent(row, column)) }
    /// Writes the stored value in place, if that is possible.
    @inlinable
    public static func _storeOptional(_ row: _Row, column: Int32, value: Self?) -> Bool {
        _Mapped._isStoredInPlace(row, column) && _Mapped._storeOptional(row, column: column, value: value?._mapped)
    }
    /// Whether the target can be written in place.
    @inlinable
    public static func _isStoredInPlace(_ row: _Row, _ column: Int32) -> Bool { _Mapped._isStoredInPlace(row, column) }
    /// Sets the stored value, or null, through the transaction.
    @inlinable
    public static func _setOptional(_ object: ObjectBase, column: Int32, value: Self?) {
        _Mapped._setOptional(object, column: column, value: value?._mapped)
    }
    /// `.none`: the trace of a key path ends at the property.
    public static func _tracedOptional(by tracer: _KeyPathTracer) -> Self?? { .none }

    // MARK: Untyped values

    /// The stored value as untyped access returns it.
    public static func _any(_ value: Self) -> Any? { _Mapped._any(value._mapped) }
    /// The stored value as untyped access returns it; nil if it is nil.
    public static func _anyOptional(_ value: Self?) -> Any? { value.flatMap { _any($0) } }
    /// The value that `any` represents after its conversion to the target. Throws `ValueFault` if the target's value is
    /// invalid.
    public static func _fromAny(_ any: Any?) throws -> Self {
        if let any = cast(any, to: Self.self) { return any }
        let stored = try _Mapped._fromAny(any)
        guard let value = Self(_mapped: stored) else { throw ValueFault(stored, isNot: Self.self) }
        return value
    }
    /// What the wrapper holds for `any`, after its conversion to the target. If the target is a class of embedded
    /// objects, nil becomes a new object. Throws `ValueFault` if the target's value is invalid.
    public static func _storedFromAny(_ any: Any?) throws -> _Mapped._Stored {
        if _propertyType.isMapped, unwrapped(any) == nil { return _Mapped._targetInitial }
        return _wrap(try _fromAny(any))
    }
    /// The value that `any` represents after its conversion to the target. Nil for nil and `NSNull`, and if the
    /// target's value is invalid. Throws `ValueFault` if an embedded object is invalid, because its members would be
    /// lost.
    public static func _optionalFromAny(_ any: Any?) throws -> Self? {
        guard unwrapped(any) != nil else { return nil }
        if let value = cast(any, to: Self.self) { return value }
        let stored = try _Mapped._fromAny(any)
        let value = Self(_mapped: stored)
        if value == nil, _propertyType.isMapped { throw ValueFault(stored, isNot: Self.self) }
        return value
    }
    /// The stored value as the store keeps it.
    public static func _storeValue(_ value: Self) -> Value? { _Mapped._storeValue(value._mapped) }
    /// The stored value as the store keeps it; null if it is nil.
    public static func _optionalStoreValue(_ value: Self?) -> Value? { _Mapped._optionalStoreValue(value?._mapped) }
    /// What the wrapper holds as untyped access returns it.
    public static func _anyStored(_ stored: _Mapped._Stored) -> Any? { _Mapped._anyStored(stored) }
    /// What the wrapper holds as the store keeps it; nil if it is an object.
    public static func _storedValue(_ stored: _Mapped._Stored) -> Value? { _Mapped._storedValue(stored) }
    /// What the wrapper holds as untyped access returns it; nil if it is nil.
    public static func _anyOptionalStored(_ stored: _Mapped._OptionalStored) -> Any? {
        _Mapped._anyOptionalStored(stored)
    }
    /// What the wrapper holds as the store keeps it; nil if it is an object.
    public static func _optionalStoredValue(_ stored: _Mapped._OptionalStored) -> Value? {
        _Mapped._optionalStoredValue(stored)
    }

    // MARK: An element

    /// The target's element type, with this type as its Swift type.
    public static func _elementPropertyType() -> _PropertyType { _Mapped._elementPropertyType().mapped(Self.self) }
    /// The target's optional element type, with this type's optional as its Swift type.
    public static func _optionalElementPropertyType() -> _PropertyType {
        _Mapped._optionalElementPropertyType().mapped(Self?.self)
    }
    /// The element that a stored value represents. Stops the program if the stored value is invalid.
    public static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> Self {
        value == .null ? _ofNewObject : _known(_Mapped._fromElement(value, realm))
    }
    /// The element that a stored value represents; nil for null. Stops the program if the stored value is invalid,
    /// unless such values are hidden.
    public static func _fromOptionalElement(_ value: Value, _ realm: _RealmInstance) -> Self? {
        value == .null ? nil : _shown(_Mapped._fromElement(value, realm))
    }
    /// The stored value as untyped access returns it; nil for null.
    public static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any? {
        value == .null ? nil : _Mapped._anyFromElement(value, realm)
    }
    /// The stored value as the store keeps it. An embedded object is added to the realm.
    public func _element(for realm: _RealmInstance) -> Value { _mapped._element(for: realm) }
    /// The stored value as the store keeps it; nil for an embedded object, which no collection has yet.
    public func _existingElement(in realm: _RealmInstance) -> Value? { _mapped._existingElement(in: realm) }
    /// The key by which an unmanaged set compares the stored value.
    public var _member: _SetMember { _mapped._member }
}

/// Stops the program: the store holds an invalid value, such as a raw value that no case has.
@usableFromInline @inline(never)
func _stopForUnknown<Stored: _MappingTarget>(_ stored: Stored, _ type: Any.Type) -> Never {
    stopForUnknownValue(Stored._storeValue(stored).map { "\($0)" } ?? "\(stored)", type)
}

extension _PropertyType {
    /// The property type of a type of the application that is stored as this one.
    func mapped(_ type: Any.Type) -> _PropertyType {
        var result = self
        result.swiftType = type
        result.callsApplication = true
        result.isMapped = self.type == .link
        return result
    }
}

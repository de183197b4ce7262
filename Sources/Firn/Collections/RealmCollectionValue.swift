public import FirnCore

/// A type that a collection's elements can have: `Object` subclasses, and every type that a property can have except
/// collections.
public protocol RealmCollectionValue: Hashable {
    /// The shape of a property that has one such element.
    static func _elementPropertyType() -> _PropertyType
    /// Converts a stored value to an element, in a realm.
    static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> Self
    /// The stored form of the element. An unmanaged object is first added to the realm.
    func _element(for realm: _RealmInstance) -> Value
    /// The stored form of the element, if a collection of the realm may contain the element. Nil for an unmanaged
    /// object and for an object of another realm.
    func _existingElement(in realm: _RealmInstance) -> Value?
    /// The key by which an unmanaged set compares the element.
    var _member: _SetMember { get }
    /// A second such key for a managed object: its row. Nil for all other elements.
    var _rowMember: _SetMember? { get }
    /// Converts an untyped value to an element. If `any` only describes an object, the element is an unmanaged object.
    /// Throws `ValueFault` if `any` does not fit.
    static func _fromAny(_ any: Any?) throws -> Self
    /// The element as `Any`; nil if the element is nil.
    static func _any(_ value: Self) -> Any?
    /// Converts a stored value to an element, as `Any`; nil if the element is nil.
    static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any?
    /// The element for an accessor: the accessor itself, or a projection of it if the elements are projections. Not
    /// called if the elements are values.
    static func _ofAccessor(_ object: ObjectBase) -> Self
}

/// An element type whose optional can also be an element type: all types except optionals. Lists of objects hold no
/// nil.
public protocol _RealmCollectionValueInsideOptional: RealmCollectionValue, _OptionalPersistable {
    /// The shape of a property that has one such optional element.
    static func _optionalElementPropertyType() -> _PropertyType
    /// Converts a stored value to an element; nil if the value is null.
    static func _fromOptionalElement(_ value: Value, _ realm: _RealmInstance) -> Self?
}

extension RealmCollectionValue {
    /// Nil: only objects have rows.
    public var _rowMember: _SetMember? { nil }
    /// The accessor itself, which is of the element's class.
    @inlinable @inline(__always)
    public static func _ofAccessor(_ object: ObjectBase) -> Self { unsafeBitCast(object, to: Self.self) }
    /// The element as `Any`; nil if the element is nil.
    public static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any? {
        _any(_fromElement(value, realm))
    }
}

extension Optional: RealmCollectionValue where Wrapped: _RealmCollectionValueInsideOptional {
    /// The shape of a property that has one such optional element.
    public static func _elementPropertyType() -> _PropertyType { Wrapped._optionalElementPropertyType() }
    /// Converts a stored value to an element; nil if the value is null.
    public static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> Wrapped? {
        Wrapped._fromOptionalElement(value, realm)
    }
    /// Converts a stored value to an element, as `Any`; nil if the value is null.
    public static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any? {
        value == .null ? nil : Wrapped._anyFromElement(value, realm)
    }
    /// The stored form of the element; null if the element is nil.
    public func _element(for realm: _RealmInstance) -> Value { self?._element(for: realm) ?? .null }
    /// The stored form of the element; null if the element is nil.
    public func _existingElement(in realm: _RealmInstance) -> Value? {
        guard let self else { return .null }
        return self._existingElement(in: realm)
    }
    /// The key by which an unmanaged set compares the element; the key of null if the element is nil.
    public var _member: _SetMember { self?._member ?? .value(.null) }
    /// The row of the object, if there is an object and it is managed.
    public var _rowMember: _SetMember? { self?._rowMember }
}

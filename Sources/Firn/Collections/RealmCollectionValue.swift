public import FirnCore

/// A type that a collection's elements can have: `Object` subclasses, and every type that a property can have except
/// collections.
public protocol RealmCollectionValue: Hashable {
    /// The shape of a property that has one such element.
    static func _elementPropertyType() -> _PropertyType
    /// The element that a stored value stands for, in a realm.
    static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> Self
    /// The element as the store keeps it. An unmanaged object is added to the realm first.
    func _element(for realm: _RealmInstance) -> Value
    /// The element as the store keeps it, if a collection of the realm may have it. Nil for an unmanaged object and for
    /// an object of another realm.
    func _existingElement(in realm: _RealmInstance) -> Value?
    /// What decides whether an unmanaged set has the element.
    var _member: _SetMember { get }
    /// The row of a managed object, which decides too; nil for everything else.
    var _rowMember: _SetMember? { get }
    /// The element that `any` stands for. If `any` only describes an object, the element is an unmanaged object.
    /// Throws `ValueFault` if `any` does not fit.
    static func _fromAny(_ any: Any?) throws -> Self
    /// The element as `Any`; nil if it is nil.
    static func _any(_ value: Self) -> Any?
    /// The element that a stored value stands for, as `Any`.
    static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any?
    /// The element that an accessor stands for: itself, unless the elements are projections. Not called if the elements
    /// are values.
    static func _ofAccessor(_ object: ObjectBase) -> Self
}

/// An element type whose optional can be an element too: all types except optionals. Lists of objects hold no nil.
public protocol _RealmCollectionValueInsideOptional: RealmCollectionValue, _OptionalPersistable {
    /// The shape of a property that has one such optional element.
    static func _optionalElementPropertyType() -> _PropertyType
    /// The element that a stored value stands for; nil if the value is null.
    static func _fromOptionalElement(_ value: Value, _ realm: _RealmInstance) -> Self?
}

extension RealmCollectionValue {
    /// Nil: only objects have rows.
    public var _rowMember: _SetMember? { nil }
    /// The accessor itself, which is of the element's class.
    @inlinable @inline(__always)
    public static func _ofAccessor(_ object: ObjectBase) -> Self { unsafeBitCast(object, to: Self.self) }
    /// The element as `Any`; nil if it is nil.
    public static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any? {
        _any(_fromElement(value, realm))
    }
}

extension Optional: RealmCollectionValue where Wrapped: _RealmCollectionValueInsideOptional {
    /// The shape of a property that has one such optional element.
    public static func _elementPropertyType() -> _PropertyType { Wrapped._optionalElementPropertyType() }
    /// The element that a stored value stands for; nil if the value is null.
    public static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> Wrapped? {
        Wrapped._fromOptionalElement(value, realm)
    }
    /// The element that a stored value stands for, as `Any`; nil if the value is null.
    public static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any? {
        value == .null ? nil : Wrapped._anyFromElement(value, realm)
    }
    /// The element as the store keeps it; null if it is nil.
    public func _element(for realm: _RealmInstance) -> Value { self?._element(for: realm) ?? .null }
    /// The element as the store keeps it; null if it is nil.
    public func _existingElement(in realm: _RealmInstance) -> Value? {
        guard let self else { return .null }
        return self._existingElement(in: realm)
    }
    /// What decides whether an unmanaged set has the element; null if it is nil.
    public var _member: _SetMember { self?._member ?? .value(.null) }
    /// The row of the object, if there is one and it is managed.
    public var _rowMember: _SetMember? { self?._rowMember }
}

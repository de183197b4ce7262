public import FirnCore

/// What a collection's elements can be: `Object` subclasses, and every type that a property can have but collections.
public protocol RealmCollectionValue: Hashable {
    static func _elementPropertyType() -> _PropertyType
    static func _fromElement(_ value: Value, _ realm: RealmInstance) -> Self
    /// The element as the store keeps it; an unmanaged object is added first.
    func _element(for realm: RealmInstance) -> Value
    /// The element that `any` stands for, unmanaged if it is an object that `any` only describes.
    static func _fromAny(_ any: Any?) throws -> Self
    static func _any(_ value: Self) -> Any?
}

/// An element that may also be optional: all but optionals themselves. Lists of objects hold no nil.
public protocol _RealmCollectionValueInsideOptional: RealmCollectionValue, _OptionalPersistable {
    static func _optionalElementPropertyType() -> _PropertyType
    static func _fromOptionalElement(_ value: Value, _ realm: RealmInstance) -> Self?
}

extension Optional: RealmCollectionValue where Wrapped: _RealmCollectionValueInsideOptional {
    public static func _elementPropertyType() -> _PropertyType { Wrapped._optionalElementPropertyType() }
    public static func _fromElement(_ value: Value, _ realm: RealmInstance) -> Wrapped? {
        Wrapped._fromOptionalElement(value, realm)
    }
    public func _element(for realm: RealmInstance) -> Value { self?._element(for: realm) ?? .null }
}

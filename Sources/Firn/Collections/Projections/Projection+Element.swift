public import FirnCore
import FirnStorage

// A projection as an element of results. Where an element is compared or stored, its object is used.
extension Projection {
    /// The class of the object.
    public static var _rootType: ObjectBase.Type { Root.self }
    /// The object.
    public final var _root: ObjectBase { rootObject }

    /// The projection of an accessor.
    public static func _ofAccessor(_ object: ObjectBase) -> Self {
        Self(projecting: unsafeDowncast(object, to: Root.self))
    }
    /// The projection of the object that a stored link leads to.
    public static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> Self {
        Self(projecting: Root._fromElement(value, realm))
    }
    /// The projection of the object that a stored link leads to, as `Any`.
    public static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any? { _fromElement(value, realm) }

    /// Stops the program: no property can have projections as elements.
    public static func _elementPropertyType() -> _PropertyType {
        stopProgram("\(self) can't be stored. Declare a collection of \(Root.self).")
    }
    /// The value for the object, as `Root` computes it.
    public func _element(for realm: _RealmInstance) -> Value { rootObject._element(for: realm) }
    /// The value for the object, as `Root` computes it.
    public func _existingElement(in realm: _RealmInstance) -> Value? { rootObject._existingElement(in: realm) }
    /// The key for the object, as `Root` computes it.
    public var _member: _SetMember { rootObject._member }
    /// The key for the object, as `Root` computes it.
    public var _rowMember: _SetMember? { rootObject._rowMember }
    /// Converts an untyped value to a projection, or to an object that is then projected. Throws `ValueFault` for
    /// anything else.
    public static func _fromAny(_ any: Any?) throws -> Self {
        if let projection = instance(any, of: Self.self) { return projection }
        return Self(projecting: try Root._fromAny(any))
    }
    /// The projection itself.
    public static func _any(_ value: Projection) -> Any? { value }
}

public import FirnCore
import FirnStorage

// A projection as an element of results: it stands for the object that it shows.
extension Projection {
    /// The class of the object.
    public static var _rootType: ObjectBase.Type { Root.self }
    /// The object.
    public final var _root: ObjectBase { rootObject }

    /// A projection of the accessor.
    public static func _ofAccessor(_ object: ObjectBase) -> Self {
        Self(projecting: unsafeDowncast(object, to: Root.self))
    }
    /// A projection of the object that an element links to.
    public static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> Self {
        Self(projecting: Root._fromElement(value, realm))
    }
    /// A projection of the object that an element links to, as `Any`.
    public static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any? { _fromElement(value, realm) }

    /// Stops the program: no property has projections as its elements.
    public static func _elementPropertyType() -> _PropertyType {
        stopProgram("\(self) can't be stored. Declare a collection of \(Root.self).")
    }
    /// The object, as `Root` has it.
    public func _element(for realm: _RealmInstance) -> Value { rootObject._element(for: realm) }
    /// The object, as `Root` has it.
    public func _existingElement(in realm: _RealmInstance) -> Value? { rootObject._existingElement(in: realm) }
    /// The object, as `Root` has it.
    public var _member: _SetMember { rootObject._member }
    /// The object, as `Root` has it.
    public var _rowMember: _SetMember? { rootObject._rowMember }
    /// A projection of the object that an untyped value is. Throws `ValueFault` for anything else.
    public static func _fromAny(_ any: Any?) throws -> Self {
        if let projection = instance(any, of: Self.self) { return projection }
        return Self(projecting: try Root._fromAny(any))
    }
    /// The projection itself.
    public static func _any(_ value: Projection) -> Any? { value }
}

/// A type with properties that a query can name: objects, and projections of them.
///
/// It is a protocol, because Swift does not check the constraint to a superclass if a dynamic member is read from
/// another type. With such a constraint, `$0.name.count` would compile, and would record the properties of a string.
public protocol _QueriedObject: RealmCollectionValue {
    /// The class of the stored objects.
    static var _rootType: ObjectBase.Type { get }
    /// The stored object.
    var _root: ObjectBase { get }
}

extension ObjectBase: _QueriedObject {
    /// The class itself.
    public static var _rootType: ObjectBase.Type { self }
    /// The object itself.
    public final var _root: ObjectBase { self }
}

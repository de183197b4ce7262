/// An object with an identity, as lists of views need it.
///
/// ```swift
/// class Dog: Object, ObjectKeyIdentifiable {
///     @Persisted var name = ""
/// }
/// ```
///
/// A managed object's identity is unique among the objects of its class. It is the same for all accessors of the
/// object, frozen ones included, also after the object was deleted. An unmanaged object's identity is the instance's
/// own, and it changes when the object is added to a realm.
public protocol ObjectKeyIdentifiable: Identifiable {
    /// The object's identity.
    var id: UInt64 { get }
}

extension ObjectKeyIdentifiable where Self: ObjectBase {
    /// The object's identity. O(1). May be read on any thread.
    public var id: UInt64 { identity }
}

extension ObjectKeyIdentifiable where Self: ProjectionObservable {
    /// The identity of the projected object. O(1). May be read on any thread.
    public var id: UInt64 { rootObject.identity }
}

extension ObjectBase {
    fileprivate final var identity: UInt64 {
        isManaged ? UInt64(bitPattern: _row.key) : UInt64(UInt(bitPattern: ObjectIdentifier(self)))
    }
}

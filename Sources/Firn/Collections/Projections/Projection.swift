/// A view of an object with the properties that a part of the program needs, under names of its own.
///
/// ```swift
/// class PersonCard: Projection<Person> {
///     @Projected(\Person.name) var name
///     @Projected(\Person.address?.city) var city
///     @Projected(\Person.friends.projectTo.name) var friends: ProjectedCollection<String>
/// }
///
/// let cards = realm.objects(PersonCard.self).where { $0.city == "Bern" }.sorted(by: \.name)
/// try realm.write { cards.first?.name = "Ann" }
/// token = cards.first?.observe { change in … }
/// ```
///
/// A projection stores nothing: its properties read and write the properties of `rootObject`. An access costs one key
/// path access more than in the object. A projection belongs to the object's realm and to that realm's thread, queue or
/// actor, and is frozen and handed over like the object. `Realm.objects` with the projection's class gives results of
/// projections. Queries and sorts of such results use the projection's names in Swift key paths, and the class's names
/// in texts.
///
/// To find out what a key path of the projection reads, Firn makes projections of objects of its own, with meaningless
/// values. So the initialiser must not have effects outside the projection.
///
/// Two projections are equal if they have the same class and their objects are equal.
open class Projection<Root: ObjectBase & ThreadConfined>: ProjectionObservable, CustomStringConvertible {
    /// The object whose properties are shown.
    public let rootObject: Root

    /// A projection of an object, managed or not. O(1).
    public required init(projecting object: Root) { rootObject = object }

    /// The name of the projection's class, without the module and outer types.
    public final class func className() -> String { _typeName(self, qualified: false) }

    /// The realm of the object; nil if it is unmanaged. O(1).
    public var realm: Realm? { rootObject.realm }
    /// Whether the object was deleted, or its realm was invalidated.
    public var isInvalidated: Bool { rootObject.isInvalidated }
    /// Whether the object is frozen. O(1). May be read on any thread.
    public var isFrozen: Bool { rootObject.isFrozen }

    /// Implements `freeze()`: a projection of the frozen object.
    public func _freeze(_ file: StaticString, _ line: UInt) -> Self {
        isFrozen ? self : Self(projecting: rootObject._freeze(file, line))
    }
    /// Implements `thaw()`: a projection of the live object; nil if there is none.
    public func _thaw(_ file: StaticString, _ line: UInt) -> Self? {
        rootObject._thaw(file, line).map { $0 === rootObject ? self : Self(projecting: $0) }
    }
    /// The same projection in another realm of the store, whether or not the object exists there.
    public func _moved(to realm: _RealmInstance) -> Self { Self(projecting: rootObject._moved(to: realm)) }

    /// Whether both have the same class and show the same object (`isSameObject(as:)`). O(1).
    public static func == (a: Projection, b: Projection) -> Bool {
        type(of: a) == type(of: b) && a.rootObject.isSameObject(as: b.rootObject)
    }

    /// Adds the object's identity to a hasher.
    public func hash(into hasher: inout Hasher) { rootObject.hashAsSameObject(into: &hasher) }

    /// The class, and the projected properties with their values, as text. Stops the program on the wrong thread.
    public var description: String {
        if rootObject.isInvalidated { return "[invalidated \(Self.className())]" }
        let lines = ProjectionInfo.of(self).properties.map { property in
            let value = property.wrapper(in: self)._any(of: rootObject)
            return "    \(property.label) = \(value.map { "\($0)" } ?? "nil");\n"
        }
        return "\(Self.className()) {\n\(lines.joined())}"
    }
}

/// A realm gives results of projections of objects, but not of embedded objects, which belong to their parents.
extension Projection: RealmFetchable where Root: Object {}

@available(
    *, unavailable,
    message: "projections belong to the thread, queue or actor of their realm; hand over a frozen one"
)
extension Projection: Sendable {}

/// A view of an object that can be observed: `Projection`.
public protocol ProjectionObservable: AnyObject, ThreadConfined, _QueriedObject {
    /// The class of the object.
    associatedtype Root: ObjectBase & ThreadConfined
    /// The object whose properties are shown.
    var rootObject: Root { get }
    /// A projection of an object, managed or not.
    init(projecting object: Root)
}

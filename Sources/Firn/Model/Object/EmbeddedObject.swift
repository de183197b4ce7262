import FirnStorage

/// The base class of objects that belong to another one, their parent.
///
/// ```swift
/// class Address: EmbeddedObject {
///     @Persisted var street = ""
///     @Persisted var city = ""
/// }
/// class Person: Object {
///     @Persisted var home: Address?
///     @Persisted var others: List<Address>
/// }
///
/// try realm.write {
///     person.home = Address(value: ["city": "Bern"])
///     person.home = nil                                  // deletes the address
/// }
/// ```
///
/// A managed embedded object has exactly one parent: the object whose property leads to it. It is deleted with its
/// parent, and when the property is set to something else or the collection loses it. It can't be added to a realm by
/// itself, and setting another property to it stops the program: copy it with `init(value:)`. `Realm.delete(_:)`
/// removes it from its parent.
///
/// The property may be an optional, a `List` or a `Map` of optionals, of an `Object` or of an `EmbeddedObject`, even of
/// the same class. A class of embedded objects has no primary key. Apart from that, embedded objects are like an
/// `Object`: they can link to other objects, be queried through their parents, observed, and frozen. `LinkingObjects`
/// leads to the parent.
///
/// If a parent is updated with `.modified`, its embedded objects are updated in place; those in a list are matched by
/// their indices. `.all` deletes the embedded objects and makes new ones.
open class EmbeddedObject: ObjectBase, ThreadConfined {
    /// An unmanaged object with the initial values that its class declares.
    public required init() { super.init() }

    /// An unmanaged object with values from a dictionary, an array, another object, or any class or struct. See
    /// `Object.init(value:)`, which stops the program for the same reasons.
    public convenience init(value: Any) {
        self.init()
        do { try populate(from: value) } catch { stopProgram("\(type(of: self))(value:): \(error)") }
    }

    /// An unmanaged object with values from untyped data: `init(value:)` for data that may be wrong.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, for the same reasons as `Object.init(validating:)`.
    public convenience init(validating value: Any) throws {
        self.init()
        do { try populate(from: value) } catch let fault as ValueFault { throw fault.error(type(of: self)) }
    }
}

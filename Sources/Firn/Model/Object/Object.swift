import FirnCore
import FirnStorage

/// A type of object that a realm can fetch: every subclass of `Object`, and every `Projection` of one. Generic code
/// over classes uses it as a constraint.
public protocol RealmFetchable: _QueriedObject {}

/// The base class of stored objects.
///
/// ```swift
/// class Dog: Object {
///     @Persisted(primaryKey: true) var id = ObjectId.generate()
///     @Persisted var name = ""
///     @Persisted var age = 0
///     @Persisted var owner: Person?
/// }
///
/// let dog = Dog()                          // unmanaged: an ordinary object
/// dog.name = "Rex"
/// try realm.write { realm.add(dog) }       // managed: the same instance now reads and writes the realm
/// try realm.write { dog.name = "Max" }
/// ```
///
/// An object is **unmanaged** until it is added to a realm. A **managed** object is an accessor of one row, and shows
/// that row as its realm sees it. It belongs to the thread, queue or actor of its realm, unless it is frozen. It is
/// changed only in a write transaction. Anything else stops the program (`Realm` says what is checked when). Using an
/// object that is gone also stops the program: see `isInvalidated`. An unmanaged object is not protected against use by
/// two threads at once, like any other instance.
///
/// Properties that are not marked `@Persisted` are ordinary ones: Firn does not store them, and each instance has its
/// own.
///
/// If all properties of a class are `@Persisted`, Firn makes the managed objects that it returns without calling the
/// class's `init()`. A loop over a collection may return the same instance again, with another row, if the program has
/// kept no reference to it. So such a class must not count its instances in `init()` and `deinit`.
///
/// Two objects of a class with a primary key, and two frozen objects, are equal if they are the same row of the same
/// realm. Other objects are equal if they are the same instance.
open class Object: ObjectBase, ThreadConfined, RealmFetchable {
    /// An unmanaged object with the initial values that its class declares.
    public required init() { super.init() }

    /// An unmanaged object with values from a dictionary, an array, another object, or any class or struct. A
    /// dictionary gives them by property name, an array by property order, and a class or struct by the names of its
    /// properties.
    ///
    /// ```swift
    /// let rex = Dog(value: ["name": "Rex", "owner": ["name": "Ann"]] as [String: Any])
    /// let max = Dog(value: [ObjectId.generate(), "Max"] as [Any])     // by position: id, name
    /// ```
    ///
    /// Properties without a value keep their initial values, and names that the class does not have are ignored. An
    /// array may be shorter than the list of properties, not longer. `NSNull` and nil set optional properties to nil
    /// and empty a list. Linked objects are made in the same way, or linked as they are if they are of the property's
    /// class. A number is converted if nothing is lost, and text is parsed for `ObjectId` and `UUID` properties.
    ///
    /// Stops the program if:
    ///
    /// - a value does not fit its property;
    /// - the class or struct has none of the properties;
    /// - the value is an object that was deleted;
    /// - a property that `requiredProperties()` names is nil in the end.
    ///
    /// `init(validating:)` throws instead.
    public convenience init(value: Any) {
        self.init()
        do { try populate(from: value) } catch { stopProgram("\(type(of: self))(value:): \(error)") }
    }

    /// An unmanaged object with values from untyped data: `init(value:)` for data that may be wrong.
    ///
    /// ```swift
    /// do { dog = try Dog(validating: json) } catch Realm.Error.invalidInput { … }
    /// ```
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, if a value does not fit its property, which the message names. It
    ///   is also thrown if a required property is nil in the end, or if the value is an object that was deleted.
    public convenience init(validating value: Any) throws {
        self.init()
        do { try populate(from: value) } catch let fault as ValueFault { throw fault.error(type(of: self)) }
    }
}

import FirnCore

/// The base class of stored objects.
///
/// ```swift
/// class Dog: Object {
///     @Persisted(primaryKey: true) var id: ObjectId
///     @Persisted var name = ""
///     @Persisted var owner: Person?
/// }
/// ```
///
/// `Dog()` makes an unmanaged object, which is an ordinary one; `realm.add(dog)` makes it managed. Two objects are equal if they are one row of one
/// realm, for classes without a primary key only if they are one instance.
open class Object: ObjectBase, ThreadConfined, RealmCollectionValue, _RealmCollectionValueInsideOptional {
    public required init() { super.init() }

    /// An unmanaged object with values from a dictionary by property name, an array by property order, another object, or any class or struct
    /// by its properties' names.
    ///
    /// Absent properties keep their initial values. Stops the program where a value does not fit its property, and where a property that
    /// `requiredProperties()` names is nil in the end; `init(validating:)` throws instead.
    public convenience init(value: Any) {
        self.init()
        do {
            try Resolution.populate(self, from: value)
            try checkRequired(classInfo)
        } catch { fatalError("Firn: \(type(of: self))(value:): \(error)") }
    }

    /// As `init(value:)`.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, naming the property, where a value does not fit, or is nil for a required property.
    public convenience init(validating value: Any) throws {
        self.init()
        do {
            try Resolution.populate(self, from: value)
            try checkRequired(classInfo)
        } catch let fault as ValueFault { throw fault.error(type(of: self)) }
    }
}

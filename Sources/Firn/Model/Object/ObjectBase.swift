import CFirn
import FirnCore

/// The base of all stored objects. An object is either **unmanaged** and holds its values itself, or **managed**, an
/// accessor of a row in a realm.
///
/// Subclass `Object`, not this. An accessor finds its row again after the row has changed, moved or been replaced, so
/// it always shows what its realm sees. If the row is gone, reading or setting a property stops the program
/// (`isInvalidated`).
open class ObjectBase: Hashable, CustomStringConvertible {
    /// Where the values lie. Its exclusivity is not checked: it belongs to the realm's thread, and a check costs 7 ns
    /// at each access.
    @exclusivity(unchecked) public final var _row: _Row

    /// An unmanaged object with the initial values that its class declares.
    public required init() {
        _row = _Row()
        // The initial values of the subclasses have been computed or skipped by now. This ends the state in which they
        // may be skipped: objects that the rest of the initialisers make are ordinary ones.
        if firn_is_awaiting_object() { _ = firn_set_accessor_state(UInt(bitPattern: address)) }
    }

    deinit {
        if let core = _row.core { releaseAccessor(core) }
    }

    // MARK: Description of the class

    /// The class's name, which is the name of its table. It is what `_realmObjectName()` returns, or else the class's
    /// own name without module and outer types, but with generic arguments.
    public final class func className() -> String { _realmObjectName() ?? _typeName(self, qualified: false) }

    /// The name of the class's table, if it is to differ from the class's name; nil otherwise. Override this function
    /// to choose a name.
    ///
    /// The name must be unique among the classes of a realm: opening throws `.schemaMismatch` otherwise. A store
    /// finds a class's objects by this name, so changing it later leaves the stored objects behind.
    open class func _realmObjectName() -> String? { nil }

    /// Whether realms that are opened without `objectTypes` have the class. True unless overridden.
    open class func shouldIncludeInDefaultSchema() -> Bool { true }

    /// The name of the primary key property, or nil: an alternative to `@Persisted(primaryKey: true)`.
    ///
    /// Opening throws `.schemaMismatch` if no `@Persisted` property has this name, or if its type can't be a primary
    /// key.
    open class func primaryKey() -> String? { nil }

    /// The names of properties to be indexed, in addition to those with `@Persisted(indexed: true)`.
    ///
    /// Opening throws `.schemaMismatch` if a name belongs to no `@Persisted` property, or to a property whose type
    /// can't be indexed.
    open class func indexedProperties() -> [String] { [] }

    /// The names of `@Persisted` properties that Firn does not store: each instance keeps its own value, managed or
    /// not.
    ///
    /// An object that is read from the realm starts with the declared initial values. So all initial values of the
    /// class are computed for each instance. Such a property can't be queried, sorted by or observed.
    open class func ignoredProperties() -> [String] { [] }

    /// The names of optional properties that must not be nil once the object is managed.
    ///
    /// Adding an object that lacks such a value, and setting one to nil, stops the program; the `validating:`
    /// functions throw `.invalidInput`. The schema shows these properties as not optional. Links and collections
    /// can't be required: opening throws `.schemaMismatch` then, and also if a property is not optional anyway.
    open class func requiredProperties() -> [String] { [] }

    /// The stored names of properties, by their names in Swift, for those whose stored name differs.
    ///
    /// Opening throws `.schemaMismatch` if a name in Swift belongs to no `@Persisted` property, or if two properties
    /// would have one stored name.
    open class func propertiesMapping() -> [String: String] { [:] }

    /// Initial values by property name, which override the declared ones when an object is created with
    /// `Realm.create(_:value:update:)`.
    ///
    /// They do not apply to `Object.init()` and `Object.init(value:)`.
    open class func defaultPropertyValues() -> [AnyHashable: Any]? { nil }

    // MARK: Equality

    /// Whether both are the same row, for frozen objects and for classes with a primary key; otherwise whether both are
    /// the same instance. O(1), also for objects that are gone.
    open func isEqual(_ object: Any?) -> Bool {
        guard let other = dynamicObject(in: object) ?? instance(object, of: ObjectBase.self) else { return false }
        return self === other || equalsByRow(other)
    }

    /// A hash value; objects that are equal have the same one. O(1), also for an object that is gone.
    ///
    /// It changes when an object of a class with a primary key becomes managed. So take such an object out of sets and
    /// dictionaries before adding it to a realm.
    open var hash: Int { hashByRow() }

    /// Whether two objects are equal, as `isEqual(_:)` says.
    public static func == (a: ObjectBase, b: ObjectBase) -> Bool { a.isEqual(b) }

    /// Adds `hash` to a hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// The class and the values of its properties, for people: linked objects are shown three levels deep, and the
    /// first 100 elements of a collection. An object that is gone is described as such. Stops the program on the wrong
    /// thread.
    open var description: String { describe(depth: 0) }
}

@available(
    *, unavailable, message: "objects belong to the thread, queue or actor of their realm; hand over a frozen one"
)
extension ObjectBase: Sendable {}

extension ObjectBase {
    /// What Firn knows about the object's class.
    final var classInfo: ClassInfo {
        isDynamic && isManaged ? TableBinding.of(_row).info : ClassInfo.of(type(of: self))
    }

    /// The address of the object, to which its properties' offsets are added.
    final var address: UnsafeMutableRawPointer { UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

    /// The key that a link of this current row leads to; -1 if the link is nil.
    final func linkedKey(_ column: Int) -> Int64 { _row.leafView.load(column, _row.row, as: Int64.self) }

    /// Whether the object is an accessor of a row.
    final var isManaged: Bool { _row.leaf != nil }
}

import CFirn
import FirnCore

/// What all stored objects are: either **unmanaged**, holding its values itself, or **managed**, an accessor to a row of a realm.
///
/// Subclass `Object`, never this. An accessor that was made before a row changed, moved or went shows the row as its realm sees it now; using one
/// whose row is gone stops the program (`isInvalidated` tells).
open class ObjectBase: Hashable, CustomStringConvertible {
    /// Where the values lie. Unchecked: it belongs to the realm's thread, and a check costs 7 ns at each access.
    @exclusivity(unchecked) public final var _row: _Row

    /// An unmanaged object with its initial values.
    public required init() {
        _row = _Row()
        // The initial values of the subclasses have been decided; objects that the rest of their initialisers make are ordinary ones.
        if firn_is_awaiting_object() { _ = firn_set_accessor_state(UInt(bitPattern: address)) }
    }

    deinit {
        if let core = _row.core { releaseAccessor(core) }
    }

    // MARK: Description of the class

    /// The class's name, which is its table's.
    public final class func className() -> String { _realmObjectName() ?? _typeName(self, qualified: false) }

    /// Override to give the class's table another name. It must be unique among the classes of a realm.
    open class func _realmObjectName() -> String? { nil }

    /// Whether realms without `objectTypes` have the class.
    open class func shouldIncludeInDefaultSchema() -> Bool { true }

    /// The name of the primary key; an alternative to `@Persisted(primaryKey: true)`.
    open class func primaryKey() -> String? { nil }

    /// The names of properties with an index; an addition to `@Persisted(indexed: true)`.
    open class func indexedProperties() -> [String] { [] }

    /// The names of `@Persisted` properties that Firn is to leave alone: each instance keeps its own value, managed or not. An object that is read from
    /// the realm starts with the declared initial values, all of which are then computed for each instance. Such a property can't be queried, sorted
    /// by or observed.
    open class func ignoredProperties() -> [String] { [] }

    /// The names of optional properties that may not be nil once the object is managed: adding an object that lacks a value, and setting nil, stop the
    /// program, and the `validating:` entries throw. The schema shows them as not optional. Links and collections can't be required.
    open class func requiredProperties() -> [String] { [] }

    /// The stored names of properties, where they differ from those in Swift.
    open class func propertiesMapping() -> [String: String] { [:] }

    /// Initial values by property name, which go before those of the declarations when an object is created in a realm.
    open class func defaultPropertyValues() -> [AnyHashable: Any]? { nil }

    // MARK: Equality

    /// With a primary key, and for frozen objects, whether both are the same row; otherwise whether both are the same instance.
    open func isEqual(_ object: Any?) -> Bool {
        guard let other = unwrapped(object) as? ObjectBase else { return false }
        return self === other || equalsByRow(other)
    }

    /// A number that equal objects share.
    open var hash: Int { hashByRow() }

    public static func == (a: ObjectBase, b: ObjectBase) -> Bool { a.isEqual(b) }

    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    open var description: String { describe(depth: 0) }
}

@available(
    *, unavailable, message: "objects belong to the thread, queue or actor of their realm; hand over a frozen one"
)
extension ObjectBase: Sendable {}

extension ObjectBase {
    /// What Firn knows of the object's class.
    final var classInfo: ClassInfo { ClassInfo.of(type(of: self)) }

    /// The address of the object, from which its properties' offsets count.
    final var address: UnsafeMutableRawPointer { UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

    final var isManaged: Bool { _row.leaf != nil }
}

import CFirn
import FirnCore
import FirnStorage

/// The objects that link to this one.
///
/// ```swift
/// class Dog: Object {
///     @Persisted(originProperty: "dogs") var owners: LinkingObjects<Person>
/// }
///
/// for owner in dog.owners.where({ $0.age > 18 }) { print(owner.name) }
/// ```
///
/// Backlinks are live and read-only. They have one entry for each link: a list that holds the object twice counts
/// twice. They are empty while the object is unmanaged.
///
/// **Cost.** The first read after a change of the realm reads the links from an index, in O(links). After that, reading
/// an element is O(1), and finding its object is O(log objects). Each access to the property makes a new value, which
/// reads the links again: keep it in a constant to read it more than once.
///
/// Managed backlinks belong to their realm's thread, queue or actor, and stop the program if they are used elsewhere.
/// Frozen backlinks may be used on any thread.
public struct LinkingObjects<Element: ObjectBase>: RealmCollection {
    /// The name of the linking property.
    let originProperty: String
    private let source: _CollectionSource?

    /// Backlinks through a property of a class, for the initial value of a declaration. Opening the realm throws
    /// `.schemaMismatch` if the class has no such property, or if the property does not link to the object's class.
    public init(fromType _: Element.Type, property propertyName: String) {
        originProperty = propertyName
        source = nil
    }

    fileprivate init(_ origin: String, _ source: _CollectionSource?) {
        originProperty = origin
        self.source = source
    }

    /// The source that queries over the backlinks read. Stops the program if the object is unmanaged.
    public var _source: _CollectionSource {
        guard let source else {
            stopProgram("backlinks of an unmanaged object can't be queried. Add the object to a realm first.")
        }
        return source
    }

    /// The number of links. O(links) at the first read of this value after a change, then O(1).
    public var count: Int { source?.count ?? 0 }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of links. Costs as much as `count`.
    public var endIndex: Int { count }
    /// The linking object at an index. O(links) at the first read of this value after a change, then O(1). Stops the
    /// program if the index is out of bounds, and if the object is unmanaged.
    public subscript(position: Int) -> Element { _source.element(at: position) }
    /// Iterates over the objects that link here now, whatever is written meanwhile. O(links) at the start, if they were
    /// not read since the last change. The iterator keeps their keys and pins no version.
    public func makeIterator() -> RealmCollectionIterator<Element> {
        source.map { RealmCollectionIterator($0) } ?? RealmCollectionIterator([])
    }

    /// The realm that manages the object; nil if the object is unmanaged. O(1).
    public var realm: Realm? { source.map { Realm($0.realm) } }
    /// Whether the object was deleted or its realm was invalidated. If so, there are no backlinks. O(log objects) at
    /// most.
    public var isInvalidated: Bool { source?.isInvalidated ?? false }
    /// Whether the backlinks belong to a frozen realm and never change. O(1). May be read on any thread.
    public var isFrozen: Bool { source?.realm.isFrozen ?? false }
    /// Implements `freeze()`. Stops the program if the object is unmanaged.
    public func _freeze(_ file: StaticString, _ line: UInt) -> LinkingObjects {
        LinkingObjects(originProperty, _source.frozen(at: CallSite(file, line)))
    }
    /// Implements `thaw()`: nil if the object no longer exists. Stops the program if the object is unmanaged.
    public func _thaw(_ file: StaticString, _ line: UInt) -> LinkingObjects? {
        _source.thawed(at: CallSite(file, line)).map { LinkingObjects(originProperty, $0) }
    }

    /// The same backlinks in another realm of the store, whether or not the object exists there.
    public func _moved(to realm: _RealmInstance) -> LinkingObjects {
        LinkingObjects(originProperty, source?.unlocated(in: realm))
    }

    /// Empty, unmanaged backlinks.
    public var _withoutOwner: LinkingObjects { LinkingObjects(originProperty, nil) }

    /// Whether both are the backlinks of the same row through the same property in one realm. O(1).
    public static func == (a: LinkingObjects, b: LinkingObjects) -> Bool {
        guard let x = a.source, let y = b.source else {
            return a.source == nil && b.source == nil && a.originProperty == b.originProperty
        }
        guard case .backlinks(let one, let property) = x.origin,
            case .backlinks(let other, let otherProperty) = y.origin
        else { return false }
        return x.realm === y.realm && one.row.key == other.row.key && one.row.table == other.row.table
            && property === otherProperty
    }

    /// The type and the first 100 elements as text. Stops the program on the wrong thread.
    public var description: String { describe(depth: 0) }
}

extension LinkingObjects: DescribedCollection {}

extension LinkingObjects: AnyLinkingObjects {}

extension LinkingObjects: _Persistable {
    /// The wrapper holds the backlinks themselves.
    public typealias _Stored = LinkingObjects

    /// The shape of a backlinks property: links from `Element`.
    public static var _propertyType: _PropertyType {
        _PropertyType(
            .link, collection: .list, target: Element.self, isLinkingObjects: true, swiftType: LinkingObjects.self)
    }
    /// Empty backlinks that name no linking property.
    public static var _initial: LinkingObjects { LinkingObjects("", nil) }
    /// True: the name is the empty string, which owns no memory.
    public static var _blankOwnsNothing: Bool { true }
    /// The value itself.
    public static func _wrap(_ value: LinkingObjects) -> LinkingObjects { value }
    /// The stored value itself.
    public static func _unwrap(_ stored: LinkingObjects) -> LinkingObjects { stored }
    /// Stops the program: backlinks have no column.
    public static func _get(_ row: _Row, _ column: Int) -> LinkingObjects {
        stopProgram("backlinks are never read from a row.")
    }
    /// Stops the program: backlinks can't be set.
    public static func _set(_ object: ObjectBase, column: Int32, value: LinkingObjects) {
        stopProgram("backlinks follow from the links to the object and can't be set.")
    }
    /// True.
    @inlinable public static var _isCollection: Bool { @inline(__always) get { true } }

    /// The backlinks of an object: made anew at each call if the object is managed, otherwise `stored`.
    public static func _collection(
        of object: ObjectBase, _ column: Int32, _ stored: inout LinkingObjects
    ) -> LinkingObjects {
        object.isManaged && column != _BoundColumn.ignored ? _frozenCollection(of: object, column) : stored
    }

    /// The backlinks of a managed object. Stops the program if the object has been deleted.
    public static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> LinkingObjects {
        of(object, object.classInfo.properties[_BoundColumn.number(column)])
    }

    /// The backlinks of a managed object through a property. Stops the program if the object has been deleted.
    static func of(_ object: ObjectBase, _ property: PropertyInfo) -> LinkingObjects {
        let realm = _RealmInstance.of(object._row)
        let origin = realm.binding(of: property.shape.target ?? Element.self)
        guard let linking = property.origin.flatMap({ origin.info.property(named: $0) }) else {
            preconditionFailure("Firn: \(property.name) has no linking property")
        }
        if !object._row.isCurrent { object._row = _relocate(object._row, reading: property) }
        let source = _CollectionSource(
            realm: realm, binding: origin, origin: .backlinks(CollectionLocation(object._row, property), linking))
        return LinkingObjects(linking.name, source)
    }

    /// Stops the program: backlinks can't be set.
    public static func _replaceCollection(
        of object: ObjectBase, _ column: Int32, _ stored: inout LinkingObjects, with value: LinkingObjects
    ) {
        stopProgram("backlinks follow from the links to the object and can't be set.")
    }

    /// The backlinks themselves.
    public static func _any(_ value: LinkingObjects) -> Any? { value }
    /// Always throws `ValueFault`: backlinks can't be set.
    public static func _fromAny(_ any: Any?) throws -> LinkingObjects {
        throw ValueFault("backlinks follow from the links to the object and can't be set")
    }
    /// Nil: nothing is stored.
    public static func _storeValue(_ value: LinkingObjects) -> Value? { nil }
}

/// A property type that `@Persisted(originProperty:)` can declare.
public protocol LinkingObjectsProtocol: _Persistable {
    /// The value that the wrapper holds for backlinks through the property of this name.
    static func _linking(_ originProperty: String) -> _Stored
}

extension LinkingObjects: LinkingObjectsProtocol {
    /// Empty backlinks through the property of this name.
    public static func _linking(_ originProperty: String) -> LinkingObjects { LinkingObjects(originProperty, nil) }
}

extension Persisted where Value: LinkingObjectsProtocol {
    /// Declares backlinks: the objects that link to this one through the property of this name.
    public init(originProperty: String) {
        self.init(
            _options: [], _stored: firn_is_making_accessor() ? Value._initial : Value._linking(originProperty))
    }
}

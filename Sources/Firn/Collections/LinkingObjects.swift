import FirnCore

/// The objects whose links lead to this one: `@Persisted(originProperty: "dogs") var owners: LinkingObjects<Person>`.
///
/// Live, read-only, one entry for each link: a list that holds the object twice counts twice. Empty while the object is unmanaged.
public struct LinkingObjects<Element: Object>: RealmCollection {
    /// The name of the linking property.
    let originProperty: String
    private let source: CollectionSource?

    /// Backlinks through a property of a class, for use as a declaration's initial value.
    public init(fromType _: Element.Type, property propertyName: String) {
        originProperty = propertyName
        source = nil
    }

    fileprivate init(_ origin: String, _ source: CollectionSource?) {
        originProperty = origin
        self.source = source
    }

    public var _source: CollectionSource {
        guard let source else {
            fatalError("Firn: backlinks of an unmanaged object can't be queried. Add the object to a realm first.")
        }
        return source
    }

    public var count: Int { source?.count ?? 0 }
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    public subscript(position: Int) -> Element { _source.element(at: position) }
    public func makeIterator() -> RealmCollectionIterator<Element> {
        source.map { RealmCollectionIterator($0) } ?? RealmCollectionIterator([])
    }

    public var realm: Realm? { source.map { Realm($0.realm) } }
    public var isInvalidated: Bool { source?.isInvalidated ?? false }
    public var isFrozen: Bool { source?.realm.isFrozen ?? false }
    public func _freeze(_ file: StaticString, _ line: UInt) -> LinkingObjects {
        LinkingObjects(originProperty, _source.frozen(at: CallSite(file, line)))
    }
    public func _thaw(_ file: StaticString, _ line: UInt) -> LinkingObjects? {
        _source.thawed(at: CallSite(file, line)).map { LinkingObjects(originProperty, $0) }
    }

    public func _moved(to realm: RealmInstance) -> LinkingObjects {
        LinkingObjects(originProperty, source?.placed(in: realm))
    }

    public var _withoutOwner: LinkingObjects { LinkingObjects(originProperty, nil) }

    /// Whether both are the backlinks of one row through one property.
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

    public var description: String { describe(depth: 0) }
}

extension LinkingObjects: DescribedCollection {}

extension LinkingObjects: AnyLinkingObjects {
    var originType: ObjectBase.Type { Element.self }
}

extension LinkingObjects: _Persistable {
    public typealias _Stored = LinkingObjects

    public static var _propertyType: _PropertyType {
        _PropertyType(
            .link, collection: .list, target: Element.self, isLinkingObjects: true, swiftType: LinkingObjects.self)
    }
    public static var _initial: LinkingObjects { LinkingObjects("", nil) }
    public static func _wrap(_ value: LinkingObjects) -> LinkingObjects { value }
    public static func _unwrap(_ stored: LinkingObjects) -> LinkingObjects { stored }
    public static func _get(_ row: _Row, _ column: Int) -> LinkingObjects {
        fatalError("Firn: backlinks are never read from a row.")
    }
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: LinkingObjects) {
        fatalError("Firn: backlinks follow from the links to the object and can't be set.")
    }
    @inlinable public static var _isCollection: Bool { @inline(__always) get { true } }

    public static func _collection(
        of object: ObjectBase, _ column: Int32, _ stored: inout LinkingObjects
    ) -> LinkingObjects {
        object.isManaged && column != _BoundColumn.ignored ? _frozenCollection(of: object, column) : stored
    }

    public static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> LinkingObjects {
        let realm = RealmInstance.of(object._row)
        let property = object.classInfo.properties[_BoundColumn.number(column)]
        let origin = realm.binding(of: Element.self)
        guard let linking = property.origin.flatMap({ origin.info.property(named: $0) }) else {
            preconditionFailure("Firn: \(property.name) has no linking property")
        }
        if !object._row.isCurrent { object._row = _relocate(object._row) }
        let source = CollectionSource(realm, origin, .backlinks(CollectionLocation(object._row, property), linking))
        return LinkingObjects(linking.name, source)
    }

    public static func _replaceCollection(
        of object: ObjectBase, _ column: Int32, _ stored: inout LinkingObjects, with value: LinkingObjects
    ) {
        fatalError("Firn: backlinks follow from the links to the object and can't be set.")
    }

    public static func _any(_ value: LinkingObjects) -> Any? { value }
    public static func _fromAny(_ any: Any?) throws -> LinkingObjects {
        throw ValueFault("backlinks follow from the links to the object and can't be set")
    }
    public static func _storeValue(_ value: LinkingObjects) -> Value? { nil }
}

/// What `@Persisted(originProperty:)` can be given for.
public protocol LinkingObjectsProtocol: _Persistable {
    static func _linking(_ originProperty: String) -> _Stored
}

extension LinkingObjects: LinkingObjectsProtocol {
    public static func _linking(_ originProperty: String) -> LinkingObjects { LinkingObjects(originProperty, nil) }
}

extension Persisted where Value: LinkingObjectsProtocol {
    /// Backlinks: the objects whose property of this name links here.
    public init(originProperty: String) { self.init(_options: [], _stored: Value._linking(originProperty)) }
}

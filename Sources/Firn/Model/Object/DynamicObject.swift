import FirnCore
import FirnStorage

/// An object whose properties are reached by their names, for code that does not know its class.
///
/// ```swift
/// for dog in realm.dynamicObjects("Dog") { print(dog.name as? String ?? "", dog["age"] as! Int) }
/// try realm.write { realm.dynamicCreate("Dog", value: ["name": "Rex"]).age = 4 }
/// ```
///
/// `Realm.dynamicObjects(_:)`, `dynamicObject(ofType:forPrimaryKey:)` and `dynamicCreate(_:value:update:)` return
/// dynamic objects. A dynamic object shows one row, like an object of the row's class, and the two are the same object
/// for `isSameObject(as:)`. Reading or setting `object.name` is the same as `object["name"]`, and stops the program for
/// the same reasons. Links lead to other dynamic objects, and collections of objects have dynamic objects as elements.
/// An unmanaged dynamic object has no properties.
///
/// An access costs as much as access by name: see `ObjectBase.subscript(_:)`.
@dynamicMemberLookup
public final class DynamicObject: Object {
    /// The value of the property with this name: the same as `self[member]`.
    public subscript(dynamicMember member: String) -> Any? {
        get { self[member] }
        set { self[member] = newValue }
    }

    /// The value that the object shows as an element of a collection of values; nil for any other object.
    private(set) var held: HeldValue?

    /// Makes this new object an element of a collection of values, which shows the value.
    func hold(_ value: AnyRealmValue) { held = HeldValue(value) }

    /// Whether both hold the same value, if this is an element of a collection of values. Otherwise they are compared
    /// as other objects are: see `ObjectBase.isEqual(_:)`. O(1) for objects.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let held else { return super.isEqual(object) }
        return dynamicObject(in: object)?.held?.value == held.value
    }

    /// A hash value that is the same for equal objects.
    public override var hash: Int { held?.value.hashValue ?? super.hash }

    /// False: no table stores objects of this class as such.
    public override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

extension ObjectBase {
    /// Whether the object is a dynamic one.
    @inline(__always)
    final var isDynamic: Bool { ObjectIdentifier(type(of: self)) == ObjectIdentifier(DynamicObject.self) }

    /// The class of the object's row; for an unmanaged object, the object's own class.
    final var modelType: ObjectBase.Type { isDynamic ? classInfo.type : type(of: self) }

    /// The value of a property of a managed dynamic object, with linked objects as dynamic ones.
    final func dynamicValue(_ property: PropertyInfo) -> Any? {
        if !_row.isCurrent { _row = _relocate(_row) }
        let binding = TableBinding.of(_row)
        let realm = _RealmInstance.of(_row)
        let column = Int32(binding.column(property))
        if property.isLinkingObjects { return LinkingObjects<DynamicObject>.of(self, property) }
        if property.isCollection {
            guard property.isLink else { return property.wrapper.managedCollection(of: self, column) }
            let location = CollectionLocation(_row, property)
            switch property.shape.collection {
            case .list, .none: return List<DynamicObject>(at: location)
            case .set: return MutableSet<DynamicObject>(at: location)
            case .map: return Map<String, DynamicObject?>(at: location)
            }
        }
        if property.isLink {
            let key = linkedKey(Int(column))
            return key < 0 ? nil : realm.dynamicAccessor(realm.target(of: property, in: binding), key)
        }
        if property.isMixed {
            switch AnyRealmValue._get(_row, Int(column)) {
            case .object(let object):
                return realm.accessor(TableBinding.of(object._row), object._row.key, isDynamic: true)
            case let value: return AnyRealmValue._any(value)
            }
        }
        let value = realm.table(binding)?.value(Int(column), leaf: _row.leafView, row: _row.row)
        return value.flatMap { property.wrapper.any(from: $0, realm) }
    }

    /// The location of the collection in the property with this name. Stops the program if there is no collection of
    /// the kind.
    fileprivate final func location(_ name: String, _ kind: CollectionKind) -> CollectionLocation {
        if !_row.isCurrent { _row = _relocate(_row) }
        return CollectionLocation(_row, dynamicCollection(name, kind))
    }

    /// The list in the property with this name, for code that does not know the class of its elements. The result is
    /// live, like the list itself.
    ///
    /// An element of a list of values is an object without properties that shows the value. Printing the element prints
    /// the value, and `element["self"]` returns the value. The list itself is `self[name]`, as in `dog["ages"] as?
    /// List<Int>`.
    ///
    /// For an unmanaged object, the result is a copy of a list of values, O(n). Stops the program if an unmanaged
    /// object's list has objects, if the object is gone, and if the property is not a list.
    public final func dynamicList(_ propertyName: String) -> List<DynamicObject> {
        if isManaged { return List(at: location(propertyName, .list)) }
        let list = List<DynamicObject>()
        list.append(objectsIn: heldElements(propertyName, .list).compactMap(\.element))
        return list
    }
}

extension Object {
    /// The set in the property with this name, for code that does not know the class of its elements. The result is
    /// live, like the set itself. It shows values as `dynamicList(_:)` does. Stops the program for the same reasons as
    /// `dynamicList(_:)`.
    public final func dynamicMutableSet(_ propertyName: String) -> MutableSet<DynamicObject> {
        if isManaged { return MutableSet(at: location(propertyName, .set)) }
        let set = MutableSet<DynamicObject>()
        set.insert(objectsIn: heldElements(propertyName, .set).compactMap(\.element))
        return set
    }

    /// The map in the property with this name, for code that does not know the class of its elements. The result is
    /// live, like the map itself. It shows values as `dynamicList(_:)` does. Stops the program for the same reasons as
    /// `dynamicList(_:)`.
    public final func dynamicMap<Key: _MapKey>(_ propertyName: String) -> Map<Key, DynamicObject?> {
        if isManaged { return Map(at: location(propertyName, .map)) }
        let map = Map<Key, DynamicObject?>()
        for (key, element) in heldElements(propertyName, .map) { map.updateValue(element, forKey: Key._key(key)) }
        return map
    }
}

extension Realm {
    /// All objects of the class with this name, live and in the order of their creation: `objects(_:)` for code that
    /// does not know the class. O(1). Stops the program if the realm does not have the class, and on the wrong thread.
    public func dynamicObjects(_ typeName: String) -> Results<DynamicObject> {
        instance.check()
        return Results(.table(instance, instance.binding(named: typeName)))
    }

    /// The object of the class with this name that has a primary key; nil if there is none. O(log n).
    ///
    /// Stops the program for the same reasons as `object(ofType:forPrimaryKey:)`.
    public func dynamicObject(ofType typeName: String, forPrimaryKey key: Any) -> DynamicObject? {
        let binding = instance.binding(named: typeName)
        return _object(binding.info.type, any: key).map { instance.dynamicAccessor(binding, $0._row.key) }
    }

    /// Creates an object of the class with this name, or updates the one with its primary key. It is
    /// `create(_:value:update:)` for code that does not know the class.
    ///
    /// Stops the program for the same reasons, and if the class is a class of embedded objects, which need parents.
    @discardableResult
    public func dynamicCreate(
        _ typeName: String, value: Any = [String: Any](), update: UpdatePolicy = .error
    ) -> DynamicObject {
        do { return try dynamicCreate(typeName, value: value, update: update, isValidating: false) } catch {
            stopProgram("dynamicCreate(\"\(typeName)\"): \(error)")
        }
    }

    /// Creates or updates an object: `dynamicCreate(_:value:update:)`, for data that may be wrong.
    ///
    /// - Throws: what `create(_:validating:update:)` throws; nothing is changed then. `.invalidInput` is also thrown if
    ///   the class is a class of embedded objects, or if the realm does not have it.
    @discardableResult
    public func dynamicCreate(
        _ typeName: String, validating value: Any, update: UpdatePolicy = .error
    ) throws -> DynamicObject {
        do { return try dynamicCreate(typeName, value: value, update: update, isValidating: true) } catch let fault
            as ValueFault
        {
            throw Realm.Error(.invalidInput, "\(typeName): \(fault)")
        }
    }

    private func dynamicCreate(
        _ typeName: String, value: Any, update: UpdatePolicy, isValidating: Bool
    ) throws -> DynamicObject {
        guard let binding = instance.schema.table(named: typeName) else {
            throw ValueFault("the realm has no class \(typeName); add it to Configuration.objectTypes")
        }
        guard !binding.info.isEmbedded else {
            throw ValueFault("objects of \(typeName) are embedded in others; create their parent")
        }
        let object = try ObjectInserter.create(
            binding.info.type, any: value, in: instance, policy: update, isValidating: isValidating)
        return instance.dynamicAccessor(binding, object._row.key)
    }
}

extension _RealmInstance {
    /// The binding of a class by its name. Stops the program if the realm does not have the class.
    fileprivate func binding(named name: String) -> TableBinding {
        guard let binding = schema.table(named: name) else {
            stopProgram(
                "the realm has no class \(name). Add it to Configuration.objectTypes, or register it with Realm.register before opening."
            )
        }
        return binding
    }

    /// The binding of the class that a property's links lead to. If two classes show the same table, it is the class
    /// that the property names.
    func target(of property: PropertyInfo, in binding: TableBinding) -> TableBinding {
        if !binding.info.isStored, let type = property.shape.target, let target = schema.table(of: type) {
            return target
        }
        guard let table = binding.target(of: property), let target = schema.table(table) else {
            preconditionFailure("Firn: \(binding.info.name).\(property.name) leads to no class of the realm")
        }
        return target
    }

    /// A dynamic accessor of the object with a key, for code that does not know the object's class.
    func dynamicAccessor(_ binding: TableBinding, _ key: Int64) -> DynamicObject {
        var row = _Row.unlocated(core, key: key, table: binding.address)
        // A frozen accessor is complete when it is made, because threads may share it.
        if isFrozen, let found = locate(row) { row = found }
        let object = DynamicObject()
        object._row = row
        retainAccessor(row)
        return object
    }

    /// The accessor of the object with a key: an instance of the row's class, or a dynamic object.
    @inline(__always)
    func accessor(_ binding: TableBinding, _ key: Int64, isDynamic: Bool) -> ObjectBase {
        isDynamic ? dynamicAccessor(binding, key) : accessor(binding, key)
    }
}

/// Whether elements of a type are dynamic objects, or optionals of them.
@inline(__always)
func isDynamic(_ element: Any.Type) -> Bool {
    ObjectIdentifier(element) == ObjectIdentifier(DynamicObject.self)
        || ObjectIdentifier(element) == ObjectIdentifier(DynamicObject?.self)
}

/// The object as an instance of its row's class, if the value is a managed dynamic object; otherwise the value.
func typed(_ any: Any?) -> Any? {
    guard let object = dynamicObject(in: any), object.isManaged else { return any }
    return _RealmInstance.of(object._row).accessor(TableBinding.of(object._row), object._row.key)
}

/// The object that a link is set to. An old object of a running migration is replaced by its new form, or by nil if
/// that was deleted. Any other value is passed through `typed`.
func linkTarget(_ any: Any?, as type: ObjectBase.Type) -> Any? {
    guard let object = dynamicObject(in: any), let run = object.runningMigration else {
        return typed(any)
    }
    return run.new(of: object, as: type)
}

extension ObjectBase {
    /// The migration that has this object as an old one, if it is running on the calling thread; otherwise nil.
    fileprivate final var runningMigration: MigrationRun? {
        guard isManaged, TableBinding.of(_row).info.isStored else { return nil }
        return _RealmInstance.of(_row).migration?.ifRunningHere
    }

    /// In a migration, notes that a parent gets a copy of this object.
    final func noteCopy(_ copy: ObjectBase) {
        guard isManaged, let run = _RealmInstance.of(_row).migration?.ifRunningHere else { return }
        run.noteCopy(copy, of: TableBinding.of(_row).table, key: _row.key)
    }

    /// In a migration that makes the object's class embedded, notes that the object contains itself. The migration will
    /// then be refused. Returns false outside of such a migration.
    final func noteSelfContaining() -> Bool {
        guard isManaged, let run = _RealmInstance.of(_row).migration?.ifRunningHere else { return false }
        return run.noteSelfContaining(TableBinding.of(_row).table, key: _row.key)
    }

    /// The object, or the new form of an old object of a running migration; nil if that was deleted.
    final var currentForm: ObjectBase? { currentForm(as: nil) }

    /// `currentForm` as an instance of the given class, for tables that several classes show.
    final func currentForm(as type: ObjectBase.Type?) -> ObjectBase? {
        guard let run = runningMigration else { return self }
        return run.new(of: self, as: type)
    }
}

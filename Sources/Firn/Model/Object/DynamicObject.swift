import FirnCore
import FirnStorage

/// An object whose properties are reached by their names, for code that does not know its class.
///
/// ```swift
/// for dog in realm.dynamicObjects("Dog") { print(dog.name as? String ?? "", dog["age"] as! Int) }
/// try realm.write { realm.dynamicCreate("Dog", value: ["name": "Rex"]).age = 4 }
/// ```
///
/// `Realm.dynamicObjects(_:)`, `dynamicObject(ofType:forPrimaryKey:)` and `dynamicCreate(_:value:update:)` return it.
/// It shows one row, as an object of the row's class does, and the two are the same object: `isSameObject(as:)`.
/// Reading and setting a name work as `self[name]` does, and stop the program as that does. Links lead to other dynamic
/// objects, and collections of objects have dynamic objects as elements. An unmanaged one has no properties.
///
/// Costs what access by name costs: see `ObjectBase.subscript(_:)`.
@dynamicMemberLookup
public final class DynamicObject: Object {
    /// The value of the property with this name: the same as `self[member]`.
    public subscript(dynamicMember member: String) -> Any? {
        get { self[member] }
        set { self[member] = newValue }
    }

    /// The value, for an element of a collection of values.
    private(set) var held: HeldValue?

    /// Makes the object, which is new, an element of a collection of values.
    func hold(_ value: AnyRealmValue) { held = HeldValue(value) }

    /// Whether both show the same row, or, as elements of collections of values, the same value. O(1).
    public override func isEqual(_ object: Any?) -> Bool {
        guard let held else { return super.isEqual(object) }
        return instance(object, of: DynamicObject.self)?.held?.value == held.value
    }

    /// A hash value that is the same for equal objects.
    public override var hash: Int { held?.value.hashValue ?? super.hash }

    /// False: it is no class of its own.
    public override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

extension ObjectBase {
    /// Whether the object is an accessor of a row of any class.
    @inline(__always)
    final var isDynamic: Bool { ObjectIdentifier(type(of: self)) == ObjectIdentifier(DynamicObject.self) }

    /// The class of the object's row; of an unmanaged object its own.
    final var modelType: ObjectBase.Type { isDynamic ? classInfo.type : type(of: self) }

    /// The value of a property of a managed object of any class.
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

    /// The collection of a property by its name, with dynamic objects as elements.
    fileprivate final func location(_ name: String, _ kind: CollectionKind) -> CollectionLocation {
        if !_row.isCurrent { _row = _relocate(_row) }
        return CollectionLocation(_row, dynamicCollection(name, kind))
    }

    /// The list in the property with this name, for code that does not know the class of its elements. Live, as the
    /// list itself.
    ///
    /// An element of a list of values is an object without properties that shows the value: it prints it, and
    /// `element["self"]` gives it. The list itself is `self[name]`, as in `dog["ages"] as? List<Int>`.
    ///
    /// Of an unmanaged object, it is a copy of a list of values, O(n). Stops the program if an unmanaged object's list
    /// has objects, if the object is gone, and if the property is not a list.
    public final func dynamicList(_ propertyName: String) -> List<DynamicObject> {
        if isManaged { return List(at: location(propertyName, .list)) }
        let list = List<DynamicObject>()
        list.append(objectsIn: heldElements(propertyName, .list).compactMap(\.element))
        return list
    }
}

extension Object {
    /// The set in the property with this name, for code that does not know the class of its elements. Live, as the set
    /// itself. Values are shown as `dynamicList(_:)` shows them, and it stops the program as that does.
    public final func dynamicMutableSet(_ propertyName: String) -> MutableSet<DynamicObject> {
        if isManaged { return MutableSet(at: location(propertyName, .set)) }
        let set = MutableSet<DynamicObject>()
        set.insert(objectsIn: heldElements(propertyName, .set).compactMap(\.element))
        return set
    }

    /// The map in the property with this name, for code that does not know the class of its elements. Live, as the map
    /// itself. Values are shown as `dynamicList(_:)` shows them, and it stops the program as that does.
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
    /// Stops the program as `object(ofType:forPrimaryKey:)` does.
    public func dynamicObject(ofType typeName: String, forPrimaryKey key: Any) -> DynamicObject? {
        let binding = instance.binding(named: typeName)
        return _object(binding.info.type, any: key).map { instance.dynamicAccessor(binding, $0._row.key) }
    }

    /// Creates an object of the class with this name, or updates the one with its primary key. It is
    /// `create(_:value:update:)` for code that does not know the class.
    ///
    /// Stops the program as that does, and if the class is one of embedded objects, which have parents.
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
    /// - Throws: what `create(_:validating:update:)` throws. Nothing is changed then. Also `.invalidInput` if the class
    ///   is one of embedded objects, or one that the realm does not have.
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

    /// The binding of the class that a property's links lead to: of two classes that show one table, the one that the
    /// property names.
    func target(of property: PropertyInfo, in binding: TableBinding) -> TableBinding {
        if !binding.info.isStored, let type = property.shape.target, let target = schema.table(of: type) {
            return target
        }
        guard let table = binding.target(of: property), let target = schema.table(table) else {
            preconditionFailure("Firn: \(binding.info.name).\(property.name) leads to no class of the realm")
        }
        return target
    }

    /// The accessor of an object for code that does not know its class.
    func dynamicAccessor(_ binding: TableBinding, _ key: Int64) -> DynamicObject {
        var row = _Row.unlocated(core, key: key, table: binding.address)
        // As for other accessors: a frozen one is complete when made.
        if isFrozen, let found = locate(row) { row = found }
        let object = DynamicObject()
        object._row = row
        retainAccessor(row)
        return object
    }

    /// The accessor of an object by its key, of its class or dynamic.
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

/// The object of its own class, if a value is a managed dynamic one; else the value.
func typed(_ any: Any?) -> Any? {
    guard let object = instance(any, of: DynamicObject.self), object.isManaged else { return any }
    return _RealmInstance.of(object._row).accessor(TableBinding.of(object._row), object._row.key)
}

/// What a link is set to: as `typed`, except for an old object of a running migration. Such an object gives its new
/// form, or nil if it was deleted.
func linkTarget(_ any: Any?, as type: ObjectBase.Type) -> Any? {
    guard let object = instance(any, of: DynamicObject.self), let run = object.runningMigration else {
        return typed(any)
    }
    return run.new(of: object, as: type)
}

extension ObjectBase {
    /// The migration that this is an old object of, if it is running on the calling thread.
    fileprivate final var runningMigration: MigrationRun? {
        guard isManaged, TableBinding.of(_row).info.isStored else { return nil }
        return _RealmInstance.of(_row).migration?.ifRunningHere
    }

    /// Notes that a parent gets a copy of the object, in a migration.
    final func noteCopy(_ copy: ObjectBase) {
        guard isManaged, let run = _RealmInstance.of(_row).migration?.ifRunningHere else { return }
        run.noteCopy(copy, of: TableBinding.of(_row).table, key: _row.key)
    }

    /// Notes that the object is a part of itself, in a migration that makes its class embedded, which will be refused
    /// for it. False outside of one.
    final func noteSelfContaining() -> Bool {
        guard isManaged, let run = _RealmInstance.of(_row).migration?.ifRunningHere else { return false }
        return run.noteSelfContaining(TableBinding.of(_row).table, key: _row.key)
    }

    /// The object, or the new form of an old object of a running migration; nil if that was deleted.
    final var currentForm: ObjectBase? { currentForm(as: nil) }

    /// `currentForm`, of a class if several show the object's table.
    final func currentForm(as type: ObjectBase.Type?) -> ObjectBase? {
        guard let run = runningMigration else { return self }
        return run.new(of: self, as: type)
    }
}

import FirnCore

/// One call of `create`: turns the values that the caller passed into objects, before anything is written. It also sets
/// properties of an unmanaged object. Then there is no realm, no object has a key, and objects of the right class are
/// linked to instead of copied.
///
/// A value describes a new object, which is made unmanaged, or changes to an existing object of the realm. Values are
/// processed from a list and not by recursion, because objects may link to each other in long chains and in cycles.
/// Each source is copied once.
///
/// The application's sequences and initialisers run here. They may end the running transaction, so no part of the
/// transaction is kept from one step to the next. `ObjectInserter` writes afterwards, in the transaction that is
/// running then.
struct Resolution {
    /// A value to set in an object of the realm.
    struct Change {
        let object: ObjectBase
        let property: PropertyInfo
        let content: Content
    }
    enum Content {
        case value(Value)
        case link(ObjectBase)
        case objects([LinkedElement])
        case mixed(AnyRealmValue)
        case mixedElements([MixedElement])

        /// The objects of a link, list or map.
        var elements: [LinkedElement] {
            switch self {
            case .link(let object): [LinkedElement(key: nil, object: object)]
            case .objects(let elements): elements
            default: []
            }
        }
    }

    private unowned(unsafe) let realm: _RealmInstance?
    private let policy: Realm.UpdatePolicy
    /// All values in the order in which they were found. The values at indices below `next` are done.
    ///
    /// All are kept until the last one is resolved. So the address of a source is not reused meanwhile, and a chain of
    /// copies that nobody needs is freed link by link.
    private var tasks: [Task] = []
    private var next = 0
    /// The tasks that made an object from a source.
    private var bySource: [Source: Int] = [:]
    /// The sources from which embedded objects are copied.
    private var partSources: Set<Source> = []
    /// The tasks that made a new object with a primary key; a second value with that key updates the object.
    private var byKey: [PrimaryKey: Int] = [:]
    private(set) var changes: [Change] = []
    /// Values for properties of new objects whose types are stored as embedded objects. These types read the embedded
    /// objects when the properties are set, so the properties are set last.
    private var conversions: [(task: Int, property: PropertyInfo, content: Any?)] = []
    /// The embedded objects that a value assigns to a property. A property may be assigned several values.
    private var given: [Cell: EmbeddedInPlace<ObjectBase>] = [:]

    private struct Task {
        /// A new unmanaged object, or the accessor of an object that is to be changed.
        let object: ObjectBase
        let info: ClassInfo
        /// Where the values come from. An instance in it is kept alive until all values are resolved.
        let values: ValueSource
        let isUpdate: Bool
        /// Whether the values are the class's defaults for all new objects. Other values replace them.
        var isDefault = false
        let location: Location?
    }

    init(_ realm: _RealmInstance?, _ policy: Realm.UpdatePolicy) {
        self.realm = realm
        self.policy = policy
    }

    /// The object that `any` describes. It is an object of this realm, whose changes are in `changes`, or a new
    /// unmanaged object that is yet to be added.
    mutating func resolve(_ type: ObjectBase.Type, _ any: Any) throws -> ObjectBase {
        try resolving { resolution in try resolution.object(type, any, at: nil) }
    }

    /// Sets the properties of an unmanaged object for which `any` has a value.
    static func populate(_ object: ObjectBase, from any: Any) throws {
        var resolution = Resolution(nil, .error)
        try resolution.resolving { resolution in
            let info = object.classInfo
            let any = storedObject(typed(any)) as Any
            let values = try ValueSource(any, for: info)
            if let source = Source(values, as: info.type) { resolution.bySource[source] = 0 }
            resolution.enter(object, info: info, values: values, isUpdate: false, location: nil)
        }
    }

    /// An unmanaged copy of an object, with copies of the embedded objects in it.
    static func copy(_ object: ObjectBase) throws -> ObjectBase {
        let copy = object.modelType.init()
        object.noteCopy(copy)
        try populate(copy, from: object)
        return copy
    }

    /// Converts a value for a property of an unmanaged object, or for a collection of any object. The result has
    /// unmanaged objects in place of the values that describe them.
    static func content(_ property: PropertyInfo, _ any: Any?) throws -> Any? {
        var resolution = Resolution(nil, .error)
        return try resolution.resolving { resolution in try resolution.content(property, any, of: nil) }
    }

    /// Runs `body`, which enters the first values, and then processes all of them.
    private mutating func resolving<Result>(_ body: (inout Resolution) throws -> Result) throws -> Result {
        do {
            let result = try body(&self)
            while next < tasks.count {
                next += 1
                do { try setProperties(next - 1) } catch let fault as ValueFault {
                    throw fault.inside(path(of: next - 1))
                }
            }
            try convert()
            return result
        } catch {
            dropLinks()
            throw error
        }
    }

    /// Sets the properties whose types read the embedded objects that they are stored as, the innermost ones first.
    private func convert() throws {
        struct Target: Hashable {
            let object: ObjectIdentifier
            let property: Int
        }
        var done: Set<Target> = []
        for (task, property, content) in conversions.reversed() {
            let object = tasks[task].object
            // If a property has two values, the later one counts.
            let target = Target(object: ObjectIdentifier(object), property: property.position)
            guard done.insert(target).inserted else { continue }
            do { try object.setUnmanaged(property, content) } catch let fault as ValueFault {
                throw fault.inside(property.name).inside(path(of: task))
            }
        }
    }

    /// The path from the outermost object to a task's value.
    private func path(of task: Int) -> String {
        var names: [String] = []
        var location = tasks[task].location
        while let inner = location {
            names.append(inner.text)
            location = inner.parent.flatMap { tasks[$0].location }
        }
        return names.reversed().joined(separator: ".")
    }

    /// Removes the links between copies that will not be added. They may form cycles, which would never be freed.
    func dropLinks() {
        for task in tasks where !task.isUpdate && !task.object.isManaged {
            for property in task.info.stored where property.isLink || property.isMixed {
                let wrapper = task.object.address + property.offset
                property.wrapper.releaseLink(wrapper)
                try? property.wrapper.existingCollection(wrapper)?.assign(nil)
            }
        }
    }

    // MARK: Objects

    /// The object that a value describes, at a location in another value. If it is an embedded object, `old` is the
    /// object that it replaces.
    private mutating func object(
        _ type: ObjectBase.Type, _ given: Any?, at location: Location?, replacing old: ObjectBase? = nil
    ) throws -> ObjectBase {
        let isCopied = location?.property.isOwner ?? true
        // The value without the optional around it, which each check below would have to unwrap.
        let bare = unwrapped(given) ?? given as Any
        let isDescription = Swift.type(of: bare) == [String: Any].self
        let any = isDescription ? bare : target(of: bare, as: type, isCopied: isCopied)
        if let location, isCopied { return try embedded(type, any, at: location, replacing: old) }
        if !isDescription, let object = bareInstance(any, of: ObjectBase.self) {
            try object.checkIsThere()
            if ObjectIdentifier(Swift.type(of: object)) == ObjectIdentifier(type) {
                if realm == nil { return object }
                if object.isManaged, _RealmInstance.of(object._row) === realm, location != nil || policy != .error {
                    return object
                }
            } else if object.isManaged, location != nil || policy != .error {
                let own = _RealmInstance.of(object._row)
                if realm == nil || realm === own, let binding = own.binding(of: type, showing: object) {
                    return own.accessor(binding, object._row.key)
                }
            }
        }
        let binding = realm?.binding(of: type)
        let info = binding?.info ?? ClassInfo.of(type)
        let values = try ValueSource(any, for: info)
        let source = Source(values, as: type)
        if let source, let task = bySource[source] { return tasks[task].object }
        if let source { bySource[source] = tasks.count }
        guard let binding else {
            let object = type.init()
            enter(object, info: info, values: values, isUpdate: false, location: location)
            return object
        }
        var key = try primaryKey(binding, values)
        var fresh: Fresh?
        if key == nil, policy != .error, let primaryKey = info.primaryKey {
            // Without a given key the object has the key that a new object has. If keys are generated, each new object
            // has a different key, so the object made here is used.
            let made = Fresh(type)
            key = try made.primaryKey(primaryKey).map { PrimaryKey(binding, primaryKey, value: $0) }
            fresh = made
        }
        if let key, let existing = existing(binding, key) {
            enter(existing, info: info, values: values, isUpdate: true, location: location)
            return existing
        }
        if let key, let task = byKey[key] {
            let object = tasks[task].object
            enter(object, info: info, values: values, isUpdate: false, location: location)
            return object
        }
        let new = fresh ?? Fresh(type)
        if let key { byKey[key] = tasks.count }
        if let defaults = new.defaults {
            enter(
                new.object, info: info, values: .dictionary(defaults), isUpdate: false, isDefault: true,
                location: location)
        }
        enter(new.object, info: info, values: values, isUpdate: false, location: location)
        return new.object
    }

    /// Converts a value before it is copied or linked to. A dynamic object becomes the object of its own class, and a
    /// mapped value becomes the object that it is stored as.
    private func target(of bare: Any, as type: ObjectBase.Type, isCopied: Bool) -> Any {
        let stored = storedObject(isCopied ? typed(bare) : linkTarget(bare, as: type))
        return unwrapped(stored) ?? stored as Any
    }

    /// The embedded object that a value describes. The value is always copied, unless it is an unmanaged object that
    /// gets a parent. With `.modified` an existing embedded object gets the value's properties.
    private mutating func embedded(
        _ type: ObjectBase.Type, _ any: Any, at location: Location, replacing old: ObjectBase?
    ) throws -> ObjectBase {
        if let object = instance(any, of: ObjectBase.self) {
            try object.checkIsThere()
            if let old, object.isSameObject(as: old) { return old }
            if realm == nil, !object.isManaged, ObjectIdentifier(Swift.type(of: object)) == ObjectIdentifier(type) {
                return object
            }
        }
        let info = realm?.binding(of: type).info ?? ClassInfo.of(type)
        var values = try ValueSource(any, for: info)
        if let source = Source(values, as: type), mayContain(source), contains(source, location) {
            guard case .object(let object) = values, object.noteSelfContaining() else {
                throw ValueFault("an object of \(info.name) can't contain itself")
            }
            // The migration will be refused after its block has returned.
            values = .dictionary([:])
        }
        var copied: ObjectBase?
        if case .object(let object) = values {
            copied = object
            if let new = object.currentForm, new !== object { values = .old(object, new: new) }
        }
        if let old {
            copied?.noteCopy(old)
            enter(old, info: info, values: values, isUpdate: old.isManaged, location: location)
            return old
        }
        let object = type.init()
        copied?.noteCopy(object)
        if realm != nil, let defaults = type.defaultPropertyValues() {
            enter(
                object, info: info, values: .dictionary(defaults), isUpdate: false, isDefault: true,
                location: location)
        }
        enter(object, info: info, values: values, isUpdate: false, location: location)
        return object
    }

    /// Whether an embedded object, or a parent of one, was copied from this source before. Also notes the source for
    /// later calls. So in a long chain of different objects, the parents of each need not be examined.
    private mutating func mayContain(_ source: Source) -> Bool {
        !partSources.insert(source).inserted || bySource[source] != nil
    }

    /// Whether an embedded object at a location, or one of its parents, is copied from a source.
    private func contains(_ source: Source, _ location: Location) -> Bool {
        var next: Location? = location
        while let location = next, location.property.isOwner, let parent = location.parent {
            let task = tasks[parent]
            if Source(task.values, as: task.info.type) == source { return true }
            next = task.location
        }
        return false
    }

    /// The embedded objects of a property that an update, or a second value for a new object, changes in place.
    private func embeddedInPlace(_ property: PropertyInfo, of task: Int?) -> InPlace {
        guard property.isOwner, policy == .modified, let realm, let task, let target = property.shape.target else {
            return .none
        }
        if let objects = given[Cell(tasks[task].object, property)] { return .given(objects) }
        guard tasks[task].isUpdate else { return .none }
        let row = tasks[task].object._row
        let binding = TableBinding.of(row)
        let transaction = realm.writing("update an object of \(binding.info.name)")
        let value = transaction.recordingDamage {
            transaction.table(binding.table).value(binding.column(property), of: row.key)
        }
        return .stored(EmbeddedInPlace(value), realm, realm.binding(of: target))
    }

    /// Notes the embedded objects that a task's value assigns to a property.
    private mutating func give(_ elements: [LinkedElement], to property: PropertyInfo, of task: Task) {
        guard property.isOwner, policy == .modified, realm != nil, !task.isDefault else { return }
        given[Cell(task.object, property)] = EmbeddedInPlace(elements)
    }

    /// The embedded objects that a property has before a change: the objects in the store, or the objects that an
    /// earlier value assigned to it.
    private enum InPlace {
        case none
        case stored(EmbeddedInPlace<Int64>, _RealmInstance, TableBinding)
        case given(EmbeddedInPlace<ObjectBase>)

        /// The object with a key in a map, or at an index if `mapKey` is nil; nil if there is none.
        func object(at index: Int, orOf mapKey: String?) -> ObjectBase? {
            switch self {
            case .none: nil
            case .stored(let objects, let realm, let binding):
                objects.object(at: index, orOf: mapKey).map { realm.accessor(binding, $0) }
            case .given(let objects): objects.object(at: index, orOf: mapKey)
            }
        }
    }

    /// Appends a task.
    private mutating func enter(
        _ object: ObjectBase, info: ClassInfo, values: ValueSource, isUpdate: Bool,
        isDefault: Bool = false, location: Location?
    ) {
        tasks.append(
            Task(
                object: object, info: info, values: values, isUpdate: isUpdate, isDefault: isDefault,
                location: location))
    }

    /// The given primary key, by which an existing object is found and then updated; nil if objects are always created.
    private func primaryKey(_ binding: TableBinding, _ values: ValueSource) throws -> PrimaryKey? {
        guard policy != .error, let primaryKey = binding.info.primaryKey,
            let any = try values.value(primaryKey, at: primaryKey.number)
        else { return nil }
        do {
            return try primaryKey.requiredValue(from: any).map { PrimaryKey(binding, primaryKey, value: $0) }
        } catch let fault as ValueFault {
            throw fault.inside(primaryKey.name)
        }
    }

    /// The object with a primary key; nil if there is none.
    private func existing(_ binding: TableBinding, _ key: PrimaryKey) -> ObjectBase? {
        guard let realm else { return nil }
        let transaction = realm.writing("create an object of \(binding.info.name)")
        return key.find(in: transaction).map { realm.accessor(binding, $0) }
    }

    // MARK: Properties

    /// Sets a new object's properties, or notes the changes to an existing one.
    private mutating func setProperties(_ number: Int) throws {
        let task = tasks[number]
        for (position, property) in task.info.stored.enumerated() where !(task.isUpdate && property.isPrimaryKey) {
            guard let any = try task.values.value(property, at: position) else { continue }
            do {
                try property.checkRequired(any)
                let content = try content(property, any, of: number)
                if !task.isUpdate {
                    if property.isOwner, let change = try change(property, content) {
                        give(change.elements, to: property, of: task)
                    }
                    if property.shape.isMapped {
                        conversions.append((number, property, content))
                    } else {
                        try task.object.setUnmanaged(property, content)
                    }
                } else if let change = try change(property, content) {
                    changes.append(Change(object: task.object, property: property, content: change))
                    give(change.elements, to: property, of: task)
                }
            } catch let fault as ValueFault { throw fault.inside(property.name) }
        }
    }

    /// The change to a property of an existing object; nil if there is nothing to set.
    private func change(_ property: PropertyInfo, _ content: Any?) throws -> Content? {
        if property.isLink {
            if property.isCollection { return .objects(content as? [LinkedElement] ?? []) }
            // A nil link may be stored as null, since null and a link to -1 both read as nil.
            return instance(content, of: ObjectBase.self).map { .link($0) } ?? .value(.null)
        }
        if property.isMixed {
            if property.isCollection { return .mixedElements(content as? [MixedElement] ?? []) }
            return .mixed(content as? AnyRealmValue ?? .none)
        }
        if property.isCollection, let realm {
            return .value(property.collectionValue(try property.wrapper.elements(content, realm)))
        }
        return try property.requiredValue(from: content).map { .value($0) }
    }

    /// A property's value in which descriptions of objects are replaced by objects.
    private mutating func content(_ property: PropertyInfo, _ any: Any?, of task: Int?) throws -> Any? {
        if property.isCollection, let list = instance(any, of: (any PersistedCollection).self), list.isInvalidated {
            throw ValueFault("the object that the collection belongs to was deleted, or its realm was invalidated")
        }
        if property.isMixed { return try mixedContent(property, any, of: task) }
        guard property.isLink, let target = property.shape.target else { return any }
        let any = property.isCollection || property.isOwner ? any : linkTarget(any, as: target)
        guard let value = unwrapped(any) else { return any }
        // If nothing is copied, a list is used as it is.
        if realm == nil, !property.isOwner, property.wrapper.isElements(value) {
            let objects = elements(value, of: ObjectBase.self) ?? []
            for object in objects { try object.checkIsThere() }
            for element in (value as? [String: Any] ?? [:]).values {
                try instance(element, of: ObjectBase.self)?.checkIsThere()
            }
            return value
        }
        var location = Location(parent: task, property: property)
        let existing = embeddedInPlace(property, of: task)
        guard property.isCollection else {
            return try object(target, value, at: location, replacing: existing.object(at: 0, orOf: nil))
        }
        var elements: [LinkedElement] = []
        for (key, element) in try property.anyElements(of: value) {
            location.element = key.map { "\"\($0)\"" } ?? "\(elements.count)"
            do {
                let isGone =
                    !property.isOwner
                    && instance(element, of: ObjectBase.self).map { $0.currentForm == nil } ?? false
                // Links to objects that a migration has deleted are left out.
                if isGone, key == nil { continue }
                // Only a map can have nil as an object.
                let isNil = key != nil && (isGone || unwrapped(element) == nil)
                let old = existing.object(at: elements.count, orOf: key)
                let object = isNil ? nil : try object(target, element, at: location, replacing: old)
                elements.append(LinkedElement(key: key, object: object))
            } catch let fault as ValueFault { throw fault.inside("[\(location.element ?? "")]") }
        }
        return elements
    }
}

extension Resolution {
    /// A mixed value, or the elements of a collection of mixed values, with resolved objects.
    private mutating func mixedContent(_ property: PropertyInfo, _ any: Any?, of task: Int?) throws -> Any? {
        var location = Location(parent: task, property: property)
        guard property.isCollection else {
            return try mixed(try AnyRealmValue(untyped: any), at: location)
        }
        guard let value = unwrapped(any) else { return [MixedElement]() }
        var elements: [MixedElement] = []
        for (key, element) in try property.anyElements(of: value) {
            location.element = key.map { "\"\($0)\"" } ?? "\(elements.count)"
            do {
                let mixed = try mixed(try AnyRealmValue(untyped: element), at: location)
                if property.shape.collection == .set { try mixed.checkMember() }
                elements.append(MixedElement(key: key, mixed: mixed))
            } catch let fault as ValueFault { throw fault.inside("[\(location.element ?? "")]") }
        }
        return elements
    }

    private mutating func mixed(_ value: AnyRealmValue, at location: Location) throws -> AnyRealmValue {
        // If nothing is copied, objects are linked to as they are.
        guard let realm else { return value }
        return try value.replacingObjects { object in
            if !object.isManaged || _RealmInstance.of(object._row) !== realm {
                _ = try realm.checkedBinding(of: object.modelType)
            }
            let resolved = try self.object(object.modelType, object, at: location)
            return unsafeDowncast(resolved, to: Object.self)
        }
    }
}

extension PropertyInfo {
    /// The elements of an untyped sequence or dictionary, with their keys if the property is a map. Throws `ValueFault`
    /// if the value is neither.
    fileprivate func anyElements(of value: Any) throws -> [(key: String?, value: Any?)] {
        if shape.collection == .map { return try anyEntries(of: value, as: shape.swiftType).map { ($0.key, $0.value) } }
        guard let sequence = value as? any Sequence, !(value is String) else {
            throw ValueFault(value, isNot: [ObjectBase].self)
        }
        return Firn.anyElements(of: sequence).map { (nil, $0) }
    }
}

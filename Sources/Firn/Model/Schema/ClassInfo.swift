@_spi(Reflection) import Swift
import CFirn
import FirnCore
import FirnStorage
import Observation
import Synchronization

/// What Firn knows about a class: its persisted properties, in the order of their declaration, a superclass's first.
///
/// Made once per class and kept until the process ends. Faults of the declaration are kept with it, so that opening
/// can report them all at once.
final class ClassInfo: @unchecked Sendable {
    // Immutable after its initialiser, but metatypes are not Sendable to the compiler.
    let type: ObjectBase.Type
    let name: String
    /// Whether only the store describes the class; `type` is `DynamicObject` then.
    let isStored: Bool
    /// Whether the class is one of embedded objects.
    let isEmbedded: Bool
    /// All properties, backlinks included.
    let properties: [PropertyInfo]
    /// The properties that have a column.
    let stored: [PropertyInfo]
    let primaryKey: PropertyInfo?
    /// The mistakes in the declaration, one sentence each.
    let faults: [String]
    /// Whether the wrapper of any property may hold an object, a collection or a box.
    let hasReferences: Bool
    /// The wrapped properties that Firn does not store.
    let ignored: [IgnoredProperty]
    /// The properties that must not be nil although their Swift type is optional.
    let required: [PropertyInfo]
    /// Whether reads of its objects are reported to Swift's Observation framework.
    let isObservable: Bool
    /// The bytes that accessors are copied from; nil if the class's initialiser has to make each accessor.
    let template: AccessorTemplate?
    private let byName: NameMap<PropertyInfo>
    // Any thread may set it; it is never cleared.
    private let needsInitialValues: Atomic<Bool>

    /// The property with a Swift name.
    func property(named name: String) -> PropertyInfo? { byName[name] }

    /// Whether `ignoredProperties()` names a wrapped property.
    func isIgnored(_ name: String) -> Bool { ignored.contains { $0.name == name } }

    /// The text of a message about a missing property: that the class lacks it, and which properties the class has.
    ///
    /// - Parameter written: returns a property's name as the message writes it.
    func missingPropertyText(_ name: String, written: (String) -> String = { $0 }) -> String {
        isIgnored(name)
            ? "the class \(self.name) does not store \"\(name)\", because its ignoredProperties() names it"
            : "the class \(self.name) has no property \"\(name)\"; it has \(properties.map { written($0.name) }.joined(separator: ", "))"
    }

    /// Whether accessors compute their initial values. An ignored property needs its initial value, since it keeps a
    /// value of its own. So do the properties of any other object that the class's initialiser makes. The initialiser
    /// may make one if it has made one before, or if the class has a property that Firn does not store.
    var computesInitialValues: Bool {
        @inline(__always) get { needsInitialValues.load(ordering: .relaxed) }
    }

    /// Notes that the class's initialiser makes other objects.
    func makesOtherObjects() { needsInitialValues.store(true, ordering: .relaxed) }

    // Classes are looked up on any thread, so a lock guards the value.
    private static var known: GlobalGuarded<ClassMap<ClassInfo>> { GlobalGuarded(.classes) { ClassMap() } }

    /// What is known about a class. It is found out at the first call.
    static func of(_ type: ObjectBase.Type) -> ClassInfo {
        if let info = known.withLock({ $0[type] }) { return info }
        // The info is made without the lock, since that runs the class's initialiser. If two threads do so at once, the
        // first to enter its result wins.
        let info = ClassInfo(type)
        return known.withLock { known in
            if let earlier = known[type] { return earlier }
            known.insert(type, info)
            return info
        }
    }

    /// A class that only the store describes: see `ClassInfo+Stored`.
    init(stored name: String, isEmbedded: Bool, _ stored: [PropertyInfo]) {
        type = DynamicObject.self
        isStored = true
        self.name = name
        self.isEmbedded = isEmbedded
        properties = stored
        self.stored = stored
        primaryKey = stored.first(where: \.isPrimaryKey)
        faults = []
        hasReferences = stored.contains(where: \.isReference)
        for (number, property) in stored.enumerated() { (property.number, property.position) = (number, number) }
        ignored = []
        required = []
        isObservable = false
        template = nil
        byName = NameMap(stored.map { ($0.name, $0) })
        needsInitialValues = Atomic(true)
    }

    private init(_ type: ObjectBase.Type) {
        self.type = type
        isStored = false
        name = type.className()
        isEmbedded = type is EmbeddedObject.Type
        var faults: [String] = []
        let before = firn_set_accessor_state(UInt(FIRN_MAKING_SAMPLE))
        let sample = type.init()
        let madeOthers = firn_set_accessor_state(before) != UInt(bitPattern: sample.address)
        var hasOwnFields = false
        let mapping = type.propertiesMapping()
        let ignored = type.ignoredProperties()
        let indexed = type.indexedProperties()
        let required = type.requiredProperties()
        let namedKey = type.primaryKey()
        var found: [PropertyInfo] = []
        var foundIgnored: [IgnoredProperty] = []
        _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { label, offset, field, _ in
            // This test comes first, because the cast below is slow if it fails: the runtime searches the conformances
            // of all loaded modules.
            if field == _Row.self { return true }
            var name = String(cString: label)
            guard let wrapper = field as? any AnyPersisted.Type else {
                hasOwnFields = true
                if !ignored.contains(name), let fault = Self.unstoredFault(field, name, of: type) {
                    faults.append(fault)
                }
                return true
            }
            if name.hasPrefix("_") { name.removeFirst() }
            let wrapperAddress = sample.address + offset
            if ignored.contains(name) {
                foundIgnored.append(
                    IgnoredProperty(
                        name: name, offset: offset, wrapper: wrapper,
                        isPrimaryKey: name == namedKey || wrapper.options(wrapperAddress).contains(.primaryKey)))
                return true
            }
            let property = PropertyInfo(
                name: name, columnName: mapping[name] ?? name, offset: offset, wrapper: wrapper,
                options: wrapper.options(wrapperAddress), isNamedKey: name == namedKey,
                isNamedIndex: indexed.contains(name),
                isRequired: required.contains(name),
                origin: wrapper.shape.isLinkingObjects
                    ? (wrapper.any(wrapperAddress, of: sample) as? any AnyLinkingObjects)?.originProperty : nil)
            found.append(property)
            return true
        }
        properties = found
        stored = found.filter { !$0.isLinkingObjects }
        hasReferences = stored.contains(where: \.isReference)
        for (number, property) in stored.enumerated() { property.number = number }
        for (number, property) in found.enumerated() { property.position = number }
        self.ignored = foundIgnored
        self.required = stored.filter { $0.isRequired && $0.shape.isNullable }
        let needsInitialValues = !foundIgnored.isEmpty || hasOwnFields || madeOthers
        self.needsInitialValues = Atomic(needsInitialValues)
        isObservable = type is any Observable.Type
        template = needsInitialValues ? nil : ClassInfo.makeTemplate(type, found)
        byName = NameMap(found.map { ($0.name, $0) })
        let keys = stored.filter(\.isPrimaryKey)
        primaryKey = keys.first

        let className = name
        let byName = byName
        func check(_ names: some Sequence<String>, _ function: String) {
            for name in names where byName[name] == nil && !ignored.contains(name) {
                faults.append(
                    "\(className).\(function) names \"\(name)\", which is not a @Persisted property of the class.")
            }
        }
        check(indexed, "indexedProperties()")
        check(required, "requiredProperties()")
        check(mapping.keys, "propertiesMapping()")
        check(namedKey.map { [$0] } ?? [], "primaryKey()")
        if keys.count > 1 {
            faults.append(
                "\(name) has \(keys.count) primary keys (\(keys.map { "\"\($0.name)\"" }.joined(separator: ", "))); a class has one at most."
            )
        }
        if isEmbedded, let key = keys.first {
            faults.append(
                "\(name) has the primary key \"\(key.name)\", but an embedded object is found through its parent; make the class a subclass of Object, or make the property an ordinary one."
            )
        }
        for property in foundIgnored where property.isPrimaryKey {
            faults.append(
                "\(name) has the primary key \"\(property.name)\", which is ignored; remove it from ignoredProperties()."
            )
        }
        let columns = NameMap(stored.map { ($0.columnName, $0) })
        for property in stored {
            if columns[property.columnName] !== property {
                faults.append(
                    "\(name) has two properties stored as \"\(property.columnName)\"; give one of them another name in propertiesMapping()."
                )
            }
            faults += property.faults(in: name)
        }
        self.faults = faults
    }
}

extension ClassInfo {
    /// The mistake if a field that is not wrapped is a collection or a box, which stores nothing without its wrapper.
    /// Nil for other fields. An optional, such as a lazy property, may be left unwrapped on purpose.
    private static func unstoredFault(_ field: Any.Type, _ name: String, of type: ObjectBase.Type) -> String? {
        guard !(field is any _OptionalProtocol.Type), let stored = field as? any _Persistable.Type else { return nil }
        let shape = stored._propertyType
        guard shape.collection != .none || shape.isBoxed else { return nil }
        let wrapper = shape.isLinkingObjects ? "@Persisted(originProperty: \"…\")" : "@Persisted"
        return
            "\(type.className()).\(name) is declared without @Persisted, so it would not be stored; write `\(wrapper) var \(name): \(field)`, or name it in ignoredProperties()."
    }

    /// Whether a class has no property and is no base of another class, so that its objects store nothing.
    func isEmpty(among infos: [ClassInfo]) -> Bool {
        properties.isEmpty && !infos.contains { $0.isSubclass(of: type) }
    }

    private func isSubclass(of base: ObjectBase.Type) -> Bool {
        var next: AnyClass? = _getSuperclass(type)
        while let superclass = next, superclass != base { next = _getSuperclass(superclass) }
        return next != nil
    }

    /// The template of a class whose properties need no initial values; nil if the class can't have a template.
    private static func makeTemplate(_ type: ObjectBase.Type, _ properties: [PropertyInfo]) -> AccessorTemplate? {
        let before = firn_set_accessor_state(UInt(FIRN_MAKING_ACCESSOR))
        let blank = type.init()
        guard firn_set_accessor_state(before) == UInt(bitPattern: blank.address) else { return nil }
        return AccessorTemplate(blank, properties)
    }
}

/// A wrapped property that `ignoredProperties()` names: its value stays in the instance, managed or not.
struct IgnoredProperty {
    let name: String
    /// The offset of its wrapper in an instance.
    let offset: Int
    let wrapper: any AnyPersisted.Type
    /// Whether the class declares it as its primary key, which is a fault.
    let isPrimaryKey: Bool
}

/// A persisted property of a class.
final class PropertyInfo: @unchecked Sendable {
    // Immutable once its class's info is made.
    let name: String
    let columnName: String
    /// The offset of its wrapper in an instance.
    let offset: Int
    let wrapper: any AnyPersisted.Type
    let shape: _PropertyType
    /// The offset of its unmanaged value in an instance.
    let valueOffset: Int
    let isPrimaryKey: Bool
    let isIndexed: Bool
    let isRequired: Bool
    /// The name of the linking property; nil unless the property holds backlinks.
    let origin: String?
    /// The name of the class that a link leads to, or whose objects link here; nil for other properties.
    let targetName: String?
    /// Its index among the stored properties; -1 for backlinks.
    fileprivate(set) var number = -1
    /// Its index among all properties.
    fileprivate(set) var position = -1

    var isLinkingObjects: Bool { shape.isLinkingObjects }
    var isCollection: Bool { shape.collection != .none }
    var isLink: Bool { shape.type == .link && !isLinkingObjects }
    /// Whether the property holds mixed values, which may be links.
    var isMixed: Bool { shape.type == .mixed }
    /// Whether the wrapper of an unmanaged object may hold an object, a collection or a box.
    var isReference: Bool { isLink || isCollection || isMixed || shape.isBoxed }
    /// Whether the property leads to embedded objects, which belong to its object.
    let isOwner: Bool
    /// A collection of these elements, as the column holds it.
    func collectionValue(_ elements: [Value]) -> Value {
        switch shape.collection {
        case .set: .set(of: elements)
        case .map: .map(of: elements.map(\.onlyEntry))
        case .list, .none: .list(elements)
        }
    }
    /// Whether the property may be nil, and its column hold null.
    var isNullable: Bool { shape.isNullable && !isRequired }

    init(
        name: String, columnName: String, offset: Int, wrapper: any AnyPersisted.Type, options: _PersistedOptions,
        isNamedKey: Bool, isNamedIndex: Bool, isRequired: Bool, origin: String?, targetName: String? = nil
    ) {
        self.name = name
        self.columnName = columnName
        self.offset = offset
        self.wrapper = wrapper
        self.isRequired = isRequired
        self.origin = origin
        shape = wrapper.shape
        self.targetName = targetName ?? shape.target?.className()
        valueOffset = offset + wrapper.valueOffset
        isOwner = !shape.isLinkingObjects && shape.target is EmbeddedObject.Type
        isPrimaryKey = options.contains(.primaryKey) || isNamedKey
        isIndexed = options.contains(.indexed) || isNamedIndex || isPrimaryKey
    }

    /// The column that the store must have for the property.
    func column(target: TableID?) -> ColumnSchema {
        ColumnSchema(
            name: columnName, type: shape.type, collection: shape.collection,
            isNullable: shape.type == .link ? shape.collection == .none || shape.collection == .map : isNullable,
            isIndexed: isIndexed,
            target: target)
    }

    /// The mistakes in the declaration of the property, one sentence each.
    func faults(in className: String) -> [String] {
        var faults: [String] = []
        let full = "\(className).\(name)"
        if columnName.isEmpty || columnName.utf8.count > Limits.nameByteCount {
            faults.append(
                "\(full) is stored under a name of \(columnName.utf8.count) bytes; 1 to \(Limits.nameByteCount) are possible."
            )
        }
        if shape.type == .link && shape.collection == .none && !shape.isNullable {
            faults.append(
                "\(full) is a link that is not optional; a link can always become nil, so declare it as \(shape.swiftType)?."
            )
        }
        if isOwner && shape.collection == .set {
            faults.append(
                "\(full) is a set of embedded objects, of which no two are equal; declare it as a List or a Map.")
        }
        if shape.type == .link && shape.collection == .map {
            // A type of the application that is stored as an object has a value for nil.
            if !shape.isNullable, !shape.isMapped {
                faults.append(
                    "\(full) is a map of objects that are not optional; a map keeps the key of a deleted object with nil, so declare the value with \"?\"."
                )
            }
        } else if shape.type == .link && shape.collection != .none && shape.isNullable {
            faults.append(
                "\(full) is a \(shape.collection) of optional objects; it holds no nil objects, so declare the element without \"?\"."
            )
        }
        if isPrimaryKey && (![.int, .string, .objectID, .uuid].contains(shape.type) || shape.collection != .none) {
            faults.append(
                "\(full) is of type \(shape.swiftType), which can't be a primary key; Int, String, ObjectId and UUID can."
            )
        } else if isIndexed
            && (![.int, .bool, .string, .date, .objectID, .uuid, .mixed].contains(shape.type)
                || shape.collection != .none)
        {
            faults.append(
                "\(full) is of type \(shape.swiftType), which can't be indexed; integers, Bool, String, Date, ObjectId, UUID and AnyRealmValue can."
            )
        }
        if isRequired && shape.collection != .none {
            faults.append(
                "\(full) is a collection, which requiredProperties() can't name; declare its elements without \"?\".")
        } else if isRequired && shape.type == .link {
            faults.append("\(full) is a link, which can always become nil, so requiredProperties() can't name it.")
        } else if isRequired && !shape.isNullable {
            faults.append("\(full) is not optional, so requiredProperties() need not name it.")
        }
        return faults
    }
}

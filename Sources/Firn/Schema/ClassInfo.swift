@_spi(Reflection) import Swift
import CFirn
import FirnCore
import FirnStorage
import Synchronization

/// What Firn knows of a class: its stored properties, in the order of their declaration, a superclass's first.
///
/// Made once per class and kept for good. Faults of the declaration are kept with it, so that opening can report them all at once.
final class ClassInfo: @unchecked Sendable {
    // Immutable once made, but that metatypes are not Sendable to the compiler.
    let type: ObjectBase.Type
    let name: String
    /// All properties, backlinks included.
    let properties: [PropertyInfo]
    /// Those that have a column.
    let stored: [PropertyInfo]
    let primaryKey: PropertyInfo?
    /// What is wrong with the declaration.
    let faults: [String]
    /// Whether any property is a link or a collection.
    let hasReferences: Bool
    /// The wrapped properties that Firn leaves alone.
    let ignored: [IgnoredProperty]
    /// Those that may not be nil although their Swift type may.
    let required: [PropertyInfo]
    private let byName: [String: PropertyInfo]
    // Set by any thread that finds it out, never cleared.
    private let needsInitialValues: Atomic<Bool>

    func property(named name: String) -> PropertyInfo? { byName[name] }

    /// Whether `ignoredProperties()` names a wrapped property.
    func isIgnored(_ name: String) -> Bool { ignored.contains { $0.name == name } }

    /// Says that there is no such property, and what there is.
    func lacks(_ name: String) -> String {
        isIgnored(name)
            ? "the class \(self.name) does not store \"\(name)\", because its ignoredProperties() names it"
            : "the class \(self.name) has no property \"\(name)\"; it has \(properties.map(\.name).joined(separator: ", "))"
    }

    /// Whether accessors compute their initial values. An ignored property keeps its own, and an object that the class's
    /// initialiser makes has its own too: the initial value of a property that Firn does not store may make one at any
    /// time, and an initialiser that has made one once may do so again.
    var computesInitialValues: Bool {
        @inline(__always) get { needsInitialValues.load(ordering: .relaxed) }
    }

    /// The class's initialiser was found to make other objects.
    func makesOtherObjects() { needsInitialValues.store(true, ordering: .relaxed) }

    // Classes are looked up on any thread; the guard is in the type.
    private static var known: GlobalGuarded<[ObjectIdentifier: ClassInfo]> { GlobalGuarded(.classes) { [:] } }

    static func of(_ type: ObjectBase.Type) -> ClassInfo {
        let id = ObjectIdentifier(type)
        if let info = known.withLock({ $0[id] }) { return info }
        // Made without the lock, since it runs the class's initialiser. If two threads do so, the first to be entered counts.
        let info = ClassInfo(type)
        return known.withLock { known in
            if let earlier = known[id] { return earlier }
            known[id] = info
            return info
        }
    }

    private init(_ type: ObjectBase.Type) {
        self.type = type
        name = type.className()
        var faults: [String] = []
        let before = firn_set_accessor_state(UInt(FIRN_MAKING_SAMPLE))
        let sample = type.init()
        let madeOthers = firn_set_accessor_state(before) != UInt(bitPattern: sample.address)
        var hasOwnFields = false
        let mapping = type.propertiesMapping()
        let ignored = Set(type.ignoredProperties())
        let indexed = Set(type.indexedProperties())
        let required = Set(type.requiredProperties())
        let namedKey = type.primaryKey()
        var found: [PropertyInfo] = []
        var leftAlone: [IgnoredProperty] = []
        _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { label, offset, field, _ in
            guard let wrapper = field as? any AnyPersisted.Type else {
                if field != _Row.self { hasOwnFields = true }
                return true
            }
            var name = String(cString: label)
            if name.hasPrefix("_") { name.removeFirst() }
            let place = sample.address + offset
            if ignored.contains(name) {
                leftAlone.append(
                    IgnoredProperty(
                        name: name, offset: offset, wrapper: wrapper,
                        isPrimaryKey: name == namedKey || wrapper.options(place).contains(.primaryKey)))
                return true
            }
            let property = PropertyInfo(
                name: name, columnName: mapping[name] ?? name, offset: offset, wrapper: wrapper,
                options: wrapper.options(place), isNamedKey: name == namedKey, isNamedIndex: indexed.contains(name),
                isRequired: required.contains(name),
                origin: wrapper.shape.isLinkingObjects
                    ? (wrapper.any(place, of: sample) as? any AnyLinkingObjects)?.originProperty : nil)
            found.append(property)
            return true
        }
        properties = found
        stored = found.filter { !$0.isLinkingObjects }
        hasReferences = stored.contains { $0.isLink || $0.isCollection }
        for (number, property) in stored.enumerated() { property.number = number }
        for (number, property) in found.enumerated() { property.place = number }
        self.ignored = leftAlone
        self.required = stored.filter { $0.isRequired && $0.shape.isNullable }
        needsInitialValues = Atomic(!leftAlone.isEmpty || hasOwnFields || madeOthers)
        byName = Dictionary(found.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let keys = stored.filter(\.isPrimaryKey)
        primaryKey = keys.first

        let className = name
        let known = Set(found.map(\.name)).union(ignored)
        func check(_ names: some Sequence<String>, _ function: String) {
            for name in names where !known.contains(name) {
                faults.append(
                    "\(className).\(function) names \"\(name)\", which is no @Persisted property of the class.")
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
        for property in leftAlone where property.isPrimaryKey {
            faults.append(
                "\(name) has the primary key \"\(property.name)\", which is ignored; take it out of ignoredProperties()."
            )
        }
        var columns: Set<String> = []
        for property in stored {
            if !columns.insert(property.columnName).inserted {
                faults.append(
                    "\(name) has two properties stored as \"\(property.columnName)\"; give one another name in propertiesMapping()."
                )
            }
            faults += property.faults(in: name)
        }
        self.faults = faults
    }
}

/// A wrapped property that `ignoredProperties()` names: its value stays in the instance, managed or not.
struct IgnoredProperty {
    let name: String
    /// Where its wrapper lies in an instance.
    let offset: Int
    let wrapper: any AnyPersisted.Type
    /// Whether the class declares it as its primary key, which is a fault.
    let isPrimaryKey: Bool
}

/// A property of a class.
final class PropertyInfo: @unchecked Sendable {
    // Immutable once its class's info is made.
    let name: String
    let columnName: String
    /// Where its wrapper lies in an instance.
    let offset: Int
    let wrapper: any AnyPersisted.Type
    let shape: _PropertyType
    /// Where its unmanaged value lies in an instance.
    let valueOffset: Int
    let isPrimaryKey: Bool
    let isIndexed: Bool
    let isRequired: Bool
    /// The linking property's name, of backlinks.
    let origin: String?
    /// Its place among the stored properties.
    fileprivate(set) var number = -1
    /// Its place among all.
    fileprivate(set) var place = -1

    var isLinkingObjects: Bool { shape.isLinkingObjects }
    var isCollection: Bool { shape.collection != .none }
    var isLink: Bool { shape.type == .link && !isLinkingObjects }
    /// Whether the property may be nil, and its column hold null.
    var isNullable: Bool { shape.isNullable && !isRequired }

    init(
        name: String, columnName: String, offset: Int, wrapper: any AnyPersisted.Type, options: _PersistedOptions,
        isNamedKey: Bool, isNamedIndex: Bool, isRequired: Bool, origin: String?
    ) {
        self.name = name
        self.columnName = columnName
        self.offset = offset
        self.wrapper = wrapper
        self.isRequired = isRequired
        self.origin = origin
        shape = wrapper.shape
        valueOffset = offset + wrapper.valueOffset
        isPrimaryKey = options.contains(.primaryKey) || isNamedKey
        isIndexed = options.contains(.indexed) || isNamedIndex || isPrimaryKey
    }

    /// The column that the store is to have for it.
    func column(target: TableID?) -> ColumnSchema {
        ColumnSchema(
            name: columnName, type: shape.type, collection: shape.collection,
            isNullable: shape.type == .link ? shape.collection == .none : isNullable, isIndexed: isIndexed,
            target: target)
    }

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
        if shape.type == .link && shape.collection != .none && shape.isNullable {
            faults.append(
                "\(full) is a list of optional objects; lists hold no nil objects, so declare the element without \"?\"."
            )
        }
        if isPrimaryKey && (![.int, .string, .objectID, .uuid].contains(shape.type) || shape.collection != .none) {
            faults.append(
                "\(full) is of type \(shape.swiftType), which can't be a primary key; Int, String, ObjectId and UUID can."
            )
        } else if isIndexed
            && (![.int, .bool, .string, .date, .objectID, .uuid].contains(shape.type) || shape.collection != .none)
        {
            faults.append(
                "\(full) is of type \(shape.swiftType), which can't be indexed; integers, Bool, String, Date, ObjectId and UUID can."
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

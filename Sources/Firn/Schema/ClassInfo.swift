@_spi(Reflection) import Swift
import FirnCore
import FirnStorage

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
    /// Whether an instance consists of stored properties only, so that one may serve for another row.
    let isPure: Bool
    private let byName: [String: PropertyInfo]

    func property(named name: String) -> PropertyInfo? { byName[name] }

    // Guards `known`: classes are looked up on any thread.
    private static let lock = Lock()
    private nonisolated(unsafe) static var known: [ObjectIdentifier: ClassInfo] = [:]

    static func of(_ type: ObjectBase.Type) -> ClassInfo {
        let id = ObjectIdentifier(type)
        if let info = lock.withLock({ known[id] }) { return info }
        // Made without the lock, since it runs the class's initialiser. If two threads do so, the first to be entered counts.
        let info = ClassInfo(type)
        return lock.withLock {
            if let earlier = known[id] { return earlier }
            known[id] = info
            return info
        }
    }

    private init(_ type: ObjectBase.Type) {
        self.type = type
        name = type.className()
        var faults: [String] = []
        let sample = type.init()
        let mapping = type.propertiesMapping()
        let ignored = Set(type.ignoredProperties())
        let indexed = Set(type.indexedProperties())
        let required = Set(type.requiredProperties())
        let namedKey = type.primaryKey()
        var found: [PropertyInfo] = []
        var isPure = true
        _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { label, offset, field, _ in
            guard let wrapper = field as? any AnyPersisted.Type else {
                if field != _Row.self { isPure = false }
                return true
            }
            var name = String(cString: label)
            if name.hasPrefix("_") { name.removeFirst() }
            if ignored.contains(name) {
                isPure = false
                return true
            }
            let place = sample.address + offset
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
        byName = Dictionary(found.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.isPure = isPure
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

/// A property of a class.
final class PropertyInfo: @unchecked Sendable {
    // Immutable once its class's info is made.
    let name: String
    let columnName: String
    /// Where its wrapper lies in an instance.
    let offset: Int
    let wrapper: any AnyPersisted.Type
    let shape: _Shape
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
    /// Whether the column may hold null.
    var isNullable: Bool { shape.isNullable }

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
            isNullable: shape.type == .link ? shape.collection == .none : shape.isNullable, isIndexed: isIndexed,
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
        if isRequired && !shape.isNullable {
            faults.append("\(full) is not optional, so requiredProperties() need not name it.")
        }
        return faults
    }
}

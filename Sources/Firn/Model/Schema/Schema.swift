import FirnCore

/// The classes of a realm, as `Realm.schema` describes them: a value that may be read on any thread.
public struct Schema: CustomStringConvertible, Equatable, Sendable {
    /// The classes, each once.
    public let objectSchema: [ObjectSchema]

    init(_ binding: SchemaBinding) { objectSchema = binding.tables.map { ObjectSchema($0.info) } }

    /// The class with this name; nil if the realm does not have it. O(classes).
    public subscript(className: String) -> ObjectSchema? { objectSchema.first { $0.className == className } }

    /// The classes and their properties, for people.
    public var description: String {
        "Schema {\n\(objectSchema.map { "\t" + indented($0.description) }.joined(separator: "\n"))\n}"
    }
}

/// A class and its persisted properties, in the order of their declaration, a superclass's first. Properties that
/// `ignoredProperties()` names are not among them.
public struct ObjectSchema: CustomStringConvertible, Equatable, Sendable {
    /// The name of the class, which is the name of its table.
    public let className: String
    /// The class.
    public let objectClass: ObjectBase.Type
    /// The stored properties. Backlinks are not among them; `subscript` finds these, too.
    public let properties: [Property]
    package let backlinks: [Property]
    /// Whether the class is one of embedded objects: `EmbeddedObject`.
    public let isEmbedded: Bool
    /// The primary key; nil if the class has none.
    public let primaryKeyProperty: Property?

    init(_ info: ClassInfo) {
        className = info.name
        isEmbedded = info.isEmbedded
        objectClass = info.type
        properties = info.stored.map { Property($0) }
        backlinks = info.properties.filter(\.isLinkingObjects).map { Property($0) }
        primaryKeyProperty = info.primaryKey.map { Property($0) }
    }

    /// Whether both describe the same class in the same way. O(properties).
    public static func == (a: ObjectSchema, b: ObjectSchema) -> Bool {
        a.className == b.className && a.isEmbedded == b.isEmbedded && a.objectClass == b.objectClass
            && a.properties == b.properties && a.backlinks == b.backlinks
            && a.primaryKeyProperty == b.primaryKeyProperty
    }

    /// The property with this name in Swift, which may hold backlinks; nil if there is none. O(properties).
    public subscript(propertyName: String) -> Property? {
        properties.first { $0.name == propertyName } ?? backlinks.first { $0.name == propertyName }
    }

    /// The class and its properties, for people.
    public var description: String {
        "\(className)\(isEmbedded ? " (embedded)" : "") {\n\(properties.map { "\t" + indented($0.description) }.joined(separator: "\n"))\n}"
    }
}

/// A persisted property.
public struct Property: CustomStringConvertible, Equatable, Sendable {
    /// The name in Swift.
    public let name: String
    /// The name under which the property is stored; differs from `name` if `propertiesMapping()` says so.
    public let columnName: String
    /// The type of the value; for a collection, of its elements.
    public let type: PropertyType
    /// Whether the value, or an element of a collection, may be nil: the type is optional, and `requiredProperties()`
    /// does not name the property.
    public let isOptional: Bool
    /// Whether the property has an index; true for a primary key.
    public let isIndexed: Bool
    /// Whether the property is the class's primary key.
    public let isPrimaryKey: Bool
    /// Whether the property is a list, or backlinks.
    public let isArray: Bool
    /// Whether the property is a set.
    public let isSet: Bool
    /// Whether the property is a map.
    public let isMap: Bool
    /// The class that the property links to, or whose objects link here for backlinks; nil for other types.
    public let objectClassName: String?
    /// The name of the linking property, for backlinks; nil for other properties.
    public let linkOriginPropertyName: String?

    init(_ info: PropertyInfo) {
        name = info.name
        columnName = info.columnName
        type = info.isLinkingObjects ? .linkingObjects : PropertyType(info.shape.type)
        isOptional = info.isNullable
        isIndexed = info.isIndexed
        isPrimaryKey = info.isPrimaryKey
        isArray = info.shape.collection == .list || info.isLinkingObjects
        isSet = info.shape.collection == .set
        isMap = info.shape.collection == .map
        objectClassName = info.targetName
        linkOriginPropertyName = info.origin
    }

    /// The name, the type and what the property is declared to be, for people.
    public var description: String {
        let value = "\(objectClassName ?? "\(type)")\(isOptional ? "?" : "")"
        let collection = isArray ? "array" : isSet ? "set" : isMap ? "map" : nil
        var words = ["\(name): \(collection.map { "\($0)<\(value)>" } ?? value)"]
        if columnName != name { words.append("stored as \(columnName)") }
        if isPrimaryKey { words.append("primary key") } else if isIndexed { words.append("indexed") }
        return words.joined(separator: ", ")
    }
}

/// The type of a property's value, with RealmSwift's numbers.
public enum PropertyType: Int, Sendable, CustomStringConvertible {
    /// An integer of any width.
    case int = 0
    /// A Boolean.
    case bool = 1
    /// A string.
    case string = 2
    /// Bytes.
    case data = 3
    /// A date.
    case date = 4
    /// A floating-point number of 32 bits.
    case float = 5
    /// A floating-point number of 64 bits.
    case double = 6
    /// A link to an object.
    case object = 7
    /// Backlinks: the objects that link here.
    case linkingObjects = 8
    /// An `AnyRealmValue`.
    case any = 9
    /// An `ObjectId`.
    case objectId = 10
    /// A `Decimal128`.
    case decimal128 = 11
    /// A `UUID`.
    case UUID = 12

    init(_ type: ColumnType) {
        switch type {
        case .bool: self = .bool
        case .int: self = .int
        case .float: self = .float
        case .double: self = .double
        case .string: self = .string
        case .data: self = .data
        case .date: self = .date
        case .objectID: self = .objectId
        case .uuid: self = .UUID
        case .link: self = .object
        case .decimal: self = .decimal128
        case .mixed: self = .any
        }
    }

    /// The name of the type, for people.
    public var description: String {
        switch self {
        case .int: "int"
        case .bool: "bool"
        case .string: "string"
        case .data: "data"
        case .date: "date"
        case .float: "float"
        case .double: "double"
        case .object: "object"
        case .linkingObjects: "linking objects"
        case .any: "mixed"
        case .objectId: "object id"
        case .decimal128: "decimal128"
        case .UUID: "uuid"
        }
    }
}

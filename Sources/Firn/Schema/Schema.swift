import FirnCore

/// The classes of a realm.
public struct Schema: CustomStringConvertible, Equatable {
    public let objectSchema: [ObjectSchema]

    init(_ binding: SchemaBinding) { objectSchema = binding.tables.map { ObjectSchema($0.info) } }

    /// The class of that name.
    public subscript(className: String) -> ObjectSchema? { objectSchema.first { $0.className == className } }

    public var description: String {
        "Schema {\n\(objectSchema.map { "\t" + indented($0.description) }.joined(separator: "\n"))\n}"
    }
}

/// A class and its stored properties, in the order of their declaration, a superclass's first.
public struct ObjectSchema: CustomStringConvertible, Equatable {
    public let className: String
    public let properties: [Property]
    public let primaryKeyProperty: Property?

    init(_ info: ClassInfo) {
        className = info.name
        properties = info.properties.map { Property($0) }
        primaryKeyProperty = info.primaryKey.map { Property($0) }
    }

    /// The property of that name.
    public subscript(propertyName: String) -> Property? { properties.first { $0.name == propertyName } }

    public var description: String {
        "\(className) {\n\(properties.map { "\t" + indented($0.description) }.joined(separator: "\n"))\n}"
    }
}

/// A stored property.
public struct Property: CustomStringConvertible, Equatable {
    public let name: String
    /// The name under which it is stored.
    public let columnName: String
    public let type: PropertyType
    /// Whether the value may be nil: of an optional type, and not named by `requiredProperties()`.
    public let isOptional: Bool
    public let isIndexed: Bool
    public let isPrimaryKey: Bool
    public let isArray: Bool
    /// The class that it links to, or that links through it to this one.
    public let objectClassName: String?
    /// Of backlinks: the linking property.
    public let linkOriginPropertyName: String?

    init(_ info: PropertyInfo) {
        name = info.name
        columnName = info.columnName
        type = info.isLinkingObjects ? .linkingObjects : PropertyType(info.shape.type)
        isOptional = info.isNullable
        isIndexed = info.isIndexed
        isPrimaryKey = info.isPrimaryKey
        isArray = info.shape.collection == .list || info.isLinkingObjects
        objectClassName = info.shape.target?.className()
        linkOriginPropertyName = info.origin
    }

    public var description: String {
        var words = [
            "\(name): \(isArray ? "array<" : "")\(objectClassName ?? "\(type)")\(isOptional ? "?" : "")\(isArray ? ">" : "")"
        ]
        if columnName != name { words.append("stored as \(columnName)") }
        if isPrimaryKey { words.append("primary key") } else if isIndexed { words.append("indexed") }
        return words.joined(separator: ", ")
    }
}

/// What a property's values are.
public enum PropertyType: Int, Sendable, CustomStringConvertible {
    case int = 0
    case bool = 1
    case string = 2
    case data = 3
    case date = 4
    case float = 5
    case double = 6
    case object = 7
    case linkingObjects = 8
    case objectId = 10
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
        case .decimal, .mixed: preconditionFailure("Firn: no property has values of the type \(type)")
        }
    }

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
        case .objectId: "object id"
        case .UUID: "uuid"
        }
    }
}

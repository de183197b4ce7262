import FirnBytes
import FirnCore

/// The classes of the schema that `realm2json --schema` writes:
///
/// ```
/// [ { "name": "class_Dog", "primaryKey": name, "tableType": "TopLevel" | "Embedded" | "TopLevelAsymmetric",
///     "properties": [ { "name": …, "type": …, "objectType": "class_Person", "isArray" | "isSet" | "isMap": true,
///                       "isOptional": true, "isIndexed": true } ] } ]
/// ```
enum RealmSchema {
    /// The names of types in Realm's core, of several releases.
    private static let types: [String: ColumnType] = [
        "bool": .bool, "int": .int, "float": .float, "double": .double, "string": .string, "binary": .data,
        "data": .data, "timestamp": .date, "date": .date, "objectId": .objectID, "uuid": .uuid, "decimal": .decimal,
        "decimal128": .decimal, "mixed": .mixed,
    ]

    /// A class's name as programs know it: the core puts `class_` before it. Nil for tables of the core itself.
    static func className(_ table: String) -> String? {
        table.hasPrefix("class_") ? String(table.dropFirst(6)) : nil
    }

    static func read(_ reader: inout JSONReader) throws(InputFault) -> [ImportSchema.Class] {
        var classes: [ImportSchema.Class] = []
        try reader.array { (reader) throws(InputFault) in
            if let found = try readClass(&reader) { classes.append(found) }
        }
        try reader.end()
        return classes
    }

    private static func readClass(_ reader: inout JSONReader) throws(InputFault) -> ImportSchema.Class? {
        var made = ImportSchema.Class(name: "", properties: [])
        var isOwn = true
        let start = reader.offset
        try reader.object { (name, _, reader) throws(InputFault) in
            switch String(decoding: name, as: UTF8.self) {
            case "name":
                let table = try reader.string()
                guard let name = className(table) else {
                    isOwn = false
                    return
                }
                made.name = name
            case "primaryKey": made.primaryKey = try reader.string()
            case "tableType": made.isEmbedded = try reader.string() == "Embedded"
            case "properties":
                try reader.array { (reader) throws(InputFault) in made.properties.append(try readProperty(&reader)) }
            default: try reader.skip()
            }
        }
        guard isOwn else { return nil }
        guard !made.name.isEmpty else { throw InputFault("this class has no name", at: start) }
        if made.primaryKey == "" { made.primaryKey = nil }
        return made
    }

    private static func readProperty(
        _ reader: inout JSONReader
    ) throws(InputFault) -> (name: String, type: NamedType, isIndexed: Bool) {
        var (name, typeName, target) = ("", "", nil as String?)
        var isIndexed = false
        var type = NamedType(type: .mixed)
        let start = reader.offset
        try reader.object { (member, offset, reader) throws(InputFault) in
            switch String(decoding: member, as: UTF8.self) {
            case "name": name = try reader.string()
            case "type": typeName = try reader.string()
            case "objectType": target = className(try reader.string())
            case "isArray": if try reader.bool() { type.collection = .list }
            case "isSet": if try reader.bool() { type.collection = .set }
            case "isMap": if try reader.bool() { type.collection = .map }
            case "isOptional": type.isNullable = try reader.bool()
            case "isIndexed": isIndexed = try reader.bool()
            case "keyType":
                guard try reader.string() == "string" else {
                    throw InputFault("the keys of a map are strings in Firn", at: offset)
                }
            default: try reader.skip()
            }
        }
        if typeName == "object" || typeName == "link" || typeName == "linkList" {
            guard target != nil else {
                throw InputFault(
                    "the property \(DisplayText.name(name)) does not tell which class it links to", at: start)
            }
            type.type = .link
            type.target = target
            type.isNullable = true
        } else if let known = types[typeName] {
            type.type = known
            if known == .mixed { type.isNullable = true }
        } else {
            throw InputFault(
                "the property \(DisplayText.name(name)) has the type '\(DisplayText.name(typeName))', which is unknown",
                at: start)
        }
        guard !name.isEmpty else { throw InputFault("this property has no name", at: start) }
        return (name, type, isIndexed)
    }
}

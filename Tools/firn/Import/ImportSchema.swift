import FirnBytes
import FirnCore

/// The store's classes, and the classes and properties that an import adds to them.
struct ImportSchema {
    /// A class as an export's first line describes it, or as it was inferred.
    struct Class {
        var name: String
        var isEmbedded = false
        var primaryKey: String?
        var properties: [(name: String, type: NamedType, isIndexed: Bool)]
    }

    private(set) var schema: StoreSchema
    private var tables = NameMap<TableID>([])

    /// Adds classes to a store's. A class that exists gets the properties that it lacks; the properties that it has
    /// must be of the same type.
    ///
    /// - Parameter version: the schema's version if the store has no classes yet.
    init(_ stored: StoreSchema, adding classes: [Class], version: UInt64) throws(ToolError) {
        schema = stored
        if stored.tables.isEmpty { schema.version = version }
        let known = stored.numbersByName
        var names: Set<String> = []
        for new in classes where known[new.name] == nil && names.insert(new.name).inserted {
            schema.tables.append(TableSchema(name: new.name, isEmbedded: new.isEmbedded, columns: []))
        }
        tables = schema.numbersByName
        for new in classes {
            guard let table = tables[new.name] else { continue }
            var columns: [String: Int] = [:]
            for (number, column) in schema[table].columns.enumerated() where !column.isRemoved {
                columns[column.name] = number
            }
            for property in new.properties {
                try add(property.name, type: property.type, isIndexed: property.isIndexed, to: table, columns: &columns)
            }
            try setPrimaryKey(new, table, isNew: known[new.name] == nil)
        }
    }

    /// - Parameter columns: the table's columns by their names.
    private mutating func add(
        _ name: String, type: NamedType, isIndexed: Bool, to table: TableID, columns: inout [String: Int]
    ) throws(ToolError) {
        var target: TableID?
        if type.type == .link {
            guard let found = type.target.flatMap({ tables[$0] }) else {
                throw refusal(
                    table, name: name,
                    text: "links to the class \(DisplayText.name(type.target ?? "")), which does not exist")
            }
            target = found
        }
        let isEmbedded = target.map { schema[$0].isEmbedded } ?? false
        let column = ColumnSchema(
            name: name, type: type.type, collection: type.collection,
            isNullable: type.type == .mixed || type.isNullable && (type.type != .link || type.collection == .none),
            isIndexed: isIndexed, target: target)
        if let known = columns[name] {
            let old = TypeText.text(schema[table].columns[known], schema)
            let new = TypeText.text(column, schema)
            guard old == new else {
                throw refusal(table, name: name, text: "is \(old) already, not \(new)")
            }
            return
        }
        guard !["$object", "$type", "$schema"].contains(name) else {
            throw refusal(table, name: name, text: "has a name by which exports mark what is no property")
        }
        guard !(isEmbedded && type.collection == .set) else {
            throw refusal(table, name: name, text: "is a set of embedded objects")
        }
        columns[name] = schema.tables[table.index].columns.count
        schema.tables[table.index].columns.append(column)
    }

    private mutating func setPrimaryKey(_ new: Class, _ table: TableID, isNew: Bool) throws(ToolError) {
        let known = schema[table].primaryKey.map { schema[table].columns[$0].name }
        guard let primaryKey = new.primaryKey, known != primaryKey else { return }
        guard isNew else {
            let text = known.map { "the primary key \(DisplayText.name($0))" } ?? "no primary key"
            throw ToolError(.usage, "the class \(DisplayText.name(new.name)) has \(text) in the store.")
        }
        guard let column = schema[table].column(named: primaryKey) else {
            throw ToolError(
                .usage, "the class \(DisplayText.name(new.name)) has no property \(DisplayText.name(primaryKey)).")
        }
        let description = schema[table].columns[column]
        guard description.collection == .none, [.int, .string, .uuid, .objectID].contains(description.type) else {
            throw refusal(
                table, name: primaryKey,
                text:
                    "is \(TypeText.text(description, schema)): a primary key is an int, a string, a UUID or an object id"
            )
        }
        schema.tables[table.index].primaryKey = column
        // Every primary key has an index.
        schema.tables[table.index].columns[column].isIndexed = true
    }

    private func refusal(_ table: TableID, name: String, text: String) -> ToolError {
        ToolError(
            .usage,
            "the property \(DisplayText.name(schema[table].name)).\(DisplayText.name(name)) \(DisplayText.line(text)).")
    }

    // MARK: The first line of an export

    /// Reads `SchemaJSON`'s form: the classes, and the schema's version.
    static func read(_ reader: inout JSONReader) throws(InputFault) -> (classes: [Class], version: UInt64) {
        var classes: [Class] = []
        var version: UInt64 = 0
        try reader.object { (name, offset, reader) throws(InputFault) in
            if name.elementsEqual("version".utf8) {
                guard let number = UInt64(String(decoding: try reader.numberText(), as: UTF8.self)) else {
                    throw InputFault("the schema's version is not a number from 0 on", at: offset)
                }
                version = number
            } else if name.elementsEqual("classes".utf8) {
                try reader.array { (reader) throws(InputFault) in classes.append(try readClass(&reader)) }
            } else {
                try reader.skip()
            }
        }
        return (classes, version)
    }

    private static func readClass(_ reader: inout JSONReader) throws(InputFault) -> Class {
        var made = Class(name: "", properties: [])
        let start = reader.offset
        try reader.object { (name, _, reader) throws(InputFault) in
            switch String(decoding: name, as: UTF8.self) {
            case "name": made.name = try reader.string()
            case "embedded": made.isEmbedded = try reader.bool()
            case "primaryKey": made.primaryKey = try reader.string()
            case "properties":
                try reader.array { (reader) throws(InputFault) in made.properties.append(try readProperty(&reader)) }
            default: try reader.skip()
            }
        }
        guard !made.name.isEmpty else { throw InputFault("this class has no name", at: start) }
        return made
    }

    private static func readProperty(
        _ reader: inout JSONReader
    ) throws(InputFault) -> (name: String, type: NamedType, isIndexed: Bool) {
        var (name, text, isIndexed) = ("", "", false)
        let start = reader.offset
        try reader.object { (member, _, reader) throws(InputFault) in
            switch String(decoding: member, as: UTF8.self) {
            case "name": name = try reader.string()
            case "type": text = try reader.string()
            case "indexed": isIndexed = try reader.bool()
            default: try reader.skip()
            }
        }
        guard !name.isEmpty, let type = TypeText.named(text) else {
            throw InputFault("this property has no name, or its type '\(DisplayText.name(text))' is unknown", at: start)
        }
        return (name, type, isIndexed)
    }
}

import FirnCore

/// A schema as JSON. `firn export` writes it before the objects of several classes, and `firn import` makes classes
/// from it.
///
/// ```
/// { "version": number, "classes": [ { "name": …, "embedded": bool, "primaryKey": name, "properties": [
///     { "name": …, "type": …, "indexed": true } ] } ] }
/// ```
///
/// Types are written as in `--types`: `TypeText`.
enum SchemaJSON {
    static func append(_ schema: StoreSchema, to out: inout [UInt8]) {
        let classes = schema.tables.filter { !$0.isRemoved }.map { table in
            var members: [(String, JSON)] = [("name", .string(table.name))]
            if table.isEmbedded { members.append(("embedded", .bool(true))) }
            if let primaryKey = table.primaryKey {
                members.append(("primaryKey", .string(table.columns[primaryKey].name)))
            }
            let properties = table.columns.filter { !$0.isRemoved }.map { column in
                var property: [(String, JSON)] = [
                    ("name", .string(column.name)), ("type", .string(TypeText.text(column, schema))),
                ]
                if column.isIndexed { property.append(("indexed", .bool(true))) }
                return JSON.object(property)
            }
            members.append(("properties", .array(properties)))
            return JSON.object(members)
        }
        out += JSON.object([("version", .int(schema.version)), ("classes", .array(classes))]).text.utf8
    }
}

/// The types of properties as text: `int`, `string?` (may be nil), `link<Dog>`, `list<date>`, `set<int>`,
/// `map<double?>`.
enum TypeText {
    static let names: [ColumnType: String] = [
        .bool: "bool", .int: "int", .float: "float", .double: "double", .string: "string", .data: "data",
        .date: "date", .objectID: "objectId", .uuid: "uuid", .decimal: "decimal", .mixed: "mixed",
    ]

    static func text(_ column: ColumnSchema, _ schema: StoreSchema) -> String {
        let element =
            (names[column.type] ?? column.target.map { "link<\(schema[$0].name)>" } ?? "link")
            + (column.isNullable && column.type != .mixed && column.type != .link ? "?" : "")
        switch column.collection {
        case .none: return element
        case .list: return "list<\(element)>"
        case .set: return "set<\(element)>"
        case .map: return "map<\(element)>"
        }
    }
}

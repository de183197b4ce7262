import FirnCore
import FirnRealmFile

/// A class of a Realm file and the table that it becomes.
package struct RealmImportClass {
    package let source: RealmFileClass
    package let table: TableID
    /// The column of each property, by the property's number.
    package let columns: [ColumnSchema]
    /// The numbers of the properties that may link to other objects. They are set when all objects are there.
    let linking: [Int]
}

/// The schema of a Realm file as a store's.
///
/// Names stay as the file has them; a program may map them to others. A class that is embedded stays so. A class
/// for a server's use only (asymmetric) has no objects and becomes an ordinary one. An index for full texts has no
/// counterpart and is left out.
package struct RealmImportSchema {
    package let schema: StoreSchema
    package let classes: [RealmImportClass]
    /// The properties whose index for full texts is left out, as `Class.property`.
    package let fullTextIndexes: [String]

    /// - Parameter chosen: the names of the classes; all if nil. What they link to must be among them.
    package init(_ file: RealmFile, chosen: Set<String>? = nil) throws(RealmFileError) {
        let sources = file.classes.filter { chosen?.contains($0.name) ?? true }
        var tables: [String: TableID] = [:]
        for (index, source) in sources.enumerated() { tables[source.name] = TableID(index) }
        var schema = StoreSchema(version: UInt64(max(0, file.schemaVersion ?? 0)))
        var classes: [RealmImportClass] = []
        var fullText: [String] = []
        for (index, source) in sources.enumerated() {
            var columns: [ColumnSchema] = []
            for (number, property) in source.properties.enumerated() {
                if property.index == .fullText { fullText.append("\(source.name).\(property.name)") }
                columns.append(
                    try Self.column(
                        property, of: source, isPrimaryKey: number == source.primaryKey, tables: tables, path: file.path
                    ))
            }
            schema.tables.append(
                TableSchema(
                    name: source.name, isEmbedded: source.kind == .embedded, primaryKey: source.primaryKey,
                    columns: columns))
            let linking = columns.indices.filter { columns[$0].type == .link || columns[$0].type == .mixed }
            classes.append(
                RealmImportClass(source: source, table: TableID(index), columns: columns, linking: linking))
        }
        self.schema = schema
        self.classes = classes
        fullTextIndexes = fullText
    }

    private static func column(
        _ property: RealmFileProperty, of source: RealmFileClass, isPrimaryKey: Bool, tables: [String: TableID],
        path: String
    ) throws(RealmFileError) -> ColumnSchema {
        if property.type.kind == .typedLink {
            throw RealmFileError(
                .damage, path: path, detail: "it has links to any class, which no program can declare",
                className: source.name, propertyName: property.name)
        }
        let type = property.type.columnType
        var target: TableID?
        if type == .link {
            guard let found = property.target.flatMap({ tables[$0] }) else {
                throw RealmFileError(
                    .damage, path: path,
                    detail: "its links lead to the class \(property.target ?? "without a name"), which is left out",
                    className: source.name, propertyName: property.name)
            }
            target = found
        }
        let collection = property.collectionKind
        return ColumnSchema(
            name: property.name, type: type, collection: collection,
            isNullable: type == .mixed || property.isOptional && (type != .link || collection == .none),
            isIndexed: isPrimaryKey || property.index == .general && collection == .none, target: target)
    }
}

extension ElementType {
    /// The type of a store's values. A link to any class can only be a mixed value.
    package var columnType: ColumnType {
        switch kind {
        case .int: .int
        case .bool: .bool
        case .string: .string
        case .binary: .data
        case .mixed, .typedLink: .mixed
        case .timestamp, .oldDate: .date
        case .float: .float
        case .double: .double
        case .decimal: .decimal
        case .object: .link
        case .objectID: .objectID
        case .uuid: .uuid
        }
    }
}

extension RealmFileProperty {
    package var collectionKind: CollectionKind {
        switch collection {
        case .list: .list
        case .set: .set
        case .dictionary: .map
        case nil: .none
        }
    }
}

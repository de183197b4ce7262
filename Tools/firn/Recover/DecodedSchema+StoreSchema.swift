import FirnCore

extension DecodedSchema {
    /// The schema as Firn's store takes it, with the same numbers; nil if it has an unknown type.
    var storeSchema: StoreSchema? {
        var schema = StoreSchema(version: version)
        for table in tables {
            var columns: [ColumnSchema] = []
            for column in table.columns {
                guard let type = ColumnType(rawValue: column.type.rawValue),
                    let collection = CollectionKind(rawValue: column.collection.rawValue)
                else { return nil }
                columns.append(
                    ColumnSchema(
                        name: column.name, type: type, collection: collection, isNullable: column.isNullable,
                        isIndexed: column.isIndexed, target: column.target.map { TableID($0) },
                        isRemoved: column.isRemoved))
            }
            schema.tables.append(
                TableSchema(
                    name: table.name, isEmbedded: table.isEmbedded, primaryKey: table.primaryKey, columns: columns,
                    isRemoved: table.isRemoved))
        }
        return schema
    }
}

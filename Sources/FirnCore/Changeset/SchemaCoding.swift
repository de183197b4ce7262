import FirnBytes

/// The encoding of a complete schema. The number of a table or column is its position.
///
/// ```
/// version · number of tables · per table:                                    (numbers are varints)
///     name · flags u8 · primary key's column, if bit 2 · number of columns · per column:
///         name · type u8 · flags u8 · target table, if bit 5
/// ```
///
/// A table's flags: bit 0 embedded, 1 removed, 2 has a primary key. A column's: bits 0–1 the collection's kind, 2
/// nullable, 3 indexed, 4 removed, 5 has a target. A name is its length in bytes, then UTF-8.
enum SchemaCoding {
    private enum TableFlag {
        static let embedded: UInt8 = 1
        static let removed: UInt8 = 2
        static let primaryKey: UInt8 = 4
    }

    private enum ColumnFlag {
        static let collection: UInt8 = 3
        static let nullable: UInt8 = 4
        static let indexed: UInt8 = 8
        static let removed: UInt8 = 16
        static let target: UInt8 = 32
    }

    static func encode(_ schema: StoreSchema, into writer: inout ByteWriter) {
        writer.appendVarint(schema.version)
        writer.appendVarint(UInt64(schema.tables.count))
        for table in schema.tables {
            writer.appendString(table.name)
            writer.append(
                (table.isEmbedded ? TableFlag.embedded : 0) | (table.isRemoved ? TableFlag.removed : 0)
                    | (table.primaryKey == nil ? 0 : TableFlag.primaryKey))
            if let primaryKey = table.primaryKey { writer.appendVarint(UInt64(primaryKey)) }
            writer.appendVarint(UInt64(table.columns.count))
            for column in table.columns {
                writer.appendString(column.name)
                writer.append(column.type.rawValue)
                writer.append(
                    column.collection.rawValue | (column.isNullable ? ColumnFlag.nullable : 0)
                        | (column.isIndexed ? ColumnFlag.indexed : 0) | (column.isRemoved ? ColumnFlag.removed : 0)
                        | (column.target == nil ? 0 : ColumnFlag.target))
                if let target = column.target { writer.appendVarint(UInt64(target.rawValue)) }
            }
        }
    }

    /// The number of bytes of a schema's encoding. O(columns); allocates nothing.
    static func byteCount(_ schema: StoreSchema) -> Int {
        func text(_ text: String) -> Int { Varint.byteCount(UInt64(text.utf8.count)) + text.utf8.count }
        var count = Varint.byteCount(schema.version) + Varint.byteCount(UInt64(schema.tables.count))
        for table in schema.tables {
            count += text(table.name) + 1 + Varint.byteCount(UInt64(table.columns.count))
            if let primaryKey = table.primaryKey { count += Varint.byteCount(UInt64(primaryKey)) }
            for column in table.columns {
                count += text(column.name) + 2
                if let target = column.target { count += Varint.byteCount(UInt64(target.rawValue)) }
            }
        }
        return count
    }

    static func encode(_ schema: StoreSchema) -> [UInt8] {
        var writer = ByteWriter(capacity: 1024)
        encode(schema, into: &writer)
        return writer.array()
    }

    /// Decodes a schema that takes up all of the bytes. Nothing in them is trusted.
    static func decode(_ bytes: UnsafeRawBufferPointer) throws(Damage) -> StoreSchema {
        var reader = ByteReader(bytes)
        let version = try reader.readVarint()
        let tableCount = try reader.readCount(limit: Limits.tableCount)
        var tables: [TableSchema] = []
        for _ in 0..<tableCount { tables.append(try table(&reader, tableCount)) }
        try reader.expectEnd()
        return StoreSchema(version: version, tables: tables)
    }

    private static func table(_ reader: inout ByteReader, _ tableCount: Int) throws(Damage) -> TableSchema {
        let name = try name(&reader)
        let start = reader.offset
        let flags = try reader.readUInt8()
        guard flags <= 7 else { throw Damage("a table has unknown flags \(flags)", at: start) }
        var primaryKey: Int?
        if flags & TableFlag.primaryKey != 0 { primaryKey = try reader.readCount(limit: Limits.columnCount - 1) }
        let columnCount = try reader.readCount(limit: Limits.columnCount)
        if let primaryKey, primaryKey >= columnCount {
            throw Damage("the primary key is column \(primaryKey) of \(columnCount)", at: start)
        }
        var columns: [ColumnSchema] = []
        for _ in 0..<columnCount { columns.append(try column(&reader, tableCount)) }
        return TableSchema(
            name: name, isEmbedded: flags & TableFlag.embedded != 0, primaryKey: primaryKey, columns: columns,
            isRemoved: flags & TableFlag.removed != 0)
    }

    private static func column(_ reader: inout ByteReader, _ tableCount: Int) throws(Damage) -> ColumnSchema {
        let name = try name(&reader)
        let start = reader.offset
        guard let type = ColumnType(rawValue: try reader.readUInt8()) else {
            throw Damage("a property is of an unknown type", at: start)
        }
        let flags = try reader.readUInt8()
        guard flags < 64, let collection = CollectionKind(rawValue: flags & ColumnFlag.collection) else {
            throw Damage("a property has unknown flags \(flags)", at: start + 1)
        }
        var target: TableID?
        if flags & ColumnFlag.target != 0 {
            let number = try reader.readCount(limit: Limits.tableCount - 1)
            guard number < tableCount else {
                throw Damage("a link leads to table \(number) of \(tableCount)", at: start + 2)
            }
            target = TableID(number)
        }
        guard (type == .link) == (target != nil) else {
            throw Damage("a link has no target, or another property has one", at: start)
        }
        return ColumnSchema(
            name: name, type: type, collection: collection, isNullable: flags & ColumnFlag.nullable != 0,
            isIndexed: flags & ColumnFlag.indexed != 0, target: target, isRemoved: flags & ColumnFlag.removed != 0)
    }

    private static func name(_ reader: inout ByteReader) throws(Damage) -> String {
        let start = reader.offset
        let name = try reader.readString()
        guard name.utf8.count <= Limits.nameByteCount else {
            throw Damage("a name of \(name.utf8.count) bytes is longer than \(Limits.nameByteCount)", at: start)
        }
        return name
    }
}

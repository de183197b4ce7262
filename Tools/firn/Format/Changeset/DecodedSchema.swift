import FirnBytes

/// The names and types of tables and columns, as a schema frame or a schema block has them.
///
/// ```
/// version · number of tables · per table: name · flags u8 · primary key's column, if bit 2 · number of columns
///     · per column: name · type u8 · flags u8 · target table, if bit 5                  (numbers are varints)
/// ```
struct DecodedSchema {
    struct Column {
        var name: String
        var type: CellType
        var collection: CellCollection
        var isNullable: Bool
        var isIndexed: Bool
        var isRemoved: Bool
        var target: Int?
    }

    struct Table {
        var name: String
        var isEmbedded: Bool
        var isRemoved: Bool
        var primaryKey: Int?
        var columns: [Column]

        /// Throws if Firn can't have such a table. Removed tables, and indexes of removed columns, are not checked.
        ///
        /// - Parameter start: where the table begins.
        fileprivate func check(start: Int) throws(Damage) {
            if isRemoved { return }
            if let primaryKey {
                let column = columns[primaryKey]
                if column.isRemoved || column.collection != .none || column.type == .link {
                    throw Damage("\(name).\(column.name) can't be a primary key", at: start)
                }
            }
            for column in columns where !column.isRemoved && column.isIndexed && column.collection != .none {
                throw Damage("\(name).\(column.name) is a collection with an index", at: start)
            }
        }
    }

    var version: UInt64
    /// A table's index is its number.
    var tables: [Table]

    static func read(_ bytes: UnsafeRawBufferPointer) throws(Damage) -> DecodedSchema {
        var reader = ByteReader(bytes)
        var schema = DecodedSchema(version: try reader.readVarint(), tables: [])
        let count = try reader.readCount(limit: FormatNumbers.tableCount)
        for _ in 0..<count { schema.tables.append(try table(&reader, tableCount: count)) }
        try reader.expectEnd()
        return schema
    }

    private static func table(_ reader: inout ByteReader, tableCount: Int) throws(Damage) -> Table {
        let name = try name(&reader)
        let start = reader.offset
        let flags = try reader.readUInt8()
        guard flags & ~7 == 0 else { throw Damage("\(name) has unknown flags (\(flags))", at: start) }
        let primaryKey = flags & 4 != 0 ? try reader.readCount(limit: FormatNumbers.columnCount - 1) : nil
        let count = try reader.readCount(limit: FormatNumbers.columnCount)
        guard (primaryKey ?? -1) < count else {
            throw Damage("\(name)'s primary key is none of its columns", at: start)
        }
        var table = Table(
            name: name, isEmbedded: flags & 1 != 0, isRemoved: flags & 2 != 0, primaryKey: primaryKey, columns: [])
        for _ in 0..<count { table.columns.append(try column(&reader, tableCount: tableCount)) }
        try table.check(start: start)
        return table
    }

    private static func column(_ reader: inout ByteReader, tableCount: Int) throws(Damage) -> Column {
        let name = try name(&reader)
        let start = reader.offset
        let number = try reader.readUInt8()
        let flags = try reader.readUInt8()
        guard let type = CellType(rawValue: number), flags & ~63 == 0, let kind = CellCollection(rawValue: flags & 3)
        else {
            throw Damage("\(name) has the unknown type \(number) or flags \(flags)", at: start)
        }
        let target = flags & 32 != 0 ? try reader.readCount(limit: FormatNumbers.tableCount - 1) : nil
        guard (type == .link) == (target != nil), (target ?? 0) < max(tableCount, 1) else {
            throw Damage("\(name) leads to no table", at: start)
        }
        return Column(
            name: name, type: type, collection: kind, isNullable: flags & 4 != 0, isIndexed: flags & 8 != 0,
            isRemoved: flags & 16 != 0, target: target)
    }

    private static func name(_ reader: inout ByteReader) throws(Damage) -> String {
        let start = reader.offset
        let name = try reader.readString()
        guard name.utf8.count <= FormatNumbers.nameByteCount else {
            throw Damage("a name has \(name.utf8.count) bytes", at: start)
        }
        return name
    }

    // MARK: Names

    /// A table's name, or its number if the schema does not have it.
    func name(_ table: Int) -> String {
        tables.indices.contains(table) ? tables[table].name : "table \(table)"
    }

    /// Like `name(_:)`, but escaped for a line that a person reads.
    func shownName(_ table: Int) -> String { DisplayText.line(name(table)) }

    func column(_ table: Int, _ column: Int) -> Column? {
        guard tables.indices.contains(table), tables[table].columns.indices.contains(column) else { return nil }
        return tables[table].columns[column]
    }

    func name(_ table: Int, _ column: Int) -> String { self.column(table, column)?.name ?? "column \(column)" }
}

extension DecodedSchema.Column {
    /// The type in words: `string?`, `list of Dog`.
    func typeName(in schema: DecodedSchema) -> String {
        let element = (target.map { schema.name($0) } ?? "\(type)") + (isNullable ? "?" : "")
        switch collection {
        case .none: return element
        case .list: return "list of \(element)"
        case .set: return "set of \(element)"
        case .map: return "map of \(element)"
        }
    }
}

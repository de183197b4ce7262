import FirnCore

extension Cell {
    /// The value as Firn's store takes it.
    ///
    /// - Parameter isThere: whether an object that is linked to exists. A link to another one becomes nil, or leaves
    ///   its collection.
    func value(_ isThere: (_ table: Int?, _ key: Int64) -> Bool = { _, _ in true }) -> Value {
        switch self {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .int(let value): return .int(value)
        case .float(let value): return .float(value)
        case .double(let value): return .double(value)
        case .string(let bytes): return .string(String(decoding: bytes, as: UTF8.self))
        case .data(let bytes): return .data(Array(bytes))
        case .date(let seconds, let nanoseconds):
            return .date(Timestamp(seconds: seconds, nanoseconds: Int32(truncatingIfNeeded: nanoseconds)))
        case .objectID(let bytes):
            func word(_ start: Int) -> UInt32 { bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
            return .objectID(ObjectIDBytes(a: word(0), b: word(4), c: word(8)))
        case .uuid(let high, let low): return .uuid(UUIDBytes(high: high, low: low))
        case .decimal(let high, let low): return .decimal(DecimalBits(high: high, low: low))
        case .link(let key): return isThere(nil, key) ? .link(key) : .null
        case .anyLink(let table, let key): return isThere(table, key) ? .typedLink(TableID(table), key) : .null
        case .list(let cells): return .list(cells.filter { $0.leads(isThere) }.map { $0.value(isThere) })
        case .set(let cells): return .set(cells.filter { $0.leads(isThere) }.map { $0.value(isThere) })
        case .map(let entries):
            return .map(
                entries.map { entry in
                    Value.MapEntry(key: String(decoding: entry.key, as: UTF8.self), value: entry.value.value(isThere))
                })
        }
    }

    /// False for a link to an object that does not exist.
    private func leads(_ isThere: (_ table: Int?, _ key: Int64) -> Bool) -> Bool {
        switch self {
        case .link(let key): isThere(nil, key)
        case .anyLink(let table, let key): isThere(table, key)
        default: true
        }
    }

    /// Calls `body` with each object that the value links to.
    func forEachLink(_ body: (_ table: Int?, _ key: Int64) -> Void) {
        switch self {
        case .link(let key): body(nil, key)
        case .anyLink(let table, let key): body(table, key)
        case .list(let cells), .set(let cells): for cell in cells { cell.forEachLink(body) }
        case .map(let entries): for entry in entries { entry.value.forEachLink(body) }
        default: break
        }
    }
}

extension DecodedSchema {
    /// The schema as Firn's store takes it, with the same numbers.
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

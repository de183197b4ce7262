import FirnCore

/// The contents of a store in the form of `RealmDump`, with objects named by their positions: what an import of a Realm
/// file has made is compared with the file.
public struct StoreDump {
    private let snapshot: Snapshot
    private let schema: StoreSchema
    private var positions: [[Int64: Int]] = []
    private let format: Int

    package init(_ snapshot: Snapshot, format: Int) {
        self.snapshot = snapshot
        self.format = format
        schema = snapshot.schema
        for index in schema.tables.indices {
            var own: [Int64: Int] = [:]
            snapshot.table(TableID(index)).forEachLeaf { leaf, _ in
                for row in 0..<leaf.count { own[leaf.key(row)] = own.count }
                return true
            }
            positions.append(own)
        }
    }

    /// - Parameter hasVersion: whether the file has a version, which the store always has.
    public func text(hasVersion: Bool) -> String {
        var text =
            "{\"format\":\(format),\"schemaVersion\":\(hasVersion ? String(schema.version) : "null"),\"classes\":{"
        for (index, table) in schema.tables.enumerated() {
            text += index == 0 ? "" : ","
            let key = table.primaryKey.map { DumpText.quoted(table.columns[$0].name) } ?? "null"
            text += "\(DumpText.quoted(table.name)):{\"kind\":\"\(table.isEmbedded ? "embedded" : "object")\","
            text += "\"primaryKey\":\(key),\"properties\":["
            text += table.columns.map { description($0, isPrimaryKey: false) }.joined(separator: ",")
            text += "],\"objects\":[" + objects(TableID(index), table).joined(separator: ",") + "]}"
        }
        return text + "}}\n"
    }

    private func objects(_ id: TableID, _ table: TableSchema) -> [String] {
        var objects: [String] = []
        let view = snapshot.table(id)
        view.forEachLeaf { leaf, _ in
            for row in 0..<leaf.count {
                let values = table.columns.enumerated().map { number, column in
                    DumpText.quoted(column.name) + ":" + text(view.value(number, leaf: leaf, row: row), column)
                }
                objects.append("{\"key\":\(objects.count),\"values\":{\(values.joined(separator: ","))}}")
            }
            return true
        }
        return objects
    }

    private func description(_ column: ColumnSchema, isPrimaryKey: Bool) -> String {
        let names: [ColumnType: String] = [
            .bool: "bool", .int: "int", .float: "float", .double: "double", .string: "string", .data: "binary",
            .date: "timestamp", .objectID: "objectid", .uuid: "uuid", .decimal: "decimal", .link: "object",
            .mixed: "mixed",
        ]
        var parts = ["\"name\":\(DumpText.quoted(column.name))", "\"type\":\"\(names[column.type] ?? "")\""]
        let isOptional = column.isNullable || column.type == .link && column.collection == .map
        parts.append("\"optional\":\(isOptional)")
        switch column.collection {
        case .none: parts.append("\"collection\":null")
        case .list: parts.append("\"collection\":\"list\"")
        case .set: parts.append("\"collection\":\"set\"")
        case .map: parts += ["\"collection\":\"dictionary\"", "\"keyType\":\"string\""]
        }
        if let target = column.target { parts.append("\"target\":\(DumpText.quoted(schema[target].name))") }
        return "{" + parts.joined(separator: ",") + "}"
    }

    private func text(_ value: Value, _ column: ColumnSchema) -> String {
        switch column.collection {
        case .none: return element(value, column)
        case .list: return "[" + value.elements.map { element($0, column) }.joined(separator: ",") + "]"
        case .set:
            let elements = DumpText.members(value.elements.map { element($0, column) })
            return "[" + elements.joined(separator: ",") + "]"
        case .map:
            guard case .map(let entries) = value else { return "{\"dict\":[]}" }
            return dictionary(entries, column)
        }
    }

    private func dictionary(_ entries: [Value.MapEntry], _ column: ColumnSchema) -> String {
        let texts = entries.map { entry in
            var key = entry.key
            return "[\(key.withUTF8 { DumpText.string(UnsafeRawBufferPointer($0)) }),\(element(entry.value, column))]"
        }
        return "{\"dict\":[" + texts.joined(separator: ",") + "]}"
    }

    private func element(_ value: Value, _ column: ColumnSchema) -> String {
        switch value {
        case .null: return "null"
        case .bool(let value): return String(value)
        case .int(let value): return String(value)
        case .float(let value): return "{\"f32\":\"\(DumpText.hex(UInt64(value.bitPattern), 8))\"}"
        case .double(let value): return "{\"f64\":\"\(DumpText.hex(value.bitPattern, 16))\"}"
        case .string(var text): return text.withUTF8 { DumpText.string(UnsafeRawBufferPointer($0)) }
        case .data(let bytes):
            return bytes.withUnsafeBytes { bytes in
                "{\"bin\":" + (bytes.count > 512 ? DumpText.long(bytes) : "\"\(DumpText.hex(bytes))\"") + "}"
            }
        case .date(let time): return "{\"t\":[\(time.seconds),\(time.nanoseconds)]}"
        case .objectID(let id):
            let (a, b, c) = id.words
            return "{\"oid\":\"\([a, b, c].map { DumpText.hex(UInt64($0), 8) }.joined())\"}"
        case .uuid(let uuid):
            let digits = Array(DumpText.hex(uuid.high, 16) + DumpText.hex(uuid.low, 16))
            let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
            return "{\"uuid\":\"\(parts.joined(separator: "-"))\"}"
        case .decimal(let bits): return "{\"dec\":\"\(DumpText.hex(bits.high, 16))\(DumpText.hex(bits.low, 16))\"}"
        case .link(let key):
            guard key >= 0, let target = column.target else { return "null" }
            return link(target, key)
        case .typedLink(let table, let key): return link(table, key)
        case .list(let elements), .set(let elements):
            return "{\"list\":[" + elements.map { element($0, column) }.joined(separator: ",") + "]}"
        case .map(let entries): return dictionary(entries, column)
        }
    }

    private func link(_ table: TableID, _ key: Int64) -> String {
        let position = positions[table.index][key].map(String.init) ?? "missing"
        return "{\"link\":[\(DumpText.quoted(schema[table].name)),\(position)]}"
    }
}

import FirnBytes
import FirnCore

/// Objects of a version as JSON: what `firn export` writes and `firn import` reads.
///
/// ```
/// { "$type": class, "$object": number, property: value, … }
/// ```
///
/// `$type` is there if `withType`, and `$object` if the class has no primary key and is not embedded. A value is
/// written as its property's type says:
///
/// | type | JSON |
/// |---|---|
/// | bool, int, string | as such |
/// | float, double | a number, or "nan", "inf", "-inf"; a NaN with other bits "nan(0x…)" with all of them |
/// | data | a string: base64 |
/// | date | a string: ISO 8601; before year 1 and after 9999 { "$seconds": n, "$nanoseconds": n } |
/// | object id, UUID, decimal | a string |
/// | link | the linked object's primary key or { "$object": number }; an embedded object is written itself |
/// | list, set | an array |
/// | map | an object |
///
/// A value of a mixed property names its type where JSON does not:
/// - { "$data": … }, { "$date": … }
/// - { "$float": … }, { "$double": "nan" }, { "$decimal": … }
/// - { "$objectId": … }, { "$uuid": … }
/// - { "$link": class, "$key": … } or { "$link": class, "$object": number }
///
/// Doubles have a point or an exponent, ints do not. A map in a mixed value is { "$map": { … } } if one of its keys
/// begins with $.
struct ObjectJSON {
    private let schema: StoreSchema
    private let snapshot: Snapshot
    /// `"name":` for each column of each table.
    private let members: [[[UInt8]]]
    private let types: [[UInt8]]

    /// The deepest nesting of embedded objects, and of collections in mixed values, that is written.
    static let depthMax = 200

    init(_ schema: StoreSchema, _ snapshot: Snapshot) {
        self.schema = schema
        self.snapshot = snapshot
        members = schema.tables.map { table in
            table.columns.map { column in
                var bytes: [UInt8] = []
                Self.append(column.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                return bytes
            }
        }
        types = schema.tables.map { table in
            var bytes = Array("\"$type\":".utf8)
            Self.append(table.name, to: &bytes)
            return bytes
        }
    }

    // MARK: Objects

    /// Appends an object.
    func append(
        _ table: TableID, leaf: Leaf, row: Int, withType: Bool, to out: inout [UInt8], depth: Int = 0
    ) throws(ToolError) {
        guard depth < Self.depthMax else {
            throw ToolError(
                .input,
                "objects of \(DisplayText.line(schema[table].name)) are embedded in each other too deeply to be written."
            )
        }
        let description = schema[table]
        out.append(UInt8(ascii: "{"))
        let start = out.count
        func separate(_ out: inout [UInt8]) { if out.count > start { out.append(UInt8(ascii: ",")) } }
        if withType { out += types[table.index] }
        if description.primaryKey == nil, !description.isEmbedded {
            separate(&out)
            out += "\"$object\":".utf8
            Self.append(number: leaf.key(row), to: &out)
        }
        let view = snapshot.table(table)
        for (number, column) in description.columns.enumerated() where !column.isRemoved {
            separate(&out)
            out += members[table.index][number]
            try append(view.value(number, leaf: leaf, row: row), column, to: &out, depth: depth)
        }
        out.append(UInt8(ascii: "}"))
    }

    /// Appends the value of a property.
    func append(
        _ value: Value, _ column: ColumnSchema, to out: inout [UInt8], depth: Int = 0
    ) throws(ToolError) {
        switch value {
        case .list(let elements) where column.collection != .none, .set(let elements) where column.collection != .none:
            try appendArray(elements, to: &out) { element, out throws(ToolError) in
                try appendSingle(element, column, to: &out, depth: depth)
            }
        case .map(let entries) where column.collection != .none:
            try appendMap(entries, to: &out) { element, out throws(ToolError) in
                try appendSingle(element, column, to: &out, depth: depth)
            }
        default: try appendSingle(value, column, to: &out, depth: depth)
        }
    }

    private func appendSingle(
        _ value: Value, _ column: ColumnSchema, to out: inout [UInt8], depth: Int
    ) throws(ToolError) {
        if column.type == .mixed { return try appendMixed(value, to: &out, depth: depth) }
        switch value {
        case .link(let key):
            guard key >= 0, let target = column.target else { return out += "null".utf8 }
            try appendLink(target, key, to: &out, depth: depth)
        default: appendPlain(value, to: &out)
        }
    }

    private func appendLink(_ target: TableID, _ key: Int64, to out: inout [UInt8], depth: Int) throws(ToolError) {
        guard let (leaf, row) = snapshot.table(target).find(key) else { return out += "null".utf8 }
        if schema[target].isEmbedded {
            return try append(target, leaf: leaf, row: row, withType: false, to: &out, depth: depth + 1)
        }
        guard let primaryKey = schema[target].primaryKey else {
            out += "{\"$object\":".utf8
            Self.append(number: key, to: &out)
            return out.append(UInt8(ascii: "}"))
        }
        let value = snapshot.table(target).value(primaryKey, leaf: leaf, row: row)
        // A plain null would mean that there is no link.
        if case .null = value { return out += "{\"$key\":null}".utf8 }
        appendPlain(value, to: &out)
    }

    /// The primary key of an object; nil if there is no such object, or its class has none.
    func primaryKey(of key: Int64, in table: TableID) -> Value? {
        guard let column = schema[table].primaryKey else { return nil }
        return snapshot.table(table).value(column, of: key)
    }

    // MARK: Values

    private func appendPlain(_ value: Value, to out: inout [UInt8]) {
        switch value {
        case .bool(let value): out += (value ? "true" : "false").utf8
        case .int(let value): Self.append(number: value, to: &out)
        case .float(let value): Self.append(value, NaNText.text(value), to: &out)
        case .double(let value): Self.append(value, NaNText.text(value), to: &out)
        case .string(let value): Self.append(value, to: &out)
        case .data(let bytes):
            out.append(UInt8(ascii: "\""))
            bytes.withUnsafeBytes { out += Base64.text($0).utf8 }
            out.append(UInt8(ascii: "\""))
        case .date(let date):
            // Seconds and nanoseconds have the same sign, but a written fraction counts forwards.
            guard TimeText.isWritable(date.nanoseconds < 0 ? date.seconds &- 1 : date.seconds) else {
                return out += "{\"$seconds\":\(date.seconds),\"$nanoseconds\":\(date.nanoseconds)}".utf8
            }
            out += "\"\(TimeText.exact(seconds: date.seconds, nanoseconds: Int64(date.nanoseconds)))\"".utf8
        case .objectID(let id):
            let (a, b, c) = id.words
            out += "\"\([a, b, c].map { hexadecimal(UInt64($0), digits: 8) }.joined())\"".utf8
        case .uuid(let id): out += "\"\(CellText.uuid(id.high, id.low))\"".utf8
        case .decimal(let number): out += "\"\(DecimalText.text(number.high, number.low))\"".utf8
        default: out += "null".utf8
        }
    }

    private func appendMixed(_ value: Value, to out: inout [UInt8], depth: Int) throws(ToolError) {
        guard depth < Self.depthMax else {
            throw ToolError(.input, "a mixed value has collections within each other too deeply to be written.")
        }
        func tagged(_ tag: String, _ out: inout [UInt8]) {
            out += "{\"$\(tag)\":".utf8
            appendPlain(value, to: &out)
            out.append(UInt8(ascii: "}"))
        }
        switch value {
        case .float: tagged("float", &out)
        case .double(let number) where !number.isFinite: tagged("double", &out)
        case .data: tagged("data", &out)
        case .date: tagged("date", &out)
        case .objectID: tagged("objectId", &out)
        case .uuid: tagged("uuid", &out)
        case .decimal: tagged("decimal", &out)
        case .typedLink(let table, let key):
            guard let (leaf, row) = snapshot.table(table).find(key) else { return out += "null".utf8 }
            out += "{\"$link\":".utf8
            Self.append(schema[table].name, to: &out)
            if let primaryKey = schema[table].primaryKey {
                out += ",\"$key\":".utf8
                appendPlain(snapshot.table(table).value(primaryKey, leaf: leaf, row: row), to: &out)
            } else {
                out += ",\"$object\":".utf8
                Self.append(number: key, to: &out)
            }
            out.append(UInt8(ascii: "}"))
        case .list(let elements), .set(let elements):
            try appendArray(elements, to: &out) { element, out throws(ToolError) in
                try appendMixed(element, to: &out, depth: depth + 1)
            }
        case .map(let entries):
            let isMarked = entries.contains { $0.key.utf8.first == UInt8(ascii: "$") }
            if isMarked { out += "{\"$map\":".utf8 }
            try appendMap(entries, to: &out) { element, out throws(ToolError) in
                try appendMixed(element, to: &out, depth: depth + 1)
            }
            if isMarked { out.append(UInt8(ascii: "}")) }
        default: appendPlain(value, to: &out)
        }
    }

    private func appendArray(
        _ elements: [Value], to out: inout [UInt8], _ append: (Value, inout [UInt8]) throws(ToolError) -> Void
    ) throws(ToolError) {
        out.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            try append(element, &out)
        }
        out.append(UInt8(ascii: "]"))
    }

    private func appendMap(
        _ entries: [Value.MapEntry], to out: inout [UInt8],
        _ append: (Value, inout [UInt8]) throws(ToolError) -> Void
    ) throws(ToolError) {
        out.append(UInt8(ascii: "{"))
        for (index, entry) in entries.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            Self.append(entry.key, to: &out)
            out.append(UInt8(ascii: ":"))
            try append(entry.value, &out)
        }
        out.append(UInt8(ascii: "}"))
    }

    // MARK: Text

    private static func append(number: Int64, to out: inout [UInt8]) { out += String(number).utf8 }

    private static func append<T: BinaryFloatingPoint & LosslessStringConvertible>(
        _ number: T, _ nan: @autoclosure () -> String, to out: inout [UInt8]
    ) {
        if number.isFinite { return out += String(number).utf8 }
        out += "\"\(number.isNaN ? nan() : number < 0 ? "-inf" : "inf")\"".utf8
    }

    /// A string, escaped as in all JSON that the tool writes.
    static func append(_ text: String, to out: inout [UInt8]) {
        var text = text
        let isPlain = text.withUTF8 { $0.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C } }
        guard isPlain else { return out += JSON.string(text).text.utf8 }
        out.append(UInt8(ascii: "\""))
        text.withUTF8 { out.append(contentsOf: $0) }
        out.append(UInt8(ascii: "\""))
    }
}

import FirnBytes
import FirnCore

/// Objects of one class as CSV, as RFC 4180 describes it: a line of names, then a line for each object. Lines end with
/// a line feed alone.
///
/// Texts are written as they are, and other single values as in JSON (`ObjectJSON`) without its quotes. Collections and
/// mixed values are written as in JSON. Nil is an empty field, the empty text is `""`. If the class has no primary key,
/// the first field is the object's number, `$object`.
struct ObjectCSV {
    private let table: TableID
    private let description: TableSchema
    private let view: TableView
    private let json: ObjectJSON
    private let columns: [Int]

    init(table: TableID, schema: StoreSchema, snapshot: Snapshot) {
        self.table = table
        description = schema[table]
        view = snapshot.table(table)
        json = ObjectJSON(schema, snapshot)
        columns = description.columns.indices.filter { !schema[table].columns[$0].isRemoved }
    }

    private var hasNumber: Bool { description.primaryKey == nil }

    func appendNames(to out: inout [UInt8]) {
        let names = columns.map { description.columns[$0].name }
        for (index, name) in ((hasNumber ? ["$object"] : []) + names).enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            Self.append(Array(name.utf8), to: &out)
        }
        out.append(UInt8(ascii: "\n"))
    }

    func append(_ leaf: Leaf, _ row: Int, to out: inout [UInt8]) throws(ToolError) {
        if hasNumber { out += String(leaf.key(row)).utf8 }
        for (index, number) in columns.enumerated() {
            if index > 0 || hasNumber { out.append(UInt8(ascii: ",")) }
            try appendField(view.value(number, leaf: leaf, row: row), description.columns[number], to: &out)
        }
        out.append(UInt8(ascii: "\n"))
    }

    private func appendField(_ value: Value, _ column: ColumnSchema, to out: inout [UInt8]) throws(ToolError) {
        var field: [UInt8] = []
        if column.type == .mixed || column.collection != .none {
            try json.append(value, column, to: &field)
            if field == Array("null".utf8) { return }
            return Self.append(field, to: &out)
        }
        var single = value
        if case .link(let key) = value, let target = column.target, let linked = json.primaryKey(of: key, in: target) {
            single = linked
            if case .null = linked {
                throw ToolError(
                    .usage,
                    "\(DisplayText.line(description.name)).\(DisplayText.line(column.name)) links to an object whose primary key is nil, which CSV has no form for. Give --format ndjson or json."
                )
            }
        }
        switch single {
        case .null: return
        // The empty text is a field, too.
        case .string(let text): return Self.append(Array(text.utf8), to: &out)
        default:
            try json.append(single, column, to: &field)
            if field == Array("null".utf8) { return }
            if field.first == UInt8(ascii: "\"") { field = Array(field.dropFirst().dropLast()) }
            Self.append(field, to: &out)
        }
    }

    private static func append(_ field: [UInt8], to out: inout [UInt8]) {
        let quote = UInt8(ascii: "\"")
        // Spaces at the ends and the empty text are kept only within quotes.
        let isPlain =
            !field.isEmpty && field.first != 0x20 && field.last != 0x20
            && field.allSatisfy { $0 > 0x1F && $0 != quote && $0 != UInt8(ascii: ",") }
        if isPlain {
            out += field
            return
        }
        out.append(quote)
        for byte in field {
            if byte == quote { out.append(quote) }
            out.append(byte)
        }
        out.append(quote)
    }
}

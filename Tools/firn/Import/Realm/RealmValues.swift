import FirnBytes
import FirnCore

/// Reads values as `realm2json` writes them: plainly, or with the types of MongoDB's Extended JSON
/// (`--output-mode xjson`, https://www.mongodb.com/docs/manual/reference/mongodb-extended-json).
///
/// ```
/// link     { "table": "class_Dog", "key": key }     list of links   { "table": "class_Dog", "keys": [ key, … ] }
/// typed    { "$numberLong": "1" }   { "$binary": { "base64": …, "subType": "00" } }   { "$date": … }   { "$oid": … }
/// ```
struct RealmValues {
    typealias Parsed = ImportValues.Parsed

    let schema: StoreSchema
    /// The classes whose objects are linked to by their `_key`, and not by their primary key.
    let numbered: Set<TableID>
    private let plain: ImportValues

    init(schema: StoreSchema, numbered: Set<TableID>) {
        self.schema = schema
        self.numbered = numbered
        plain = ImportValues(schema: schema)
    }

    func read(_ column: ColumnSchema, _ reader: inout JSONReader) throws(InputFault) -> Parsed {
        switch column.collection {
        case .none: return try readSingle(column, &reader)
        case .list, .set:
            let elements = try readElements(column, &reader)
            return column.collection == .set ? .set(elements) : .list(elements)
        case .map:
            return .map(
                try plain.readEntries(&reader) { (reader) throws(InputFault) in
                    try readSingle(column, &reader)
                })
        }
    }

    private func readElements(_ column: ColumnSchema, _ reader: inout JSONReader) throws(InputFault) -> [Parsed] {
        var elements: [Parsed] = []
        if column.type == .link, try reader.kind() == .object {
            let start = reader.offset
            var isRead = false
            try reader.object { (name, offset, reader) throws(InputFault) in
                if name.elementsEqual("table".utf8) {
                    return try check(try reader.string(), is: column, at: offset)
                }
                guard name.elementsEqual("keys".utf8), let target = column.target, !isRead else {
                    throw InputFault("links should be an object of table and keys", at: offset)
                }
                isRead = true
                try reader.array { (reader) throws(InputFault) in
                    elements.append(.link(target, try readKey(target, &reader)))
                }
            }
            guard isRead else { throw InputFault("these links lack their keys", at: start) }
            return elements
        }
        try reader.array { (reader) throws(InputFault) in elements.append(try readSingle(column, &reader)) }
        return elements
    }

    /// Throws unless a table is the one that a property links to.
    private func check(_ table: String, is column: ColumnSchema, at offset: Int) throws(InputFault) {
        guard let target = column.target, RealmSchema.className(table) == schema[target].name else {
            throw InputFault(
                "\(DisplayText.name(column.name)) links to another class than its schema says, \(DisplayText.name(table))",
                at: offset)
        }
    }

    private func readSingle(_ column: ColumnSchema, _ reader: inout JSONReader) throws(InputFault) -> Parsed {
        let start = reader.offset
        let kind = try reader.kind()
        if kind == .null {
            try reader.null()
            guard column.isNullable || column.type == .link || column.type == .mixed else {
                throw InputFault("\(DisplayText.name(column.name)) is not optional", at: start)
            }
            return .value(.null)
        }
        if column.type == .mixed { return try readMixed(&reader, depth: 0) }
        if column.type == .link, let target = column.target {
            if schema[target].isEmbedded { return .embedded(target, try readObject(target, &reader).values) }
            guard kind == .object else { return .link(target, try readKey(target, &reader)) }
            let link = try readLink(&reader)
            try check("class_" + schema[link.table].name, is: column, at: start)
            return .link(target, link.target)
        }
        guard let value = try readScalar(column.type, &reader) else {
            throw InputFault("this is no \(TypeText.text(column, schema))", at: start)
        }
        return .value(value)
    }

    // MARK: Objects

    /// Reads an object: its values by column, and its `_key` if it has one.
    func readObject(
        _ table: TableID, _ reader: inout JSONReader
    ) throws(InputFault) -> (key: Int64?, values: [Int: Parsed]) {
        var key: Int64?
        let values = try plain.readProperties(of: table, &reader) { (column, reader) throws(InputFault) in
            try read(column, &reader)
        } orElse: { (name, reader) throws(InputFault) in
            guard name == "_key", key == nil, try reader.kind() == .number, case .int(let number) = try reader.number()
            else { return false }
            key = number
            return true
        }
        return (key, values)
    }

    // MARK: Links

    /// Reads `{ "table": …, "key": … }`.
    private func readLink(
        _ reader: inout JSONReader
    ) throws(InputFault) -> (table: TableID, target: ImportValues.Target) {
        let start = reader.offset
        var table: TableID?
        var target: ImportValues.Target?
        try reader.object { (name, offset, reader) throws(InputFault) in
            if name.elementsEqual("table".utf8), table == nil {
                let text = try reader.string()
                table = RealmSchema.className(text).flatMap { plain.tables[$0] }
                if table == nil {
                    throw InputFault("the class \(DisplayText.name(text)) is not in the schema", at: offset)
                }
            } else if name.elementsEqual("key".utf8), let table, target == nil {
                target = try readKey(table, &reader)
            } else {
                throw InputFault(
                    "a link should be an object of table and key. Run realm2json without --link-depth", at: offset)
            }
        }
        guard let table, let target else { throw InputFault("this link lacks its table or key", at: start) }
        return (table, target)
    }

    private func readKey(_ table: TableID, _ reader: inout JSONReader) throws(InputFault) -> ImportValues.Target {
        let start = reader.offset
        if !numbered.contains(table), let primaryKey = schema[table].primaryKey {
            guard let value = try readScalar(schema[table].columns[primaryKey].type, &reader) else {
                throw InputFault("this is no primary key of a \(DisplayText.name(schema[table].name))", at: start)
            }
            return .primaryKey(value)
        }
        guard try reader.kind() == .number, case .int(let number) = try reader.number() else {
            throw InputFault("this is no key of a \(DisplayText.name(schema[table].name))", at: start)
        }
        return .number(number)
    }

    // MARK: Single values

    private func readScalar(_ type: ColumnType, _ reader: inout JSONReader) throws(InputFault) -> Value? {
        let kind = try reader.kind()
        if kind == .object {
            guard case .value(let value)? = try readTyped(&reader) else { return nil }
            return Self.converted(value, to: type)
        }
        if kind == .string, type == .float || type == .double || type == .decimal {
            return Self.converted(.string(try reader.string()), to: type)
        }
        return try plain.readScalar(type, kind: kind, reader: &reader)
    }

    private func readMixed(_ reader: inout JSONReader, depth: Int) throws(InputFault) -> Parsed {
        let start = reader.offset
        switch try reader.kind() {
        case .object:
            var probe = reader
            if try isLink(&probe) {
                let link = try readLink(&reader)
                return .typedLink(link.table, link.target)
            }
            if let typed = try readTyped(&reader) { return typed }
            guard depth < Limits.nesting else { throw InputFault("the collections are nested too deep", at: start) }
            return .map(
                try plain.readEntries(&reader) { (reader) throws(InputFault) in
                    try readMixed(&reader, depth: depth + 1)
                })
        case .array:
            guard depth < Limits.nesting else { throw InputFault("the collections are nested too deep", at: start) }
            var elements: [Parsed] = []
            try reader.array { (reader) throws(InputFault) in
                elements.append(try readMixed(&reader, depth: depth + 1))
            }
            return .list(elements)
        default: return try plain.readMixed(&reader)
        }
    }

    /// Whether the object that comes next is a link, and no map.
    private func isLink(_ reader: inout JSONReader) throws(InputFault) -> Bool {
        var names: [String] = []
        var isClass = false
        try reader.object { (name, _, reader) throws(InputFault) in
            names.append(String(decoding: name, as: UTF8.self))
            guard names == ["table"], try reader.kind() == .string else { return try reader.skip() }
            isClass = try reader.string().hasPrefix("class_")
        }
        return isClass && names == ["table", "key"]
    }

    /// Reads a value of Extended JSON. If the next object is no such value, returns nil and reads nothing.
    private func readTyped(_ reader: inout JSONReader) throws(InputFault) -> Parsed? {
        var ahead = reader
        var count = 0
        try ahead.object { (name, _, reader) throws(InputFault) in
            count += name.first == UInt8(ascii: "$") ? 1 : 2
            try reader.skip()
        }
        guard count == 1 else { return nil }
        ahead = reader
        var found: Value?
        try ahead.object { (name, offset, reader) throws(InputFault) in
            found = try readTyped(String(decoding: name, as: UTF8.self), at: offset, &reader)
        }
        guard let found else { return nil }
        reader = ahead
        return .value(found)
    }

    private func readTyped(
        _ name: String, at offset: Int, _ reader: inout JSONReader
    ) throws(InputFault) -> Value? {
        let type: ColumnType
        switch name {
        case "$numberInt", "$numberLong": type = .int
        case "$numberDouble": type = .double
        case "$numberDecimal": type = .decimal
        case "$oid": type = .objectID
        case "$uuid": type = .uuid
        case "$binary": return try readBinary(&reader)
        case "$date":
            guard try reader.kind() == .object else {
                type = .date
                break
            }
            // Milliseconds since 1970.
            guard case .value(.int(let milliseconds))? = try readTyped(&reader) else { return nil }
            return .date(
                Timestamp(seconds: milliseconds / 1_000, nanoseconds: Int32(milliseconds % 1_000 * 1_000_000)))
        default:
            try reader.skip()
            return nil
        }
        guard try reader.kind() == .string else {
            try reader.skip()
            return nil
        }
        guard let value = Self.converted(.string(try reader.string()), to: type) else {
            throw InputFault("the value of \(name) is none", at: offset)
        }
        return value
    }

    /// Reads `{ "base64": …, "subType": … }`; the subtype 04 is a UUID.
    private func readBinary(_ reader: inout JSONReader) throws(InputFault) -> Value? {
        let start = reader.offset
        var bytes: [UInt8]?
        var isUUID = false
        try reader.object { (name, _, reader) throws(InputFault) in
            let text = try reader.string()
            if name.elementsEqual("base64".utf8) { bytes = Base64.bytes(text) }
            if name.elementsEqual("subType".utf8) { isUUID = text == "04" }
        }
        guard let bytes, !isUUID || bytes.count == 16 else {
            throw InputFault("the data are not in base 64", at: start)
        }
        try ImportValues.checkLength(bytes.count, at: start)
        guard isUUID else { return .data(bytes) }
        let (high, low) = (bytes[..<8], bytes[8...])
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return .uuid(UUIDBytes(high: number(high), low: number(low)))
    }

    /// A value of Extended JSON, or a text, converted to a property's type; nil if that is impossible.
    private static func converted(_ value: Value, to type: ColumnType) -> Value? {
        switch (type, value) {
        case (.int, .int), (.double, .double), (.decimal, .decimal), (.objectID, .objectID), (.uuid, .uuid),
            (.data, .data), (.date, .date):
            return value
        case (.float, .double(let number)): return ImportValues.float(number).map { .float($0) }
        case (.int, .string(let text)): return Int64(text).map { .int($0) }
        case (.float, .string(let text)):
            return ImportValues.number(text).flatMap(ImportValues.float).map { .float($0) }
        case (.double, .string(let text)): return ImportValues.number(text).map { .double($0) }
        case (_, .string(let text)): return ImportValues.scalar(type, text)
        default: return nil
        }
    }
}

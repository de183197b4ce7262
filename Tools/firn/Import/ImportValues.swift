import FirnBytes
import FirnCore
import Foundation

/// Reads values of properties from JSON and from fields of CSV: the inverse of `ObjectJSON`.
struct ImportValues {
    let schema: StoreSchema
    /// The numbers of tables and columns by their names, since each object names its properties and may name its class.
    let tables: NameMap<TableID>
    private let columns: [NameMap<Int>]

    init(schema: StoreSchema) {
        self.schema = schema
        tables = schema.numbersByName
        columns = schema.tables.map(\.numbersByName)
    }

    /// The target of a link that was not looked up yet.
    enum Target {
        /// The object with a primary key.
        case primaryKey(Value)
        /// The object with a number in the import.
        case number(Int64)
    }

    /// A value, or an element of one, in which no link was looked up yet.
    enum Parsed {
        case value(Value)
        case link(TableID, Target)
        /// A mixed value that is a link, in contrast to the value of a link property.
        case typedLink(TableID, Target)
        /// An embedded object: its columns' values.
        case embedded(TableID, [Int: Parsed])
        case list([Parsed])
        case set([Parsed])
        case map([(key: String, value: Parsed)])
    }

    // MARK: JSON

    /// Reads the value of a property.
    func read(_ column: ColumnSchema, _ reader: inout JSONReader) throws(InputFault) -> Parsed {
        let start = reader.offset
        switch column.collection {
        case .none: return try readSingle(column, &reader)
        case .list, .set:
            // A missing collection is an empty one.
            if try reader.kind() == .null {
                try reader.null()
                return column.collection == .set ? .set([]) : .list([])
            }
            guard try reader.kind() == .array else { throw wrong(column, start) }
            var elements: [Parsed] = []
            try reader.array { (reader) throws(InputFault) in elements.append(try readSingle(column, &reader)) }
            return column.collection == .set ? .set(elements) : .list(elements)
        case .map:
            if try reader.kind() == .null {
                try reader.null()
                return .map([])
            }
            guard try reader.kind() == .object else { throw wrong(column, start) }
            return .map(try readEntries(&reader) { (reader) throws(InputFault) in try readSingle(column, &reader) })
        }
    }

    func readEntries(
        _ reader: inout JSONReader, _ value: (inout JSONReader) throws(InputFault) -> Parsed
    ) throws(InputFault) -> [(key: String, value: Parsed)] {
        var entries: [(key: String, value: Parsed)] = []
        var keys: Set<[UInt8]> = []
        try reader.object { (name, offset, reader) throws(InputFault) in
            guard keys.insert(Array(name)).inserted else { throw InputFault("the key is there twice", at: offset) }
            try Self.checkLength(name.count, at: offset)
            entries.append((String(decoding: name, as: UTF8.self), try value(&reader)))
        }
        return entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }

    private func wrong(_ column: ColumnSchema, _ offset: Int) -> InputFault {
        InputFault("this is no \(TypeText.text(column, schema))", at: offset)
    }

    private func readSingle(_ column: ColumnSchema, _ reader: inout JSONReader) throws(InputFault) -> Parsed {
        if column.type == .mixed { return try readMixed(&reader) }
        let kind = try reader.kind()
        let start = reader.offset
        if kind == .null {
            try reader.null()
            guard column.isNullable || column.type == .link else { throw wrong(column, start) }
            return .value(.null)
        }
        if column.type == .link { return try readLink(column, &reader) }
        guard let value = try readScalar(column.type, kind: kind, reader: &reader) else {
            throw wrong(column, start)
        }
        return .value(value)
    }

    /// Reads a value of a type; nil if the next value is not of that type.
    func readScalar(
        _ type: ColumnType, kind: JSONReader.Kind, reader: inout JSONReader
    ) throws(InputFault) -> Value? {
        switch (type, kind) {
        case (.bool, .bool): return .bool(try reader.bool())
        case (.int, .number): if case .int(let value) = try reader.number() { return .int(value) }
        case (.float, .number):
            // The number is not read as a double first, which would round it twice.
            let start = reader.offset
            return .float(try Self.kept(try reader.numberText(), type: "float", at: start, Float.init))
        case (.double, .number):
            let start = reader.offset
            return .double(try Self.kept(try reader.numberText(), type: "double", at: start, Double.init))
        case (.decimal, .number):
            let start = reader.offset
            let text = try reader.numberText()
            if JSONReader.longInteger(text) != nil { return .decimal(try Self.wholeDecimal(text, at: start)) }
            return Self.decimal(String(decoding: text, as: UTF8.self)).map { .decimal($0) }
        case (.string, .string):
            let start = reader.offset
            let text = try reader.string()
            try Self.checkLength(text.utf8.count, at: start)
            return .string(text)
        case (_, .string):
            let start = reader.offset
            let value = Self.scalar(type, try reader.string())
            if case .data(let bytes)? = value { try Self.checkLength(bytes.count, at: start) }
            return value
        case (.date, .object): return try readDistantDate(&reader).map { .date($0) }
        default: break
        }
        return nil
    }

    /// The binary number for a number in JSON. A fraction is rounded to the nearest one. Throws if the number is too
    /// large, so small that it would become 0, or an integer that has no exact binary number.
    private static func kept<Number: BinaryFloatingPoint>(
        _ text: UnsafeRawBufferPointer, type: String, at start: Int, _ read: (String) -> Number?
    ) throws(InputFault) -> Number {
        guard let number = read(String(decoding: text, as: UTF8.self)), number.isFinite, isZero(text) || number != 0,
            isExact(number, text)
        else { throw InputFault("a \(type) can't hold this number", at: start) }
        return number
    }

    /// Whether a number is exactly the integer in a text. True for a fraction, since fractions are rounded.
    static func isExact(_ number: some BinaryFloatingPoint, _ text: UnsafeRawBufferPointer) -> Bool {
        if let integer = JSONReader.integer(text) { return Int64(exactly: number) == integer }
        guard let digits = JSONReader.longInteger(text) else { return true }
        // The digits of the double, which is an integer, since it is 2^63 or more.
        return String(format: "%.0f", abs(Double(number))).utf8.elementsEqual(digits)
    }

    /// The decimal number for a long integer. Throws if the integer has more digits than a decimal number keeps: 34
    /// from the first digit to the last one that is not 0.
    static func wholeDecimal(_ text: UnsafeRawBufferPointer, at start: Int) throws(InputFault) -> DecimalBits {
        guard let value = decimal(String(decoding: text, as: UTF8.self)) else {
            throw InputFault(
                "this integer has more digits than a number of any type keeps (34). Write it as a string", at: start)
        }
        return value
    }

    /// How many of an integer's digits a decimal number must keep: all but the zeros at the end.
    static func keptDigits(_ digits: some BidirectionalCollection<UInt8>) -> Int {
        let zero = UInt8(ascii: "0")
        guard let last = digits.lastIndex(where: { $0 != zero }) else { return 0 }
        return digits[...last].count
    }

    /// The decimal number in a text. A fraction is rounded to 34 digits. Returns nil if the text is no number, the
    /// number is too large or too small, or an integer has too many digits (`keptDigits`).
    private static func decimal(_ text: String) -> DecimalBits? {
        guard let value = DecimalBits(text: text) else { return NaNText.decimal(text) }
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "0") }
        if digits.allSatisfy({ JSONReader.digit($0) ?? 10 < 10 }), keptDigits(digits) > 34 { return nil }
        let isWord = !text.utf8.contains { $0 >= 0x30 && $0 <= 0x39 }
        guard isWord || !value.isInfinite && isZero(text.utf8) == isZero(value.text.utf8) else { return nil }
        return value
    }

    /// Whether the number in a text is 0.
    private static func isZero(_ text: some Sequence<UInt8>) -> Bool {
        !text.prefix { $0 | 0x20 != UInt8(ascii: "e") }.contains { $0 >= UInt8(ascii: "1") && $0 <= UInt8(ascii: "9") }
    }

    /// Throws if a text or data are longer than the values of any property may be.
    static func checkLength(_ count: Int, at offset: Int) throws(InputFault) {
        guard count <= FormatNumbers.valueByteCount else {
            throw InputFault(
                "a value has more than \(FormatNumbers.valueByteCount) bytes, which no property takes", at: offset)
        }
    }

    /// The value of a type that a text in quotes represents; nil if it represents none.
    static func scalar(_ type: ColumnType, _ text: String) -> Value? {
        switch type {
        case .float: return (NaNText.float(text) ?? Self.special(text).map { Float($0) }).map { .float($0) }
        case .double: return (NaNText.double(text) ?? Self.special(text)).map { .double($0) }
        case .data: return Base64.bytes(text).map { .data($0) }
        case .date:
            guard let (seconds, nanoseconds, _) = TimeText.instant(of: text) else { return nil }
            // Firn's seconds and nanoseconds have the same sign.
            return seconds < 0 && nanoseconds > 0
                ? .date(Timestamp(seconds: seconds + 1, nanoseconds: Int32(nanoseconds - 1_000_000_000)))
                : .date(Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds)))
        case .objectID:
            guard text.utf8.count == 24, let high = UInt64(text.prefix(16), radix: 16),
                let low = UInt32(text.suffix(8), radix: 16), text.utf8.allSatisfy({ JSONReader.digit($0) != nil })
            else { return nil }
            return .objectID(ObjectIDBytes(a: UInt32(high >> 32), b: UInt32(truncatingIfNeeded: high), c: low))
        case .uuid:
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
            let digits = parts.joined()
            guard digits.utf8.allSatisfy({ JSONReader.digit($0) != nil }),
                let high = UInt64(digits.prefix(16), radix: 16), let low = UInt64(digits.suffix(16), radix: 16)
            else { return nil }
            return .uuid(UUIDBytes(high: high, low: low))
        case .decimal: return decimal(text).map { .decimal($0) }
        default: return nil
        }
    }

    /// The number in a text: in JSON's form, or one of the words for infinity and NaN, which JSON lacks. Nil for other
    /// text.
    static func number(_ text: String) -> Double? {
        switch text.lowercased() {
        case "infinity", "+infinity": return .infinity
        case "-infinity": return -.infinity
        case let word: if let special = special(word) { return special }
        }
        return JSONReader.isNumber(Array(text.utf8)) ? Double(text) : nil
    }

    /// The nearest float; nil if the number is too large or too small for one.
    static func float(_ number: Double) -> Float? {
        let float = Float(number)
        return float.isInfinite == number.isInfinite && (float == 0) == (number == 0) ? float : nil
    }

    private static func special(_ text: String) -> Double? {
        switch text {
        case "nan": .nan
        case "inf": .infinity
        case "-inf": -.infinity
        default: nil
        }
    }

    /// Reads `{"$seconds": n, "$nanoseconds": n}`; nil if it is another object.
    private func readDistantDate(_ reader: inout JSONReader) throws(InputFault) -> Timestamp? {
        var numbers: [String: Int64] = [:]
        try reader.object { (name, _, reader) throws(InputFault) in
            if try reader.kind() == .number, case .int(let value) = try reader.number() {
                numbers[String(decoding: name, as: UTF8.self)] = value
            } else {
                numbers["", default: 0] = 0
                try reader.skip()
            }
        }
        guard numbers.count == 2, let seconds = numbers["$seconds"], let nanoseconds = numbers["$nanoseconds"],
            nanoseconds.magnitude < 1_000_000_000,
            seconds == 0 || nanoseconds == 0 || (seconds < 0) == (nanoseconds < 0)
        else { return nil }
        return Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds))
    }

    // MARK: Links and embedded objects

    private func readLink(_ column: ColumnSchema, _ reader: inout JSONReader) throws(InputFault) -> Parsed {
        guard let target = column.target else { throw wrong(column, reader.offset) }
        if schema[target].isEmbedded { return try readEmbedded(target, &reader) }
        return .link(target, try readTarget(target, &reader))
    }

    private func readTarget(_ table: TableID, _ reader: inout JSONReader) throws(InputFault) -> Target {
        let kind = try reader.kind()
        let start = reader.offset
        guard let primaryKey = schema[table].primaryKey else {
            guard kind == .object else {
                throw InputFault("a link to a \(schema[table].name) should be {\"$object\": number}", at: start)
            }
            var number: Int64?
            try reader.object { (name, offset, reader) throws(InputFault) in
                guard name.elementsEqual("$object".utf8), try reader.kind() == .number,
                    case .int(let value) = try reader.number(), value >= 0
                else {
                    throw InputFault("a link to a \(schema[table].name) should be {\"$object\": number}", at: offset)
                }
                number = value
            }
            guard let number else { throw InputFault("a link to a \(schema[table].name) lacks $object", at: start) }
            return .number(number)
        }
        guard kind == .object else { return .primaryKey(try readKey(table, primaryKey: primaryKey, reader: &reader)) }
        // This form links to an object whose primary key is nil, since a plain null is no link.
        var key: Value?
        try reader.object { (name, offset, reader) throws(InputFault) in
            guard name.elementsEqual("$key".utf8), key == nil else {
                throw InputFault("a link to a \(schema[table].name) should be its primary key", at: offset)
            }
            key = try readKey(table, primaryKey: primaryKey, reader: &reader)
        }
        guard let key else {
            throw InputFault("a link to a \(schema[table].name) should be its primary key", at: start)
        }
        return .primaryKey(key)
    }

    func readKey(
        _ table: TableID, primaryKey: Int, reader: inout JSONReader
    ) throws(InputFault) -> Value {
        let column = schema[table].columns[primaryKey]
        let kind = try reader.kind()
        let start = reader.offset
        if kind == .null, column.isNullable {
            try reader.null()
            return .null
        }
        guard let value = try readScalar(column.type, kind: kind, reader: &reader) else {
            throw InputFault("this is no primary key of a \(schema[table].name)", at: start)
        }
        return value
    }

    private func readEmbedded(_ table: TableID, _ reader: inout JSONReader) throws(InputFault) -> Parsed {
        // Objects that are nested deeper could not be exported.
        guard reader.depth < ObjectJSON.depthMax else {
            throw InputFault("values are nested more than \(ObjectJSON.depthMax) deep", at: reader.offset)
        }
        guard try reader.kind() == .object else {
            throw InputFault("an object of class \(schema[table].name) should be here", at: reader.offset)
        }
        return .embedded(
            table,
            try readProperties(of: table, &reader) { (column, reader) throws(InputFault) in try read(column, &reader) })
    }

    /// Reads an object: its values by their columns.
    ///
    /// - Parameters:
    ///   - value: reads the value of a property.
    ///   - takes: reads a member that is no property; returns false if the object may not have that member.
    func readProperties(
        of table: TableID, _ reader: inout JSONReader,
        _ value: (ColumnSchema, inout JSONReader) throws(InputFault) -> Parsed,
        orElse takes: (_ name: String, inout JSONReader) throws(InputFault) -> Bool = { _, _ in false }
    ) throws(InputFault) -> [Int: Parsed] {
        var values: [Int: Parsed] = [:]
        try reader.object { (name, offset, reader) throws(InputFault) in
            let name = String(decoding: name, as: UTF8.self)
            guard let column = columns[table.index][name] else {
                if try takes(name, &reader) { return }
                throw InputFault("\(schema[table].name) has no property \(name)", at: offset)
            }
            guard values.updateValue(try value(schema[table].columns[column], &reader), forKey: column) == nil else {
                throw InputFault("the property is there twice", at: offset)
            }
        }
        return values
    }
}

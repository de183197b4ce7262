import FirnCore
import FirnRealmFile

/// Converts values of a Realm file to the store's, and counts what can't stay as it is.
package struct RealmImportValues {
    let file: RealmFile
    /// Texts that are no UTF-8. Their wrong bytes become U+FFFD.
    package private(set) var replacedTextCount = 0
    /// Links to objects that the file does not have. They become nil, and are left out of lists and sets.
    var missingLinkCount = 0
    /// Nulls in properties that are not optional. They become 0, empty or false.
    package private(set) var replacedNullCount = 0

    package init(_ file: RealmFile) { self.file = file }

    /// A value without a link; nil if it is one or has one.
    mutating func plain(_ value: RealmFileValue, _ column: ColumnSchema) throws -> Value? {
        if column.collection == .none { return try single(value, column, link: { _, _ in nil }) }
        guard case .collection(let collection) = value else { return .list([]) }
        return try self.collection(collection, column, link: { _, _ in nil })
    }

    /// A value with its links looked up.
    ///
    /// - Parameter link: returns the key of a link's target in the store, and its table; nil if the target is missing.
    mutating func linked(
        _ value: RealmFileValue, _ column: ColumnSchema, link: (UInt32, Int64) -> (table: TableID, key: Int64)?
    ) throws -> Value {
        let missing = Value.null
        var missingCount = 0
        let resolve: (UInt32, Int64) -> Value? = { table, key in
            guard let (table, key) = link(table, key) else {
                missingCount += 1
                return missing
            }
            return column.type == .mixed ? .typedLink(table, key) : .link(key)
        }
        defer { missingLinkCount += missingCount }
        if column.collection == .none { return try single(value, column, link: resolve) ?? .null }
        guard case .collection(let collection) = value else { return .list([]) }
        return try self.collection(collection, column, link: resolve) ?? .null
    }

    /// A value that is neither a link nor a collection.
    package mutating func scalar(_ value: RealmFileValue, _ column: ColumnSchema) throws -> Value? {
        try single(value, column, link: { _, _ in nil })
    }

    private mutating func single(
        _ value: RealmFileValue, _ column: ColumnSchema, link: (UInt32, Int64) -> Value?
    ) throws -> Value? {
        switch value {
        case .null: return null(column)
        case .int(let value): return .int(value)
        case .bool(let value): return .bool(value)
        case .float(let bits): return .float(Float(bitPattern: bits))
        case .double(let bits): return .double(Double(bitPattern: bits))
        case .string(let bytes): return .string(try text(bytes, column))
        case .binary(let bytes):
            try checkLength(bytes.count, column)
            return .data(Array(bytes))
        case .timestamp(let seconds, let nanoseconds): return .date(Self.timestamp(seconds, nanoseconds))
        case .decimal(let low, let high): return .decimal(DecimalBits(high: high, low: low))
        case .objectID(let bytes):
            return .objectID(
                ObjectIDBytes(a: Self.word(bytes, 0), b: Self.word(bytes, 4), c: Self.word(bytes, 8)))
        case .uuid(let bytes):
            return .uuid(
                UUIDBytes(
                    high: UInt64(Self.word(bytes, 0)) << 32 | UInt64(Self.word(bytes, 4)),
                    low: UInt64(Self.word(bytes, 8)) << 32 | UInt64(Self.word(bytes, 12))))
        case .link(let table, let key): return link(table, key)
        case .collection(let nested): return try collection(nested, column, link: link)
        }
    }

    /// Null, or what replaces it in a property that is not optional. A required number can have the bits that mean null
    /// in an optional one.
    private mutating func null(_ column: ColumnSchema) -> Value {
        if column.isNullable || column.type == .link || column.type == .mixed { return .null }
        switch column.type {
        case .float: return .float(Float(bitPattern: 0x7fc0_00aa))
        case .double: return .double(Double(bitPattern: 0x7ff8_0000_0000_00aa))
        default:
            replacedNullCount += 1
            return column.type.blankValue
        }
    }

    private mutating func collection(
        _ collection: RealmFileCollection, _ column: ColumnSchema, link: (UInt32, Int64) -> Value?
    ) throws -> Value? {
        var hasLink = false
        var own = self
        defer { self = own }
        if collection.kind == .dictionary {
            var entries: [Value.MapEntry] = []
            try file.forEachEntry(of: collection) { key, value in
                guard let value = try own.single(value, column, link: link) else { return hasLink = true }
                entries.append(Value.MapEntry(key: try own.text(key, column), value: value))
            }
            if hasLink { return nil }
            entries.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            return .map(entries)
        }
        var elements: [Value] = []
        try file.forEachElement(of: collection) { element in
            guard let value = try own.single(element, column, link: link) else { return hasLink = true }
            // A link to a missing object has no meaning in a list of objects.
            if column.type == .link, value == .null { return }
            elements.append(value)
        }
        if hasLink { return nil }
        // Sets do not occur in mixed values.
        return collection.kind == .set ? .set(elements) : .list(elements)
    }

    package mutating func text(_ bytes: UnsafeRawBufferPointer, _ column: ColumnSchema) throws(RealmFileError) -> String
    {
        try checkLength(bytes.count, column)
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        replacedTextCount += 1
        return String(decoding: bytes, as: UTF8.self)
    }

    private func checkLength(_ count: Int, _ column: ColumnSchema) throws(RealmFileError) {
        guard count <= Limits.valueByteCount else {
            throw RealmFileError(
                .damage, path: file.path,
                detail: "a value has \(count) bytes, and no property takes more than \(Limits.valueByteCount)",
                propertyName: column.name)
        }
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// A point in time whose seconds and nanoseconds have the same sign.
    private static func timestamp(_ seconds: Int64, _ nanoseconds: Int64) -> Timestamp {
        let billion: Int64 = 1_000_000_000
        if nanoseconds.magnitude < UInt64(billion),
            seconds == 0 || nanoseconds == 0 || (seconds < 0) == (nanoseconds < 0)
        {
            return Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds))
        }
        let (carry, rest) = nanoseconds.quotientAndRemainder(dividingBy: billion)
        var whole = seconds.addingReportingOverflow(carry).partialValue
        var part = rest
        if whole > 0, part < 0 { (whole, part) = (whole - 1, part + billion) }
        if whole < 0, part > 0 { (whole, part) = (whole + 1, part - billion) }
        return Timestamp(seconds: whole, nanoseconds: Int32(part))
    }
}

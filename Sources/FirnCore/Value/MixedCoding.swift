import FirnBytes

/// The bytes of a mixed value in its cell or element: a tag, then a payload that extends to the end.
///
/// ```
/// ┌─────┬──────────────────────────┐
/// │ tag │ payload                  │
/// └─────┴──────────────────────────┘
///    0  null         nothing (only inside a nested collection: a mixed cell that is null has no bytes)
///    1  bool         1 byte             7  date       16 bytes
///    2  int          8 bytes            8  objectID   12 bytes
///    3  float        4 bytes            9  uuid       16 bytes
///    4  double       8 bytes           10  decimal    16 bytes
///    5  string       UTF-8             11  link       8 bytes (of a column's own target; for completeness)
///    6  data         bytes             12  typed link table u32 · key i64
///   13  list   } count varint, then per element:            length varint · value (tag and payload)
///   14  set    }
///   15  map      count varint, then per entry: key length varint · key UTF-8 · value length varint · value
/// ```
///
/// Fixed payloads are encoded as in `FixedCoding`; the tags 1 to 11 are the numbers of `ColumnType`. Varints are
/// little-endian groups of 7 bits.
enum MixedCoding {
    private static let typedLink: UInt8 = 12
    private static let list: UInt8 = 13
    private static let set: UInt8 = 14
    private static let map: UInt8 = 15

    // MARK: Encoding

    /// Appends the tag and payload of `value`.
    static func encode(_ value: Value, into bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(0)
        case .bool: encodeFixed(value, type: .bool, into: &bytes)
        case .int: encodeFixed(value, type: .int, into: &bytes)
        case .float: encodeFixed(value, type: .float, into: &bytes)
        case .double: encodeFixed(value, type: .double, into: &bytes)
        case .date: encodeFixed(value, type: .date, into: &bytes)
        case .objectID: encodeFixed(value, type: .objectID, into: &bytes)
        case .uuid: encodeFixed(value, type: .uuid, into: &bytes)
        case .decimal: encodeFixed(value, type: .decimal, into: &bytes)
        case .link: encodeFixed(value, type: .link, into: &bytes)
        case .string(let string):
            bytes.append(ColumnType.string.rawValue)
            bytes.append(contentsOf: string.utf8)
        case .data(let data):
            bytes.append(ColumnType.data.rawValue)
            bytes.append(contentsOf: data)
        case .typedLink(let table, let key):
            bytes.append(typedLink)
            withUnsafeBytes(of: table.rawValue.littleEndian) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: key.littleEndian) { bytes.append(contentsOf: $0) }
        case .list(let elements): encodeElements(elements, tag: list, into: &bytes)
        case .set(let elements): encodeElements(elements, tag: set, into: &bytes)
        case .map(let entries):
            bytes.append(map)
            Varint.append(UInt64(entries.count), to: &bytes)
            for entry in entries {
                Varint.append(UInt64(entry.key.utf8.count), to: &bytes)
                bytes.append(contentsOf: entry.key.utf8)
                encodeNested(entry.value, &bytes)
            }
        }
    }

    private static func encodeFixed(_ value: Value, type: ColumnType, into bytes: inout [UInt8]) {
        bytes.append(type.rawValue)
        PlainCoding.withBytes(value, as: type) { bytes.append(contentsOf: $0.unsafelyUnwrapped) }
    }

    private static func encodeElements(_ elements: [Value], tag: UInt8, into bytes: inout [UInt8]) {
        bytes.append(tag)
        Varint.append(UInt64(elements.count), to: &bytes)
        for element in elements { encodeNested(element, &bytes) }
    }

    private static func encodeNested(_ value: Value, _ bytes: inout [UInt8]) {
        var nested: [UInt8] = []
        encode(value, into: &nested)
        Varint.append(UInt64(nested.count), to: &bytes)
        bytes.append(contentsOf: nested)
    }

    /// The length of a string or of data without its tag; nil if the bytes are a value of another type.
    static func textByteCount(_ bytes: UnsafeRawBufferPointer) -> Int? {
        bytes.first == ColumnType.string.rawValue || bytes.first == ColumnType.data.rawValue ? bytes.count - 1 : nil
    }

    /// Whether the bytes are a typed link or a collection.
    static func mayHaveLinks(_ bytes: UnsafeRawBufferPointer) -> Bool {
        (bytes.first ?? 0) >= typedLink
    }

    // MARK: Decoding

    /// Decodes bytes of a node, which were checked when the node was made or validated. Stops the program if they are
    /// not a mixed value.
    static func decodeTrusted(_ bytes: UnsafeRawBufferPointer) -> Value {
        guard let value = decode(bytes, depth: 0, isTrusted: true) else {
            preconditionFailure(
                "Firn: \(bytes.count) bytes are not a mixed value; the store's memory was overwritten")
        }
        return value
    }

    /// Decodes unchecked bytes; nil if they are not a mixed value. Collections nested deeper than `Limits.nesting` are
    /// refused.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> Value? {
        decode(bytes, depth: 0, isTrusted: false)
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer, depth: Int, isTrusted: Bool) -> Value? {
        guard let tag = bytes.first else { return nil }
        let payload = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        switch tag {
        case 0: return payload.isEmpty ? .null : nil
        case typedLink:
            guard payload.count == 12 else { return nil }
            let table = UInt32(littleEndian: payload.loadUnaligned(as: UInt32.self))
            return .typedLink(
                TableID(rawValue: table), Int64(littleEndian: payload.loadUnaligned(fromByteOffset: 4, as: Int64.self)))
        case list: return elements(payload, depth: depth, isTrusted: isTrusted).map(Value.list)
        case set: return elements(payload, depth: depth, isTrusted: isTrusted).map(Value.set)
        case map: return entries(payload, depth: depth, isTrusted: isTrusted).map(Value.map)
        default:
            guard let type = ColumnType(rawValue: tag), type != .mixed else { return nil }
            if let width = type.fixedWidth {
                guard payload.count == width else { return nil }
                // The two parts of a date are not checked. If their signs differ, only the order of dates is wrong.
                return FixedCoding.load(payload.baseAddress.unsafelyUnwrapped, as: type)
            }
            guard isTrusted || type != .string || payload.isUTF8 else { return nil }
            return PlainCoding.load(payload, as: type)
        }
    }

    private static func elements(_ payload: UnsafeRawBufferPointer, depth: Int, isTrusted: Bool) -> [Value]? {
        guard depth < Limits.nesting else { return nil }
        var reader = ByteReader(payload)
        guard let count = elementCount(&reader) else { return nil }
        var result: [Value] = []
        result.reserveCapacity(count)
        for _ in 0..<count {
            guard let nested = try? reader.readLengthPrefixed(),
                let value = decode(nested, depth: depth + 1, isTrusted: isTrusted)
            else { return nil }
            result.append(value)
        }
        return reader.isAtEnd ? result : nil
    }

    private static func entries(
        _ payload: UnsafeRawBufferPointer, depth: Int, isTrusted: Bool
    ) -> [Value.MapEntry]? {
        guard depth < Limits.nesting else { return nil }
        var reader = ByteReader(payload)
        guard let count = elementCount(&reader) else { return nil }
        var result: [Value.MapEntry] = []
        result.reserveCapacity(count)
        for _ in 0..<count {
            guard let key = try? reader.readLengthPrefixed(), isTrusted || key.isUTF8,
                let nested = try? reader.readLengthPrefixed(),
                let value = decode(nested, depth: depth + 1, isTrusted: isTrusted)
            else { return nil }
            result.append(Value.MapEntry(key: String(decoding: key, as: UTF8.self), value: value))
        }
        return reader.isAtEnd ? result : nil
    }

    /// The count of a collection; nil if fewer bytes than elements are left. So a wrong count reserves space for no
    /// more elements than there are bytes.
    private static func elementCount(_ reader: inout ByteReader) -> Int? {
        guard let count = try? reader.readVarint(), count <= UInt64(reader.remaining) else { return nil }
        return Int(count)
    }
}

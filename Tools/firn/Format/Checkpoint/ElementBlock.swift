import FirnBytes

/// The elements of a short collection, or of one leaf of a long one:
///
/// ```
/// fixed     count u16 · values
/// nullable  count u16 · null flags, a byte each · values
/// variable  count u16 · parts
/// map       count u16 · key part, value part · …            ascending by key
/// part      code varint: 0 null · 1 a blob, its reference (8) follows · n + 2: n bytes follow
/// ```
///
/// Fixed and nullable are the blocks of lists and sets of a type of fixed width.
struct ElementBlock {
    static let headerByteCount = 2

    let count: Int
    private let bytes: UnsafeRawBufferPointer
    private let column: DecodedSchema.Column

    init(_ bytes: UnsafeRawBufferPointer, _ column: DecodedSchema.Column) throws(Damage) {
        var reader = ByteReader(bytes)
        count = Int(try reader.readUInt16())
        self.bytes = bytes
        self.column = column
    }

    /// Calls `body` with each element in order, and for a map with its key.
    ///
    /// - Parameter blob: returns the bytes of the blob to which a reference leads; it gets the reference's 8 bytes.
    /// - Parameter decodes: if false, values are skipped, and `body` is not called.
    func forEach(
        _ blob: (UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer, decodes: Bool = true,
        _ body: (UnsafeRawBufferPointer?, Cell) throws -> Void
    ) throws {
        var reader = ByteReader(bytes)
        _ = try reader.readUInt16()
        if column.collection != .map, let width = column.type.fixedWidth {
            let isNullable = column.isNullable && column.type != .link
            let flags = try reader.readBytes(isNullable ? count : 0)
            let values = try reader.readBytes(count * width)
            try reader.expectEnd()
            guard decodes else { return }
            for index in 0..<count {
                if isNullable, flags[index] > 1 {
                    throw Damage("a null flag is \(flags[index])", at: index)
                }
                let value = UnsafeRawBufferPointer(rebasing: values[index * width..<(index + 1) * width])
                try body(nil, isNullable && flags[index] == 1 ? .null : try Cell.plain(column.type, value))
            }
            return
        }
        // A copy, since `body` may release the blob that the key lies in.
        var last: [UInt8]?
        for _ in 0..<count {
            var key: UnsafeRawBufferPointer?
            if column.collection == .map {
                guard let found = try part(&reader, blob), !decodes || found.isUTF8 else {
                    throw Damage("a map's key is not text", at: reader.offset)
                }
                if decodes {
                    if let last, !last.lexicographicallyPrecedes(found) {
                        throw Damage("a map's keys do not ascend", at: reader.offset)
                    }
                    last = Array(found)
                }
                key = found
            }
            let value = try part(&reader, blob)
            if decodes { try body(key, value.map { try Cell.plain(column.type, $0) } ?? .null) }
        }
        try reader.expectEnd()
    }

    /// The next part's bytes; nil for null.
    private func part(
        _ reader: inout ByteReader, _ blob: (UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer
    ) throws -> UnsafeRawBufferPointer? {
        let code = try reader.readCount(limit: reader.remaining + 2)
        switch code {
        case 0: return nil
        case 1: return try blob(reader.readBytes(8))
        default: return try reader.readBytes(code - 2)
        }
    }
}

extension CellType {
    /// The number of bytes of a value in a chunk or an element block; nil if it varies.
    var fixedWidth: Int? {
        switch self {
        case .bool: 1
        case .float: 4
        case .int, .double, .link: 8
        case .objectID: 12
        case .date, .uuid, .decimal: 16
        case .string, .data, .mixed: nil
        }
    }
}

extension Cell {
    /// Reads a value in the form that chunks and element blocks have.
    ///
    /// ```
    /// bool 1: 0 or 1 · int, link 8 (a link of -1 is none) · date 16: seconds i64 · nanoseconds i32 · 0 u32
    /// float, double, objectID, uuid, decimal as in changesets · string, data, mixed: all of the bytes
    /// ```
    static func plain(_ type: CellType, _ bytes: UnsafeRawBufferPointer) throws(Damage) -> Cell {
        var reader = ByteReader(bytes)
        let cell: Cell
        switch type {
        case .string:
            guard bytes.isUTF8 else { throw Damage(.malformedText, offset: 0) }
            return .string(bytes)
        case .data: return .data(bytes)
        case .mixed: return try mixed(bytes)
        case .bool:
            let value = try reader.readUInt8()
            guard value <= 1 else { throw Damage("a bool is \(value)", at: 0) }
            cell = .bool(value == 1)
        case .int: cell = .int(try reader.readInt64())
        case .link: cell = try link(key: reader.readInt64())
        case .date:
            let seconds = try reader.readInt64()
            let nanoseconds = Int64(try reader.read(Int32.self))
            guard try reader.readUInt32() == 0 else {
                throw Damage("bytes of a date that must be zero are not", at: 12)
            }
            cell = try date(seconds, nanoseconds, at: 0)
        case .float, .double, .objectID, .uuid, .decimal: cell = try fixed(type, &reader)
        }
        try reader.expectEnd()
        return cell
    }

    static func link(key: Int64) throws(Damage) -> Cell {
        guard key >= -1, key < FormatNumbers.keyLimit else {
            throw Damage("a link leads to the impossible key \(key)", at: 0)
        }
        return key < 0 ? .null : .link(key)
    }
}

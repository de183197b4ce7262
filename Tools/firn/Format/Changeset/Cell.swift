import FirnBytes

/// The types of values, by their numbers in the format.
enum CellType: UInt8 {
    case bool = 1
    case int, float, double, string, data, date, objectID, uuid, decimal, link, mixed

    var isVariable: Bool { self == .string || self == .data || self == .mixed }
}

enum CellCollection: UInt8 {
    case none = 0
    case list, set, map
}

/// One value of a changeset. Its buffers point into the part or a blob, and are valid as long as the part or blob is.
indirect enum Cell {
    case null
    case bool(Bool)
    case int(Int64)
    case float(Float)
    case double(Double)
    case string(UnsafeRawBufferPointer)
    case data(UnsafeRawBufferPointer)
    case date(seconds: Int64, nanoseconds: Int64)
    /// The 12 bytes, in the order of the id's text form.
    case objectID([UInt8])
    case uuid(UInt64, UInt64)
    case decimal(UInt64, UInt64)
    /// The target's key, in the property's target table.
    case link(Int64)
    case anyLink(table: Int, key: Int64)
    case list([Cell])
    case set([Cell])
    case map([(key: UnsafeRawBufferPointer, value: Cell)])

    /// Reads a value of a fixed width at the reader's offset.
    static func fixed(_ type: CellType, _ reader: inout ByteReader) throws(Damage) -> Cell {
        switch type {
        case .float: return .float(Float(bitPattern: try reader.readUInt32()))
        case .double: return .double(Double(bitPattern: try reader.readUInt64()))
        case .objectID:
            // Three words hold four bytes of the id each; the first byte is the highest.
            var bytes: [UInt8] = []
            for _ in 0..<3 {
                let word = try reader.readUInt32()
                for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
            }
            return .objectID(bytes)
        case .uuid:
            let high = try reader.readUInt64()
            return .uuid(high, try reader.readUInt64())
        case .decimal:
            let high = try reader.readUInt64()
            return .decimal(high, try reader.readUInt64())
        default: throw Damage("a value of type \(type) has no fixed width", at: reader.offset)
        }
    }

    /// Reads a mixed value: a tag and a payload that reaches to the end of `bytes`.
    static func mixed(_ bytes: UnsafeRawBufferPointer, depth: Int = 0) throws(Damage) -> Cell {
        guard depth <= FormatNumbers.nesting else {
            throw Damage("collections are nested more than \(FormatNumbers.nesting) deep", at: 0)
        }
        var reader = ByteReader(bytes)
        let tag = try reader.readUInt8()
        let cell: Cell
        switch tag {
        case 0: cell = .null
        case 1:
            let value = try reader.readUInt8()
            guard value <= 1 else { throw Damage("a bool is \(value)", at: 1) }
            cell = .bool(value == 1)
        case 2: cell = .int(try reader.readInt64())
        case 3: cell = try fixed(.float, &reader)
        case 4: cell = try fixed(.double, &reader)
        case 5:
            let text = try reader.readBytes(reader.remaining)
            guard text.isUTF8 else { throw Damage(.malformedText, offset: 1) }
            cell = .string(text)
        case 6: cell = .data(try reader.readBytes(reader.remaining))
        case 7:
            let seconds = try reader.readInt64()
            let nanoseconds = Int64(try reader.read(Int32.self))
            guard try reader.readUInt32() == 0 else {
                throw Damage("bytes of a date that must be zero are not", at: 13)
            }
            cell = try date(seconds, nanoseconds, at: 1)
        case 8: cell = try fixed(.objectID, &reader)
        case 9: cell = try fixed(.uuid, &reader)
        case 10: cell = try fixed(.decimal, &reader)
        case 11: cell = .link(try reader.readInt64())
        case 12:
            let table = try reader.readUInt32()
            cell = .anyLink(table: Int(table), key: try reader.readInt64())
        case 13, 14:
            var elements: [Cell] = []
            for _ in 0..<(try reader.readCount(limit: reader.remaining)) {
                elements.append(try mixed(try reader.readLengthPrefixed(), depth: depth + 1))
            }
            cell = tag == 13 ? .list(elements) : .set(elements)
        case 15:
            var entries: [(key: UnsafeRawBufferPointer, value: Cell)] = []
            for _ in 0..<(try reader.readCount(limit: reader.remaining)) {
                let key = try reader.readLengthPrefixed()
                guard key.isUTF8 else { throw Damage(.malformedText, offset: reader.offset) }
                entries.append((key, try mixed(try reader.readLengthPrefixed(), depth: depth + 1)))
            }
            cell = .map(entries)
        default: throw Damage("a mixed value has the unknown tag \(tag)", at: 0)
        }
        try reader.expectEnd()
        return cell
    }

    static func date(_ seconds: Int64, _ nanoseconds: Int64, at offset: Int) throws(Damage) -> Cell {
        guard (-999_999_999...999_999_999).contains(nanoseconds),
            nanoseconds == 0 || seconds == 0 || (seconds < 0) == (nanoseconds < 0)
        else {
            throw Damage("a date has \(seconds) seconds and \(nanoseconds) nanoseconds", at: offset)
        }
        return .date(seconds: seconds, nanoseconds: nanoseconds)
    }
}

/// Checks of text.
enum Text {
    /// Whether each of the texts that lie one after another in `bytes` is UTF-8: all of `bytes` is, and no text
    /// begins within a character.
    static func areUTF8(_ bytes: UnsafeRawBufferPointer, starts: [Int32]) -> Bool {
        if bytes.isASCII { return true }
        guard String(validating: bytes, as: UTF8.self) != nil else { return false }
        return starts.allSatisfy { Int($0) >= bytes.count || bytes[Int($0)] & 0xC0 != 0x80 }
    }
}

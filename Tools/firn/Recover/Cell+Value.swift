import FirnCore

extension Cell {
    /// The value as Firn's store takes it. It owns its bytes.
    var value: Value {
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
        case .link(let key): return .link(key)
        // A number that is too high becomes the highest, which no table has. So a forged link leads nowhere.
        case .anyLink(let table, let key): return .typedLink(TableID(rawValue: UInt32(clamping: table)), key)
        case .list(let cells): return .list(cells.map(\.value))
        case .set(let cells): return .set(cells.map(\.value))
        case .map(let entries):
            return .map(
                entries.map { entry in
                    Value.MapEntry(key: String(decoding: entry.key, as: UTF8.self), value: entry.value.value)
                })
        }
    }
}

/// The bytes of a value of a fixed-width type: the same in a chunk, in an element of a collection and in a mixed
/// value.
///
/// ```
/// bool      1  0 or 1                         objectID 12  three u32, each of four big-endian bytes
/// int, link 8  i64; a link of -1 is null      date     16  seconds i64 · nanoseconds i32 · 0 u32
/// float     4  IEEE bits                      uuid     16  two u64, each of eight big-endian bytes
/// double    8  IEEE bits                      decimal  16  high u64 · low u64
/// ```
///
/// Numbers are little-endian. Addresses need no alignment.
enum FixedCoding {
    /// Returns the value at `address`. A link of -1 is returned as null.
    static func load(_ address: UnsafeRawPointer, as type: ColumnType) -> Value {
        switch type {
        case .bool: return .bool(address.load(as: UInt8.self) != 0)
        case .int: return .int(address.loadUnaligned(as: Int64.self))
        case .float: return .float(address.loadUnaligned(as: Float.self))
        case .double: return .double(address.loadUnaligned(as: Double.self))
        case .date: return .date(address.loadUnaligned(as: Timestamp.self))
        case .objectID: return .objectID(address.loadUnaligned(as: ObjectIDBytes.self))
        case .uuid: return .uuid(address.loadUnaligned(as: UUIDBytes.self))
        case .decimal: return .decimal(address.loadUnaligned(as: DecimalBits.self))
        case .link:
            let key = address.loadUnaligned(as: Int64.self)
            return key < 0 ? .null : .link(key)
        case .string, .data, .mixed: preconditionFailure("Firn: type \(type) has no fixed width")
        }
    }

    /// Writes `type.fixedWidth` bytes. Null is written as zeros, and a null link as -1.
    static func store(_ value: Value, as type: ColumnType, to address: UnsafeMutableRawPointer) {
        switch (type, value) {
        case (.bool, .bool(let x)): address.storeBytes(of: x ? 1 : 0, as: UInt8.self)
        case (.int, .int(let x)): address.storeBytes(of: x, as: Int64.self)
        case (.float, .float(let x)): address.storeBytes(of: x, as: Float.self)
        case (.double, .double(let x)): address.storeBytes(of: x, as: Double.self)
        case (.date, .date(let x)): address.storeBytes(of: x, as: Timestamp.self)
        case (.objectID, .objectID(let x)): address.storeBytes(of: x, as: ObjectIDBytes.self)
        case (.uuid, .uuid(let x)): address.storeBytes(of: x, as: UUIDBytes.self)
        case (.decimal, .decimal(let x)): address.storeBytes(of: x, as: DecimalBits.self)
        case (.link, .link(let x)): address.storeBytes(of: x, as: Int64.self)
        case (.link, .null): address.storeBytes(of: -1, as: Int64.self)
        case (_, .null):
            address.initializeMemory(as: UInt8.self, repeating: 0, count: type.fixedWidth.unsafelyUnwrapped)
        default: preconditionFailure("Firn: \(value) is not a value of type \(type)")
        }
    }
}

/// A value of any column type as plain bytes without a length:
/// - fixed types as in `FixedCoding`
/// - strings as UTF-8
/// - data as it is
/// - mixed values as in `MixedCoding`
///
/// Null has no bytes.
enum PlainCoding {
    static func load(_ bytes: UnsafeRawBufferPointer, as type: ColumnType) -> Value {
        switch type {
        case .string: return .string(String(decoding: bytes, as: UTF8.self))
        case .data: return .data([UInt8](bytes))
        case .mixed: return MixedCoding.decodeTrusted(bytes)
        default:
            assert(bytes.count == type.fixedWidth, "Firn: \(bytes.count) bytes are not a value of type \(type)")
            return FixedCoding.load(bytes.baseAddress.unsafelyUnwrapped, as: type)
        }
    }

    /// Calls `body` with the bytes of `value`, or with nil for null.
    static func withBytes<R>(_ value: Value, as type: ColumnType, _ body: (UnsafeRawBufferPointer?) -> R) -> R {
        switch (type, value) {
        case (_, .null): return body(nil)
        case (.string, .string(let string)):
            if let result = string.utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) {
                return result
            }
            return Array(string.utf8).withUnsafeBytes { body($0) }
        case (.data, .data(let data)): return data.withUnsafeBytes { body($0) }
        case (.mixed, _):
            var bytes: [UInt8] = []
            MixedCoding.encode(value, into: &bytes)
            return bytes.withUnsafeBytes { body($0) }
        default:
            guard let width = type.fixedWidth else {
                preconditionFailure("Firn: \(value) is not a value of type \(type)")
            }
            return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { buffer in
                FixedCoding.store(value, as: type, to: buffer.baseAddress.unsafelyUnwrapped)
                return body(UnsafeRawBufferPointer(rebasing: buffer[..<width]))
            }
        }
    }
}

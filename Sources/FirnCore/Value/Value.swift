import CFirn

/// One value of a property, of any type. The dynamic parts of Firn, changesets and tests use it; hot paths use the
/// typed functions instead.
///
/// Values are equal if the store treats them as equal. Doubles and floats are equal if their bits are equal (so NaN
/// equals itself) or both are zero. Strings are equal if their UTF-8 bytes are equal.
public enum Value: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int64)
    case float(Float)
    case double(Double)
    case string(String)
    case data([UInt8])
    case date(Timestamp)
    case objectID(ObjectIDBytes)
    case uuid(UUIDBytes)
    case decimal(DecimalBits)
    /// A link to an object of the column's target table.
    case link(Int64)
    /// A link from a mixed value.
    case typedLink(TableID, Int64)
    case list([Value])
    /// A set's elements in their total order (`order`).
    case set([Value])
    /// A map's entries, in ascending order of the bytes of their keys.
    case map([MapEntry])

    public struct MapEntry: Sendable, Hashable {
        public var key: String
        public var value: Value

        public init(key: String, value: Value) {
            self.key = key
            self.value = value
        }

        /// Keys are compared by their bytes, like other strings.
        public static func == (a: MapEntry, b: MapEntry) -> Bool {
            Value.sameBytes(a.key, b.key) && a.value == b.value
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(Value.string(key))
            hasher.combine(value)
        }
    }

    public static func == (a: Value, b: Value) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let x), .bool(let y)): x == y
        case (.int(let x), .int(let y)): x == y
        case (.float(let x), .float(let y)): x.bitPattern == y.bitPattern || x == y
        case (.double(let x), .double(let y)): x.bitPattern == y.bitPattern || x == y
        case (.string(let x), .string(let y)): Value.sameBytes(x, y)
        case (.data(let x), .data(let y)): x == y
        case (.date(let x), .date(let y)): x == y
        case (.objectID(let x), .objectID(let y)): x == y
        case (.uuid(let x), .uuid(let y)): x == y
        case (.decimal(let x), .decimal(let y)): x == y
        case (.link(let x), .link(let y)): x == y
        case (.typedLink(let t, let x), .typedLink(let u, let y)): t == u && x == y
        case (.list(let x), .list(let y)), (.set(let x), .set(let y)): x == y
        case (.map(let x), .map(let y)): x == y
        default: false
        }
    }

    /// Compares strings as bytes, not as text: two encodings of the same letter are different.
    public static func sameBytes(_ a: String, _ b: String) -> Bool {
        guard a.utf8.count == b.utf8.count else { return false }
        var (a, b) = (a, b)
        return a.withUTF8 { x in b.withUTF8 { y in firn_same_bytes(x.baseAddress, y.baseAddress, x.count) } }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let x): hasher.combine(x)
        case .int(let x): hasher.combine(x)
        case .float(let x): hasher.combine(x == 0 ? 0 : x.bitPattern)
        case .double(let x): hasher.combine(x == 0 ? 0 : x.bitPattern)
        case .string(let x):
            var text = x
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .data(let x): hasher.combine(x)
        case .date(let x): hasher.combine(x)
        case .objectID(let x): hasher.combine(x)
        case .uuid(let x): hasher.combine(x)
        case .decimal(let x): hasher.combine(x)
        case .link(let x): hasher.combine(x)
        case .typedLink(let t, let x):
            hasher.combine(t)
            hasher.combine(x)
        case .list(let x), .set(let x): hasher.combine(x)
        case .map(let x): hasher.combine(x)
        }
    }
}

/// A point in time: seconds and nanoseconds since 1970-01-01T00:00:00Z, both of the same sign. It uses 12 bytes of a
/// 16-byte cell.
@frozen
public struct Timestamp: Sendable, Hashable, Comparable, BitwiseCopyable {
    public var seconds: Int64
    public var nanoseconds: Int32
    private var padding: Int32 = 0

    /// `seconds` and `nanoseconds` must not differ in sign, and `nanoseconds` must be within ±999,999,999.
    public init(seconds: Int64, nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    public static func < (a: Timestamp, b: Timestamp) -> Bool {
        a.seconds != b.seconds ? a.seconds < b.seconds : a.nanoseconds < b.nanoseconds
    }
}

/// The twelve bytes of an object id as three big-endian words, so that comparing numbers compares bytes.
@frozen
public struct ObjectIDBytes: Sendable, Hashable, Comparable, BitwiseCopyable {
    /// Bytes 0–3, 4–7 and 8–11, each read big-endian.
    public var words: (UInt32, UInt32, UInt32)

    public init(a: UInt32, b: UInt32, c: UInt32) { words = (a, b, c) }

    public static func == (a: ObjectIDBytes, b: ObjectIDBytes) -> Bool { a.words == b.words }
    public static func < (a: ObjectIDBytes, b: ObjectIDBytes) -> Bool { a.words < b.words }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
    }
}

/// The sixteen bytes of a UUID as two big-endian halves, so that comparing numbers compares bytes.
@frozen
public struct UUIDBytes: Sendable, Hashable, Comparable, BitwiseCopyable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    public static func < (a: UUIDBytes, b: UUIDBytes) -> Bool { a.high != b.high ? a.high < b.high : a.low < b.low }
}

/// The sixteen bytes of an IEEE 754-2008 decimal128 in its binary-integer encoding.
@frozen
public struct DecimalBits: Sendable, Hashable, BitwiseCopyable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

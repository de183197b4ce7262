extension Value {
    /// The total order of all values. The result is negative if `a` comes before `b`, positive if it comes after `b`,
    /// and 0 if they are equal in this order.
    ///
    /// * null < bool < numbers < string < data < date < object id < uuid < links < lists < sets < maps.
    /// * Numbers of all types compare by their exact value, also beyond 2^53. Zeros are equal whatever their sign, and
    ///   so are 1, 1.0 and the decimals 1.0 and 1.00. NaNs come before all other numbers; they compare by type (float,
    ///   double, decimal), then by bits.
    /// * Strings compare by their UTF-8 bytes, data by bytes; links by table, then key; collections by their first
    ///   differing elements, then count.
    ///
    /// Two values that are `==` are equal here. The reverse does not hold for numbers of different types, nor for
    /// decimals such as 1.0 and 1.00. A set holds only one of several values that are equal here.
    package static func order(_ a: Value, _ b: Value) -> Int {
        switch (a, b) {
        case (.int(let x), .int(let y)): return sign(x, y)
        case (.string(let x), .string(let y)): return order(utf8: x, y)
        case (.bool(let x), .bool(let y)): return (x ? 1 : 0) - (y ? 1 : 0)
        case (.data(let x), .data(let y)):
            return x.withUnsafeBytes { x in y.withUnsafeBytes { order(bytes: x, $0) } }
        case (.date(let x), .date(let y)): return sign(x, y)
        case (.objectID(let x), .objectID(let y)): return sign(x, y)
        case (.uuid(let x), .uuid(let y)): return sign(x, y)
        case (.link(let x), .link(let y)): return sign(x, y)
        case (.typedLink(let t, let x), .typedLink(let u, let y)): return t == u ? sign(x, y) : sign(t, u)
        case (.list(let x), .list(let y)), (.set(let x), .set(let y)): return order(elements: x, y)
        case (.map(let x), .map(let y)): return order(entries: x, y)
        default:
            let ranks = (a.rank, b.rank)
            if ranks.0 == ranks.1, let x = a.number, let y = b.number { return Number.order(x, y) }
            return ranks.0 - ranks.1
        }
    }

    /// Whether `a` comes before `b` in the total order.
    package static func precedes(_ a: Value, _ b: Value) -> Bool { order(a, b) < 0 }

    /// The rank of the value's type in the order of types.
    private var rank: Int {
        switch self {
        case .null: 0
        case .bool: 1
        case .int, .float, .double, .decimal: 2
        case .string: 3
        case .data: 4
        case .date: 5
        case .objectID: 6
        case .uuid: 7
        case .link: 8
        case .typedLink: 9
        case .list: 10
        case .set: 11
        case .map: 12
        }
    }

    private var number: Number? {
        switch self {
        case .int(let x): .int(x)
        case .float(let x): .float(x)
        case .double(let x): .double(x)
        case .decimal(let x): .decimal(x)
        default: nil
        }
    }

    @inline(__always)
    private static func sign<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a == b ? 0 : 1 }

    /// Compares bytes as unsigned numbers. A prefix comes before a longer sequence.
    static func order(bytes a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let common = min(a.count, b.count)
        var offset = 0
        while offset &+ 8 <= common {
            let x = a.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let y = b.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if x != y { return x.bigEndian < y.bigEndian ? -1 : 1 }
            offset &+= 8
        }
        while offset < common {
            if a[offset] != b[offset] { return a[offset] < b[offset] ? -1 : 1 }
            offset &+= 1
        }
        return sign(a.count, b.count)
    }

    static func order(utf8 a: String, _ b: String) -> Int {
        PlainCoding.withBytes(.string(a), as: .string) { x in
            PlainCoding.withBytes(.string(b), as: .string) { order(bytes: x.unsafelyUnwrapped, $0.unsafelyUnwrapped) }
        }
    }

    private static func order(elements a: [Value], _ b: [Value]) -> Int {
        for (x, y) in zip(a, b) {
            let result = order(x, y)
            if result != 0 { return result }
        }
        return sign(a.count, b.count)
    }

    private static func order(entries a: [MapEntry], _ b: [MapEntry]) -> Int {
        for (x, y) in zip(a, b) {
            let keys = order(utf8: x.key, y.key)
            if keys != 0 { return keys }
            let result = order(x.value, y.value)
            if result != 0 { return result }
        }
        return sign(a.count, b.count)
    }
}

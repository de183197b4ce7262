import CFirn
import FirnCore

/// A property to sort by.
package struct SortDescriptor: Sendable, Hashable {
    package var path: PropertyPath
    package var isAscending: Bool

    package init(_ path: PropertyPath, ascending: Bool = true) {
        self.path = path
        isAscending = ascending
    }
}

/// A sort descriptor bound to columns. It turns the value of each row into **words**: numbers that have the same order
/// as the values.
///
/// ```
/// word 0                     a null
/// word 1 … UInt64.max - 1    a value
/// word UInt64.max            behind a nil link (last in ascending order)
///
///   bool, float, double        the whole value; all NaNs share the lowest word
///   int                        the whole value; two values share a word only at either end of the range,
///                              and the word at depth 1 separates them
///   string, data, date, uuid,  ┌────────────────────────────┬─────────────────────────────┐  depth d: bytes from 7d;
///   object id                  │ 7 bytes, filled with zeros │ 1 + bytes left, at most 9   │  9 means: go deeper
///                              └────────────────────────────┴─────────────────────────────┘
///   decimal, mixed             1, and the values decide
/// ```
struct SortKey: Sendable {
    let path: BoundPath
    let isAscending: Bool

    /// Beyond this depth whole values are compared: long equal prefixes are not worth one pass per 7 bytes.
    static let maximumDepth = 8

    /// Whether two values with this word at this depth may still differ.
    @inline(__always)
    func isOpen(_ word: UInt64, depth: Int) -> Bool {
        if word == 0 || word == .max { return false }
        switch path.type {
        case .bool, .float, .double: return false
        case .int: return depth == 0 && (word == 1 || word == .max - 1)
        case .decimal, .mixed, .link: return true
        case .string, .data, .date, .uuid, .objectID: return word & 0xFF == 9
        }
    }

    /// The row that holds the value. Nil behind a nil link.
    @inline(__always)
    func locate(_ leaf: Leaf, row: Int, in context: QueryContext) -> (leaf: Leaf, row: Int)? {
        var location = (leaf: leaf, row: row)
        for step in path.steps {
            guard case .link(let column, let target) = step else { return nil }
            let key: Int64 = location.leaf.load(column, location.row)
            guard key >= 0, let next = context.table(target).find(key) else { return nil }
            location = next
        }
        return location
    }

    var column: Int {
        guard case .value(let column) = path.end else { preconditionFailure("Firn: a sort key is a column") }
        return column
    }

    /// The word of a row for ascending order.
    @inline(__always)
    func word(_ leaf: Leaf, row: Int, depth: Int, in context: QueryContext) -> UInt64 {
        guard !path.steps.isEmpty else { return word(at: leaf, row, depth) }
        guard let location = locate(leaf, row: row, in: context) else { return .max }
        return word(at: location.leaf, location.row, depth)
    }

    @inline(__always)
    private func word(at leaf: Leaf, _ row: Int, _ depth: Int) -> UInt64 {
        switch path.type {
        case .string, .data:
            guard let bytes = leaf.cell(column, row).bytes else { return 0 }
            return SortKey.word(bytes, depth)
        case .decimal, .mixed, .link: return leaf.isNull(column, row) ? 0 : 1
        default: break
        }
        if path.isNullable, leaf.isNull(column, row) { return 0 }
        switch path.type {
        case .bool: return UInt64(leaf.load(column, row, as: UInt8.self)) + 1
        case .int:
            let value = UInt64(bitPattern: leaf.load(column, row, as: Int64.self)) ^ 1 << 63
            if depth > 0 { return value == 0 || value == .max - 1 ? 1 : 2 }
            return min(max(value, 1), .max - 1)
        case .float: return SortKey.word(Double(leaf.load(column, row, as: Float.self)))
        case .double: return SortKey.word(leaf.load(column, row, as: Double.self))
        case .date:
            let date: Timestamp = leaf.load(column, row)
            return SortKey.word(
                UInt64(bitPattern: date.seconds) ^ 1 << 63,
                low: UInt64(UInt32(bitPattern: date.nanoseconds) ^ 1 << 31) << 32, count: 12, depth: depth)
        case .uuid:
            let uuid: UUIDBytes = leaf.load(column, row)
            return SortKey.word(uuid.high, low: uuid.low, count: 16, depth: depth)
        default:
            let id = leaf.load(column, row, as: (UInt32, UInt32, UInt32).self)
            return SortKey.word(UInt64(id.0) << 32 | UInt64(id.1), low: UInt64(id.2) << 32, count: 12, depth: depth)
        }
    }

    @inline(__always)
    private static func word(_ value: Double) -> UInt64 {
        var word: UInt64 = 0
        withUnsafePointer(to: value) { firn_words_f64($0, 1, &word) }
        return word
    }

    /// The word for 7 bytes of a value that consists of two words, the higher one first.
    private static func word(_ high: UInt64, low: UInt64, count: Int, depth: Int) -> UInt64 {
        let value = UInt128(high) << 64 | UInt128(low)
        let bytes = UInt64(truncatingIfNeeded: (value << UInt128(56 * depth)) >> 64)
        return bytes & ~0xFF | UInt64(min(max(count - 7 * depth, 0), 8) + 1)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ depth: Int) -> UInt64 {
        let start = 7 &* depth
        let left = bytes.count &- start
        if left >= 8 {
            return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)) & ~0xFF | 9
        }
        var word: UInt64 = 0
        for index in 0..<max(left, 0) { word |= UInt64(bytes[start + index]) << UInt64(56 - 8 * index) }
        return word | UInt64(max(left, 0) + 1)
    }

    /// Computes the words of all rows of a leaf, at depth 0. Returns false if there is no kernel for the column.
    @inline(__always)
    func fillWords(_ leaf: Leaf, _ words: UnsafeMutablePointer<UInt64>) -> Bool {
        guard path.steps.isEmpty, !path.isNullable else { return false }
        let chunk = leaf.chunk(column)
        switch path.type {
        case .int: firn_words_i64(chunk.values(), UInt32(leaf.count), words)
        case .double: firn_words_f64(chunk.values(), UInt32(leaf.count), words)
        default: return false
        }
        return true
    }

    /// Whether a value is a NaN of a float or double. All of them sort as equal, because they are one distinct value.
    private static func isNaN(_ value: Value) -> Bool {
        switch value {
        case .float(let number): number.isNaN
        case .double(let number): number.isNaN
        default: false
        }
    }

    /// Compares two rows by their whole values, in the key's direction.
    func order(_ a: (leaf: Leaf, row: Int), _ b: (leaf: Leaf, row: Int), in context: QueryContext) -> Int {
        let order = ascendingOrder(
            locate(a.leaf, row: a.row, in: context), locate(b.leaf, row: b.row, in: context), in: context)
        return isAscending ? order : -order
    }

    private func ascendingOrder(
        _ a: (leaf: Leaf, row: Int)?, _ b: (leaf: Leaf, row: Int)?, in context: QueryContext
    ) -> Int {
        guard let a, let b else { return (a == nil ? 1 : 0) - (b == nil ? 1 : 0) }
        switch path.type {
        case .string, .data:
            let x = a.leaf.cell(column, a.row).bytes
            let y = b.leaf.cell(column, b.row).bytes
            guard let x, let y else { return (x == nil ? 0 : 1) - (y == nil ? 0 : 1) }
            return ByteText.order(x, y)
        case .decimal, .mixed:
            let table = context.table(path.table)
            let (x, y) = (table.value(column, leaf: a.leaf, row: a.row), table.value(column, leaf: b.leaf, row: b.row))
            return SortKey.isNaN(x) && SortKey.isNaN(y) ? 0 : Value.order(x, y)
        default:
            for depth in 0..<3 {
                let x = word(at: a.leaf, a.row, depth)
                let y = word(at: b.leaf, b.row, depth)
                if x != y { return x < y ? -1 : 1 }
                if !isOpen(x, depth: depth) { return 0 }
            }
            return 0
        }
    }
}

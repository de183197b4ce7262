import CFirn
import FirnCore

/// The range of values that fulfil a comparison with a constant, including both bounds. There is a case for each type
/// that columns have in memory.
enum FixedRange: Sendable, Hashable {
    /// Integers and links.
    case int64(Int64, Int64)
    case double(Double, Double)
    case float(Float, Float)
    case bool(UInt8, UInt8)
    case date(Timestamp, Timestamp)
    case uuid(UUIDBytes, UUIDBytes)
    case objectID(ObjectIDBytes, ObjectIDBytes)
}

/// Tests whether a fixed-width column's value lies in a range. Makes one call of a column kernel (`CFirn`) per leaf.
struct RangeNode: QueryNode {
    let column: Int
    let name: String
    let range: FixedRange
    /// Whether the rows outside the range match, and not those in it.
    let isNegated: Bool
    /// Whether a null matches.
    let matchesNull: Bool
    let isNullable: Bool

    var cost: Double {
        switch range {
        case .int64, .double: 0.3
        case .float, .bool: 0.2
        case .date, .uuid, .objectID: 1
        }
    }

    var explanation: String {
        let bounds =
            switch range {
            case .int64(let low, let high): low == high ? "\(low)" : "\(low)...\(high)"
            case .double(let low, let high): low == high ? "\(low)" : "\(low)...\(high)"
            case .float(let low, let high): low == high ? "\(low)" : "\(low)...\(high)"
            case .bool(let low, let high): low == high ? "\(low == 1)" : "\(low)...\(high)"
            case .date(let low, let high): "T\(low.seconds):\(low.nanoseconds)...T\(high.seconds):\(high.nanoseconds)"
            case .uuid, .objectID: "a range of ids"
            }
        return "scan \(name) \(isNegated ? "outside" : "in") \(bounds)\(matchesNull && isNullable ? " or null" : "")"
    }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        var found = RowMask()
        if case .int64(let low, let high) = range, !isNullable, let packed = leaf.packedIntegers(column),
            found.withWords({ packed.select(low, high: high, count: leaf.count, into: $0) })
        {
            rows = isNegated ? rows - found : rows & found
            return
        }
        let chunk = leaf.chunk(column)
        let count = UInt32(truncatingIfNeeded: leaf.count)
        found.withWords { mask in
            switch range {
            case .int64(let low, let high): firn_select_i64(chunk.values(), count, low, high, mask)
            case .double(let low, let high): firn_select_f64(chunk.values(), count, low, high, mask)
            case .float(let low, let high): firn_select_f32(chunk.values(), count, low, high, mask)
            case .bool(let low, let high): firn_select_u8(chunk.values(), count, low, high, mask)
            case .date(let low, let high):
                firn_select_date(
                    chunk.values(), count, low.seconds, low.nanoseconds, high.seconds, high.nanoseconds, mask)
            case .uuid(let low, let high): RangeNode.uuids(chunk, count: count, low: low, high: high, into: mask)
            case .objectID(let low, let high):
                RangeNode.objectIDs(chunk, count: count, low: low, high: high, into: mask)
            }
        }
        if isNegated { found = rows - found } else { found = rows & found }
        if isNullable {
            // The bytes of a null are zeros, which the kernel has tested like a value.
            let nulls = RowMask.nulls(chunk, leaf.count)
            found = matchesNull ? found | (rows & nulls) : found - nulls
        }
        rows = found
    }

    private static func uuids(
        _ chunk: Chunk, count: UInt32, low: UUIDBytes, high: UUIDBytes, into mask: UnsafeMutablePointer<UInt64>
    ) {
        withUnsafeBytes(of: (low, high)) {
            let words = $0.assumingMemoryBound(to: UInt64.self).baseAddress.unsafelyUnwrapped
            firn_select_u128(chunk.values(), count, words, words + 2, mask)
        }
    }

    private static func objectIDs(
        _ chunk: Chunk, count: UInt32, low: ObjectIDBytes, high: ObjectIDBytes,
        into mask: UnsafeMutablePointer<UInt64>
    ) {
        withUnsafeBytes(of: (low, high)) {
            let words = $0.assumingMemoryBound(to: UInt32.self).baseAddress.unsafelyUnwrapped
            firn_select_u96(chunk.values(), count, words, words + 3, mask)
        }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        if isNullable, leaf.isNullFlag(column, row) { return matchesNull }
        func isIn<T: BitwiseCopyable & Comparable>(_ low: T, _ high: T) -> Bool {
            let value: T = leaf.load(column, row)
            return value >= low && value <= high
        }
        let isInside: Bool =
            switch range {
            case .int64(let low, let high): isIn(low, high)
            case .double(let low, let high): isIn(low, high)
            case .float(let low, let high): isIn(low, high)
            case .bool(let low, let high): isIn(low, high)
            case .date(let low, let high): isIn(low, high)
            case .uuid(let low, let high): isIn(low, high)
            case .objectID(let low, let high): isIn(low, high)
            }
        return isInside != isNegated
    }
}

/// Tests whether a nullable column's value is null.
struct NullNode: QueryNode {
    let column: Int
    let name: String
    let isNegated: Bool
    var cost: Double { 0.2 }
    var explanation: String { "scan \(name) \(isNegated ? "is not" : "is") null" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        let nulls = RowMask.nulls(leaf.chunk(column), leaf.count)
        rows = isNegated ? rows - nulls : rows & nulls
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        leaf.isNull(column, row) != isNegated
    }
}

/// Tests whether the value of a column of ints or links is one of many values.
struct IntSetNode: QueryNode {
    let column: Int
    let name: String
    let values: Set<Int64>
    let isNegated: Bool
    let matchesNull: Bool
    let isNullable: Bool
    var cost: Double { 15 }
    var explanation: String { "scan \(name) \(isNegated ? "not in" : "in") \(values.count) values" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        rows.filter { matches(leaf, row: $0, in: context) }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        if isNullable, leaf.isNullFlag(column, row) { return matchesNull }
        return values.contains(leaf.load(column, row)) != isNegated
    }
}

/// Compares two columns of ints, or two of doubles, neither of them nullable.
struct ColumnPairNode: QueryNode {
    enum Relation { case equal, less }
    let left: Int
    let right: Int
    let name: String
    let isDouble: Bool
    let relation: Relation
    let isNegated: Bool
    var cost: Double { 0.4 }
    var explanation: String { "scan \(name)" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        let (a, b) = (leaf.chunk(left), leaf.chunk(right))
        let count = UInt32(truncatingIfNeeded: leaf.count)
        var found = RowMask()
        found.withWords { mask in
            switch (relation, isDouble) {
            case (.equal, false): firn_equal_i64(a.values(), b.values(), count, mask)
            case (.less, false): firn_less_i64(a.values(), b.values(), count, mask)
            case (.equal, true): firn_equal_f64(a.values(), b.values(), count, mask)
            case (.less, true): firn_less_f64(a.values(), b.values(), count, mask)
            }
        }
        rows = isNegated ? rows - found : rows & found
    }
}

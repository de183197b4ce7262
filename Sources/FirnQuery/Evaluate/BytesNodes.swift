import CFirn
import FirnCore

/// Tests whether a string or data column's bytes equal a constant, begin or end with it, contain it, or are ordered
/// before or behind it. Calls one kernel per leaf, and allocates no `String`.
struct BytesNode: QueryNode {
    let column: Int
    let name: String
    let relation: BytesRelation
    let needle: [UInt8]
    let isNegated: Bool
    /// Whether a null matches.
    let matchesNull: Bool

    var cost: Double {
        switch relation {
        case .equal: 2
        case .begins, .ends: 3
        case .order: 5
        case .contains: 15
        }
    }

    var explanation: String {
        let verb =
            switch relation {
            case .equal: "equal to"
            case .begins: "beginning with"
            case .ends: "ending with"
            case .contains: "containing"
            case .order(let wanted): ["", "below", "", "up to", "above", "", "from"][Int(wanted & 7) % 7]
            }
        return "scan \(name) \(isNegated ? "not " : "")\(verb) \(needle.count) bytes"
    }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        let chunk = leaf.chunk(column)
        var found = rows
        var others = RowMask()
        let count = UInt32(truncatingIfNeeded: leaf.count)
        needle.withUnsafeBufferPointer { needle in
            let bytes = needle.baseAddress
            let length = UInt32(clamping: needle.count)
            let heap = UnsafePointer(chunk.heap.assumingMemoryBound(to: UInt8.self))
            let slots = chunk.slots
            found.withWords { rows in
                others.withWords { others in
                    switch relation {
                    case .equal: firn_bytes_equal(slots, heap, count, bytes, length, rows, others)
                    case .begins: firn_bytes_begin(slots, heap, count, bytes, length, rows, others)
                    case .ends: firn_bytes_end(slots, heap, count, bytes, length, rows, others)
                    case .contains: firn_bytes_contain(slots, heap, count, bytes, length, rows, others)
                    case .order(let wanted): firn_bytes_order(slots, heap, count, bytes, length, wanted, rows, others)
                    }
                }
            }
        }
        if !others.isEmpty {
            others.filter { holds(chunk, $0) }
            found = found | others
        }
        if isNegated { found = rows - found }
        if isNegated || matchesNull {
            let nulls = RowMask.nulls(chunk, leaf.count)
            found = matchesNull ? found | (rows & nulls) : found - nulls
        }
        rows = found
    }

    private func holds(_ chunk: Chunk, _ row: Int) -> Bool {
        guard let value = chunk.bytes(row) else { return false }
        return needle.withUnsafeBytes { relation.holds(value, $0) }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        guard let value = leaf.cell(column, row).bytes else { return matchesNull }
        return needle.withUnsafeBytes { relation.holds(value, $0) } != isNegated
    }
}

/// Tests a string column by LIKE or a comparison with options. Each row's text is folded into a scratch buffer.
struct FoldedTextNode: QueryNode {
    let column: Int
    let name: String
    let test: TextTest
    let isNegated: Bool
    let matchesNull: Bool
    var cost: Double { 40 }
    var explanation: String { "scan \(name) \(isNegated ? "not " : "")\(test.explanation)" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        let chunk = leaf.chunk(column)
        var scratch: [UInt8] = []
        rows.filter { isMatch(chunk.bytes($0), &scratch) }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        var scratch: [UInt8] = []
        return isMatch(leaf.cell(column, row).bytes, &scratch)
    }

    private func isMatch(_ value: UnsafeRawBufferPointer?, _ scratch: inout [UInt8]) -> Bool {
        guard let value else { return matchesNull }
        return test.holds(value, &scratch) != isNegated
    }
}

/// Tests whether the value of a string or data column is one of many values.
struct BytesSetNode: QueryNode {
    let column: Int
    let name: String
    let values: ByteSet
    let isNegated: Bool
    let matchesNull: Bool
    var cost: Double { 20 }
    var explanation: String { "scan \(name) \(isNegated ? "not in" : "in") \(values.count) values" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        let chunk = leaf.chunk(column)
        rows.filter { isMatch(chunk.bytes($0)) }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        isMatch(leaf.cell(column, row).bytes)
    }

    private func isMatch(_ value: UnsafeRawBufferPointer?) -> Bool {
        guard let value else { return matchesNull }
        return values.contains(value) != isNegated
    }
}

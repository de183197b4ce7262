import FirnCore

/// Matches every row, or none.
struct ConstantNode: QueryNode {
    let value: Bool
    var cost: Double { 0 }
    var explanation: String { value ? "every object" : "no object" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        if !value { rows = RowMask() }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool { value }
}

/// Tests that all conditions hold. The cheapest one narrows the rows first, and the others test only the remaining
/// rows.
struct AndNode: QueryNode {
    let parts: [any QueryNode]

    init(_ parts: [any QueryNode]) { self.parts = parts.sorted { $0.cost < $1.cost } }

    var cost: Double { parts.reduce(0) { $0 + $1.cost } }
    var explanation: String { "(" + parts.map(\.explanation).joined(separator: " and then ") + ")" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        for part in parts {
            part.narrow(&rows, leaf: leaf, in: context)
            if rows.isEmpty { return }
        }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        parts.allSatisfy { $0.matches(leaf, row: row, in: context) }
    }
}

/// Tests that at least one condition holds. Each one tests only the rows that no cheaper one has matched.
struct OrNode: QueryNode {
    let parts: [any QueryNode]

    init(_ parts: [any QueryNode]) { self.parts = parts.sorted { $0.cost < $1.cost } }

    var cost: Double { parts.reduce(0) { $0 + $1.cost } }
    var explanation: String { "(" + parts.map(\.explanation).joined(separator: " or else ") + ")" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        var remaining = rows
        for part in parts {
            var matching = remaining
            part.narrow(&matching, leaf: leaf, in: context)
            remaining = remaining - matching
            if remaining.isEmpty { return }
        }
        rows = rows - remaining
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        parts.contains { $0.matches(leaf, row: row, in: context) }
    }
}

/// Tests that the condition does not hold.
struct NotNode: QueryNode {
    let part: any QueryNode
    var cost: Double { part.cost }
    var explanation: String { "not " + part.explanation }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        var matching = rows
        part.narrow(&matching, leaf: leaf, in: context)
        rows = rows - matching
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        !part.matches(leaf, row: row, in: context)
    }
}

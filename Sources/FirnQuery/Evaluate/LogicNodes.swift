import FirnCore

/// Every row, or none.
struct ConstantNode: QueryNode {
    let value: Bool
    var cost: Double { 0 }
    var explanation: String { value ? "every object" : "no object" }

    func narrow(_ rows: inout RowMask, _ leaf: Leaf, _ context: QueryContext) {
        if !value { rows = RowMask() }
    }

    func matches(_ leaf: Leaf, _ row: Int, _ context: QueryContext) -> Bool { value }
}

/// All conditions hold: the cheapest narrows the rows first, and the others see only what is left.
struct AllNode: QueryNode {
    let parts: [any QueryNode]

    init(_ parts: [any QueryNode]) { self.parts = parts.sorted { $0.cost < $1.cost } }

    var cost: Double { parts.reduce(0) { $0 + $1.cost } }
    var explanation: String { "(" + parts.map(\.explanation).joined(separator: " and then ") + ")" }

    func narrow(_ rows: inout RowMask, _ leaf: Leaf, _ context: QueryContext) {
        for part in parts {
            part.narrow(&rows, leaf, context)
            if rows.isEmpty { return }
        }
    }

    func matches(_ leaf: Leaf, _ row: Int, _ context: QueryContext) -> Bool {
        parts.allSatisfy { $0.matches(leaf, row, context) }
    }
}

/// At least one condition holds: each sees only the rows that no cheaper one took.
struct AnyNode: QueryNode {
    let parts: [any QueryNode]

    init(_ parts: [any QueryNode]) { self.parts = parts.sorted { $0.cost < $1.cost } }

    var cost: Double { parts.reduce(0) { $0 + $1.cost } }
    var explanation: String { "(" + parts.map(\.explanation).joined(separator: " or else ") + ")" }

    func narrow(_ rows: inout RowMask, _ leaf: Leaf, _ context: QueryContext) {
        var left = rows
        for part in parts {
            var taken = left
            part.narrow(&taken, leaf, context)
            left = left - taken
            if left.isEmpty { return }
        }
        rows = rows - left
    }

    func matches(_ leaf: Leaf, _ row: Int, _ context: QueryContext) -> Bool {
        parts.contains { $0.matches(leaf, row, context) }
    }
}

/// The condition does not hold.
struct NotNode: QueryNode {
    let part: any QueryNode
    var cost: Double { part.cost }
    var explanation: String { "not " + part.explanation }

    func narrow(_ rows: inout RowMask, _ leaf: Leaf, _ context: QueryContext) {
        var taken = rows
        part.narrow(&taken, leaf, context)
        rows = rows - taken
    }

    func matches(_ leaf: Leaf, _ row: Int, _ context: QueryContext) -> Bool { !part.matches(leaf, row, context) }
}

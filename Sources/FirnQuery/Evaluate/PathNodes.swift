import FirnCore

/// Tests whether the object that a to-one link leads to fulfils a condition.
struct LinkNode: QueryNode {
    let column: Int
    let name: String
    let target: TableID
    let part: any QueryNode
    /// Whether a nil link matches. The path's value is null in that case.
    let matchesNilLink: Bool

    var cost: Double { 60 + part.cost * 8 }
    var explanation: String { "follow \(name) to \(part.explanation)" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        let table = context.table(target)
        rows.filter { row in
            // Each key is loaded by itself: a pointer into an unpacked chunk can't be kept while `part` unpacks
            // others.
            let key: Int64 = leaf.load(column, row)
            guard key >= 0, let location = table.find(key) else { return matchesNilLink }
            return part.matches(location.leaf, row: location.row, in: context)
        }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        let key: Int64 = leaf.load(column, row)
        guard key >= 0, let location = context.table(target).find(key) else { return matchesNilLink }
        return part.matches(location.leaf, row: location.row, in: context)
    }
}

/// Tests whether at least one of the objects in a collection of links, or of the objects that link here, fulfils a
/// condition.
struct AnyLinkNode: QueryNode {
    let table: TableID
    let step: BoundPath.Step
    let name: String
    let part: any QueryNode
    /// Whether the row matches if the step leads to no object.
    var matchesNone = false

    var cost: Double { 200 + part.cost * 20 }
    var explanation: String { "follow any of \(name) to \(part.explanation)" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        rows.filter { matches(leaf, row: $0, in: context) }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        var found = matchesNone
        step.forEachKey(table, leaf: leaf, row: row, in: context) { key, target in
            guard let location = target.find(key) else { return true }
            found = part.matches(location.leaf, row: location.row, in: context)
            return !found
        }
        return found
    }
}

extension BoundPath.Step {
    /// Calls `body` with the key and table of each object that the step leads to, until it returns false.
    func forEachKey(
        _ table: TableID, leaf: Leaf, row: Int, in context: QueryContext, _ body: (Int64, TableView) -> Bool
    ) {
        switch self {
        case .link(let column, let target):
            let key: Int64 = leaf.load(column, row)
            if key >= 0 { _ = body(key, context.table(target)) }
        case .item(let column, let item, let target):
            let key = context.table(table).list(column, leaf: leaf, row: row).link(of: item)
            if let key { _ = body(key, context.table(target)) }
        case .links(let column, let target):
            let view = context.table(target)
            _ = context.table(table).list(column, leaf: leaf, row: row).forEachLink { body($0, view) }
        case .sources(let origin, let column):
            let view = context.table(origin)
            view.forEachSource(of: leaf.key(row), column) { body($0, view) }
        }
    }
}

/// Tests the object itself against constant objects.
struct KeyNode: QueryNode {
    let test: ConstantTest
    var cost: Double { 5 }
    var explanation: String { "object \(test.explanation)" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        rows.filter { test.holds(.link(leaf.key($0))) }
    }
}

/// Tests whether at least one of a path's values passes a test. It serves values of mixed and decimal columns,
/// elements, and values inside them.
struct ValueNode: QueryNode {
    let path: BoundPath
    let test: ConstantTest
    var cost: Double { 150 }
    var explanation: String { "test \(path.text) \(test.explanation)" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        rows.filter { matches(leaf, row: $0, in: context) }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        var found = false
        path.forEachValue(leaf, row: row, in: context) {
            found = test.holds($0)
            return !found
        }
        return found
    }
}

/// Compares two sources that depend on the object. At least one pair of their values must fulfil the operation.
struct RelationNode: QueryNode {
    let left: ValueSource
    let right: ValueSource
    let operation: Comparison.Operation
    let options: Comparison.Options
    let isNegated: Bool
    var cost: Double { 100 + left.cost + right.cost }
    var explanation: String { "compare \(left.text) \(isNegated ? "not " : "")\(operation.keyword) \(right.text)" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        rows.filter { matches(leaf, row: $0, in: context) }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        var found = false
        left.forEachValue(leaf, row: row, in: context) { a in
            right.forEachValue(leaf, row: row, in: context) { b in
                found = ValueComparison.holds(operation, a: a, b: b, options: options) != isNegated
                return !found
            }
            return !found
        }
        return found
    }
}

/// One side of a comparison. Its values usually depend on the object.
indirect enum ValueSource: Sendable {
    case constant(Value)
    case path(BoundPath)
    /// An aggregate over the values of a path.
    case aggregate(PropertyPath.Aggregate, BoundPath)
    /// The number of objects that a path leads to and that fulfil a condition.
    case matchCount(BoundPath, any QueryNode)

    func forEachValue(_ leaf: Leaf, row: Int, in context: QueryContext, _ body: (Value) -> Bool) {
        switch self {
        case .constant(let value): _ = body(value)
        case .path(let path): path.forEachValue(leaf, row: row, in: context, body)
        case .aggregate(.count, let path): _ = body(.int(Int64(path.count(leaf, row: row, in: context))))
        case .aggregate(let aggregate, let path):
            var accumulator = Accumulator(path.type, for: aggregate)
            path.forEachValue(leaf, row: row, in: context) {
                accumulator.add($0)
                return true
            }
            _ = body(accumulator.result(aggregate))
        case .matchCount(let path, let part):
            var count: Int64 = 0
            let table = context.table(path.target ?? path.table)
            path.forEachValue(leaf, row: row, in: context) { value in
                if case .link(let key) = value, let location = table.find(key),
                    part.matches(location.leaf, row: location.row, in: context)
                {
                    count += 1
                }
                return true
            }
            _ = body(.int(count))
        }
    }

    var cost: Double {
        switch self {
        case .constant: 0
        case .path(let path): 50 * Double(path.steps.count + 1)
        case .aggregate(.count, _): 100
        case .aggregate: 500
        case .matchCount(_, let part): 500 + 20 * part.cost
        }
    }

    var text: String {
        switch self {
        case .constant(let value): "\(value)"
        case .path(let path): path.text
        case .aggregate(_, let path): path.text
        case .matchCount(let path, let part): "the number of \(path.text) with \(part.explanation)"
        }
    }
}

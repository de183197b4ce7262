import FirnCore

/// A way to find the objects that may fulfil a condition by indexes, without scanning all objects. Their number is
/// known in advance.
indirect enum IndexAccess {
    /// A range of positions in the order of a column's index.
    case positions(Int, Range<Int>)
    /// The objects whose link in a column leads to a target.
    case sources(Int, target: Int64)
    /// The objects whose link in a column leads to one of the objects that another table's index finds.
    case through(Int, targets: [Int64])
    case union([IndexAccess])

    func count(_ table: TableView) -> Int {
        switch self {
        case .positions(_, let range): range.count
        case .sources(let column, let target): table.sourceCount(of: target, column)
        case .through(let column, let targets): targets.reduce(0) { $0 + table.sourceCount(of: $1, column) }
        case .union(let parts): parts.reduce(0) { $0 + $1.count(table) }
        }
    }

    private func forEachKey(_ table: TableView, _ body: (Int64) -> Void) {
        switch self {
        case .positions(let column, let range):
            table.forEachIndexed(column, positions: range) {
                body($0)
                return true
            }
        case .sources(let column, let target):
            table.forEachSource(of: target, column) {
                body($0)
                return true
            }
        case .through(let column, let targets):
            for target in targets { IndexAccess.sources(column, target: target).forEachKey(table, body) }
        case .union(let parts): for part in parts { part.forEachKey(table, body) }
        }
    }

    /// The keys of the candidates, in ascending order, each once.
    func keys(_ table: TableView) -> [Int64] {
        var keys: [Int64] = []
        keys.reserveCapacity(count(table))
        var isAscending = true
        forEachKey(table) {
            if let last = keys.last, last >= $0 { isAscending = false }
            keys.append($0)
        }
        if isAscending { return keys }
        keys.sort()
        var unique: [Int64] = []
        unique.reserveCapacity(keys.count)
        for key in keys where unique.last != key { unique.append(key) }
        return unique
    }

    var explanation: String {
        switch self {
        case .positions(_, let range): "\(range.count) entries of the index"
        case .sources: "the backlinks of one object"
        case .through(_, let targets): "the backlinks of \(targets.count) objects found by an index"
        case .union(let parts): parts.map(\.explanation).joined(separator: " and ")
        }
    }
}

/// The result of planning: an access, and whether it finds exactly the objects that fulfil the condition, each once.
struct PlannedAccess {
    var access: IndexAccess
    var isExact: Bool
    /// The names of the columns whose indexes are used.
    var columns: [String]
}

/// Finds the indexes that can answer a condition, if there are any.
struct Planner {
    let context: QueryContext

    /// The best access for a condition on a table's objects. Nil if all objects must be scanned.
    func access(_ node: any QueryNode, _ table: TableView) -> PlannedAccess? {
        switch node {
        case let node as RangeNode: range(node, table)
        case let node as BytesNode: bytes(node, table)
        case let node as NullNode where !node.isNegated && table.hasIndex(node.column):
            PlannedAccess(
                access: .positions(node.column, 0..<table.indexUpperBound(node.column, .null)), isExact: true,
                columns: [node.name])
        case let node as IntSetNode: ints(node, table)
        case let node as BytesSetNode: byteSet(node, table)
        case let node as LinkNode: link(node, table)
        case let node as OrNode: any(node, table)
        case let node as AndNode: all(node, table)
        default: nil
        }
    }

    /// Whether looking up the candidates costs less than a scan.
    func isWorthwhile(_ planned: PlannedAccess, node: any QueryNode, table: TableView) -> Bool {
        Double(planned.access.count(table)) * (150 + node.cost) < Double(table.count) * max(node.cost, 0.3)
    }

    private func all(_ node: AndNode, _ table: TableView) -> PlannedAccess? {
        var best: PlannedAccess?
        for part in node.parts {
            guard var found = access(part, table) else { continue }
            found.isExact = false
            if best.map({ found.access.count(table) < $0.access.count(table) }) ?? true { best = found }
        }
        return best
    }

    private func any(_ node: OrNode, _ table: TableView) -> PlannedAccess? {
        var parts: [PlannedAccess] = []
        for part in node.parts {
            guard let found = access(part, table) else { return nil }
            parts.append(found)
        }
        return PlannedAccess(
            access: .union(parts.map(\.access)), isExact: false, columns: Array(Set(parts.flatMap(\.columns))).sorted())
    }

    private func range(_ node: RangeNode, _ table: TableView) -> PlannedAccess? {
        guard !node.isNegated, !(node.matchesNull && node.isNullable) else { return nil }
        let isLink = table.schema.columns[node.column].type == .link
        if isLink {
            guard case .int64(let low, let high) = node.range, low == high, low >= 0 else { return nil }
            return PlannedAccess(access: .sources(node.column, target: low), isExact: true, columns: [node.name])
        }
        guard table.hasIndex(node.column) else { return nil }
        let (low, high) = node.range.bounds
        let from = table.indexLowerBound(node.column, low)
        let through = table.indexUpperBound(node.column, high)
        return PlannedAccess(
            access: .positions(node.column, from..<max(from, through)), isExact: true, columns: [node.name])
    }

    private func bytes(_ node: BytesNode, _ table: TableView) -> PlannedAccess? {
        guard !node.isNegated, !node.matchesNull, table.hasIndex(node.column) else { return nil }
        let column = node.column
        let value = constant(node.needle, column: column, table: table)
        let isShort = node.needle.count <= Limits.indexKeyByteCount - 8
        let range: Range<Int>
        switch node.relation {
        case .equal:
            range = table.indexLowerBound(column, value)..<table.indexUpperBound(column, value)
            return PlannedAccess(
                access: .positions(column, range), isExact: table.isIndexExact(column, value), columns: [node.name])
        case .begins: range = table.indexPositions(column, beginningWith: node.needle)
        case .order(let wanted):
            guard isShort else { return nil }
            let first = table.indexUpperBound(column, .null)
            switch wanted {
            case 1: range = first..<max(first, table.indexLowerBound(column, value))
            case 3: range = first..<max(first, table.indexUpperBound(column, value))
            case 4: range = table.indexUpperBound(column, value)..<table.count
            default: range = table.indexLowerBound(column, value)..<table.count
            }
        case .ends, .contains: return nil
        }
        return PlannedAccess(access: .positions(column, range), isExact: isShort, columns: [node.name])
    }

    private func constant(_ bytes: [UInt8], column: Int, table: TableView) -> Value {
        table.schema.columns[column].type == .string ? .string(String(decoding: bytes, as: UTF8.self)) : .data(bytes)
    }

    private func ints(_ node: IntSetNode, _ table: TableView) -> PlannedAccess? {
        guard !node.isNegated, !(node.matchesNull && node.isNullable) else { return nil }
        let isLink = table.schema.columns[node.column].type == .link
        guard isLink ? !node.values.contains(-1) : table.hasIndex(node.column) else { return nil }
        let parts = node.values.map { value -> IndexAccess in
            if isLink { return .sources(node.column, target: value) }
            let from = table.indexLowerBound(node.column, .int(value))
            return .positions(node.column, from..<table.indexUpperBound(node.column, .int(value)))
        }
        return PlannedAccess(access: .union(parts), isExact: true, columns: [node.name])
    }

    private func byteSet(_ node: BytesSetNode, _ table: TableView) -> PlannedAccess? {
        guard !node.isNegated, !node.matchesNull, table.hasIndex(node.column) else { return nil }
        var isExact = true
        let parts = node.values.elements.map { bytes -> IndexAccess in
            let value = constant(bytes, column: node.column, table: table)
            isExact = isExact && table.isIndexExact(node.column, value)
            return .positions(
                node.column, table.indexLowerBound(node.column, value)..<table.indexUpperBound(node.column, value))
        }
        return PlannedAccess(access: .union(parts), isExact: isExact, columns: [node.name])
    }

    /// Follows the link backwards from the objects that the target table's indexes find, if those are at most 256.
    private func link(_ node: LinkNode, _ table: TableView) -> PlannedAccess? {
        let target = context.table(node.target)
        guard !node.matchesNilLink, let inner = access(node.part, target), inner.access.count(target) <= 256 else {
            return nil
        }
        var targets: [Int64] = []
        for key in inner.access.keys(target) {
            guard let location = target.find(key), node.part.matches(location.leaf, row: location.row, in: context)
            else {
                continue
            }
            targets.append(key)
        }
        return PlannedAccess(
            access: .through(node.column, targets: targets), isExact: true,
            columns: inner.columns.map { "\(node.name).\($0)" })
    }
}

extension FixedRange {
    /// The bounds as values.
    var bounds: (low: Value, high: Value) {
        switch self {
        case .int64(let low, let high): (.int(low), .int(high))
        case .double(let low, let high): (.double(low), .double(high))
        case .float(let low, let high): (.float(low), .float(high))
        case .bool(let low, let high): (.bool(low == 1), .bool(high == 1))
        case .date(let low, let high): (.date(low), .date(high))
        case .uuid(let low, let high): (.uuid(low), .uuid(high))
        case .objectID(let low, let high): (.objectID(low), .objectID(high))
        }
    }
}

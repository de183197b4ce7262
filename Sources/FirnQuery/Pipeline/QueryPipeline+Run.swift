import FirnCore

extension QueryPipeline {
    /// Finds the objects in a version. The caller must hold the version. Cost: see `explain`.
    package func run(in snapshot: Snapshot, from source: Source = .table) -> QueryResult {
        let context = QueryContext(snapshot)
        if case .table = source, filter == nil, stages.isEmpty {
            return QueryResult(content: .wholeTable(count: context.table(table).count), isAscending: true)
        }
        var rest = stages[...]
        if let (keys, limit) = topStages {
            var top = TopRows(limit: limit, keys: keys, in: context)
            forEachSelection(source, in: context) { leaf, rows in
                top.add(leaf, rows)
                return true
            }
            let keys = top.finish()
            rest = rest.dropFirst(2)
            if rest.isEmpty { return QueryResult(content: .keys(keys), isAscending: false) }
            return finish(rows(of: keys, context), stages: rest, in: context, isAscending: false)
        }
        var limit = Int.max
        if case .limit(let count) = rest.first {
            limit = count
            rest = rest.dropFirst()
        }
        if rest.isEmpty, limit == .max, case .table = source {
            return QueryResult(content: .keys(selectedKeys(context)), isAscending: true)
        }
        var rows = RowSet()
        if filter == nil { rows.reserve(context.table(table).count) }
        var isAscending = true
        if case .keys = source { isAscending = false }
        if limit > 0 {
            forEachSelection(source, in: context) { leaf, selected in
                if case .keys = source {
                    selected.forEach { rows.append(leaf, $0) }
                } else {
                    rows.append(leaf, selected)
                }
                return rows.count < limit
            }
        }
        if rows.count > limit { rows = rows.selecting(0..<limit) }
        return finish(rows, stages: rest, in: context, isAscending: isAscending)
    }

    /// The keys of the objects that the filter finds, collected leaf by leaf.
    private func selectedKeys(_ context: QueryContext) -> [Int64] {
        var keys: [Int64] = []
        forEachSelection(.table, in: context) { leaf, rows in
            withUnsafeTemporaryAllocation(of: Int64.self, capacity: Limits.rowsPerLeaf) { buffer in
                var count = 0
                if let explicit = leaf.explicitKeys {
                    rows.forEach {
                        buffer[count] = explicit[$0]
                        count &+= 1
                    }
                } else {
                    let first = leaf.key(0)
                    rows.forEach {
                        buffer[count] = first &+ Int64($0)
                        count &+= 1
                    }
                }
                keys.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<count]))
            }
            return true
        }
        return keys
    }

    /// The number of objects that the query finds.
    ///
    /// With a `distinct`, or a filter behind another stage, the query is run. Otherwise, for a whole table, the cost is
    /// O(log n) if there is no filter or an index alone answers it. In all other cases matching rows are counted
    /// without collecting keys.
    package func count(in snapshot: Snapshot, from source: Source = .table) -> Int {
        let context = QueryContext(snapshot)
        var limit = Int.max
        for stage in stages {
            switch stage {
            case .sort: break
            case .limit(let count): limit = min(limit, count)
            case .filter, .distinct: return run(in: snapshot, from: source).count
            }
        }
        let view = context.table(table)
        if case .table = source {
            if filter == nil { return min(view.count, limit) }
        }
        let plan = plan(source, context)
        if let planned = plan.index, planned.isExact { return min(planned.access.count(view), limit) }
        var count = 0
        forEachSelection(source, plan: plan, in: context) { _, rows in
            count += rows.count
            return count < limit
        }
        return min(count, limit)
    }

    /// The way to evaluate the filter in a version. It is decided once and passed to the code that evaluates the
    /// filter.
    struct Plan {
        /// The index access that answers the filter. Nil if no index can.
        var index: PlannedAccess?
        /// Whether looking up the rows that the index finds costs less than a scan.
        var usesIndex = false
    }

    func plan(_ source: Source, _ context: QueryContext) -> Plan {
        guard case .table = source, let filter else { return Plan() }
        let view = context.table(table)
        let planner = Planner(context: context)
        guard let index = planner.access(filter, view) else { return Plan() }
        return Plan(index: index, usesIndex: planner.isWorthwhile(index, node: filter, table: view))
    }

    /// The first two stages, if they are a sort and a limit of at most 10,000. Such a query keeps only the first rows
    /// and does not sort all of them.
    private var topStages: (keys: [SortKey], limit: Int)? {
        guard stages.count >= 2, case .sort(let keys) = stages[0], case .limit(let limit) = stages[1], limit <= 10_000
        else {
            return nil
        }
        return (keys, limit)
    }

    /// Calls `body` with each leaf that has rows which pass the filter, and with those rows, in order, until it returns
    /// false. `column` is the column that `body` reads.
    func forEachSelection(
        _ source: Source, in context: QueryContext, reading column: Int? = nil, _ body: (Leaf, RowMask) -> Bool
    ) {
        forEachSelection(source, plan: plan(source, context), in: context, reading: column, body)
    }

    private func forEachSelection(
        _ source: Source, plan: Plan, in context: QueryContext, reading column: Int? = nil,
        _ body: (Leaf, RowMask) -> Bool
    ) {
        let view = context.table(table)
        if case .keys(let keys) = source {
            for key in keys {
                guard let position = view.find(key),
                    filter?.matches(position.leaf, row: position.row, in: context) ?? true
                else {
                    continue
                }
                if !body(position.leaf, RowMask(row: position.row)) { return }
            }
            return
        }
        guard let filter else {
            view.scan(column ?? firstColumn) { leaf, _ in body(leaf, RowMask(count: leaf.count)) }
            return
        }
        if plan.usesIndex, let planned = plan.index {
            return forEachCandidate(planned.access.keys(view), filter: filter, view: view, in: context, body)
        }
        view.scan(firstColumn) { leaf, _ in
            var rows = RowMask(count: leaf.count)
            filter.narrow(&rows, leaf: leaf, in: context)
            return rows.isEmpty || body(leaf, rows)
        }
    }

    /// Calls `body` with the rows that pass the filter, leaf by leaf. `keys` are the keys that an index found, in
    /// ascending order.
    private func forEachCandidate(
        _ keys: [Int64], filter: any QueryNode, view: TableView, in context: QueryContext,
        _ body: (Leaf, RowMask) -> Bool
    ) {
        var at = 0
        while at < keys.count {
            guard let position = view.find(keys[at]) else {
                at += 1
                continue
            }
            var rows = RowMask(row: position.row)
            at += 1
            while at < keys.count, let row = position.leaf.row(of: keys[at]) {
                rows.insert(row)
                at += 1
            }
            filter.narrow(&rows, leaf: position.leaf, in: context)
            if !rows.isEmpty, !body(position.leaf, rows) { return }
        }
    }

    /// The column that a scan reads first, whose chunks the scan prefetches.
    private var firstColumn: Int {
        if let filter, let column = QueryPipeline.firstColumn(filter) { return column }
        if case .sort(let keys) = stages.first, case .value(let column) = keys[0].path.end, keys[0].path.steps.isEmpty {
            return column
        }
        return 0
    }

    private static func firstColumn(_ node: any QueryNode) -> Int? {
        switch node {
        case let node as RangeNode: node.column
        case let node as BytesNode: node.column
        case let node as IntSetNode: node.column
        case let node as BytesSetNode: node.column
        case let node as FoldedTextNode: node.column
        case let node as NullNode: node.column
        case let node as LinkNode: node.column
        case let node as AndNode: node.parts.first.flatMap(firstColumn)
        case let node as OrNode: node.parts.first.flatMap(firstColumn)
        case let node as NotNode: firstColumn(node.part)
        default: nil
        }
    }

    // MARK: Stages after the first filter

    private func rows(of keys: [Int64], _ context: QueryContext) -> RowSet {
        var rows = RowSet()
        let view = context.table(table)
        for key in keys { if let position = view.find(key) { rows.append(position.leaf, position.row) } }
        return rows
    }

    private func finish(
        _ rows: RowSet, stages: ArraySlice<BoundStage>, in context: QueryContext, isAscending: Bool
    ) -> QueryResult {
        var rows = rows
        var isAscending = isAscending
        var rest = stages
        while let stage = rest.popFirst() {
            switch stage {
            case .sort(let keys):
                let order = Sorter.order(rows, keys: keys, in: context)
                isAscending = false
                if rest.isEmpty {
                    let before = rows.keys
                    return QueryResult(content: .keys(order.map { before[Int($0)] }), isAscending: false)
                }
                rows = rows.reordered(order)
            case .filter(let node):
                rows = rows.filtered { node.matches($0, row: $1, in: context) }
            case .distinct(let paths):
                var seen = DistinctValues(paths, context)
                rows = rows.filtered { seen.insert($0, $1) }
            case .limit(let count): rows = rows.selecting(0..<min(count, rows.count))
            }
        }
        return QueryResult(content: .keys(rows.keys), isAscending: isAscending)
    }

    // MARK: Explaining

    /// Describes how the query would run in a version. The text names the index that the query uses, usually with the
    /// number of entries found, or the scan. The stages follow.
    package func explain(in snapshot: Snapshot, from source: Source = .table) -> String {
        let context = QueryContext(snapshot)
        let view = context.table(table)
        var lines: [String] = []
        if case .keys(let keys) = source {
            lines.append(
                "\(keys.count) linked objects of \(view.schema.name)" + (filter.map { ": \($0.explanation)" } ?? ""))
        } else if let filter {
            let plan = plan(source, context)
            let planned = plan.index
            if plan.usesIndex, let planned {
                lines.append(
                    "index of \(planned.columns.joined(separator: ", ")): \(planned.access.explanation), "
                        + (planned.isExact ? "exactly what is wanted" : "then \(filter.explanation)"))
            } else {
                lines.append("\(view.count) objects of \(view.schema.name): \(filter.explanation)")
            }
            if let planned, planned.isExact {
                lines.append("count: \(planned.access.count(view)), from the index alone")
            }
        } else {
            lines.append("all \(view.count) objects of \(view.schema.name)")
        }
        for (position, stage) in stages.enumerated() {
            switch stage {
            case .sort(let keys):
                let names = keys.map { $0.path.text + ($0.isAscending ? "" : " descending") }.joined(separator: ", ")
                lines.append(position == 0 && topStages != nil ? "keep the first by \(names)" : "sort by \(names)")
            case .filter(let node): lines.append("then \(node.explanation)")
            case .distinct(let paths): lines.append("one object for each \(paths.map(\.text).joined(separator: ", "))")
            case .limit(let count): lines.append("at most \(count)")
            }
        }
        return lines.joined(separator: "\n")
    }
}

extension RowSet {
    func reordered(_ order: [UInt32]) -> RowSet {
        var result = RowSet()
        result.reserve(count)
        for index in order {
            let position = self[Int(index)]
            result.append(position.leaf, position.row)
        }
        return result
    }

    func selecting(_ range: Range<Int>) -> RowSet {
        var result = RowSet()
        for index in range {
            let position = self[index]
            result.append(position.leaf, position.row)
        }
        return result
    }

    func filtered(_ body: (Leaf, Int) -> Bool) -> RowSet {
        var result = RowSet()
        for index in 0..<count {
            let position = self[index]
            if body(position.leaf, position.row) { result.append(position.leaf, position.row) }
        }
        return result
    }
}

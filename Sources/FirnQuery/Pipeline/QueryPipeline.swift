import FirnCore

/// What to find in a table and in which order: filters, sorts, distincts and limits, one behind the other. Bound to a schema, to no version; immutable.
///
/// Stages do what they say to what the stage before left, in its order: `sort` is stable, `distinct` keeps the first of equals, a filter behind a
/// `distinct` sees only what that kept. Filters before all other stages are evaluated as one, by an index where that is cheaper than a scan.
public struct QueryPipeline: Sendable {
    public enum Stage: Sendable, Hashable {
        case filter(Predicate)
        case sort([SortDescriptor])
        /// One object for each combination of values; those behind a nil link are dropped (SEMANTICS 72).
        case distinct([PropertyPath])
        case limit(Int)
    }

    enum BoundStage: Sendable {
        case filter(any QueryNode)
        case sort([SortKey])
        case distinct([BoundPath])
        case limit(Int)
    }

    /// What the stages work on.
    public enum Source: Sendable {
        /// All objects of the table, in the order of their keys.
        case table
        /// Some objects, in this order, maybe more than once: a list's or a set's. Keys that are not there any more are passed over.
        case keys([Int64])
    }

    public let table: TableID
    /// The columns that decide what is found, and in which order.
    public let reads: Set<ColumnReference>
    /// The filters before all other stages.
    let filter: (any QueryNode)?
    let stages: [BoundStage]

    /// Binds stages to a schema. Cost: microseconds.
    ///
    /// - Throws: `QueryError` where a property is unknown, values can't be compared, or a key path to sort by leads to no single value.
    public init(
        _ stages: [Stage] = [], table: TableID, schema: StoreSchema, resolver: (any PropertyResolver)? = nil
    ) throws(QueryError) {
        var compiler = QueryCompiler(schema, resolver ?? SchemaResolver(schema))
        let scope = QueryCompiler.Scope(table: table)
        var filters: [any QueryNode] = []
        var bound: [BoundStage] = []
        for stage in stages {
            switch stage {
            case .filter(let predicate):
                let node = try compiler.compile(predicate, scope)
                if bound.isEmpty { filters.append(node) } else { bound.append(.filter(node)) }
            case .sort(let descriptors):
                var keys: [SortKey] = []
                for descriptor in descriptors { keys.append(try compiler.sortKey(descriptor, from: table)) }
                if !keys.isEmpty { bound.append(.sort(keys)) }
            case .distinct(let paths):
                var keys: [BoundPath] = []
                for path in paths { keys.append(try compiler.singleValuePath(path, from: table, "tell objects apart")) }
                if !keys.isEmpty { bound.append(.distinct(keys)) }
            case .limit(let count): bound.append(.limit(max(0, count)))
            }
        }
        filter = filters.isEmpty ? nil : filters.count == 1 ? filters[0] : AllNode(filters)
        self.stages = bound
        self.table = table
        reads = compiler.reads
    }
}

/// What a query found: object keys in order, or the whole table, of which nothing is written down.
public struct QueryResult: Sendable {
    public enum Content: Sendable {
        case wholeTable(count: Int)
        case keys([Int64])
    }

    public let content: Content
    /// Whether the keys ascend, as they do where nothing was sorted.
    public let isAscending: Bool

    public var count: Int {
        switch content {
        case .wholeTable(let count): count
        case .keys(let keys): keys.count
        }
    }

    /// The key of the object at a place, which must exist. O(1); of the whole table, O(log n). `table` is the view that the query ran in.
    public func key(at index: Int, in table: TableView) -> Int64 {
        switch content {
        case .keys(let keys): return keys[index]
        case .wholeTable:
            let place = table.location(at: index)
            return place.leaf.key(place.row)
        }
    }

    /// The first place of the object with `key`. O(log n) where the keys ascend, else O(n).
    public func firstIndex(of key: Int64, in table: TableView) -> Int? {
        switch content {
        case .wholeTable: return table.position(of: key)
        case .keys(let keys):
            guard isAscending else { return keys.firstIndex(of: key) }
            let place = keys.firstIndex(notBelow: key)
            return place < keys.count && keys[place] == key ? place : nil
        }
    }

    /// All keys in order.
    public func keys(in table: TableView) -> [Int64] {
        switch content {
        case .keys(let keys): return keys
        case .wholeTable:
            var rows = RowSet()
            rows.reserve(table.count)
            table.forEachLeaf { leaf, _ in
                rows.append(leaf, RowMask(count: leaf.count))
                return true
            }
            return rows.keys
        }
    }
}

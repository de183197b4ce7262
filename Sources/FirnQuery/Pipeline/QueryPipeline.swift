import FirnCore

/// A compiled query over one table: filters, sorts, distincts and limits, one after the other.
///
/// It is bound to a schema but not to a version. It is a value: running it does not change it.
///
/// Each stage works on the result of the stage before, in that order. `sort` is stable, and `distinct` keeps the first
/// of equal objects. A filter after a `distinct` tests only the objects that the `distinct` kept. Filters before all
/// other stages are evaluated as one filter, by an index if that is cheaper than a scan.
package struct QueryPipeline: Sendable {
    package enum Stage: Sendable, Hashable {
        case filter(Predicate)
        case sort([SortDescriptor])
        /// One object for each combination of values. Objects whose path meets a nil link are dropped.
        case distinct([PropertyPath])
        case limit(Int)
    }

    enum BoundStage: Sendable {
        case filter(any QueryNode)
        case sort([SortKey])
        case distinct([BoundPath])
        case limit(Int)
    }

    /// The objects that the stages start from.
    package enum Source: Sendable {
        /// All objects of the table, in the order of their keys.
        case table
        /// The objects with these keys, in this order, possibly repeated: the elements of a list or set. Keys of
        /// deleted objects are skipped.
        case keys([Int64])
    }

    package let table: TableID
    /// The filters before all other stages, combined into one.
    private(set) var filter: (any QueryNode)?
    private(set) var stages: [BoundStage] = []
    /// The predicates of all filters.
    private(set) var predicates: [Predicate] = []

    /// All objects of a table.
    package init(table: TableID) { self.table = table }

    /// Binds stages to a schema. Cost: microseconds.
    ///
    /// - Throws: the same errors as `append`.
    package init(
        _ stages: [Stage] = [], table: TableID, schema: StoreSchema, resolver: (any PropertyResolver)? = nil
    ) throws(QueryError) {
        self.init(table: table)
        for stage in stages { try append(stage, schema: schema, resolver: resolver) }
    }

    /// Adds a stage after the others, bound to a schema. The earlier stages keep their bindings.
    ///
    /// - Throws: `QueryError` if a property is unknown, or if values can't be compared. It is also thrown if a sort or
    ///   `distinct` key path leads to more than one value.
    package mutating func append(
        _ stage: Stage, schema: StoreSchema, resolver: (any PropertyResolver)? = nil
    ) throws(QueryError) {
        let compiler = QueryCompiler(schema, resolver ?? SchemaResolver(schema))
        switch stage {
        case .filter(let predicate):
            let node = try compiler.compile(predicate, QueryCompiler.Scope(table: table))
            predicates.append(predicate)
            if stages.isEmpty { narrow(by: node) } else { stages.append(.filter(node)) }
        case .sort(let descriptors):
            let keys = try descriptors.map { descriptor throws(QueryError) in
                try compiler.sortKey(descriptor, from: table)
            }
            if !keys.isEmpty { stages.append(.sort(keys)) }
        case .distinct(let paths):
            let keys = try paths.map { path throws(QueryError) in
                try compiler.singleValuePath(path, from: table, "tell objects apart")
            }
            if !keys.isEmpty { stages.append(.distinct(keys)) }
        case .limit(let count): stages.append(.limit(max(0, count)))
        }
    }

    /// The same filter of the same table with other stages.
    func replacing(stages: [BoundStage]) -> QueryPipeline {
        var pipeline = self
        pipeline.stages = stages
        return pipeline
    }

    private mutating func narrow(by node: any QueryNode) {
        switch filter {
        case nil: filter = node
        case let all as AndNode: filter = AndNode(all.parts + [node])
        case let first?: filter = AndNode([first, node])
        }
    }
}

/// The result of a query: object keys in order, or the whole table, for which no keys are stored.
package struct QueryResult: Sendable {
    package enum Content: Sendable {
        case wholeTable(count: Int)
        case keys([Int64])
    }

    package let content: Content
    /// Whether the keys are known to be in ascending order: false after a sort, or if the query started from given
    /// keys.
    package let isAscending: Bool

    package var count: Int {
        switch content {
        case .wholeTable(let count): count
        case .keys(let keys): keys.count
        }
    }

    /// The key of the object at an index, which must be valid. O(1); O(log n) for the whole table. `table` is the view
    /// in which the query ran.
    package func key(at index: Int, in table: TableView) -> Int64 {
        switch content {
        case .keys(let keys): return keys[index]
        case .wholeTable:
            let position = table.location(at: index)
            return position.leaf.key(position.row)
        }
    }

    /// The first index of the object with `key`. O(log n) if `isAscending`, otherwise O(n).
    package func firstIndex(of key: Int64, in table: TableView) -> Int? {
        switch content {
        case .wholeTable: return table.position(of: key)
        case .keys(let keys):
            guard isAscending else { return keys.firstIndex(of: key) }
            let position = keys.firstIndex(notBelow: key)
            return position < keys.count && keys[position] == key ? position : nil
        }
    }

    /// All keys in order.
    package func keys(in table: TableView) -> [Int64] {
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

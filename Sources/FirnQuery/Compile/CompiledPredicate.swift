import FirnCore

/// A predicate bound to a table of a schema, ready to run in any version that has that schema. Immutable; threads may share it.
public struct CompiledPredicate: Sendable {
    public let table: TableID
    /// The columns it reads, so that an observer knows which changes can matter.
    public let reads: Set<ColumnReference>
    let node: any QueryNode

    /// Binds and checks a predicate. Cost: microseconds.
    ///
    /// - Throws: `QueryError` for an unknown property, sides that can't be compared, or a collection that needs ANY.
    public init(
        _ predicate: Predicate, table: TableID, schema: StoreSchema, resolver: (any PropertyResolver)? = nil
    ) throws(QueryError) {
        var compiler = QueryCompiler(schema, resolver ?? SchemaResolver(schema))
        node = try compiler.compile(predicate, QueryCompiler.Scope(table: table))
        self.table = table
        reads = compiler.reads
    }

    /// The rows of a leaf that it holds for.
    @inline(__always)
    public func select(_ leaf: Leaf, _ context: QueryContext) -> RowMask {
        var rows = RowMask(count: leaf.count)
        if !rows.isEmpty { node.narrow(&rows, leaf, context) }
        return rows
    }

    /// Whether it holds for one row.
    public func matches(_ leaf: Leaf, _ row: Int, _ context: QueryContext) -> Bool { node.matches(leaf, row, context) }

    /// Whether it holds for the object with `key`; false where there is none.
    public func matches(_ key: Int64, _ context: QueryContext) -> Bool {
        guard let place = context.table(table).find(key) else { return false }
        return node.matches(place.leaf, place.row, context)
    }
}

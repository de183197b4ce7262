import FirnCore

/// A part of a compiled predicate. It is bound to columns but to no version, holds nothing that changes, and may be used by any number of threads.
protocol QueryNode: Sendable {
    /// About how long one row takes, in nanoseconds. Of several conditions the cheapest goes first.
    var cost: Double { get }

    /// Takes out of `rows` the rows of `leaf` that the condition does not hold for. `rows` holds rows of the leaf only, and at least one.
    func narrow(_ rows: inout RowMask, _ leaf: Leaf, _ context: QueryContext)

    /// Whether the condition holds for one row.
    func matches(_ leaf: Leaf, _ row: Int, _ context: QueryContext) -> Bool

    /// What it is, for `explain`.
    var explanation: String { get }
}

extension QueryNode {
    func matches(_ leaf: Leaf, _ row: Int, _ context: QueryContext) -> Bool {
        var rows = RowMask(row: row)
        narrow(&rows, leaf, context)
        return !rows.isEmpty
    }
}

/// The version that a predicate is evaluated in, its tables at hand. Made once per evaluation; it owns nothing, so the version must be held.
public final class QueryContext: @unchecked Sendable {
    // Unchecked because views are raw; sound because a held version never changes and this class has no state of its own.
    public let snapshot: Snapshot
    private let tables: [TableView?]

    public init(_ snapshot: Snapshot) {
        self.snapshot = snapshot
        let schema = snapshot.schema
        tables = schema.tables.indices.map { schema.tables[$0].isRemoved ? nil : snapshot.table(TableID($0)) }
    }

    @inline(__always)
    func table(_ id: TableID) -> TableView {
        guard let table = tables[id.index] else { preconditionFailure("Firn: a query reads a table that was removed") }
        return table
    }
}

extension Chunk {
    /// The slots of a variable chunk.
    @inline(__always)
    var slots: UnsafePointer<UInt32> { UnsafePointer(data.assumingMemoryBound(to: UInt32.self)) }

    /// A fixed chunk's values.
    @inline(__always)
    func values<T>(as type: T.Type = T.self) -> UnsafePointer<T> { UnsafePointer(data.assumingMemoryBound(to: T.self)) }
}

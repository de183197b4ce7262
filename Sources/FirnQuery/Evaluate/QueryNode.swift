import FirnCore

/// A part of a compiled predicate. It is bound to columns but not to a version, has no mutable state, and may be used
/// by any number of threads.
protocol QueryNode: Sendable {
    /// The approximate time for one row, in nanoseconds. The cheapest of several conditions is evaluated first.
    var cost: Double { get }

    /// Removes from `rows` the rows of `leaf` for which the condition does not hold. `rows` must contain at least one
    /// row, and only rows of the leaf.
    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext)

    /// Whether the condition holds for one row.
    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool

    /// A description for `explain`.
    var explanation: String { get }
}

extension QueryNode {
    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        var rows = RowMask(row: row)
        narrow(&rows, leaf: leaf, in: context)
        return !rows.isEmpty
    }
}

/// The version that a predicate is evaluated in, with its tables. A context is made once per evaluation. It owns
/// nothing, so the caller must hold the version.
package final class QueryContext: @unchecked Sendable {
    // Unchecked because views are raw. This is safe, because a held version never changes and this class has no mutable
    // state.
    package let snapshot: Snapshot
    /// The views of all tables, so that following a link makes no view. Empty in a store of more than 256 tables, where
    /// a query would spend its time on tables that it does not read.
    private let tables: [TableView?]
    private static let fewTables = 256

    package init(_ snapshot: Snapshot) {
        self.snapshot = snapshot
        let count = snapshot.schema.tables.count
        tables = count > Self.fewTables ? [] : (0..<count).map { Self.view(TableID($0), snapshot) }
    }

    @inline(__always)
    func table(_ id: TableID) -> TableView {
        guard let table = tables.isEmpty ? Self.view(id, snapshot) : tables[id.index] else {
            preconditionFailure("Firn: a query reads a table that was removed")
        }
        return table
    }

    private static func view(_ id: TableID, _ snapshot: Snapshot) -> TableView? {
        let view = snapshot.table(id)
        return view.schema.isRemoved ? nil : view
    }
}

extension Chunk {
    /// The slots of a variable chunk.
    @inline(__always)
    var slots: UnsafePointer<UInt32> { UnsafePointer(data.assumingMemoryBound(to: UInt32.self)) }

    /// The values of a fixed chunk.
    @inline(__always)
    func values<T>(as type: T.Type = T.self) -> UnsafePointer<T> { UnsafePointer(data.assumingMemoryBound(to: T.self)) }
}

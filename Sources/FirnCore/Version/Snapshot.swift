/// A view of one version. It owns nothing: it is valid while its pin, or the transaction it was taken from, lives.
/// Copying it costs one reference count.
package struct Snapshot: @unchecked Sendable {
    // Unchecked because it is raw memory; sound because a pinned version never changes.
    package let root: Node
    package let resolvedSchema: ResolvedSchema

    package var schema: StoreSchema { resolvedSchema.schema }

    init(root: Node, resolvedSchema: ResolvedSchema) {
        self.root = root
        self.resolvedSchema = resolvedSchema
    }

    package func table(_ id: TableID) -> TableView {
        TableView(word: RootNode(root).word(id.index), layout: resolvedSchema.tables[id.index])
    }
}

/// A table in one version. Like `Snapshot`, it owns nothing.
package struct TableView: @unchecked Sendable {
    /// The reference to the table's node; 0 if the table holds nothing yet.
    let word: UInt64
    let layout: TableLayout

    package var id: TableID { layout.id }
    package var schema: TableSchema { layout.schema }

    var node: TableNode? { word == 0 ? nil : TableNode(NodeRef(word).node) }
    var rows: UInt64 { node?.rows.pointee ?? 0 }

    /// The number of rows in the table; O(1).
    package var count: Int { Int(node?.rowCount ?? 0) }

    /// The key that the next object will get.
    package var nextKey: Int64 { node?.nextKey ?? 0 }

    /// Returns the leaf and row of the object with `key`; nil if there is none. O(log n).
    package func find(_ key: Int64) -> (leaf: Leaf, row: Int)? { RowTree.find(key, in: rows) }

    /// Returns the leaf and row of the object at `position` in key order. O(log n). The position must exist.
    package func location(at position: Int) -> (leaf: Leaf, row: Int) {
        precondition(
            position >= 0 && position < count, "Firn: position \(position) is not among the table's \(count) rows")
        return RowTree.location(at: position, in: rows)
    }

    /// Returns the position of the object with `key` in key order; nil if there is none. O(log n).
    package func position(of key: Int64) -> Int? {
        find(key) == nil ? nil : RowTree.rank(of: key, in: rows)
    }

    /// Returns how many objects have a key below `key`. O(log n).
    package func rank(of key: Int64) -> Int { RowTree.rank(of: key, in: rows) }

    /// Calls `body` with each leaf and the position of its first row, beginning with the leaf that holds `position`,
    /// until `body` returns false.
    package func forEachLeaf(from position: Int = 0, _ body: (Leaf, _ start: Int) -> Bool) {
        RowTree.forEachLeaf(in: rows, from: position, body)
    }

    /// The root of a column's index; a null reference if the column has no index or the table is empty.
    package func index(_ column: Int) -> NodeRef { NodeRef(node?.index(column).pointee ?? 0) }

    /// The root of the tree of (target key, own key) pairs of a column of links.
    package func backlinks(_ column: Int) -> NodeRef { NodeRef(node?.backlinks(column).pointee ?? 0) }
}

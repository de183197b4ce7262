/// The trees of a table in one version, found from the address of the version's root.
///
/// Unlike `TableView` it knows no schema, so finding an object counts no references. It owns nothing: it is valid while
/// the version is pinned, or in a transaction until the next change.
package struct TableTrees {
    private let node: TableNode?

    /// - Parameter root: the reference to the version's root, which is not 0.
    @inline(__always)
    package init(root: UInt64, _ table: TableID) {
        node = RootNode(NodeRef(root).node).table(table)
    }

    /// Returns the key of the object with an integer primary key in `column`, which is not nullable; nil if there is
    /// none. O(log n).
    @inline(__always)
    package func firstKey(primaryKeyInt value: Int64, column: Int) -> Int64? {
        node?.firstKey(column, equalTo: value)
    }

    /// Returns the leaf and row of the object with `key`; nil if there is none. O(log n).
    @inline(__always)
    package func find(_ key: Int64) -> (leaf: Leaf, row: Int)? {
        guard let node else { return nil }
        return RowTree.find(key, in: node.rows.pointee)
    }
}

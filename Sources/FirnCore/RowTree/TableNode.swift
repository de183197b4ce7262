/// A table in one version: the roots of its trees and its counters.
///
/// ```
///  0              32     40          48         56            64
/// ┌──────────────┬──────┬───────────┬──────────┬─────────┬───┬───────────────────────┬──
/// │ node header  │ rows │ row count │ next key │ columns │ 0 │ column 0: index, back │ …
/// └──────────────┴──────┴───────────┴──────────┴─────────┴───┴───────────────────────┴──
///                  ref    i64         i64        u32           two refs per column
/// ```
///
/// `index` is the root of the column's index; it is 0 if the column has no index or the index is empty. For a column of
/// links, `back` is the root of the tree of (target key, own key) pairs. For a column of mixed values, see
/// `MixedLinks`.
struct TableNode {
    let node: Node

    @inline(__always) init(_ node: Node) { self.node = node }

    var rows: UnsafeMutablePointer<UInt64> { @inline(__always) get { node.pointer(NodeLayout.Table.rows) } }
    var rowCount: Int64 {
        @inline(__always) get { node.load(NodeLayout.Table.rowCount) }
        nonmutating set { node.store(newValue, NodeLayout.Table.rowCount) }
    }
    var nextKey: Int64 {
        @inline(__always) get { node.load(NodeLayout.Table.nextKey) }
        nonmutating set { node.store(newValue, NodeLayout.Table.nextKey) }
    }
    var columnCount: Int { Int(node.load(NodeLayout.Table.columnCount, as: UInt32.self)) }

    @inline(__always)
    func index(_ column: Int) -> UnsafeMutablePointer<UInt64> { node.pointer(NodeLayout.Table.index(column)) }

    @inline(__always)
    func backlinks(_ column: Int) -> UnsafeMutablePointer<UInt64> { node.pointer(NodeLayout.Table.backlinks(column)) }

    static func make(columns: Int, _ writer: NodeWriter) -> TableNode {
        let node = writer.make(.table, byteCount: NodeLayout.Table.byteCount(columns: columns))
        node.clear(NodeLayout.headerByteCount..<node.byteCount)
        node.store(UInt32(columns), NodeLayout.Table.columnCount)
        return TableNode(node)
    }
}

/// A version's root: `count` references to tables' nodes, by table number; 0 for a table that holds nothing yet.
struct RootNode {
    let node: Node

    @inline(__always) init(_ node: Node) { self.node = node }

    var tableCount: Int { node.count }

    @inline(__always)
    func slot(_ table: Int) -> UnsafeMutablePointer<UInt64> { node.pointer(NodeLayout.Root.table(table)) }

    /// The reference to a table's node; 0 if the table holds nothing yet, or does not exist in this version. Tables
    /// with equal references are equal, so they need not be read to be compared.
    @inline(__always)
    func word(_ table: Int) -> UInt64 { table < tableCount ? slot(table).pointee : 0 }

    /// A table; nil if it holds nothing yet.
    @inline(__always)
    func table(_ id: TableID) -> TableNode? {
        let word = word(id.index)
        return word == 0 ? nil : TableNode(NodeRef(word).node)
    }

    static func make(tables: Int, _ writer: NodeWriter) -> RootNode {
        let node = writer.make(.root, count: tables, byteCount: NodeLayout.Root.byteCount(tables: tables))
        node.clear(NodeLayout.headerByteCount..<node.byteCount)
        return RootNode(node)
    }
}

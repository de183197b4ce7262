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
/// `index` is the root of the column's index (0 if it has none, or the index is empty), `back` the root of the tree
/// of (target key, own key) pairs of a column of links.
struct TableNode {
    let node: Node

    @inline(__always) init(_ node: Node) { self.node = node }

    static func byteCount(columns: Int) -> Int { 64 + 16 * columns }

    var rows: UnsafeMutablePointer<UInt64> { @inline(__always) get { node.pointer(32) } }
    var rowCount: Int64 {
        @inline(__always) get { node.load(40) }
        nonmutating set { node.store(newValue, 40) }
    }
    var nextKey: Int64 {
        @inline(__always) get { node.load(48) }
        nonmutating set { node.store(newValue, 48) }
    }
    var columnCount: Int { Int(node.load(56, as: UInt32.self)) }

    @inline(__always) func index(_ column: Int) -> UnsafeMutablePointer<UInt64> { node.pointer(64 + 16 * column) }
    @inline(__always) func backlinks(_ column: Int) -> UnsafeMutablePointer<UInt64> { node.pointer(72 + 16 * column) }

    static func make(columns: Int, _ writer: NodeWriter) -> TableNode {
        let length = byteCount(columns: columns)
        let node = writer.make(.table, byteCount: length)
        (node.address + 32).initializeMemory(as: UInt8.self, repeating: 0, count: node.byteCount - 32)
        node.store(UInt32(columns), 56)
        return TableNode(node)
    }
}

/// A version's root: `count` references to tables' nodes, by table number; 0 for a table that holds nothing yet.
struct RootNode {
    let node: Node

    @inline(__always) init(_ node: Node) { self.node = node }

    var tableCount: Int { node.count }

    @inline(__always) func slot(_ table: Int) -> UnsafeMutablePointer<UInt64> { node.pointer(32 + 8 * table) }

    static func make(tables: Int, _ writer: NodeWriter) -> RootNode {
        let node = writer.make(.root, count: tables, byteCount: 32 + 8 * tables)
        (node.address + 32).initializeMemory(as: UInt8.self, repeating: 0, count: node.byteCount - 32)
        return RootNode(node)
    }
}

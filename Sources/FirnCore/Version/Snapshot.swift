/// The schema of a version with what is derived from it once: layouts, which columns have indexes, who links to whom. Immutable and shared.
public final class ResolvedSchema: Sendable {
    public let schema: StoreSchema
    /// By table number.
    let tables: [TableLayout]
    /// The same in raw memory, for what is asked at every row: no reference is counted on the way. Lives as long as this object.
    nonisolated(unsafe) let plans: UnsafeBufferPointer<AppendPlan>

    public init(_ schema: StoreSchema) {
        self.schema = schema
        var incoming: [TableID: [(table: TableID, column: Int)]] = [:]
        for (origin, table) in schema.tables.enumerated() where !table.isRemoved {
            for (column, property) in table.columns.enumerated() where !property.isRemoved && property.isLink {
                if let target = property.target { incoming[target, default: []].append((TableID(origin), column)) }
            }
        }
        tables = schema.tables.indices.map { TableLayout(schema, TableID($0), incoming: incoming[TableID($0)] ?? []) }
        let buffer = UnsafeMutableBufferPointer<AppendPlan>.allocate(capacity: tables.count)
        for (place, table) in tables.enumerated() { buffer.initializeElement(at: place, to: AppendPlan(table)) }
        plans = UnsafeBufferPointer(buffer)
    }

    deinit { plans.deallocate() }
}

/// What appending a row asks of a table's layout.
struct AppendPlan: BitwiseCopyable {
    let layouts: UnsafeBufferPointer<ChunkLayout?>
    /// The primary key's column where it is a plain integer and the table has no other index and no links; -1 elsewhere.
    let loneIntegerKey: Int
    /// Whether a new row is entered anywhere.
    let hasEntries: Bool

    init(_ table: TableLayout) {
        layouts = table.layouts
        hasEntries = !table.indexed.isEmpty || !table.links.isEmpty
        if let key = table.primaryKey, table.indexed == [key], table.links.isEmpty, table.columns[key].type == .int,
            !table.columns[key].isNullable
        {
            loneIntegerKey = key
        } else {
            loneIntegerKey = -1
        }
    }
}

/// What the transaction needs to know of a table at each write, in plain arrays that are never changed.
final class TableLayout: Sendable {
    let id: TableID
    let schema: TableSchema
    let columns: [ColumnSchema]
    /// The columns' layouts, nil for removed ones; lives as long as this object.
    nonisolated(unsafe) let layouts: UnsafeBufferPointer<ChunkLayout?>
    /// Columns with an index, the primary key included.
    let indexed: [Int]
    let primaryKey: Int?
    /// Columns of links, collections of links included.
    let links: [Int]
    /// Columns whose cells may hold nodes of their own.
    let variable: [Int]
    /// As a changeset's encoder takes the columns.
    let encoderColumns: [ChangesetEncoder.Column]
    /// Columns of other (or this) tables that link here.
    let incoming: [(table: TableID, column: Int)]

    /// - Parameter incoming: the columns that link here.
    init(_ schema: StoreSchema, _ id: TableID, incoming: [(table: TableID, column: Int)] = []) {
        self.id = id
        let table = schema[id]
        self.schema = table
        columns = table.columns
        let buffer = UnsafeMutableBufferPointer<ChunkLayout?>.allocate(capacity: table.columns.count)
        for (place, column) in table.columns.enumerated() {
            buffer.initializeElement(at: place, to: column.isRemoved ? nil : column.layout)
        }
        layouts = UnsafeBufferPointer(buffer)
        let live = table.columns.indices.filter { !table.columns[$0].isRemoved }
        indexed = live.filter { table.columns[$0].isIndexed || table.primaryKey == $0 }
        primaryKey = table.primaryKey
        links = live.filter { table.columns[$0].isLink }
        variable = live.filter { table.columns[$0].layout.form == .variable }
        encoderColumns = ChangesetEncoder.columns(of: table)
        self.incoming = incoming
    }

    deinit { layouts.deallocate() }
}

/// A view of one version. It owns nothing: it is valid while its pin, or the transaction it was taken from, lives. Copying it costs a reference count.
public struct Snapshot: @unchecked Sendable {
    // Unchecked because it is raw memory; sound because a pinned version never changes.
    public let root: Node
    public let reference: ResolvedSchema

    public var schema: StoreSchema { reference.schema }

    init(root: Node, reference: ResolvedSchema) {
        self.root = root
        self.reference = reference
    }

    public func table(_ id: TableID) -> TableView {
        let root = RootNode(root)
        let word = id.index < root.tableCount ? root.slot(id.index).pointee : 0
        return TableView(word: word, layout: reference.tables[id.index])
    }
}

/// A table in one version. As `Snapshot`, it owns nothing.
public struct TableView: @unchecked Sendable {
    /// The table's node, 0 where the table holds nothing yet.
    let word: UInt64
    let layout: TableLayout

    public var id: TableID { layout.id }
    public var schema: TableSchema { layout.schema }

    var node: TableNode? { word == 0 ? nil : TableNode(NodeRef(word).node) }
    var rows: UInt64 { node?.rows.pointee ?? 0 }

    /// Rows in the table; O(1).
    public var count: Int { Int(node?.rowCount ?? 0) }

    /// The key that the next object will get.
    public var nextKey: Int64 { node?.nextKey ?? 0 }

    /// Where the object with `key` lies; nil where there is none. O(log n).
    public func find(_ key: Int64) -> (leaf: Leaf, row: Int)? { RowTree.find(key, in: rows) }

    /// Where the object at `position` in key order lies. O(log n); the position must exist.
    public func location(at position: Int) -> (leaf: Leaf, row: Int) {
        precondition(position >= 0 && position < count, "Firn: position \(position) in a table of \(count) rows")
        return RowTree.location(at: position, in: rows)
    }

    /// The position of the object with `key` in key order. O(log n).
    public func position(of key: Int64) -> Int? {
        find(key) == nil ? nil : RowTree.rank(of: key, in: rows)
    }

    /// How many objects have a key below `key`. O(log n).
    public func rank(of key: Int64) -> Int { RowTree.rank(of: key, in: rows) }

    /// Calls `body` with each leaf and the position of its first row, from the leaf that holds `position` on, until it returns false.
    public func forEachLeaf(from position: Int = 0, _ body: (Leaf, _ start: Int) -> Bool) {
        RowTree.forEachLeaf(in: rows, from: position, body)
    }

    /// The root of a column's index; none where the column has none or the table is empty.
    public func index(_ column: Int) -> NodeRef { NodeRef(node?.index(column).pointee ?? 0) }

    /// The root of the tree of (target key, own key) of a column of links.
    public func backlinks(_ column: Int) -> NodeRef { NodeRef(node?.backlinks(column).pointee ?? 0) }
}

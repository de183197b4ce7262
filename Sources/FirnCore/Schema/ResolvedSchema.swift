/// The schema of a version, and the facts that are derived from it once: layouts, which columns have indexes, which
/// tables link to which. Immutable and shared.
package final class ResolvedSchema: Sendable {
    package let schema: StoreSchema
    /// The layouts of the tables, by table number.
    let tables: [TableLayout]
    /// The columns of mixed values, which may link to any object.
    package let mixed: [(table: TableID, column: Int)]
    /// The facts that appending a row needs, by table number. They lie in raw memory, so reading them changes no
    /// reference counts. Lives as long as this object.
    nonisolated(unsafe) let plans: UnsafeBufferPointer<AppendPlan>

    package init(_ schema: StoreSchema) {
        self.schema = schema
        var incoming: [TableID: [(table: TableID, column: Int)]] = [:]
        for (origin, table) in schema.tables.enumerated() where !table.isRemoved {
            for (column, property) in table.columns.enumerated() where !property.isRemoved && property.isLink {
                if let target = property.target { incoming[target, default: []].append((TableID(origin), column)) }
            }
        }
        tables = schema.tables.indices.map { TableLayout(schema, TableID($0), incoming: incoming[TableID($0)] ?? []) }
        mixed = tables.filter { !$0.schema.isRemoved }.flatMap { table in table.mixed.map { (table.id, $0) } }
        let buffer = UnsafeMutableBufferPointer<AppendPlan>.allocate(capacity: tables.count)
        for (index, table) in tables.enumerated() { buffer.initializeElement(at: index, to: AppendPlan(table)) }
        plans = UnsafeBufferPointer(buffer)
    }

    deinit { plans.deallocate() }

    /// The columns that link to a table.
    package func links(to table: TableID) -> [(table: TableID, column: Int)] { tables[table.index].incoming }
}

/// The facts about a table that appending a row needs.
struct AppendPlan: BitwiseCopyable {
    let layouts: UnsafeBufferPointer<ChunkLayout?>
    /// The primary key's column if it is a required integer and the table has no other index and no links; else -1.
    let loneIntegerKey: Int
    /// Whether a new row is entered into any index or any backlinks.
    let hasEntries: Bool

    init(_ table: TableLayout) {
        layouts = table.layouts
        hasEntries = table.hasEntries
        if let key = table.primaryKey, table.indexed == [key], table.links.isEmpty, table.mixed.isEmpty,
            table.columns[key].type == .int, !table.columns[key].isNullable
        {
            loneIntegerKey = key
        } else {
            loneIntegerKey = -1
        }
    }
}

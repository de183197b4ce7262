/// The facts about a table that a transaction needs at each write, in arrays that never change.
final class TableLayout: Sendable {
    let id: TableID
    let schema: TableSchema
    let columns: [ColumnSchema]
    /// The columns' layouts, nil for removed columns. The buffer lives as long as this object.
    nonisolated(unsafe) let layouts: UnsafeBufferPointer<ChunkLayout?>
    /// Columns with an index, the primary key included.
    let indexed: [Int]
    let primaryKey: Int?
    /// Columns of links, collections of links included.
    let links: [Int]
    /// Columns of mixed values, which may be links. Collections of mixed values are included.
    let mixed: [Int]
    /// Columns of links to embedded objects. An embedded object belongs to the object that links to it.
    let owning: [Int]
    /// Columns whose cells may hold nodes of their own.
    let variable: [Int]
    /// The columns that are not removed.
    let presentColumns: [NumberedColumn]
    /// Columns of any table, this one included, that link to this table.
    let incoming: [(table: TableID, column: Int)]

    /// - Parameter incoming: the columns that link to this table.
    init(_ schema: StoreSchema, _ id: TableID, incoming: [(table: TableID, column: Int)] = []) {
        self.id = id
        let table = schema[id]
        self.schema = table
        columns = table.columns
        let buffer = UnsafeMutableBufferPointer<ChunkLayout?>.allocate(capacity: table.columns.count)
        for (index, column) in table.columns.enumerated() {
            buffer.initializeElement(at: index, to: column.isRemoved ? nil : column.layout)
        }
        layouts = UnsafeBufferPointer(buffer)
        let live = table.columns.indices.filter { !table.columns[$0].isRemoved }
        indexed = live.filter { table.columns[$0].isIndexed || table.primaryKey == $0 }
        primaryKey = table.primaryKey
        links = live.filter { table.columns[$0].isLink }
        mixed = live.filter { table.columns[$0].type == .mixed }
        owning = links.filter { table.columns[$0].target.map { schema[$0].isEmbedded } ?? false }
        variable = live.filter { table.columns[$0].layout.form == .variable }
        presentColumns = table.presentColumns
        self.incoming = incoming
    }

    deinit { layouts.deallocate() }

    /// Whether a new row is entered into any index or any backlinks.
    var hasEntries: Bool { !indexed.isEmpty || !links.isEmpty || !mixed.isEmpty }
}

/// A column that is not removed, with its number.
struct NumberedColumn: Sendable {
    let number: Int
    let type: ColumnType
    let collection: CollectionKind
    let isNullable: Bool
    let layout: ChunkLayout

    init(_ number: Int, _ schema: ColumnSchema) {
        self.number = number
        type = schema.type
        collection = schema.collection
        isNullable = schema.isNullable
        layout = schema.layout
    }
}

extension TableSchema {
    /// The columns that are not removed.
    var presentColumns: [NumberedColumn] {
        columns.indices.filter { !columns[$0].isRemoved }.map { NumberedColumn($0, columns[$0]) }
    }
}

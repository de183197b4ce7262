extension ChangeSummary {
    /// Adds a block of a later commit's changeset, read forward. Edits of a collection count as an assignment of its
    /// column: their steps are not decoded.
    mutating func append(_ block: ChangesetBlock) {
        switch block {
        case .insert(let rows), .insertMore(let rows):
            for index in 0..<rows.keys.count {
                tables[rows.table, default: TableSummary()].inserted.insert(rows.keys[index])
            }
        case .delete(let table, let keys):
            for index in 0..<keys.count { tables[table, default: TableSummary()].delete(keys[index]) }
        case .update(let cells):
            for index in 0..<cells.keys.count {
                tables[cells.table, default: TableSummary()].assign(cells.column, of: cells.keys[index])
            }
        case .script(let script):
            tables[script.table, default: TableSummary()].assign(script.column, of: script.key)
        case .elements(let elements):
            tables[elements.table, default: TableSummary()].assign(elements.column, of: elements.key)
        case .schema, .deleteOld, .nextKey: break
        }
    }
}

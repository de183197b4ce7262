extension WriteTransaction {
    /// A table as it was when the transaction began; empty if the transaction created it.
    func baseTable(_ id: TableID) -> TableView {
        let snapshot = base.snapshot
        return id.index < snapshot.resolvedSchema.tables.count
            ? snapshot.table(id) : TableView(word: 0, layout: resolvedSchema.tables[id.index])
    }

    /// The rows that were inserted, deleted or may have changed, for each table that the transaction changed.
    typealias Deltas = [(table: TableID, rows: RowTree.Delta)]

    func makeDeltas() -> Deltas {
        let new = root
        guard baseRoot.node != new.node else { return [] }
        var deltas: Deltas = []
        for index in 0..<new.tableCount {
            // A table that was not changed is not read: it may be damaged.
            guard new.word(index) != baseRoot.word(index) else { continue }
            let id = TableID(index)
            let rows = RowTree.delta(
                from: baseRoot.table(id)?.rows.pointee ?? 0, to: new.table(id)?.rows.pointee ?? 0,
                &context.workspace.differ)
            deltas.append((id, rows))
        }
        return deltas
    }

    /// Calls `body` for each kept row whose cell in the column is marked, leaf by leaf.
    func forEachUpdate(_ column: Int, delta: RowTree.Delta, _ body: (RowTree.Kept, _ newRow: Int) -> Void) {
        for kept in delta.kept where kept.new.hasChunk(column) {
            let node = kept.new.chunkNode(column)
            guard writer.isNew(node) else { continue }
            Chunk(node).forEachMark(in: kept.newStart..<kept.newStart + kept.count) { body(kept, $0) }
        }
    }

    /// Makes the summary of what this transaction changed, for observers.
    func makeChangeSummary(_ deltas: Deltas) -> ChangeSummary {
        var result = ChangeSummary()
        for (id, delta) in deltas {
            var summary = TableSummary()
            for (leaf, rows) in delta.inserted { for row in rows { summary.inserted.insert(leaf.key(row)) } }
            for (leaf, rows) in delta.deleted { for row in rows { summary.deleted.insert(leaf.key(row)) } }
            for column in resolvedSchema.tables[id.index].columns.indices {
                forEachUpdate(column, delta: delta) { kept, row in
                    summary.modified[kept.new.key(row), default: ColumnSet()].insert(column)
                }
            }
            result.tables[id] = summary
        }
        for (cell, script) in scripts {
            result.tables[cell.table, default: TableSummary()].scripts[.init(key: cell.key, column: cell.column)] =
                script
        }
        return result
    }
}

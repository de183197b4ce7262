extension Snapshot {
    /// Returns what differs between this version and a later one, compared by values. A column that was assigned the
    /// value it already had does not count. Both versions must be pinned and belong to one store.
    ///
    /// Cost: O(nodes changed and the rows in them).
    package func difference(to next: Snapshot) -> ChangeSummary {
        var result = ChangeSummary()
        let old = RootNode(root)
        let new = RootNode(next.root)
        for index in 0..<max(old.tableCount, new.tableCount) {
            guard old.word(index) != new.word(index) else { continue }
            let id = TableID(index)
            let summary = TableSummary(from: index < resolvedSchema.tables.count ? table(id) : nil, to: next.table(id))
            if !summary.isEmpty { result.tables[id] = summary }
        }
        return result
    }
}

extension TableSummary {
    var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && modified.isEmpty && scripts.isEmpty }

    /// Summarizes how a table differs between two versions, compared by values. `old` is nil if the first version did
    /// not have the table.
    init(from old: TableView?, to new: TableView) {
        let delta = RowTree.delta(from: old?.rows ?? 0, to: new.rows)
        for (leaf, rows) in delta.inserted { for row in rows { inserted.insert(leaf.key(row)) } }
        for (leaf, rows) in delta.deleted { for row in rows { deleted.insert(leaf.key(row)) } }
        guard let old else { return }
        for column in new.layout.columns.indices where !new.layout.columns[column].isRemoved {
            for kept in delta.kept where kept.new.hasChunk(column) {
                guard kept.old.hasChunk(column) else { continue }
                let (a, b) = (kept.old.chunk(column), kept.new.chunk(column))
                if a.node == b.node, kept.oldStart == kept.newStart { continue }
                for row in 0..<kept.count
                where !Self.isSame(
                    a, i: kept.oldStart + row, b: b, j: kept.newStart + row, old: old, new: new, column: column,
                    kept: kept)
                {
                    modified[kept.new.key(kept.newStart + row), default: ColumnSet()].insert(column)
                }
            }
        }
    }

    private static func isSame(
        _ a: Chunk, i: Int, b: Chunk, j: Int, old: TableView, new: TableView, column: Int,
        kept: RowTree.Kept
    ) -> Bool {
        // A schema change between the two versions made the column optional or required.
        if a.form != b.form {
            return old.value(column, leaf: kept.old, row: i) == new.value(column, leaf: kept.new, row: j)
        }
        switch b.form {
        case .fixed, .nullable:
            if b.form == .nullable, a.nullFlags[i] != b.nullFlags[j] { return false }
            return UnsafeRawBufferPointer(start: a.address(i), count: a.node.width)
                .elementsEqual(UnsafeRawBufferPointer(start: b.address(j), count: b.node.width))
        case .variable:
            // Do not compare through `a` and `b`. Once damage has been met, each compared value is decoded again, into
            // the same memory in which these chunks lie.
            if let x = kept.old.cell(column, i).ownNode, let y = kept.new.cell(column, j).ownNode, x == y {
                return true
            }
            return old.value(column, leaf: kept.old, row: i) == new.value(column, leaf: kept.new, row: j)
        }
    }
}

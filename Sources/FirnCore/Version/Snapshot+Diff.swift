extension Snapshot {
    /// What differs between this version and a later one, by values: a column that was assigned the value it had does not count. Both must be pinned, of one store.
    ///
    /// Cost: O(nodes changed and the rows in them).
    package func difference(to next: Snapshot) -> ChangeSummary {
        var result = ChangeSummary()
        let old = RootNode(root)
        let new = RootNode(next.root)
        for place in 0..<max(old.tableCount, new.tableCount) {
            let before = place < old.tableCount ? old.slot(place).pointee : 0
            let after = place < new.tableCount ? new.slot(place).pointee : 0
            guard before != after else { continue }
            let id = TableID(place)
            let notes = TableSummary(from: place < reference.tables.count ? table(id) : nil, to: next.table(id))
            if !notes.isEmpty { result.tables[id] = notes }
        }
        return result
    }
}

extension TableSummary {
    var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && modified.isEmpty && scripts.isEmpty }

    /// By values.
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
                where !Self.isSame(a, kept.oldStart + row, b, kept.newStart + row, old, new, column, kept) {
                    modified[kept.new.key(kept.newStart + row), default: ColumnSet()].insert(column)
                }
            }
        }
    }

    private static func isSame(
        _ a: Chunk, _ i: Int, _ b: Chunk, _ j: Int, _ old: TableView, _ new: TableView, _ column: Int,
        _ kept: RowTree.Kept
    ) -> Bool {
        // The schema between has made the column optional, or required.
        if a.form != b.form { return old.value(column, kept.old, i) == new.value(column, kept.new, j) }
        switch b.form {
        case .fixed, .nullable:
            if b.form == .nullable, a.nullFlags[i] != b.nullFlags[j] { return false }
            return UnsafeRawBufferPointer(start: a.address(i), count: a.node.width)
                .elementsEqual(UnsafeRawBufferPointer(start: b.address(j), count: b.node.width))
        case .variable:
            // Not by the chunks: once damage has been met, each value that is compared is unpacked anew, and these lie
            // in memory that is used again.
            if let x = kept.old.cell(column, i).ownNode, let y = kept.new.cell(column, j).ownNode, x == y {
                return true
            }
            return old.value(column, kept.old, i) == new.value(column, kept.new, j)
        }
    }
}

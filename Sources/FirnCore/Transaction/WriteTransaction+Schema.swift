extension WriteTransaction {
    /// Changes the store's schema: adds and removes tables and columns, and adds and drops indexes.
    ///
    /// Numbers stay: the new schema lists every table and column of the old one at its old index. New columns hold
    /// blanks. The embedded objects of a column or table that is removed are deleted. Costs O(rows) of each table whose
    /// columns or indexes change.
    package func changeSchema(to new: StoreSchema) throws(StoreError) {
        try Self.check(new, follows: resolvedSchema.schema)
        recordingDamage {
            // The log has the schema first, and then the deletions.
            if !isReplay { deleteOwned(without: new) }
            if !hasMetDamage { applySchema(new) }
        }
        try checkDamage()
    }

    /// Deletes the embedded objects whose parents are to lose the columns that link to them.
    private func deleteOwned(without new: StoreSchema) {
        for (number, layout) in resolvedSchema.tables.enumerated() where !layout.schema.isRemoved {
            let after = new.tables[number]
            for column in layout.owning where after.isRemoved || after.columns[column].isRemoved {
                guard let owned = layout.columns[column].target, new[owned].isEmbedded, !new[owned].isRemoved else {
                    continue
                }
                var targets: [Int64] = []
                table(layout.id).forEachLeaf { leaf, _ in
                    for row in 0..<leaf.count {
                        forEachTarget(layout.columns[column], leaf: leaf, row: row, column: column) {
                            targets.append($0)
                        }
                    }
                    return !hasMetDamage
                }
                for target in targets { deleteOwned(owned, target) }
            }
        }
    }

    private func applySchema(_ new: StoreSchema) {
        let before = resolvedSchema
        let old = before.schema
        growRoot(to: new.tables.count)
        let layouts = ResolvedSchema(new)
        setSchema(layouts)
        var changes: [TableID: ChangedColumns] = [:]
        for id in old.tables.indices.map(TableID.init) where old[id] != new[id] {
            guard root.word(id.index) != 0 else { continue }
            if new[id].isRemoved && !old[id].isRemoved {
                drop(before.tables[id.index])
                changes[id] = ChangedColumns(removesAll: true)
            } else {
                changes[id] = change(id, from: before.tables[id.index], to: layouts.tables[id.index])
            }
        }
        dropScripts(changes)
    }

    /// Checks that `new` may follow `old`: it may add to it, remove from it and change indexes, but may not reuse a
    /// number.
    private static func check(_ new: StoreSchema, follows old: StoreSchema) throws(StoreError) {
        func fail(_ text: String) throws(StoreError) -> Never { throw StoreError(.schema, text) }
        guard new.tables.count >= old.tables.count else {
            try fail("the new schema has fewer tables than the store has ever had")
        }
        if let fault = new.limitFault ?? new.fault { try fail(fault.text) }
        for (index, table) in new.tables.enumerated() {
            for column in table.columns {
                guard column.type != .link || column.target.map({ $0.index < new.tables.count }) ?? false else {
                    try fail("\(table.name).\(column.name) links to a class that is not in the schema")
                }
            }
            guard index < old.tables.count else { continue }
            let oldTable = old.tables[index]
            guard oldTable.columns.count <= table.columns.count, !oldTable.isRemoved || table.isRemoved else {
                try fail("table \(index), \(oldTable.name), lost columns, or was removed and is listed again")
            }
            for (oldColumn, newColumn) in zip(oldTable.columns, table.columns) where !newColumn.isRemoved {
                guard !oldColumn.isRemoved, oldColumn.type == newColumn.type,
                    oldColumn.collection == newColumn.collection,
                    oldColumn.target == newColumn.target
                else { try fail("column \(oldColumn.name) of \(oldTable.name) changed its type under the same number") }
            }
        }
    }

    private func growRoot(to count: Int) {
        let old = ownRoot()
        guard count > old.tableCount else { return }
        let new = RootNode.make(tables: count, writer)
        for index in 0..<old.tableCount { new.slot(index).pointee = old.slot(index).pointee }
        rootSlot.pointee = NodeRef(new.node).word
        writer.retire(old.node)
        coreChanged()
    }

    /// Removes a table with all its rows and indexes.
    private func drop(_ layout: TableLayout) {
        let id = layout.id
        let table = ownTable(id)
        retireContents(table, layout, columns: layout.presentColumns.map(\.number))
        let rows = RowWriter(writer: writer, table: table, layouts: layout.layouts)
        if table.rows.pointee != 0 { rows.retireSubtree(NodeRef(table.rows.pointee).node) }
        ownRoot().slot(id.index).pointee = 0
        writer.retire(table.node)
    }

    /// Retires the indexes and backlinks of some columns, and the nodes that only their cells refer to.
    private func retireContents(_ table: TableNode, _ layout: TableLayout, columns: [Int]) {
        for column in columns {
            retireIndex(table, column: column, schema: layout.columns[column])
            if layout.columns[column].isLink || layout.columns[column].type == .mixed {
                IntegerIndexTree.retireAll(NodeRef(table.backlinks(column).pointee), writer)
                table.backlinks(column).pointee = 0
            }
        }
        let variable = columns.filter { layout.columns[$0].layout.form == .variable }
        guard !variable.isEmpty else { return }
        RowTree.forEachLeaf(in: table.rows.pointee) { leaf, _ in
            for column in variable {
                for row in 0..<leaf.count {
                    if layout.columns[column].collection != .none {
                        ListCell(chunk: leaf.chunk(column), row: row, layout: ElementLayout(layout.columns[column]))
                            .retire(writer)
                    } else if let (_, node) = leaf.chunk(column).ownNode(row) {
                        writer.retire(node)
                    }
                }
            }
            return !DamageRecord.isSet
        }
    }

    private func retireIndex(_ table: TableNode, column: Int, schema: ColumnSchema) {
        ColumnIndex.retireAll(schema, root: NodeRef(table.index(column).pointee), writer: writer)
        table.index(column).pointee = 0
    }

    private func change(_ id: TableID, from old: TableLayout, to layout: TableLayout) -> ChangedColumns {
        let oldTable = ownTable(id)
        let removed = old.columns.indices.filter { !old.columns[$0].isRemoved && layout.columns[$0].isRemoved }
        retireContents(oldTable, old, columns: removed)
        // Links have the same layout whether they may be null or not, and their backlinks stay.
        let converted = old.columns.indices.filter {
            !layout.columns[$0].isRemoved && !old.columns[$0].isLink
                && old.columns[$0].isNullable != layout.columns[$0].isNullable
        }
        let changed = ChangedColumns(removed: ColumnSet(removed), converted: ColumnSet(converted))
        for column in converted { retireIndex(oldTable, column: column, schema: old.columns[column]) }
        let collections = takeCollections(
            oldTable, layout: old, columns: converted.filter { old.columns[$0].collection != .none })
        let table = widen(oldTable, id, to: layout.columns.count)
        if !removed.isEmpty || !converted.isEmpty || layout.columns.count > old.columns.count {
            let rows = RowWriter(writer: writer, table: table, layouts: layout.layouts)
            rows.rebuildLeaves(
                LeafChange(
                    oldCount: old.columns.count,
                    converted: ColumnSet(converted.filter { old.columns[$0].collection == .none }),
                    marked: ColumnSet(converted.filter { layout.columns[$0].isNullable && !wasRequired(id, $0) }),
                    emptied: ColumnSet(converted.filter { old.columns[$0].collection != .none })))
        }
        for (column, key, elements) in collections {
            fillConverted(id, schema: layout.columns[column], column: column, key: key, elements: elements)
        }
        for column in layout.columns.indices where !layout.columns[column].isRemoved {
            let isIndexed = layout.columns[column].isIndexed || layout.primaryKey == column
            let wasIndexed =
                column < old.columns.count && !changed.converted.contains(column)
                && (old.columns[column].isIndexed || old.primaryKey == column)
            if wasIndexed && !isIndexed { retireIndex(table, column: column, schema: layout.columns[column]) }
            if isIndexed && !wasIndexed {
                ColumnIndex.build(
                    layout.columns[column], column: column, rows: table.rows.pointee, at: table.index(column),
                    writer: writer)
            }
        }
        return changed
    }

    /// Whether a column was there before the transaction and could hold no nulls.
    private func wasRequired(_ id: TableID, _ column: Int) -> Bool {
        let tables = base.snapshot.schema.tables
        guard id.index < tables.count, column < tables[id.index].columns.count else { return false }
        return !tables[id.index].columns[column].isNullable
    }

    /// Returns the elements of collections whose encoding is about to change, and retires their nodes. O(elements) in
    /// time and memory.
    private func takeCollections(
        _ table: TableNode, layout: TableLayout, columns: [Int]
    ) -> [(column: Int, key: Int64, elements: [Value])] {
        var result: [(Int, Int64, [Value])] = []
        RowTree.forEachLeaf(in: columns.isEmpty ? 0 : table.rows.pointee) { leaf, _ in
            for column in columns {
                for row in 0..<leaf.count {
                    let cell = ListCell(
                        chunk: leaf.chunk(column), row: row, layout: ElementLayout(layout.columns[column]))
                    if !cell.isEmpty { result.append((column, leaf.key(row), cell.elements)) }
                }
            }
            return !DamageRecord.isSet
        }
        retireContents(table, layout, columns: columns)
        return result
    }

    /// Drops the edit scripts of the lists in changed columns. One pass does so for all tables, since a transaction may
    /// have many scripts and change many tables.
    ///
    /// The log has the schema first, and elements that were inserted under the old schema may not be valid under the
    /// new one. The lists that are still there are logged completely.
    private func dropScripts(_ changes: [TableID: ChangedColumns]) {
        scripts = scripts.filter { cell, _ in
            guard let changed = changes[cell.table] else { return true }
            let isConverted = changed.converted.contains(cell.column)
            if isConverted { fullyLoggedLists.insert(cell) }
            return !isConverted && !changed.removesAll && !changed.removed.contains(cell.column)
        }
        // The new chunks of these lists have no marks, so `ownCell` marks them. Some of the objects may have been
        // deleted.
        for cell in fullyLoggedLists where changes[cell.table]?.converted.contains(cell.column) ?? false {
            if table(cell.table).find(cell.key) != nil { _ = ownCell(cell.table, column: cell.column, key: cell.key) }
        }
    }

    private func fillConverted(_ id: TableID, schema: ColumnSchema, column: Int, key: Int64, elements: [Value]) {
        let rows = rows(id)
        let location = locate(rows, table: id, key: key)
        var editor = ListEditor(
            ListCell(chunk: location.leaf.chunk(column), row: location.row, layout: ElementLayout(schema)), writer,
            scratch: scratch)
        let converted = elements.map { schema.isNullable ? $0 : $0.replacingNull(by: schema.type.blankValue) }
        // In a set, the value that replaces null has another index, or is there already.
        editor.append(contentsOf: schema.collection == .set ? Value.set(of: converted).elements : converted)
        _ = put(editor.finish(), rows: rows, column: column, leaf: location.leaf, row: location.row, isFresh: false)
    }

    /// Returns a table's node with space for `columns` columns: `old`, or a larger copy that replaces it.
    private func widen(_ old: TableNode, _ id: TableID, to columns: Int) -> TableNode {
        guard columns > old.columnCount else { return old }
        let new = TableNode.make(columns: columns, writer)
        new.rows.pointee = old.rows.pointee
        new.rowCount = old.rowCount
        new.nextKey = old.nextKey
        for column in 0..<old.columnCount {
            new.index(column).pointee = old.index(column).pointee
            new.backlinks(column).pointee = old.backlinks(column).pointee
        }
        ownRoot().slot(id.index).pointee = NodeRef(new.node).word
        writer.retire(old.node)
        return new
    }
}

/// The columns of a table that a change of the schema removes or gives another layout.
private struct ChangedColumns {
    /// Whether the table is removed, with all its columns.
    var removesAll = false
    var removed = ColumnSet()
    var converted = ColumnSet()
}

/// How a change of the schema changes the columns of every leaf of a table.
struct LeafChange {
    /// The number of columns before. Columns from this number on are new, and blank.
    let oldCount: Int
    /// Columns that keep their values in the new layout; a null becomes 0 or empty where nulls are no longer allowed.
    let converted: ColumnSet
    /// The converted columns that are nullable again, after this transaction made them required or added them as
    /// required. Their cells hold 0 or empty values since then. A replay knows only the last schema, and would read
    /// null there. So these cells are marked, and logged.
    let marked: ColumnSet
    /// Columns of collections that are emptied.
    let emptied: ColumnSet
}

extension RowWriter {
    /// Gives every leaf the columns of the new layouts.
    func rebuildLeaves(_ change: LeafChange) {
        guard table.rows.pointee != 0 else { return }
        writer.layoutChanged()
        rebuild(table.rows, change)
    }

    private func rebuild(_ slot: UnsafeMutablePointer<UInt64>, _ change: LeafChange) {
        let node = NodeRef(slot.pointee).node
        guard node.isLeaf else {
            let inner = RowNode(writer.own(slot))
            for child in 0..<inner.count { rebuild(inner.refs + child, change) }
            return
        }
        let old = Leaf(node)
        let new = Leaf.make(columns: layouts.count, writer)
        new.count = old.count
        new.firstKey = old.firstKey
        new.keysSlot.pointee = old.keysSlot.pointee
        for column in 0..<layouts.count {
            let oldChunk = column < change.oldCount && old.hasChunk(column) ? old.chunk(column) : nil
            guard let layout = layouts[column] else {
                if oldChunk != nil { writer.retire(old.chunkNode(column)) }
                continue
            }
            let chunk: Chunk
            if let oldChunk, !change.emptied.contains(column) {
                if change.converted.contains(column) {
                    chunk = convert(oldChunk, to: layout, rows: old.count)
                    if change.marked.contains(column) { for row in 0..<old.count { chunk.mark(row) } }
                    writer.retire(old.chunkNode(column))
                } else {
                    chunk = oldChunk
                }
            } else {
                chunk = Chunk.make(layout, capacity: Limits.rowsPerLeaf, heap: 0, writer)
                for row in 0..<old.count { chunk.putBlank(layout, row) }
                if oldChunk != nil { writer.retire(old.chunkNode(column)) }
            }
            // A kept chunk may be an encoded one in a checkpoint. Then its reference is kept, not the memory that it
            // was decoded to.
            new.chunkSlot(column).pointee =
                chunk.node == oldChunk?.node ? old.chunkSlot(column).pointee : NodeRef(chunk.node).word
        }
        slot.pointee = NodeRef(new.node).word
        writer.retire(old.node)
    }

    /// Returns a chunk with the same values in another layout, which can hold nulls or no longer can.
    private func convert(_ old: Chunk, to layout: ChunkLayout, rows: Int) -> Chunk {
        let heap = layout.form == .variable ? old.liveHeap(rows) : 0
        let new = Chunk.make(layout, capacity: old.node.capacity, heap: heap, writer)
        switch layout.form {
        case .fixed: new.data.copyMemory(from: old.data, byteCount: rows * layout.width)
        case .nullable:
            new.data.copyMemory(from: old.data, byteCount: rows * layout.width)
            new.nullFlags.update(repeating: 0, count: rows)
        case .variable:
            new.copyRows(from: old, 0..<rows, to: 0)
            if layout.blank != .null {
                for row in 0..<rows where new.isNull(row) { new.putBlank(layout, row) }
            }
        }
        // Cells that this transaction assigned before are logged in the new layout.
        if writer.isNew(old.node) { old.forEachMark(in: 0..<rows) { new.mark($0) } }
        return new
    }
}

extension Value {
    /// The element, with `blank` in place of null. In an entry of a map, `blank` replaces the entry's value if that is
    /// null.
    fileprivate func replacingNull(by blank: Value) -> Value {
        guard case .map(let entries) = self else { return self == .null ? blank : self }
        return .map(entries.map { MapEntry(key: $0.key, value: $0.value == .null ? blank : $0.value) })
    }
}

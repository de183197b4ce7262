/// An object that is being made: its row exists, but is not in the indexes yet.
///
/// It is filled with `WriteTransaction.fill...` and completed by `endRow`, before anything else is done in the
/// transaction.
package struct FreshRow {
    package let table: TableID
    package let key: Int64
    var leaf: Leaf
    var row: Int
}

extension WriteTransaction {
    /// Begins an object: its values are 0, empty or null.
    package func beginRow(_ id: TableID) -> FreshRow {
        recordingDamage {
            if writer.state.pointee.byteDelta >= writer.state.pointee.flushAt { flushFilledLeaves(of: id) }
            let rows = rows(id)
            let key = hasKeyMarks ? unmarkedKey(id, rows.table) : rows.table.nextKey
            if key >= ChangesetFormat.keyLimit - 1 { refuseKeys(of: id) }
            rows.table.nextKey = key + 1
            var location = hasMetDamage ? blankRow(rows) : rows.append(key)
            // If damage was met while appending, the row may be in a node that is not the transaction's own.
            if hasMetDamage { location = blankRow(rows) }
            return FreshRow(table: id, key: key, leaf: location.leaf, row: location.row)
        }
    }

    /// Notes that the table has no key left: a changeset can contain neither a higher key, nor a next key behind this
    /// one.
    @inline(never)
    private func refuseKeys(of id: TableID) {
        DamageRecord.contradiction("\(resolvedSchema.tables[id.index].schema.name) has used all possible object keys")
    }

    /// The next key that no transaction has used, not even a cancelled one.
    @inline(never)
    private func unmarkedKey(_ id: TableID, _ table: TableNode) -> Int64 {
        let marks = context.workspace.keyMarks
        return max(table.nextKey, id.index < marks.count ? marks[id.index] : 0)
    }

    /// Begins an object with a given key: the one that it got from the transaction whose changeset is applied.
    package func beginRow(_ id: TableID, key: Int64) throws(StoreError) -> FreshRow {
        let rows = rows(id)
        guard key >= rows.table.nextKey else {
            throw StoreError(.damage, "a changeset inserts key \(key) of table \(id.rawValue) again")
        }
        rows.table.nextKey = key + 1
        let location = rows.append(key)
        return FreshRow(table: id, key: key, leaf: location.leaf, row: location.row)
    }

    /// Enters a filled object into its indexes and its targets' backlinks. If its primary key is taken, removes the
    /// object and throws.
    package func endRow(_ fresh: FreshRow) throws(StoreError) {
        try recordingDamage { () throws(StoreError) in try enterRow(fresh) }
    }

    private func enterRow(_ fresh: FreshRow) throws(StoreError) {
        if hasMetDamage { return }
        let plan = plan(fresh.table)
        if !plan.hasEntries || appendToLoneKey(fresh, plan) { return }
        let layout = resolvedSchema.tables[fresh.table.index]
        if let primaryKey = layout.primaryKey {
            let view = table(fresh.table)
            if view.primaryKeyIsTaken(byRowLike: fresh.leaf, fresh.row, primaryKey) {
                let value = view.value(primaryKey, leaf: fresh.leaf, row: fresh.row)
                removeFreshRow(fresh)
                throw StoreError(
                    .primaryKeyTaken,
                    "\(layout.schema.name) has an object with primary key \(value) already; update it instead, or choose another key"
                )
            }
        }
        enterIndexes(fresh)
    }

    /// Enters an object into its indexes and its targets' backlinks, whatever its primary key. A changeset may insert
    /// it before it deletes the object that has the same key.
    func enterIndexes(_ fresh: FreshRow) {
        let plan = plan(fresh.table)
        if !plan.hasEntries || appendToLoneKey(fresh, plan) { return }
        let layout = resolvedSchema.tables[fresh.table.index]
        let table = ownTable(fresh.table)
        for column in layout.indexed {
            ColumnIndex.insert(
                layout.columns[column], chunk: fresh.leaf.chunk(column), row: fresh.row, key: fresh.key,
                at: table.index(column),
                writer: writer)
        }
        for column in layout.links {
            forEachTarget(layout.columns[column], leaf: fresh.leaf, row: fresh.row, column: column) { target in
                IntegerIndexTree.insert(UInt64(target), value: fresh.key, at: table.backlinks(column), writer: writer)
            }
        }
        if layout.mixed.isEmpty { return }
        let rows = rows(fresh.table)
        for column in layout.mixed {
            linkMixed(
                rows, schema: layout.columns[column], leaf: fresh.leaf, row: fresh.row, column: column, key: fresh.key)
        }
    }

    /// Enters an object into the index of its integer primary key. Does so only if that is the table's only index,
    /// there are no links, and the key is above all others. Returns false otherwise.
    @inline(__always)
    private func appendToLoneKey(_ fresh: FreshRow, _ plan: AppendPlan) -> Bool {
        guard plan.loneIntegerKey >= 0 else { return false }
        let key: Int64 = fresh.leaf.chunk(plan.loneIntegerKey).load(fresh.row)
        let root = ownTable(fresh.table).index(plan.loneIntegerKey)
        return IntegerIndexTree.append(UInt64(bitPattern: key) ^ (1 << 63), value: fresh.key, at: root, writer: writer)
    }

    private func removeFreshRow(_ fresh: FreshRow) {
        let rows = rows(fresh.table)
        retireOwnNodes(resolvedSchema.tables[fresh.table.index], leaf: fresh.leaf, row: fresh.row)
        rows.remove(fresh.key)
    }

    // MARK: Filling

    @inline(__always)
    package func fill<T: BitwiseCopyable>(_ fresh: FreshRow, _ column: Int, fixed value: T) {
        fresh.leaf.chunk(column).putFixed(value, fresh.row)
    }

    @inline(__always)
    package func fill(_ fresh: inout FreshRow, _ column: Int, bytes: UnsafeRawBufferPointer) {
        if fresh.leaf.chunk(column).putFirst(bytes, fresh.row) { return }
        fillAny(&fresh, column: column, bytes: bytes)
    }

    @inline(never)
    private func fillAny(_ fresh: inout FreshRow, column: Int, bytes: UnsafeRawBufferPointer) {
        checkLength(bytes, table: fresh.table, column: column)
        // After damage the row is not in the table (`blankRow`).
        if hasMetDamage { return }
        let table = TableNode(NodeRef(root.word(fresh.table.index)).node)
        let rows = RowWriter(writer: writer, table: table, layouts: plan(fresh.table).layouts)
        let location = rows.putBytes(bytes, column: column, leaf: fresh.leaf, row: fresh.row, isFresh: true)
        fresh.leaf = location.leaf
        fresh.row = location.row
    }

    package func fillNull(_ fresh: FreshRow, _ column: Int) {
        fresh.leaf.chunk(column).putNull(fresh.row)
    }

    /// Fills a cell of any type. A link's target must exist.
    package func fill(_ fresh: inout FreshRow, column: Int, value: Value) {
        let schema = resolvedSchema.tables[fresh.table.index].columns[column]
        if schema.collection != .none {
            if hasMetDamage { return }
            let rows = rows(fresh.table)
            var editor = ListEditor(
                ListCell(chunk: fresh.leaf.chunk(column), row: fresh.row, layout: ElementLayout(schema)), writer,
                scratch: scratch)
            let elements = value.elements
            for element in elements { checkLength(ofElement: element, fresh.table, column) }
            editor.append(contentsOf: elements)
            let location = put(
                editor.finish(), rows: rows, column: column, leaf: fresh.leaf, row: fresh.row, isFresh: true)
            fresh.leaf = location.leaf
            fresh.row = location.row
            return
        }
        if schema.type.fixedWidth == nil {
            PlainCoding.withBytes(value, as: schema.type) { bytes in
                if let bytes { fill(&fresh, column, bytes: bytes) } else { fillNull(fresh, column) }
            }
            return
        }
        putFixed(value, schema: schema, chunk: fresh.leaf.chunk(column), row: fresh.row)
    }

    /// Writes a value of a fixed-width type.
    func putFixed(_ value: Value, schema: ColumnSchema, chunk: Chunk, row: Int) {
        if value == .null, schema.type != .link {
            precondition(schema.isNullable, "Firn: \(schema.name) may not be null")
            return chunk.putNull(row)
        }
        FixedCoding.store(value, as: schema.type, to: chunk.address(row))
        if chunk.form == .nullable { chunk.nullFlags[row] = 0 }
    }

    /// Puts an edited collection back into its cell.
    func put(
        _ result: ListEditor.Result, rows: RowWriter, column: Int, leaf: Leaf, row: Int, isFresh: Bool
    ) -> (leaf: Leaf, row: Int) {
        switch result {
        case .inline(let bytes):
            rows.put(bytes, length: UInt16(bytes.count), column: column, leaf: leaf, row: row, isFresh: isFresh)
        case .tree(let root):
            rows.putReference(
                root.node, length: Chunk.Slot.tree, column: column, leaf: leaf, row: row, isFresh: isFresh)
        }
    }

    // MARK: Links

    /// Calls `body` with the target of each link in a cell.
    func forEachTarget(_ schema: ColumnSchema, leaf: Leaf, row: Int, column: Int, _ body: (Int64) -> Void) {
        guard schema.collection != .none else {
            let target: Int64 = leaf.chunk(column).load(row)
            if target >= 0 { body(target) }
            return
        }
        ListCell(chunk: leaf.chunk(column), row: row, layout: ElementLayout(schema)).forEach { value in
            if case .link(let target) = value, target >= 0 { body(target) }
            return true
        }
    }

    /// Retires the nodes that only the cells of a row refer to.
    func retireOwnNodes(_ layout: TableLayout, leaf: Leaf, row: Int) {
        for column in layout.variable {
            let schema = layout.columns[column]
            if schema.collection != .none {
                ListCell(chunk: leaf.chunk(column), row: row, layout: ElementLayout(schema)).retire(writer)
            } else if let (_, node) = leaf.chunk(column).ownNode(row) {
                writer.retire(node)
            }
        }
    }
}

extension WriteTransaction {
    /// Whether the transaction has created objects of a table.
    package func hasCreated(_ id: TableID) -> Bool { table(id).nextKey != baseTable(id).nextKey }
}

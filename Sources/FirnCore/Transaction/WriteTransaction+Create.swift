/// An object that is being made: its row is there, its indexes are not yet. It is filled through `WriteTransaction.fill...` and ended by `endRow`, before
/// anything else is done in the transaction.
public struct FreshRow {
    public let table: TableID
    public let key: Int64
    var leaf: Leaf
    var row: Int
}

extension WriteTransaction {
    /// Begins an object: its values are 0, empty or null.
    public func beginRow(_ id: TableID) -> FreshRow {
        noting {
            if writer.state.pointee.byteDelta >= writer.state.pointee.flushAt { flushFilledLeaves(of: id) }
            let rows = rows(id)
            let key = hasKeyMarks ? unmarkedKey(id, rows.table) : rows.table.nextKey
            if key >= ChangesetFormat.keyLimit - 1 { refuseKeys(of: id) }
            rows.table.nextKey = key + 1
            var place = hasFault ? blankRow(rows) : rows.append(key)
            // What it was appended to may not be the transaction's own.
            if hasFault { place = blankRow(rows) }
            return FreshRow(table: id, key: key, leaf: place.leaf, row: place.row)
        }
    }

    /// A changeset can name no further key, nor say that keys go on behind this one.
    @inline(never)
    private func refuseKeys(of id: TableID) {
        Faults.contradiction("\(reference.tables[id.index].schema.name) has handed out all keys that there are")
    }

    /// The next key that no cancelled transaction has handed out either.
    @inline(never)
    private func unmarkedKey(_ id: TableID, _ table: TableNode) -> Int64 {
        let marks = store.workspace.keyMarks
        return max(table.nextKey, id.index < marks.count ? marks[id.index] : 0)
    }

    /// Begins an object with a key handed out before (by the transaction whose changeset is applied).
    func beginRow(_ id: TableID, key: Int64) throws(StoreError) -> FreshRow {
        let rows = rows(id)
        guard key >= rows.table.nextKey else {
            throw StoreError(.damage, "a changeset inserts key \(key) of table \(id.rawValue) again")
        }
        rows.table.nextKey = key + 1
        let place = rows.append(key)
        return FreshRow(table: id, key: key, leaf: place.leaf, row: place.row)
    }

    /// Enters a filled object into its indexes and its targets' backlinks. Throws, and takes the object back, where its primary key is taken.
    public func endRow(_ fresh: FreshRow) throws(StoreError) {
        try noting { () throws(StoreError) in try enterRow(fresh) }
    }

    private func enterRow(_ fresh: FreshRow) throws(StoreError) {
        if hasFault { return }
        let plan = plan(fresh.table)
        if !plan.hasEntries || appendToLoneKey(fresh, plan) { return }
        let layout = reference.tables[fresh.table.index]
        if let primaryKey = layout.primaryKey {
            let view = table(fresh.table)
            if view.primaryKeyIsTaken(byRowLike: fresh.leaf, fresh.row, primaryKey) {
                let value = view.value(primaryKey, fresh.leaf, fresh.row)
                takeBack(fresh)
                throw StoreError(
                    .primaryKeyTaken,
                    "\(layout.schema.name) has an object with primary key \(value) already; update it instead, or choose another key"
                )
            }
        }
        enterIndexes(fresh)
    }

    /// Enters an object into its indexes and its targets' backlinks, whatever its primary key: in a changeset it may come before the one goes that has it.
    func enterIndexes(_ fresh: FreshRow) {
        let plan = plan(fresh.table)
        if !plan.hasEntries || appendToLoneKey(fresh, plan) { return }
        let layout = reference.tables[fresh.table.index]
        let table = ownTable(fresh.table)
        for column in layout.indexed {
            ColumnIndex.insert(
                layout.columns[column], fresh.leaf.chunk(column), fresh.row, key: fresh.key, at: table.index(column),
                writer)
        }
        for column in layout.links {
            forEachTarget(layout.columns[column], fresh.leaf, fresh.row, column) { target in
                IntegerIndexTree.insert(UInt64(target), fresh.key, at: table.backlinks(column), writer)
            }
        }
    }

    /// Enters an object whose primary key is above all others, and which nothing else points to; false for any other.
    @inline(__always)
    private func appendToLoneKey(_ fresh: FreshRow, _ plan: AppendPlan) -> Bool {
        guard plan.loneIntegerKey >= 0 else { return false }
        let key: Int64 = fresh.leaf.chunk(plan.loneIntegerKey).load(fresh.row)
        let root = ownTable(fresh.table).index(plan.loneIntegerKey)
        return IntegerIndexTree.append(UInt64(bitPattern: key) ^ (1 << 63), fresh.key, at: root, writer)
    }

    private func takeBack(_ fresh: FreshRow) {
        let rows = rows(fresh.table)
        retireOwnNodes(reference.tables[fresh.table.index], fresh.leaf, fresh.row)
        rows.remove(fresh.key)
    }

    // MARK: Filling

    @inline(__always)
    public func fill<T: BitwiseCopyable>(_ fresh: FreshRow, _ column: Int, fixed value: T) {
        fresh.leaf.chunk(column).putFixed(value, fresh.row)
    }

    @inline(__always)
    public func fill(_ fresh: inout FreshRow, _ column: Int, bytes: UnsafeRawBufferPointer) {
        if fresh.leaf.chunk(column).putFirst(bytes, fresh.row) { return }
        fillAny(&fresh, column, bytes)
    }

    @inline(never)
    private func fillAny(_ fresh: inout FreshRow, _ column: Int, _ bytes: UnsafeRawBufferPointer) {
        checkLength(bytes, fresh.table, column)
        // The row is in no table.
        if hasFault { return }
        let table = TableNode(NodeRef(RootNode(NodeRef(rootSlot.pointee).node).slot(fresh.table.index).pointee).node)
        let rows = RowWriter(writer: writer, table: table, layouts: plan(fresh.table).layouts)
        let place = rows.putBytes(bytes, column, fresh.leaf, fresh.row, isFresh: true)
        fresh.leaf = place.leaf
        fresh.row = place.row
    }

    public func fillNull(_ fresh: FreshRow, _ column: Int) {
        fresh.leaf.chunk(column).putNull(fresh.row)
    }

    /// Fills a cell of any type. A link's target must exist.
    public func fill(_ fresh: inout FreshRow, _ column: Int, _ value: Value) {
        let schema = reference.tables[fresh.table.index].columns[column]
        if schema.collection != .none {
            if hasFault { return }
            let rows = rows(fresh.table)
            var editor = ListEditor(
                ListCell(fresh.leaf.chunk(column), fresh.row, ElementLayout(schema)), writer, scratch: scratch)
            let elements = value.elements
            for element in elements { checkLength(ofElement: element, fresh.table, column) }
            editor.append(contentsOf: elements)
            let place = put(editor.finish(), rows, column, fresh.leaf, fresh.row, isFresh: true)
            fresh.leaf = place.leaf
            fresh.row = place.row
            return
        }
        if schema.type.fixedWidth == nil {
            PlainCoding.withBytes(value, as: schema.type) { bytes in
                if let bytes { fill(&fresh, column, bytes: bytes) } else { fillNull(fresh, column) }
            }
            return
        }
        putFixed(value, schema, fresh.leaf.chunk(column), fresh.row)
    }

    /// Writes a value of a fixed-width type.
    func putFixed(_ value: Value, _ schema: ColumnSchema, _ chunk: Chunk, _ row: Int) {
        if value == .null, schema.type != .link {
            precondition(schema.isNullable, "Firn: \(schema.name) may not be null")
            return chunk.putNull(row)
        }
        FixedCoding.store(value, as: schema.type, to: chunk.address(row))
        if chunk.form == .nullable { chunk.nullFlags[row] = 0 }
    }

    /// Puts an edited collection back into its cell.
    func put(
        _ result: ListEditor.Result, _ rows: RowWriter, _ column: Int, _ leaf: Leaf, _ row: Int, isFresh: Bool
    ) -> (leaf: Leaf, row: Int) {
        switch result {
        case .inline(let bytes):
            rows.put(bytes, length: UInt16(bytes.count), column, leaf, row, isFresh: isFresh)
        case .tree(let root):
            rows.putReference(root.node, length: Chunk.Slot.tree, column, leaf, row, isFresh: isFresh)
        }
    }

    // MARK: Links

    /// Calls `body` with the target of each link in a cell.
    func forEachTarget(_ schema: ColumnSchema, _ leaf: Leaf, _ row: Int, _ column: Int, _ body: (Int64) -> Void) {
        guard schema.collection != .none else {
            let target: Int64 = leaf.chunk(column).load(row)
            if target >= 0 { body(target) }
            return
        }
        ListCell(leaf.chunk(column), row, ElementLayout(schema)).forEach { value in
            if case .link(let target) = value, target >= 0 { body(target) }
            return true
        }
    }

    /// Retires what a row's cells hold in nodes of their own.
    func retireOwnNodes(_ layout: TableLayout, _ leaf: Leaf, _ row: Int) {
        for column in layout.variable {
            let schema = layout.columns[column]
            if schema.collection != .none {
                ListCell(leaf.chunk(column), row, ElementLayout(schema)).retire(writer)
            } else if let (_, node) = leaf.chunk(column).ownNode(row) {
                writer.retire(node)
            }
        }
    }
}

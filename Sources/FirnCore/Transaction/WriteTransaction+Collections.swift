/// Edits one list, set or map of an object. Each call is recorded in the transaction's edit script of that collection,
/// and updates the targets' backlinks.
package struct ListChange {
    let transaction: WriteTransaction
    let cell: CellID
    let isLink: Bool
    let isMixed: Bool
    let backlinks: UnsafeMutablePointer<UInt64>
    var editor: ListEditor
    /// Nil for a list that is logged completely: in an object made in this transaction, or in `fullyLoggedLists`.
    var script: ListScript?
    /// The embedded objects that the collection has lost, to be deleted after the edit; nil if the collection owns no
    /// objects.
    var replaced: Set<Int64>?

    package var count: Int { editor.count }
    package var elements: ListCell { editor.cell }

    private func checkLength(_ value: Value) {
        transaction.checkLength(ofElement: value, cell.table, cell.column)
    }

    private mutating func link(_ element: Value) {
        if isLink, let target = element.linkedKey {
            IntegerIndexTree.insert(UInt64(target), value: cell.key, at: backlinks, writer: transaction.writer)
            replaced?.remove(target)
        }
        if isMixed {
            MixedLinks.forEach(in: element) { table, target in
                IntegerIndexTree.insert(
                    MixedLinks.backlinkKey(table, target), value: cell.key, at: backlinks, writer: transaction.writer)
            }
        }
    }

    private mutating func unlink(_ element: Value) {
        if isLink, let target = element.linkedKey {
            let isThere = IntegerIndexTree.remove(
                UInt64(target), value: cell.key, at: backlinks, writer: transaction.writer)
            if !isThere { DamageRecord.contradiction("a backlink from object \(cell.key) to \(target) is missing") }
            replaced?.insert(target)
        }
        if isMixed {
            MixedLinks.forEach(in: element) { table, target in
                transaction.removeMixedBacklink(backlinks, table: table, target: target, from: cell.key)
            }
        }
    }

    package mutating func insert(_ value: Value, at index: Int) {
        checkLength(value)
        link(value)
        editor.insert(value, at: index)
        script?.append(.insert(index, value))
    }

    package mutating func append(_ value: Value) { insert(value, at: count) }

    @discardableResult
    package mutating func remove(at index: Int) -> Value {
        let old = editor.cell.element(at: index)
        unlink(old)
        editor.remove(at: index)
        script?.append(.remove(index, old: old))
        return old
    }

    package mutating func set(_ value: Value, at index: Int) {
        checkLength(value)
        let old = editor.cell.element(at: index)
        unlink(old)
        link(value)
        editor.set(value, at: index)
        script?.append(.set(index, new: value, old: old))
    }

    package mutating func move(from: Int, to: Int) {
        editor.move(from: from, to: to)
        script?.append(.move(from: from, to: to))
    }

    /// Inserts a value into a set, unless the set has an equal one.
    package mutating func insertMember(_ value: Value) {
        let found = editor.cell.find(value)
        if !found.isFound { insert(value, at: found.index) }
    }

    /// Removes a value from a set. False if the set has no equal one.
    @discardableResult
    package mutating func removeMember(_ value: Value) -> Bool {
        let found = editor.cell.find(value)
        if found.isFound { remove(at: found.index) }
        return found.isFound
    }

    /// Sets the value of a map's key.
    package mutating func setValue(_ value: Value, forKey key: String) {
        let found = editor.cell.find(key: key)
        let element = Value.map([Value.MapEntry(key: key, value: value)])
        if found.isFound { set(element, at: found.index) } else { insert(element, at: found.index) }
    }

    /// Removes a map's key, if the map has it.
    package mutating func removeValue(forKey key: String) {
        let found = editor.cell.find(key: key)
        if found.isFound { remove(at: found.index) }
    }

    package mutating func removeAll() {
        let old = editor.cell.elements
        for element in old { unlink(element) }
        editor.removeAll()
        script?.append(.removeAll(old: old))
    }
}

extension WriteTransaction {
    /// Runs `body` on a list, set or map of an object. Embedded objects that the collection loses are deleted, except
    /// in replay, where the changeset lists these deletions, and if `deletesReplaced` is false.
    package func edit<R, E: Error>(
        _ id: TableID, column: Int, key: Int64, deletesReplaced: Bool = true,
        _ body: (inout ListChange) throws(E) -> R
    ) throws(E) -> R {
        try recordingDamage { () throws(E) in
            guard deletesReplaced, let owned = ownedTable(id, column) else {
                var replaced: Set<Int64>?
                return try editCell(id, column: column, key: key, replaced: &replaced, body)
            }
            var replaced: Set<Int64>? = []
            let result = try editCell(id, column: column, key: key, replaced: &replaced, body)
            for object in (replaced ?? []).sorted() { deleteOwned(owned, object) }
            return result
        }
    }

    /// The table of the embedded objects that a column links to. The transaction deletes these objects when they lose
    /// their parents. Nil for other columns. Also nil in replay, because the changeset has these deletions.
    @inline(__always)
    func ownedTable(_ id: TableID, _ column: Int) -> TableID? {
        let layout = resolvedSchema.tables[id.index]
        if layout.owning.isEmpty || isReplay || !layout.owning.contains(column) { return nil }
        return layout.columns[column].target
    }

    private func editCell<R, E: Error>(
        _ id: TableID, column: Int, key: Int64, replaced: inout Set<Int64>?,
        _ body: (inout ListChange) throws(E) -> R
    ) throws(E) -> R {
        let schema = resolvedSchema.tables[id.index].columns[column]
        let rows = rows(id)
        let location = locate(rows, table: id, key: key)
        let cell = CellID(table: id, column: column, key: key)
        // A table that this transaction made, as replay may do, is not in the base: all its objects are new.
        let isWhole = key >= baseTable(id).nextKey || isSchemaChanged && fullyLoggedLists.contains(cell)
        var change = ListChange(
            transaction: self, cell: cell, isLink: schema.isLink, isMixed: schema.type == .mixed,
            backlinks: rows.table.backlinks(column),
            editor: ListEditor(
                ListCell(chunk: location.leaf.chunk(column), row: location.row, layout: ElementLayout(schema)), writer,
                scratch: scratch),
            script: isWhole ? nil : scripts.removeValue(forKey: cell) ?? ListScript(), replaced: replaced)
        defer {
            if change.editor.isChanged, !hasMetDamage {
                let (leaf, row) = location
                let after = put(
                    change.editor.finish(), rows: rows, column: column, leaf: leaf, row: row,
                    isFresh: isFresh(id, column: column, leaf: leaf, row: row))
                if writer.owns(after.leaf.chunkNode(column)) { after.leaf.chunk(column).mark(after.row) }
            }
            if let script = change.script, !script.isEmpty { scripts[cell] = script }
            replaced = change.replaced
        }
        return try body(&change)
    }

    func replaceCollection(_ id: TableID, column: Int, key: Int64, with value: Value) {
        edit(id, column: column, key: key) { change in
            change.removeAll()
            for element in value.elements { change.append(element) }
        }
        // Assigning marks the cell even if the collection was empty and stays empty.
        _ = ownCell(id, column: column, key: key)
    }
}

extension Value {
    /// The elements of a collection, in the form that `ListChange` takes: an entry of a map is a map of that entry.
    /// Empty for null.
    package var elements: [Value] {
        switch self {
        case .list(let values), .set(let values): values
        case .null: []
        case .map(let entries): entries.map { .map([$0]) }
        default: preconditionFailure("Firn: \(self) is not a collection")
        }
    }

    /// The key of the object that an element of a column of links leads to; nil for null.
    package var linkedKey: Int64? {
        switch self {
        case .link(let key): key < 0 ? nil : key
        case .map(let entries) where entries.count == 1: entries[0].value.linkedKey
        default: nil
        }
    }
}

extension WriteTransaction {
    /// Deletes an object. Links to it become nil, lists and sets lose it, and the embedded objects that it owns are
    /// deleted with it. All of that is in the changeset, so replay runs no rules.
    package func delete(_ id: TableID, _ key: Int64) {
        recordingDamage {
            // An explicit stack, because chains of embedded objects may be long.
            var pending: [(table: TableID, key: Int64)] = []
            deleteOne(id, key) { pending.append(($0, $1)) }
            while !hasFault, let (id, key) = pending.popLast() {
                // A forged store may list an object twice, or one that does not exist.
                if table(id).find(key) != nil { deleteOne(id, key) { pending.append(($0, $1)) } }
            }
        }
    }

    /// Deletes an embedded object that has lost its parent. A forged store may name one that does not exist.
    func deleteOwned(_ id: TableID, _ key: Int64) {
        if !hasFault, table(id).find(key) != nil { delete(id, key) }
    }

    private func deleteOne(_ id: TableID, _ key: Int64, _ owned: (TableID, Int64) -> Void) {
        let layout = resolvedSchema.tables[id.index]
        for (origin, column) in layout.incoming {
            unlinkAll(origin, column, target: key, except: id == origin ? key : nil)
        }
        for (origin, column) in resolvedSchema.mixed {
            unlinkAllMixed(origin, column, target: (id, key), except: id == origin ? key : nil)
        }
        removeRow(id, key, owned)
    }

    /// Removes a row with its own links, index entries and nodes. The caller updates the links to it.
    func removeRow(_ id: TableID, _ key: Int64, _ owned: (TableID, Int64) -> Void) {
        let layout = resolvedSchema.tables[id.index]
        let rows = rows(id)
        let location = locate(rows, id, key)
        if hasFault { return }
        for column in layout.links {
            let schema = layout.columns[column]
            let isOwner = layout.owning.contains(column)
            forEachTarget(schema, location.leaf, location.row, column) { target in
                removeBacklink(rows, column, target, key)
                if isOwner, let table = schema.target { owned(table, target) }
            }
        }
        for column in layout.mixed {
            unlinkMixed(rows, layout.columns[column], location.leaf, location.row, column, key)
        }
        for column in layout.indexed {
            removeFromIndex(rows, layout, column, location.leaf.chunk(column), location.row, key)
        }
        for column in layout.variable where layout.columns[column].collection != .none {
            scripts[CellID(table: id, column: column, key: key)] = nil
        }
        retireOwnNodes(layout, location.leaf, location.row)
        if !hasFault { rows.remove(key) }
    }

    /// Removes every link from one column to an object. The links of the object itself (`except`) are removed with
    /// its row.
    private func unlinkAll(_ origin: TableID, _ column: Int, target: Int64, except own: Int64?) {
        let schema = resolvedSchema.tables[origin.index].columns[column]
        var sources: [Int64] = []
        IntegerIndexTree.forEachValue(of: UInt64(target), in: table(origin).backlinks(column)) { source in
            // A list that contains the object twice has two entries, one after the other.
            if source != own, sources.last != source { sources.append(source) }
            return true
        }
        for source in sources where !hasFault {
            guard table(origin).find(source) != nil else {
                Faults.contradiction(
                    "the backlinks say that object \(source) links to \(target), but it does not exist")
                continue
            }
            switch schema.collection {
            case .none: setLink(origin, column, source, to: -1, deletesReplaced: false)
            case .list:
                edit(origin, column, source, deletesReplaced: false) { change in
                    while let index = change.elements.firstIndex(of: target) { change.remove(at: index) }
                }
            case .set:
                edit(origin, column, source, deletesReplaced: false) { change in
                    if !change.removeMember(.link(target)) {
                        Faults.contradiction("a set of object \(source) lacks its link to \(target)")
                    }
                }
            case .map:
                edit(origin, column, source, deletesReplaced: false) { change in
                    for (index, element) in change.elements.elements.enumerated() where element.linkedKey == target {
                        change.set(.map([Value.MapEntry(key: element.onlyEntry.key, value: .null)]), at: index)
                    }
                }
            }
        }
    }

    /// Deletes every object of a table.
    package func deleteAll(_ id: TableID) {
        recordingDamage {
            let view = table(id)
            guard view.count > 0 else { return }
            var keys: [Int64] = []
            view.forEachLeaf { leaf, _ in
                for row in 0..<leaf.count { keys.append(leaf.key(row)) }
                return !hasFault
            }
            // From the end, so that no row has to move up. An embedded object may have been deleted with its owner.
            for key in keys.reversed() where !hasFault && table(id).find(key) != nil { delete(id, key) }
        }
    }
}

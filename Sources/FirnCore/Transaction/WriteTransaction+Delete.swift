extension WriteTransaction {
    /// Deletes an object: links to it become nil, lists and sets lose it, embedded objects that it owns go with it. All of it is in the changeset, so replay runs
    /// no rules.
    public func delete(_ id: TableID, _ key: Int64) {
        noting {
            // A stack of its own: chains of embedded objects may be long.
            var pending: [(table: TableID, key: Int64)] = []
            deleteOne(id, key) { pending.append(($0, $1)) }
            while !hasFault, let (id, key) = pending.popLast() {
                // A forged store may name one twice, or one that is not there.
                if table(id).find(key) != nil { deleteOne(id, key) { pending.append(($0, $1)) } }
            }
        }
    }

    private func deleteOne(_ id: TableID, _ key: Int64, _ owned: (TableID, Int64) -> Void) {
        let layout = reference.tables[id.index]
        for (origin, column) in layout.incoming {
            unlinkAll(origin, column, target: key, except: id == origin ? key : nil)
        }
        removeRow(id, key, owned)
    }

    /// Takes a row out with its own links, index entries and nodes. Links to it are the caller's to mend.
    func removeRow(_ id: TableID, _ key: Int64, _ owned: (TableID, Int64) -> Void) {
        let layout = reference.tables[id.index]
        let rows = rows(id)
        let place = place(rows, id, key)
        if hasFault { return }
        for column in layout.links {
            let schema = layout.columns[column]
            let isOwner = schema.target.map { reference.tables[$0.index].schema.isEmbedded } ?? false
            forEachTarget(schema, place.leaf, place.row, column) { target in
                removeBacklink(rows, column, target, key)
                if isOwner, let table = schema.target { owned(table, target) }
            }
        }
        for column in layout.indexed {
            removeFromIndex(rows, layout, column, place.leaf.chunk(column), place.row, key)
        }
        for column in layout.variable where layout.columns[column].collection != .none {
            scripts[CellID(table: id, column: column, key: key)] = nil
        }
        retireOwnNodes(layout, place.leaf, place.row)
        if !hasFault { rows.remove(key) }
    }

    /// Takes every link from one column to an object away; the object's own links (`except`) go with it.
    private func unlinkAll(_ origin: TableID, _ column: Int, target: Int64, except own: Int64?) {
        let schema = reference.tables[origin.index].columns[column]
        var sources: [Int64] = []
        IntegerIndexTree.forEachValue(of: UInt64(target), in: table(origin).backlinks(column)) { source in
            // A list that holds the object twice is met twice, one entry after the other.
            if source != own, sources.last != source { sources.append(source) }
            return true
        }
        for source in sources where !hasFault {
            guard table(origin).find(source) != nil else {
                Faults.contradiction("object \(source) is said to link to \(target), and is not there")
                continue
            }
            switch schema.collection {
            case .none: setLink(origin, column, source, to: -1)
            case .list, .set:
                edit(origin, column, source) { change in
                    while let index = change.elements.firstIndex(of: target) { change.remove(at: index) }
                }
            case .map:
                edit(origin, column, source) { change in
                    while let index = change.elements.firstIndex(of: .link(target)) { change.set(.null, at: index) }
                }
            }
        }
    }

    /// Deletes every object of a table.
    public func deleteAll(_ id: TableID) {
        noting {
            let view = table(id)
            guard view.count > 0 else { return }
            var keys: [Int64] = []
            view.forEachLeaf { leaf, _ in
                for row in 0..<leaf.count { keys.append(leaf.key(row)) }
                return !hasFault
            }
            // From the end, so that no row has to move up. An object may have gone as another's embedded one.
            for key in keys.reversed() where !hasFault && table(id).find(key) != nil { delete(id, key) }
        }
    }
}

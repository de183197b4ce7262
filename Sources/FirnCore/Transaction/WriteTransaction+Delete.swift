extension WriteTransaction {
    /// Deletes an object. Links to it become nil, lists and sets lose it, and the embedded objects that it owns are
    /// deleted with it. All of that is in the changeset, so replay runs no rules.
    package func delete(_ id: TableID, _ key: Int64) {
        recordingDamage { delete(DyingObjects(id, [key])) }
    }

    /// Deletes objects of one table, each as `delete` does. One pass over a collection that links to them removes up
    /// to 4,096 of them. A key may occur twice.
    package func delete(_ id: TableID, _ keys: [Int64]) {
        recordingDamage {
            for start in stride(from: 0, to: keys.count, by: Self.deletedTogether) where !hasMetDamage {
                let part = keys[start..<min(keys.count, start + Self.deletedTogether)]
                delete(DyingObjects(id, part.filter { table(id).find($0) != nil }))
            }
        }
    }

    /// The most objects that are deleted together. Memory holds that many keys, and 16 bytes for each link to them from
    /// one column.
    private static var deletedTogether: Int { 4096 }

    private func delete(_ dying: DyingObjects) {
        // An explicit stack, because chains of embedded objects may be long.
        var pending: [(table: TableID, keys: [Int64])] = []
        func remove(_ dying: DyingObjects) {
            for (origin, column) in resolvedSchema.tables[dying.table.index].incoming {
                unlinkAll(origin, column: column, dying: dying)
            }
            for (origin, column) in resolvedSchema.mixed { unlinkAllMixed(origin, column: column, dying: dying) }
            for key in dying.keys where !hasMetDamage {
                removeRow(dying.table, key: key) { table, target in
                    let isFull = pending.last.map { $0.keys.count >= Self.deletedTogether } ?? true
                    if !isFull, pending.last?.table == table {
                        pending[pending.count - 1].keys.append(target)
                    } else {
                        pending.append((table, [target]))
                    }
                }
            }
        }
        remove(dying)
        while !hasMetDamage, let (id, keys) = pending.popLast() {
            // A forged store may list an object twice, or one that does not exist.
            remove(DyingObjects(id, keys.filter { table(id).find($0) != nil }))
        }
    }

    /// Deletes an embedded object that has lost its parent. A forged store may name one that does not exist.
    func deleteOwned(_ id: TableID, _ key: Int64) {
        if !hasMetDamage, table(id).find(key) != nil { delete(id, key) }
    }

    /// Removes a row with its own links, index entries and nodes. The caller updates the links to it.
    func removeRow(_ id: TableID, key: Int64, _ owned: (TableID, Int64) -> Void) {
        let layout = resolvedSchema.tables[id.index]
        let rows = rows(id)
        let location = locate(rows, table: id, key: key)
        if hasMetDamage { return }
        for column in layout.links {
            let schema = layout.columns[column]
            let isOwner = layout.owning.contains(column)
            forEachTarget(schema, leaf: location.leaf, row: location.row, column: column) { target in
                removeBacklink(rows, column: column, target: target, key: key)
                if isOwner, let table = schema.target { owned(table, target) }
            }
        }
        for column in layout.mixed {
            unlinkMixed(
                rows, schema: layout.columns[column], leaf: location.leaf, row: location.row, column: column, key: key)
        }
        for column in layout.indexed {
            removeFromIndex(
                rows, layout: layout, column: column, chunk: location.leaf.chunk(column), row: location.row, key: key)
        }
        for column in layout.variable where layout.columns[column].collection != .none {
            scripts[CellID(table: id, column: column, key: key)] = nil
        }
        retireOwnNodes(layout, leaf: location.leaf, row: location.row)
        if !hasMetDamage { rows.remove(key) }
    }

    /// Removes every link from one column to objects that are deleted. The links of those objects themselves are
    /// removed with their rows.
    private func unlinkAll(_ origin: TableID, column: Int, dying: DyingObjects) {
        let schema = resolvedSchema.tables[origin.index].columns[column]
        guard schema.collection != .none else {
            // A cell without a collection links to at most one object, so the links to each object are removed
            // separately.
            for key in dying.keys {
                forEachSource(
                    origin, column: column, targets: CollectionOfOne(key), dying: dying, entry: { UInt64($0) }
                ) { source, _ in
                    setLink(origin, column: column, key: source, to: -1, deletesReplaced: false)
                }
            }
            return
        }
        forEachSource(origin, column: column, targets: dying.keys, dying: dying, entry: { UInt64($0) }) {
            source, links in
            edit(origin, column: column, key: source, deletesReplaced: false) { change in
                switch schema.collection {
                case .none: break
                case .set:
                    for link in links where !change.removeMember(.link(link.target)) {
                        DamageRecord.contradiction("a set of object \(source) lacks its link to \(link.target)")
                    }
                case .list:
                    var found: [Int] = []
                    var passed = 0
                    change.elements.forEachRun { values, _, count in
                        for index in 0..<count
                        where dying.contains(values.loadUnaligned(fromByteOffset: index &* 8, as: Int64.self)) {
                            found.append(passed + index)
                        }
                        passed += count
                        return true
                    }
                    for index in found.reversed() { change.remove(at: index) }
                case .map:
                    var found: [Int] = []
                    var index = 0
                    change.elements.forEachBytes { _, bytes in
                        if let key = bytes.flatMap({ PlainCoding.load($0, as: .link).linkedKey }), dying.contains(key) {
                            found.append(index)
                        }
                        index += 1
                        return true
                    }
                    for index in found {
                        change.set(.map([Value.MapEntry(key: change.elements.key(at: index), value: .null)]), at: index)
                    }
                }
            }
        }
    }

    /// Calls `body` with each object that links from one column to deleted objects, in ascending order, and with these
    /// links. Stops when the transaction meets damage. Takes 16 bytes of memory for each link.
    ///
    /// - Parameters:
    ///   - targets: the deleted objects whose links are wanted.
    ///   - dying: all objects that are deleted together. `body` is not called with any of them.
    ///   - entry: returns the key that an object's backlinks have in their index.
    func forEachSource(
        _ origin: TableID, column: Int, targets: some Collection<Int64>, dying: DyingObjects,
        entry: (Int64) -> UInt64,
        _ body: (_ source: Int64, _ links: ArraySlice<(source: Int64, target: Int64)>) -> Void
    ) {
        var links: [(source: Int64, target: Int64)] = []
        for target in targets {
            var last: Int64?
            IntegerIndexTree.forEachValue(of: entry(target), in: table(origin).backlinks(column)) { source in
                // A list that contains the object twice has two entries, one after the other.
                if last != source, origin != dying.table || !dying.contains(source) { links.append((source, target)) }
                last = source
                return true
            }
        }
        if targets.count > 1 { links.sort { ($0.source, $0.target) < ($1.source, $1.target) } }
        var start = 0
        while start < links.count, !hasMetDamage {
            let (source, target) = links[start]
            let end = links[start...].firstIndex { $0.source != source } ?? links.count
            if table(origin).find(source) == nil {
                DamageRecord.contradiction(
                    "the backlinks say that object \(source) links to \(target), but it does not exist")
            } else {
                body(source, links[start..<end])
            }
            start = end
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
                return !hasMetDamage
            }
            // From the end, so that no row has to move up.
            delete(id, keys.reversed())
        }
    }
}

/// Objects of one table that are deleted together.
struct DyingObjects {
    let table: TableID
    let keys: [Int64]
    /// Nil for a single object.
    private let set: Set<Int64>?

    init(_ table: TableID, _ keys: [Int64]) {
        self.table = table
        set = keys.count > 1 ? Set(keys) : nil
        // A key may occur twice.
        self.keys = set.map { $0.count == keys.count ? keys : $0.sorted() } ?? keys
    }

    func contains(_ key: Int64) -> Bool { set?.contains(key) ?? (keys.first == key) }
}

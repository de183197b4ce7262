extension MixedLinks {
    /// A mixed value with null instead of each link to an object.
    static func removing(_ table: TableID, _ key: Int64, from value: Value) -> Value {
        switch value {
        case .typedLink(table, key): .null
        case .list(let elements): .list(elements.map { removing(table, key, from: $0) })
        case .set(let elements):
            .set(of: elements.map { removing(table, key, from: $0) })
        case .map(let entries):
            .map(entries.map { Value.MapEntry(key: $0.key, value: removing(table, key, from: $0.value)) })
        default: value
        }
    }
}

extension WriteTransaction {
    /// Calls `body` with the target of each link in a mixed cell, or in a collection of mixed values.
    func forEachMixedTarget(
        _ schema: ColumnSchema, _ leaf: Leaf, _ row: Int, _ column: Int, _ body: (TableID, Int64) -> Void
    ) {
        guard schema.collection != .none else {
            return MixedLinks.forEach(in: leaf.chunk(column).bytes(row), body)
        }
        ListCell(leaf.chunk(column), row, ElementLayout(schema)).forEachBytes { _, bytes in
            MixedLinks.forEach(in: bytes, body)
            return true
        }
    }

    /// Enters the links of a mixed cell into the backlinks.
    func linkMixed(_ rows: RowWriter, _ schema: ColumnSchema, _ leaf: Leaf, _ row: Int, _ column: Int, _ key: Int64) {
        forEachMixedTarget(schema, leaf, row, column) { table, target in
            IntegerIndexTree.insert(
                MixedLinks.backlinkKey(table, target), key, at: rows.table.backlinks(column), writer)
        }
    }

    /// Removes the links of a mixed cell from the backlinks.
    func unlinkMixed(_ rows: RowWriter, _ schema: ColumnSchema, _ leaf: Leaf, _ row: Int, _ column: Int, _ key: Int64) {
        forEachMixedTarget(schema, leaf, row, column) { table, target in
            removeMixedBacklink(rows.table.backlinks(column), table, target, from: key)
        }
    }

    func removeMixedBacklink(
        _ backlinks: UnsafeMutablePointer<UInt64>, _ table: TableID, _ target: Int64, from key: Int64
    ) {
        if !IntegerIndexTree.remove(MixedLinks.backlinkKey(table, target), key, at: backlinks, writer) {
            Faults.contradiction("a backlink from object \(key) to \(target) of table \(table.rawValue) is missing")
        }
    }

    /// Makes every link from the mixed values of a column to an object null; a set loses it.
    func unlinkAllMixed(_ origin: TableID, _ column: Int, target: (table: TableID, key: Int64), except own: Int64?) {
        let schema = resolvedSchema.tables[origin.index].columns[column]
        var sources: [Int64] = []
        IntegerIndexTree.forEachValue(
            of: MixedLinks.backlinkKey(target.table, target.key), in: table(origin).backlinks(column)
        ) { source in
            if source != own, sources.last != source { sources.append(source) }
            return true
        }
        for source in sources where !hasFault {
            guard let old = table(origin).value(column, of: source) else {
                Faults.contradiction(
                    "the backlinks say that object \(source) links to \(target.key), but it does not exist")
                continue
            }
            guard schema.collection != .none else {
                let new = MixedLinks.removing(target.table, target.key, from: old)
                if new != old { set(origin, column, source, new) }
                continue
            }
            edit(origin, column, source) { change in
                for (index, element) in change.elements.elements.enumerated().reversed() {
                    let new = MixedLinks.removing(target.table, target.key, from: element)
                    if new == element { continue }
                    if schema.collection == .set { change.remove(at: index) } else { change.set(new, at: index) }
                }
            }
        }
    }
}

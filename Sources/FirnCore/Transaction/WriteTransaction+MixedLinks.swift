extension MixedLinks {
    /// A mixed value with null instead of each link to an object that is deleted.
    static func removing(_ dying: DyingObjects, from value: Value) -> Value {
        switch value {
        case .typedLink(dying.table, let key) where dying.contains(key): .null
        case .list(let elements): .list(elements.map { removing(dying, from: $0) })
        case .set(let elements):
            .set(of: elements.map { removing(dying, from: $0) })
        case .map(let entries):
            .map(entries.map { Value.MapEntry(key: $0.key, value: removing(dying, from: $0.value)) })
        default: value
        }
    }

    /// Whether the bytes of a mixed value have a link to an object that is deleted.
    static func contains(_ dying: DyingObjects, in bytes: UnsafeRawBufferPointer?) -> Bool {
        var isFound = false
        forEach(in: bytes) { table, key in isFound = isFound || table == dying.table && dying.contains(key) }
        return isFound
    }
}

extension WriteTransaction {
    /// Calls `body` with the target of each link in a mixed cell, or in a collection of mixed values.
    func forEachMixedTarget(
        _ schema: ColumnSchema, leaf: Leaf, row: Int, column: Int, _ body: (TableID, Int64) -> Void
    ) {
        guard schema.collection != .none else {
            return MixedLinks.forEach(in: leaf.chunk(column).bytes(row), body)
        }
        ListCell(chunk: leaf.chunk(column), row: row, layout: ElementLayout(schema)).forEachBytes { _, bytes in
            MixedLinks.forEach(in: bytes, body)
            return true
        }
    }

    /// Enters the links of a mixed cell into the backlinks.
    func linkMixed(_ rows: RowWriter, schema: ColumnSchema, leaf: Leaf, row: Int, column: Int, key: Int64) {
        forEachMixedTarget(schema, leaf: leaf, row: row, column: column) { table, target in
            IntegerIndexTree.insert(
                MixedLinks.backlinkKey(table, target), value: key, at: rows.table.backlinks(column), writer: writer)
        }
    }

    /// Removes the links of a mixed cell from the backlinks.
    func unlinkMixed(_ rows: RowWriter, schema: ColumnSchema, leaf: Leaf, row: Int, column: Int, key: Int64) {
        forEachMixedTarget(schema, leaf: leaf, row: row, column: column) { table, target in
            removeMixedBacklink(rows.table.backlinks(column), table: table, target: target, from: key)
        }
    }

    func removeMixedBacklink(
        _ backlinks: UnsafeMutablePointer<UInt64>, table: TableID, target: Int64, from key: Int64
    ) {
        if !IntegerIndexTree.remove(MixedLinks.backlinkKey(table, target), value: key, at: backlinks, writer: writer) {
            DamageRecord.contradiction(
                "a backlink from object \(key) to \(target) of table \(table.rawValue) is missing")
        }
    }

    /// Replaces every link from a column's mixed values to deleted objects by null; a set loses the element instead.
    /// The links of the deleted objects themselves are removed with their rows.
    func unlinkAllMixed(_ origin: TableID, column: Int, dying: DyingObjects) {
        let schema = resolvedSchema.tables[origin.index].columns[column]
        let entry = { MixedLinks.backlinkKey(dying.table, $0) }
        forEachSource(origin, column: column, targets: dying.keys, dying: dying, entry: entry) { source, _ in
            guard schema.collection != .none else {
                let old = table(origin).value(column, of: source) ?? .null
                let new = MixedLinks.removing(dying, from: old)
                if new != old { set(origin, column: column, key: source, to: new) }
                return
            }
            edit(origin, column: column, key: source) { change in
                var found: [Int] = []
                var index = 0
                change.elements.forEachBytes { _, bytes in
                    if MixedLinks.contains(dying, in: bytes) { found.append(index) }
                    index += 1
                    return true
                }
                for index in found.reversed() {
                    if schema.collection == .set {
                        change.remove(at: index)
                    } else {
                        change.set(MixedLinks.removing(dying, from: change.elements.element(at: index)), at: index)
                    }
                }
            }
        }
    }
}

extension Store {
    /// Reads every node and every value of the newest version. O(objects).
    ///
    /// - Throws: `.damage`, with the first thing that is broken or contradicts itself.
    package func verify() throws(StoreError) {
        try checkOpen()
        let pin = versions.pinForStore(.published)
        try DamageRecord.throwing { () throws(StoreError) in try pin.snapshot.verify() }
        withExtendedLifetime(pin) {}
    }
}

extension Snapshot {
    /// Reads everything. Notes damage in the thread's record, and throws it.
    func verify() throws(StoreError) {
        for table in schema.tables.indices.map(TableID.init) where !schema[table].isRemoved {
            try self.table(table).verify()
        }
    }
}

extension TableView {
    /// Reads every value and every node of the indexes, and looks each object up by its key.
    fileprivate func verify() throws(StoreError) {
        var rows = 0
        var last: Int64 = -1
        forEachLeaf { leaf, _ in
            for row in 0..<leaf.count where !DamageRecord.isSet {
                if find(leaf.key(row)) == nil {
                    DamageRecord.contradiction("object \(leaf.key(row)) is not found by its key")
                }
                for (column, schema) in layout.columns.enumerated() where !schema.isRemoved {
                    _ = value(column, leaf: leaf, row: row)
                }
            }
            rows += leaf.count
            if leaf.count > 0 { last = leaf.key(leaf.count - 1) }
            return !DamageRecord.isSet
        }
        try DamageRecord.check()
        if rows != count { DamageRecord.contradiction("\(schema.name) has \(rows) objects, but its count is \(count)") }
        if last >= nextKey {
            DamageRecord.contradiction("\(schema.name) has an object with key \(last), but its next key is \(nextKey)")
        }
        for (column, schema) in layout.columns.enumerated() where !schema.isRemoved {
            var entries = 0
            ColumnIndex.forEachNode(schema, root: index(column)) { _ in entries += 1 }
            IntegerIndexTree.forEachNode(backlinks(column)) { _ in entries += 1 }
        }
        try DamageRecord.check()
    }
}

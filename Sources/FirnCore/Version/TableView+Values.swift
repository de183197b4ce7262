extension TableView {
    /// Returns the value of a cell of any type.
    package func value(_ column: Int, leaf: Leaf, row: Int) -> Value {
        let schema = layout.columns[column]
        if schema.collection != .none { return list(column, leaf: leaf, row: row).collectionValue }
        if schema.type.fixedWidth != nil {
            if schema.isNullable, leaf.isNull(column, row) { return .null }
            return leaf.fixedValue(column, row: row, type: schema.type)
        }
        guard let bytes = leaf.cell(column, row).bytes else { return .null }
        return PlainCoding.load(bytes, as: schema.type)
    }

    /// Returns the value of an object's property; nil if there is no such object.
    package func value(_ column: Int, of key: Int64) -> Value? {
        guard let location = find(key) else { return nil }
        return value(column, leaf: location.leaf, row: location.row)
    }

    /// Returns the collection in a cell.
    package func list(_ column: Int, leaf: Leaf, row: Int) -> ListCell {
        ListCell(leaf.cell(column, row), ElementLayout(layout.columns[column]))
    }

    // MARK: Primary keys

    /// Returns the key of the object with an integer primary key; nil if there is none. O(log n).
    @inline(__always)
    package func firstKey(primaryKeyInt value: Int64) -> Int64? {
        guard let column = layout.primaryKey, let node else { return nil }
        let schema = layout.columns[column]
        guard !schema.isNullable else { return firstKey(primaryKey: .int(value)) }
        return node.firstKey(column, equalTo: value)
    }

    /// Returns the key of the object with a primary key; nil if there is none.
    package func firstKey(primaryKey value: Value) -> Int64? {
        guard let column = layout.primaryKey else { return nil }
        return firstKey(column, equalTo: value)
    }

    /// Returns the lowest key of the objects whose value in an indexed column equals `value`.
    func firstKey(_ column: Int, equalTo value: Value) -> Int64? {
        var found: Int64?
        ColumnIndex.forEachKey(layout.columns[column], value: value, in: index(column)) { key in
            // The index holds only a hash of a long value, so the row decides.
            guard let location = find(key), self.value(column, leaf: location.leaf, row: location.row) == value else {
                return true
            }
            found = key
            return false
        }
        return found
    }

    /// Whether another object has the primary key of the row at `row`, which is not in the index yet.
    func primaryKeyIsTaken(byRowLike leaf: Leaf, _ row: Int, _ column: Int) -> Bool {
        let schema = layout.columns[column]
        if schema.type == .int, !schema.isNullable {
            return firstKey(primaryKeyInt: leaf.chunk(column).load(row)) != nil
        }
        return firstKey(column, equalTo: value(column, leaf: leaf, row: row)) != nil
    }
}

extension TableView {
    /// Calls `body` with the key of each object of this table whose link in `column` leads to `target`, in ascending
    /// order, until `body` returns false. The column may also hold lists or sets of links. An object that links to
    /// `target` several times is reported as many times. O(log n) and the links found.
    package func forEachSource(of target: Int64, _ column: Int, _ body: (Int64) -> Bool) {
        IntegerIndexTree.forEachValue(of: UInt64(bitPattern: target), in: backlinks(column), body)
    }

    /// Calls `body` in the same way with the key of each object whose mixed value in `column` links to the object
    /// `target` of `table`. This may be any table. For object keys from 2^48 on, which no store reaches, `body` may
    /// also be called for links to other tables.
    package func forEachSource(of target: Int64, in table: TableID, mixed column: Int, _ body: (Int64) -> Bool) {
        IntegerIndexTree.forEachValue(of: MixedLinks.backlinkKey(table, target), in: backlinks(column), body)
    }

    /// Returns whether a link in `column` of the object `source` leads to `target`. O(log n).
    package func isLinked(from source: Int64, to target: Int64, _ column: Int) -> Bool {
        IntegerIndexTree.contains(UInt64(bitPattern: target), source, in: backlinks(column))
    }

    /// Returns whether a mixed value in `column` of the object `source` may link to `target`. Only the value itself
    /// shows whether it does. O(log n).
    package func mayBeLinked(from source: Int64, to target: Int64, in table: TableID, mixed column: Int) -> Bool {
        IntegerIndexTree.contains(MixedLinks.backlinkKey(table, target), source, in: backlinks(column))
    }

    /// Returns how many links in `column` lead to `target`. O(log n).
    package func sourceCount(of target: Int64, _ column: Int) -> Int {
        IntegerIndexTree.count(of: UInt64(bitPattern: target), in: backlinks(column))
    }
}

extension TableView {
    /// Calls `body` with the key of each object of this table whose link (or list or set of links) in `column` leads
    /// to `target`, ascending, until `body` returns false. An object that links to `target` several times is reported
    /// as many times. O(log n) and the links found.
    package func forEachSource(of target: Int64, _ column: Int, _ body: (Int64) -> Bool) {
        IntegerIndexTree.forEachValue(of: UInt64(bitPattern: target), in: backlinks(column), body)
    }

    /// Returns how many links in `column` lead to `target`. O(log n).
    package func sourceCount(of target: Int64, _ column: Int) -> Int {
        IntegerIndexTree.count(of: UInt64(bitPattern: target), in: backlinks(column))
    }
}

extension TableView {
    /// Calls `body` with the key of each object of this table whose link (or list or set of links) in `column` leads to `target`, ascending, until it
    /// returns false; as often as the link is there. O(log n) and the links found.
    public func forEachSource(of target: Int64, _ column: Int, _ body: (Int64) -> Bool) {
        IntegerIndexTree.forEachValue(of: UInt64(bitPattern: target), in: backlinks(column), body)
    }

    /// How many links in `column` lead to `target`. O(log n).
    public func sourceCount(of target: Int64, _ column: Int) -> Int {
        IntegerIndexTree.count(of: UInt64(bitPattern: target), in: backlinks(column))
    }
}

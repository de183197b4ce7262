extension TableView {
    /// Calls `body` with each leaf and the position of its first row, until `body` returns false. Prefetches for a scan
    /// that reads mainly `column`.
    package func scan(_ column: Int, _ body: (Leaf, _ start: Int) -> Bool) {
        let width = layout.layouts[column]?.width ?? 0
        RowTree.scan(in: rows, column, lines: 1 + (width * Limits.rowsPerLeaf + 63) / 64, body)
    }
}

/// An index as queries use it: ranges of positions in its order, whose lengths are known before any object is read.
extension TableView {
    /// Whether the column has an index (or is the primary key).
    package func hasIndex(_ column: Int) -> Bool { layout.indexed.contains(column) }

    /// Whether all objects that the index has under a value really have that value; if not, the rows must be
    /// compared.
    package func isIndexExact(_ column: Int, _ value: Value) -> Bool {
        ColumnIndex(layout.columns[column]).isExact(value)
    }

    /// Returns how many objects have a value below this one. O(log n).
    package func indexLowerBound(_ column: Int, _ value: Value) -> Int {
        ColumnIndex(layout.columns[column]).lowerBound(value, in: index(column))
    }

    /// Returns how many objects have a value that is not above this one. O(log n).
    package func indexUpperBound(_ column: Int, _ value: Value) -> Int {
        ColumnIndex(layout.columns[column]).upperBound(value, in: index(column))
    }

    /// Returns the positions of the strings or data that begin with `bytes`. Only the first 120 bytes of a longer
    /// prefix are compared.
    package func indexPositions(_ column: Int, beginningWith bytes: [UInt8]) -> Range<Int> {
        bytes.prefix(Limits.indexKeyByteCount - 8).withUnsafeBytes {
            ColumnIndex(layout.columns[column]).positions(beginningWith: $0, in: index(column))
        }
    }

    /// Calls `body` with the keys of the objects at some positions of an index, in the index's order, until `body`
    /// returns false.
    package func forEachIndexed(
        _ column: Int, positions: Range<Int>, descending: Bool = false, _ body: (Int64) -> Bool
    ) {
        ColumnIndex(layout.columns[column]).forEachObject(
            at: positions, in: index(column), descending: descending, body)
    }
}

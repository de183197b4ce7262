/// An index as queries ask it: positions in its order, whose number is known before any object is looked at.
extension TableView {
    /// Whether the column has an index (or is the primary key).
    public func hasIndex(_ column: Int) -> Bool { layout.indexed.contains(column) }

    /// Whether the objects found under a value have that value for sure; else the rows must be compared.
    public func isIndexExact(_ column: Int, _ value: Value) -> Bool {
        ColumnIndex(layout.columns[column]).isExact(value)
    }

    /// How many objects have a value below this one. O(log n).
    public func indexLowerBound(_ column: Int, _ value: Value) -> Int {
        ColumnIndex(layout.columns[column]).lowerBound(value, in: index(column))
    }

    /// How many objects have a value not above this one. O(log n).
    public func indexUpperBound(_ column: Int, _ value: Value) -> Int {
        ColumnIndex(layout.columns[column]).upperBound(value, in: index(column))
    }

    /// How many objects have the value. O(log n).
    public func indexCount(_ column: Int, _ value: Value) -> Int {
        ColumnIndex(layout.columns[column]).count(of: value, in: index(column))
    }

    /// Where strings or data that begin with some bytes stand. Of a longer prefix the first 120 bytes are looked at.
    public func indexPositions(_ column: Int, beginningWith bytes: [UInt8]) -> Range<Int> {
        bytes.prefix(Limits.indexKeyByteCount - 8).withUnsafeBytes {
            ColumnIndex(layout.columns[column]).positions(beginningWith: $0, in: index(column))
        }
    }

    /// The keys of the objects at positions of an index, in its order, until `body` returns false.
    public func forEachIndexed(
        _ column: Int, _ positions: Range<Int>, descending: Bool = false, _ body: (Int64) -> Bool
    ) {
        ColumnIndex(layout.columns[column]).forEachObject(
            at: positions, in: index(column), descending: descending, body)
    }
}

import CFirn

/// Up to 256 rows of a table with neighbouring keys: a reference to one chunk per column.
///
/// ```
///  0              32          40        48          52        64
/// ┌──────────────┬───────────┬─────────┬───────────┬─────────┬──────────┬──────────┬──
/// │ node header  │ first key │ keys    │ columns   │ 0       │ chunk 0  │ chunk 1  │ …
/// └──────────────┴───────────┴─────────┴───────────┴─────────┴──────────┴──────────┴──
///                  i64         ref       u32                   ref        ref
/// ```
///
/// `count` is the number of rows. `keys` is 0 if the rows' keys are the first key and its successors, which is the
/// usual case. Otherwise it is the reference to a fixed chunk of i64 in ascending order. The reference to a removed
/// column's chunk is 0.
@frozen
public struct Leaf {
    public let node: Node

    @inlinable @inline(__always) public init(_ node: Node) { self.node = node }

    @inlinable public var count: Int {
        @inline(__always) get { node.count }
        @inline(__always) nonmutating set { node.count = newValue }
    }
    var firstKey: Int64 {
        @inline(__always) get { node.load(NodeLayout.Leaf.firstKey) }
        @inline(__always) nonmutating set { node.store(newValue, NodeLayout.Leaf.firstKey) }
    }
    var keysSlot: UnsafeMutablePointer<UInt64> { node.pointer(NodeLayout.Leaf.keys) }
    var columnCount: Int { Int(node.load(NodeLayout.Leaf.columnCount, as: UInt32.self)) }

    @inlinable @inline(__always)
    public func chunkSlot(_ column: Int) -> UnsafeMutablePointer<UInt64> { node.pointer(NodeLayout.Leaf.chunk(column)) }

    @inlinable @inline(__always)
    public func chunk(_ column: Int) -> Chunk {
        let word = node.load(NodeLayout.Leaf.chunk(column), as: UInt64.self)
        return word & 1 == 0 ? Chunk(NodeRef(word).node) : Chunk.onDisk(word)
    }

    /// The node of a column's chunk, whether it is encoded or not.
    func chunkNode(_ column: Int) -> Node { NodeRef(chunkSlot(column).pointee).node }

    func hasChunk(_ column: Int) -> Bool { column < columnCount && chunkSlot(column).pointee != 0 }

    /// The keys of the rows; nil if they are consecutive.
    var keys: UnsafeMutablePointer<Int64>? {
        let ref = NodeRef(keysSlot.pointee)
        return ref.isNone ? nil : Chunk(ref.node).data.assumingMemoryBound(to: Int64.self)
    }

    public func key(_ row: Int) -> Int64 {
        if let keys { return keys[row] }
        return firstKey &+ Int64(row)
    }

    /// The row that holds `key`, or nil.
    public func row(of key: Int64) -> Int? {
        guard let keys else {
            let row = key &- firstKey
            return row >= 0 && row < Int64(count) ? Int(row) : nil
        }
        let row = lowerBound(key, keys)
        return row < count && keys[row] == key ? row : nil
    }

    /// The first row whose key is not below `key`.
    func lowerBound(_ key: Int64) -> Int {
        if let keys { return lowerBound(key, keys) }
        return Int(max(0, min(Int64(count), key &- firstKey)))
    }

    private func lowerBound(_ key: Int64, _ keys: UnsafeMutablePointer<Int64>) -> Int {
        UnsafeBufferPointer(start: keys, count: count).firstIndex(notBelow: key)
    }

    /// Makes a leaf without rows, keys or chunks.
    static func make(columns: Int, _ writer: NodeWriter) -> Leaf {
        let node = writer.make(.leaf, byteCount: NodeLayout.Leaf.byteCount(columns: columns))
        node.clear(NodeLayout.headerByteCount..<node.byteCount)
        node.store(UInt32(columns), NodeLayout.Leaf.columnCount)
        return Leaf(node)
    }
}

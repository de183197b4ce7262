import CFirn

/// An inner node of a table's row tree: up to 64 children, with the least key and the number of rows below each.
///
/// ```
///  0              32             544            1056            1568
/// ┌──────────────┬──────────────┬──────────────┬───────────────┐
/// │ node header  │ 64 keys, i64 │ 64 refs, u64 │ 64 counts, i64│
/// └──────────────┴──────────────┴──────────────┴───────────────┘
/// ```
///
/// `count` is the number of children, `width` the level (1 just above the leaves). A child's key is not above any row
/// key below that child, and is above all row keys below the children before it. Entries from `count` on are 0.
struct RowNode {
    let node: Node

    @inline(__always) init(_ node: Node) { self.node = node }

    var count: Int {
        @inline(__always) get { node.count }
        nonmutating set { node.count = newValue }
    }
    var keys: UnsafeMutablePointer<Int64> { @inline(__always) get { node.pointer(NodeLayout.RowInner.keys) } }
    var refs: UnsafeMutablePointer<UInt64> { @inline(__always) get { node.pointer(NodeLayout.RowInner.refs) } }
    var counts: UnsafeMutablePointer<Int64> { @inline(__always) get { node.pointer(NodeLayout.RowInner.counts) } }

    static func make(level: Int, _ writer: NodeWriter) -> RowNode {
        let node = writer.make(
            .rowInner, width: level, capacity: Limits.fanout, byteCount: NodeLayout.RowInner.byteCount)
        node.clear(NodeLayout.headerByteCount..<NodeLayout.RowInner.byteCount)
        return RowNode(node)
    }

    /// The child that holds `key` if any child does. It is the last child whose key is not above `key`, or else child
    /// 0.
    @inline(__always)
    func child(of key: Int64) -> Int {
        let keys = keys
        let count = count
        // Keys that are assigned in order fill every child but the last. So the index computed from this is tried
        // before a search.
        let shift = UInt64(8 &+ 6 &* (node.level &- 1))
        let guess = Int(truncatingIfNeeded: (key &- keys[0]) >> shift)
        if guess >= 0, guess < count, keys[guess] <= key, guess &+ 1 == count || key < keys[guess &+ 1] { return guess }
        var low = 0
        var length = count
        while length > 1 {
            let half = length >> 1
            low = keys[low &+ half] <= key ? low &+ half : low
            length &-= half
        }
        return low
    }

    var rowCount: Int64 {
        var total: Int64 = 0
        for child in 0..<count { total &+= counts[child] }
        return total
    }

    func insert(key: Int64, ref: UInt64, rows: Int64, at index: Int) {
        let moved = count - index
        (keys + index + 1).update(from: keys + index, count: moved)
        (refs + index + 1).update(from: refs + index, count: moved)
        (counts + index + 1).update(from: counts + index, count: moved)
        keys[index] = key
        refs[index] = ref
        counts[index] = rows
        count += 1
    }

    func remove(at index: Int) {
        let moved = count - index - 1
        (keys + index).update(from: keys + index + 1, count: moved)
        (refs + index).update(from: refs + index + 1, count: moved)
        (counts + index).update(from: counts + index + 1, count: moved)
        count -= 1
        keys[count] = 0
        refs[count] = 0
        counts[count] = 0
    }

    /// Moves the children from `index` on to the end of `other`.
    func moveChildren(from index: Int, to other: RowNode) {
        let moved = count - index
        (other.keys + other.count).update(from: keys + index, count: moved)
        (other.refs + other.count).update(from: refs + index, count: moved)
        (other.counts + other.count).update(from: counts + index, count: moved)
        other.count += moved
        (keys + index).update(repeating: 0, count: moved)
        (refs + index).update(repeating: 0, count: moved)
        (counts + index).update(repeating: 0, count: moved)
        count = index
    }
}

extension Node {
    /// Whether the node of a row tree is a leaf.
    @inline(__always) var isLeaf: Bool { width == 0 }

    /// The number of rows below a node of a row tree.
    var rowsBelow: Int64 { isLeaf ? Int64(count) : RowNode(self).rowCount }

    /// The first key that a leaf or inner node of a row tree stores. Its children are not read.
    var firstKey: Int64 { isLeaf ? Leaf(self).firstKey : RowNode(self).keys[0] }

    /// A key that is not above any key below the node of a row tree.
    var lowestKey: Int64 { isLeaf ? Leaf(self).key(0) : RowNode(self).keys[0] }
}

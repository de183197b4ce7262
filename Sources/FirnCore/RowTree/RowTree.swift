/// Reads a table's rows, in a counted B+tree from object key to leaf. Each lookup is O(log n), and nothing here
/// allocates.
enum RowTree {
    /// The leaf and row that hold `key`; nil if no row has this key.
    @inline(__always)
    static func find(_ key: Int64, in root: UInt64) -> (leaf: Leaf, row: Int)? {
        guard root != 0 else { return nil }
        var node = NodeRef(root).node
        while !node.isLeaf {
            let inner = RowNode(node)
            node = NodeRef(inner.refs[inner.child(of: key)]).node
        }
        let leaf = Leaf(node)
        guard let row = leaf.row(of: key) else { return nil }
        return (leaf, row)
    }

    /// The leaf and row at `position` in key order. The position must exist.
    static func location(at position: Int, in root: UInt64) -> (leaf: Leaf, row: Int) {
        var node = NodeRef(root).node
        var rest = Int64(position)
        while !node.isLeaf {
            let inner = RowNode(node)
            var child = 0
            while rest >= inner.counts[child] {
                rest &-= inner.counts[child]
                child &+= 1
            }
            node = NodeRef(inner.refs[child]).node
        }
        return (Leaf(node), Int(rest))
    }

    /// The last leaf, to which the next row is appended; nil in an empty table.
    static func lastLeaf(in root: UInt64) -> Leaf? {
        guard root != 0 else { return nil }
        var node = NodeRef(root).node
        while !node.isLeaf { node = NodeRef(RowNode(node).refs[RowNode(node).count &- 1]).node }
        return Leaf(node)
    }

    /// The number of rows with a key below `key`.
    static func rank(of key: Int64, in root: UInt64) -> Int {
        guard root != 0 else { return 0 }
        var node = NodeRef(root).node
        var rank: Int64 = 0
        while !node.isLeaf {
            let inner = RowNode(node)
            let child = inner.child(of: key)
            for index in 0..<child { rank &+= inner.counts[index] }
            node = NodeRef(inner.refs[child]).node
        }
        return Int(rank) + Leaf(node).lowerBound(key)
    }

    /// Calls `body` with each leaf and the position of its first row. Begins with the leaf that holds the row at
    /// `position`, and ends when `body` returns false.
    static func forEachLeaf(in root: UInt64, from position: Int = 0, _ body: (Leaf, Int) -> Bool) {
        guard root != 0 else { return }
        _ = visit(NodeRef(root).node, start: 0, from: position, body)
    }

    private static func visit(_ node: Node, start: Int, from: Int, _ body: (Leaf, Int) -> Bool) -> Bool {
        if node.isLeaf { return node.count == 0 || start + node.count <= from || body(Leaf(node), start) }
        let inner = RowNode(node)
        var start = start
        for child in 0..<inner.count {
            let rows = Int(inner.counts[child])
            if start + rows > from, !visit(NodeRef(inner.refs[child]).node, start: start, from: from, body) {
                return false
            }
            start += rows
        }
        return true
    }
}

extension RowTree {
    /// Checks a table's row tree from its root down, and calls `visit` for every node of it, including chunks, blobs
    /// and the nodes of collections.
    static func checkInvariants(
        _ root: UInt64, rowCount: Int64, nextKey: Int64, columns: [ColumnSchema], visit: (Node) -> Void
    ) {
        guard root != 0 else {
            precondition(rowCount == 0, "Firn: a table without leaves counts \(rowCount) rows")
            return
        }
        var last = Int64.min
        let rows = check(NodeRef(root).node, level: NodeRef(root).node.level, last: &last, columns: columns, visit)
        precondition(rows == rowCount, "Firn: a table counts \(rowCount) rows and has \(rows)")
        precondition(last < nextKey, "Firn: key \(last) is not below the next key \(nextKey)")
    }

    private static func check(
        _ node: Node, level: Int, last: inout Int64, columns: [ColumnSchema], _ visit: (Node) -> Void
    ) -> Int64 {
        visit(node)
        precondition(node.level == level, "Firn: a node of level \(node.level) where level \(level) is expected")
        guard level > 0 else { return check(leaf: Leaf(node), last: &last, columns: columns, visit) }
        let inner = RowNode(node)
        precondition((1...Limits.fanout).contains(inner.count), "Firn: an inner node with \(inner.count) children")
        var total: Int64 = 0
        for child in 0..<inner.count {
            let below = NodeRef(inner.refs[child]).node
            precondition(
                below.stamp <= node.stamp, "Firn: a child of stamp \(below.stamp) under a parent of \(node.stamp)")
            precondition(
                inner.keys[child] > last || child == 0, "Firn: separator \(inner.keys[child]) is not above key \(last)")
            precondition(
                inner.keys[child] <= below.lowestKey, "Firn: separator \(inner.keys[child]) above its child's keys")
            let rows = check(below, level: level - 1, last: &last, columns: columns, visit)
            precondition(
                rows == inner.counts[child], "Firn: a child of \(rows) rows is counted as \(inner.counts[child])")
            total += rows
        }
        return total
    }

    private static func check(
        leaf: Leaf, last: inout Int64, columns: [ColumnSchema], _ visit: (Node) -> Void
    ) -> Int64 {
        precondition((1...Limits.rowsPerLeaf).contains(leaf.count), "Firn: a leaf with \(leaf.count) rows")
        precondition(leaf.firstKey == leaf.key(0), "Firn: a leaf's first key is \(leaf.key(0)), not \(leaf.firstKey)")
        for row in 0..<leaf.count {
            precondition(leaf.key(row) > last, "Firn: key \(leaf.key(row)) after \(last)")
            last = leaf.key(row)
        }
        if leaf.keys != nil { visit(NodeRef(leaf.keysSlot.pointee).node) }
        for (column, schema) in columns.enumerated() where !schema.isRemoved {
            precondition(leaf.hasChunk(column), "Firn: a leaf lacks the chunk of \(schema.name)")
            let chunk = leaf.chunk(column)
            visit(chunk.node)
            precondition(
                chunk.node.stamp <= leaf.node.stamp, "Firn: the chunk of \(schema.name) is younger than its leaf")
            precondition(
                chunk.layout.fits(schema.layout), "Firn: the chunk of \(schema.name) has another layout than its column"
            )
            precondition(
                chunk.node.capacity >= leaf.count, "Firn: the chunk of \(schema.name) has no room for its rows")
            guard chunk.form == .variable else { continue }
            precondition(chunk.heapUsed <= chunk.heapCapacity, "Firn: the heap of \(schema.name) overflows")
            for row in 0..<leaf.count {
                let slot = chunk.slot(row)
                precondition(
                    Int(slot.offset) + slot.heapLength <= chunk.heapUsed,
                    "Firn: a slot of \(schema.name) points beyond the heap")
                if schema.collection != .none {
                    ListCell(chunk: chunk, row: row, layout: ElementLayout(schema)).forEachNode(visit)
                } else if let (isTree, node) = chunk.ownNode(row) {
                    precondition(!isTree, "Firn: \(schema.name) is not a collection but has a tree")
                    visit(node)
                }
            }
        }
        return Int64(leaf.count)
    }
}

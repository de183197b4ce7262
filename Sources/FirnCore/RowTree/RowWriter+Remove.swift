extension RowWriter {
    /// A leaf with fewer rows than this is merged with a neighbour, if both together fill at most three quarters of a
    /// leaf.
    private static let smallLeaf = Limits.rowsPerLeaf / 4

    /// Removes the row with `key`. The caller must have retired the nodes that its cells own. The rows after it move
    /// forward at once. So a committed leaf and a leaf inside a transaction look alike, and no reader ever has to skip
    /// a deleted row.
    func remove(_ key: Int64) {
        writer.layoutChanged()
        let isEmpty = remove(key, table.rows)
        table.rowCount -= 1
        if isEmpty {
            retireSubtree(NodeRef(table.rows.pointee).node)
            table.rows.pointee = 0
            return
        }
        // A root with one child is replaced by that child.
        while true {
            let root = NodeRef(table.rows.pointee).node
            guard !root.isLeaf, root.count == 1 else { return }
            table.rows.pointee = RowNode(root).refs[0]
            writer.retire(root)
        }
    }

    /// Removes the row below the node at `slot`. Returns true if no row is left there.
    private func remove(_ key: Int64, _ slot: UnsafeMutablePointer<UInt64>) -> Bool {
        if NodeRef(slot.pointee).node.isLeaf {
            let leaf = ownLeaf(slot)
            guard let row = leaf.row(of: key) else {
                DamageRecord.contradiction("no row has key \(key)")
                return false
            }
            removeRow(leaf, row)
            return leaf.count == 0
        }
        let inner = RowNode(writer.own(slot))
        let child = inner.child(of: key)
        let isEmpty = remove(key, inner.refs + child)
        inner.counts[child] -= 1
        if isEmpty {
            retireSubtree(NodeRef(inner.refs[child]).node)
            inner.remove(at: child)
            return inner.count == 0
        }
        mergeIfSmall(inner, child)
        return false
    }

    private func removeRow(_ leaf: Leaf, _ row: Int) {
        let count = leaf.count
        if row < count - 1 || leaf.keys != nil {
            if row == 0, leaf.keys == nil {
                leaf.firstKey += 1
            } else {
                let keys = ownKeys(leaf) ?? makeSparse(leaf)
                keys.removeRow(row, of: count)
                leaf.firstKey = keys.load(0)
            }
            // Removing the last row changes no chunk, because rows from the count on do not exist. Their marks are not
            // read again. A later row at that index is a new one, or comes from a neighbour into a chunk that is
            // resized.
            if row < count - 1 {
                for column in 0..<layouts.count where layouts[column] != nil {
                    ownChunk(leaf, column).removeRow(row, of: count)
                }
            }
        }
        leaf.count = count - 1
        // A later row may be written at the index of a removed last row only in chunks that no version shares. So the
        // leaf gets chunks of its own.
        if row == count - 1 {
            for column in 0..<layouts.count where layouts[column] != nil { _ = ownChunk(leaf, column) }
            _ = ownKeys(leaf)
        }
    }

    /// Merges a small child with its right or left neighbour.
    private func mergeIfSmall(_ inner: RowNode, _ child: Int) {
        let node = NodeRef(inner.refs[child]).node
        guard inner.count > 1, node.count < (node.isLeaf ? Self.smallLeaf : Limits.fanout / 4) else { return }
        let left = child + 1 < inner.count ? child : child - 1
        let a = NodeRef(inner.refs[left]).node
        let b = NodeRef(inner.refs[left + 1]).node
        if node.isLeaf {
            guard a.count + b.count <= Limits.rowsPerLeaf * 3 / 4, heapsFit(Leaf(a), Leaf(b)) else { return }
            let target = ownLeaf(inner.refs + left)
            let source = ownLeaf(inner.refs + left + 1)
            move(rows: 0..<source.count, of: source, to: target)
            retireLeaf(source)
        } else {
            guard a.count + b.count <= Limits.fanout * 3 / 4 else { return }
            let target = RowNode(writer.own(inner.refs + left))
            let source = RowNode(writer.own(inner.refs + left + 1))
            source.moveChildren(from: 0, to: target)
            writer.retire(source.node)
        }
        inner.counts[left] += inner.counts[left + 1]
        inner.remove(at: left + 1)
    }

    private func heapsFit(_ a: Leaf, _ b: Leaf) -> Bool {
        for column in 0..<layouts.count where layouts[column]?.form == .variable {
            let total = a.chunk(column).liveHeap(a.count) + b.chunk(column).liveHeap(b.count)
            if total > Limits.chunkByteCount / 2 { return false }
        }
        return true
    }

    /// Retires a leaf and its chunks, but not the nodes that its cells own.
    func retireLeaf(_ leaf: Leaf) {
        for column in 0..<leaf.columnCount where leaf.hasChunk(column) { writer.retire(leaf.chunkNode(column)) }
        if leaf.keysSlot.pointee != 0 { writer.retire(NodeRef(leaf.keysSlot.pointee).node) }
        writer.retire(leaf.node)
    }

    /// Retires a subtree, but not the nodes that its cells own.
    func retireSubtree(_ node: Node) {
        if node.isLeaf { return retireLeaf(Leaf(node)) }
        let inner = RowNode(node)
        for child in 0..<inner.count { retireSubtree(NodeRef(inner.refs[child]).node) }
        writer.retire(node)
    }
}

extension RowWriter {
    /// Splits the leaf that holds `key` in two.
    func split(at key: Int64) {
        writer.layoutChanged()
        if let sibling = split(key, table.rows) { growRoot(sibling) }
    }

    private func split(_ key: Int64, _ slot: UnsafeMutablePointer<UInt64>) -> Node? {
        if NodeRef(slot.pointee).node.isLeaf {
            let leaf = ownLeaf(slot)
            precondition(leaf.count > 1, "Firn: one row's values exceed the limit of a chunk")
            let right = makeEmptyLeaf(firstKey: leaf.key(leaf.count / 2))
            move(rows: leaf.count / 2..<leaf.count, of: leaf, to: right)
            cutChunks(leaf)
            return right.node
        }
        let inner = RowNode(writer.own(slot))
        let child = inner.child(of: key)
        guard let sibling = split(key, inner.refs + child) else {
            inner.counts[child] = NodeRef(inner.refs[child]).node.rowsBelow
            return nil
        }
        let rows = sibling.rowsBelow
        let siblingKey = sibling.lowestKey
        inner.counts[child] = NodeRef(inner.refs[child]).node.rowsBelow
        if inner.count < Limits.fanout {
            inner.insert(key: siblingKey, ref: NodeRef(sibling).word, rows: rows, at: child + 1)
            return nil
        }
        let right = RowNode.make(level: inner.node.level, writer)
        inner.moveChildren(from: Limits.fanout / 2, to: right)
        if child + 1 <= inner.count {
            inner.insert(key: siblingKey, ref: NodeRef(sibling).word, rows: rows, at: child + 1)
        } else {
            right.insert(key: siblingKey, ref: NodeRef(sibling).word, rows: rows, at: child + 1 - inner.count)
        }
        return right.node
    }

    /// Makes a leaf without chunks, which `move` fills.
    private func makeEmptyLeaf(firstKey: Int64) -> Leaf {
        let leaf = Leaf.make(columns: layouts.count, writer)
        leaf.firstKey = firstKey
        return leaf
    }

    /// Gives a leaf whose last rows were moved away chunks of its own, which end where the leaf ends.
    ///
    /// The old chunks, which older versions or a file may share, hold rows beyond that end. They are replaced for two
    /// reasons. First, the leaf may become the last one, and an append would then overwrite those rows. Second, the
    /// leaf that has the rows now will retire the nodes of their cells. A compaction would still follow the references
    /// to these nodes in the old chunks. An on-disk chunk has only the rows of its leaf (`OnDiskNode`).
    private func cutChunks(_ leaf: Leaf) {
        for column in 0..<layouts.count where layouts[column] != nil {
            let heap = layouts[column]?.form == .variable ? leaf.chunk(column).liveHeap(leaf.count) : 0
            resize(leaf, column, rows: leaf.count, capacity: Limits.rowsPerLeaf, heap: heap + heap / 8 + 64)
        }
        _ = ownKeys(leaf)
    }

    /// Moves the last rows of `source` to the end of `target`, which may be new and without chunks. Both leaves are
    /// the transaction's own.
    func move(rows: Range<Int>, of source: Leaf, to target: Leaf) {
        assert(rows.upperBound == source.count)
        let total = target.count + rows.count
        for column in 0..<layouts.count {
            guard let layout = layouts[column] else { continue }
            let from = source.chunk(column)
            let into: Chunk
            if target.hasChunk(column) {
                let old = target.chunk(column)
                let heap = layout.form == .variable ? old.liveHeap(target.count) + from.liveHeap(rows) : 0
                into = resize(target, column, rows: target.count, capacity: Limits.rowsPerLeaf, heap: heap + heap / 8)
            } else {
                let heap = layout.form == .variable ? from.liveHeap(rows) : 0
                into = Chunk.make(layout, capacity: Limits.rowsPerLeaf, heap: heap + heap / 8 + 64, writer)
                target.chunkSlot(column).pointee = NodeRef(into.node).word
            }
            into.copyRows(from: from, rows, to: target.count)
            if writer.isNew(from.node) {
                from.forEachMark(in: rows) { into.mark(target.count + $0 - rows.lowerBound) }
            }
        }
        moveKeys(rows, of: source, to: target)
        target.count = total
        source.count = rows.lowerBound
    }

    private func moveKeys(_ rows: Range<Int>, of source: Leaf, to target: Leaf) {
        let firstMoved = source.key(rows.lowerBound)
        let isDense = source.keys == nil && target.keys == nil
        if isDense, target.count == 0 || target.firstKey &+ Int64(target.count) == firstMoved {
            if target.count == 0 { target.firstKey = firstMoved }
            return
        }
        let keys: Chunk
        if target.keys == nil {
            keys = makeSparse(target)
            if target.count == 0 { target.firstKey = firstMoved }
        } else {
            let old = Chunk(NodeRef(target.keysSlot.pointee).node)
            if writer.owns(old.node), old.node.capacity == Limits.rowsPerLeaf {
                keys = old
            } else {
                keys = old.resized(rows: target.count, capacity: Limits.rowsPerLeaf, heap: 0, writer)
                target.keysSlot.pointee = NodeRef(keys.node).word
                writer.retire(old.node)
            }
        }
        for row in rows { keys.store(source.key(row), target.count + row - rows.lowerBound) }
    }
}

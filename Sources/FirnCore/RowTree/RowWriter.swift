/// Changes a table's rows. The table's node must be the transaction's own. On the path to each row, the writer keeps
/// the counts right and makes the nodes the transaction's own.
struct RowWriter {
    let writer: NodeWriter
    let table: TableNode
    /// The columns' layouts; nil for a removed column.
    let layouts: UnsafeBufferPointer<ChunkLayout?>

    // MARK: Owning

    /// Makes the path to `key` this transaction's own and returns the leaf and row; nil if no row has this key.
    func own(_ key: Int64) -> (leaf: Leaf, row: Int)? {
        guard table.rows.pointee != 0 else { return nil }
        var slot = table.rows
        // If a table has only one leaf, that is its root.
        var node = NodeRef(slot.pointee).node.isLeaf ? ownLeaf(slot).node : writer.own(slot)
        while !node.isLeaf {
            let inner = RowNode(node)
            slot = inner.refs + inner.child(of: key)
            if NodeRef(slot.pointee).node.isLeaf {
                node = ownLeaf(slot).node
            } else {
                node = writer.own(slot)
            }
        }
        let leaf = Leaf(node)
        guard let row = leaf.row(of: key) else { return nil }
        return (leaf, row)
    }

    /// Makes a leaf the transaction's own. If it is copied, accessors that remember the old one must find their rows
    /// again.
    @inline(__always)
    func ownLeaf(_ slot: UnsafeMutablePointer<UInt64>) -> Leaf {
        let before = slot.pointee
        let node = writer.own(slot)
        if slot.pointee != before { writer.layoutChanged() }
        return Leaf(node)
    }

    /// Returns the column's chunk in a leaf of the transaction's own, to be written in place. Marks of older
    /// transactions are cleared.
    @inline(__always)
    func ownChunk(_ leaf: Leaf, _ column: Int) -> Chunk {
        let slot = leaf.chunkSlot(column)
        let old = NodeRef(slot.pointee).node
        if writer.owns(old) { return Chunk(old) }
        return copyChunk(old, slot)
    }

    @inline(never)
    private func copyChunk(_ old: Node, _ slot: UnsafeMutablePointer<UInt64>) -> Chunk {
        let chunk: Chunk
        if old.isOnDisk {
            let decoded = Chunk(at: old)
            chunk = decoded.resized(rows: old.capacity, capacity: old.capacity, heap: 0, writer)
        } else {
            chunk = Chunk(writer.copy(old))
            if !writer.isNew(old) { chunk.clearMarks() }
        }
        slot.pointee = NodeRef(chunk.node).word
        writer.retire(old)
        return chunk
    }

    func ownKeys(_ leaf: Leaf) -> Chunk? {
        leaf.keys == nil ? nil : Chunk(writer.own(leaf.keysSlot))
    }

    // MARK: Appending

    /// Appends a row whose values are 0, empty or null. `key` must be above all keys of the table.
    func append(_ key: Int64) -> (leaf: Leaf, row: Int) {
        if table.rows.pointee == 0 {
            table.rows.pointee = NodeRef(makeLeaf(firstKey: key, capacity: 8).node).word
        }
        while true {
            let slot = countLast(1)
            if NodeRef(slot.pointee).node.count < Limits.rowsPerLeaf {
                let leaf = ownLeaf(slot)
                let row = leaf.count
                if prepareRow(leaf, row) {
                    enter(key, leaf: leaf, row: row)
                    return (leaf, row)
                }
            }
            countLast(-1)
            let last = Leaf(NodeRef(slot.pointee).node)
            if last.count > 0, last.key(last.count - 1) >= key { refuse(key) }
            appendLeaf(makeLeaf(firstKey: key, capacity: Limits.rowsPerLeaf))
        }
    }

    /// Makes the inner nodes above the last leaf the transaction's own, adds `rows` to their counts, and returns the
    /// leaf's slot.
    @discardableResult
    private func countLast(_ rows: Int64) -> UnsafeMutablePointer<UInt64> {
        var slot = table.rows
        while !NodeRef(slot.pointee).node.isLeaf {
            let inner = RowNode(writer.own(slot))
            let last = inner.count &- 1
            inner.counts[last] &+= rows
            slot = inner.refs + last
        }
        return slot
    }

    @inline(__always)
    private func enter(_ key: Int64, leaf: Leaf, row: Int) {
        if let keys = ownKeys(leaf) {
            if row > 0, keys.load(row &- 1) >= key { refuse(key) }
            if keys.node.capacity > row {
                keys.store(key, row)
            } else {
                growKeys(leaf, keys: keys, row: row).store(key, row)
            }
        } else if key != leaf.firstKey &+ Int64(row) {
            if row > 0, key < leaf.firstKey &+ Int64(row) { refuse(key) }
            if row == 0 { leaf.firstKey = key } else { makeSparse(leaf).store(key, row) }
        }
        leaf.count = row &+ 1
        table.rowCount &+= 1
    }

    /// Notes that the table's next key, as the checkpoint states it, is not above all keys of its objects. This is
    /// checked only if a key does not directly follow the last key of its leaf, so the common path costs nothing.
    @inline(never)
    private func refuse(_ key: Int64) {
        DamageRecord.contradiction(
            "a table would give a new object the key \(key), but an object already has that key or a higher one")
    }

    /// Makes room in every chunk for a row after the last one, and writes the new row's initial values. Returns false
    /// if the leaf must end before that row.
    private func prepareRow(_ leaf: Leaf, _ row: Int) -> Bool {
        let copies = writer.state.pointee.copiesChunks
        for column in 0..<layouts.count {
            guard let layout = layouts[column] else { continue }
            var chunk = copies ? ownChunk(leaf, column) : leaf.chunk(column)
            if layout.form == .variable, isHeapNearlyFull(chunk) { return false }
            if chunk.node.capacity <= row {
                chunk = resize(
                    leaf, column, rows: row, capacity: min(Limits.rowsPerLeaf, max(row, 1) * 4),
                    heap: chunk.heapUsed * 2)
            }
            chunk.putBlank(layout, row)
        }
        return true
    }

    /// Whether the next row begins a new leaf.
    func isLastLeafFull() -> Bool {
        guard let last = RowTree.lastLeaf(in: table.rows.pointee), last.count < Limits.rowsPerLeaf else { return true }
        for column in 0..<layouts.count
        where layouts[column]?.form == .variable && isHeapNearlyFull(last.chunk(column)) {
            return true
        }
        return false
    }

    /// Whether a leaf must end early because its strings fill a chunk. There is then still room to write the strings of
    /// its last row.
    @inline(__always)
    private func isHeapNearlyFull(_ chunk: Chunk) -> Bool {
        chunk.heapUsed > Limits.chunkByteCount - 2 * Limits.inlineByteCount
    }

    private func growKeys(_ leaf: Leaf, keys: Chunk, row: Int) -> Chunk {
        let larger = keys.resized(rows: row, capacity: Limits.rowsPerLeaf, heap: 0, writer)
        leaf.keysSlot.pointee = NodeRef(larger.node).word
        writer.retire(keys.node)
        return larger
    }

    /// Replaces a column's chunk by a chunk of another size.
    @discardableResult
    func resize(_ leaf: Leaf, _ column: Int, rows: Int, capacity: Int, heap: Int) -> Chunk {
        let old = leaf.chunkNode(column)
        let new = leaf.chunk(column).resized(
            rows: rows, capacity: capacity, heap: min(heap, Limits.chunkByteCount - 1), writer)
        leaf.chunkSlot(column).pointee = NodeRef(new.node).word
        writer.retire(old)
        return new
    }

    func makeLeaf(firstKey: Int64, capacity: Int) -> Leaf {
        let leaf = Leaf.make(columns: layouts.count, writer)
        leaf.firstKey = firstKey
        for column in 0..<layouts.count {
            guard let layout = layouts[column] else { continue }
            let chunk = Chunk.make(layout, capacity: capacity, heap: heapHint(column, capacity), writer)
            leaf.chunkSlot(column).pointee = NodeRef(chunk.node).word
        }
        return leaf
    }

    /// Estimates the heap of a new leaf's chunk. Its strings probably take about as much as the strings of the last
    /// leaf. A sixteenth more makes growing rare.
    private func heapHint(_ column: Int, _ capacity: Int) -> Int {
        guard layouts[column]?.form == .variable else { return 0 }
        guard capacity == Limits.rowsPerLeaf, let last = RowTree.lastLeaf(in: table.rows.pointee),
            last.hasChunk(column), last.count > 0
        else { return capacity * 16 }
        let used = last.chunk(column).heapUsed * Limits.rowsPerLeaf / last.count
        return min(used + used / 16 + 64, Limits.chunkByteCount - 1)
    }

    /// Gives a leaf with consecutive keys a chunk of explicit keys.
    func makeSparse(_ leaf: Leaf) -> Chunk {
        let keys = Chunk.make(ChunkLayout.keys, capacity: Limits.rowsPerLeaf, writer)
        for row in 0..<leaf.count { keys.store(leaf.firstKey &+ Int64(row), row) }
        leaf.keysSlot.pointee = NodeRef(keys.node).word
        return keys
    }

    /// Appends an empty leaf after the last one.
    private func appendLeaf(_ leaf: Leaf) {
        if let sibling = appendLeaf(leaf, table.rows) { growRoot(sibling) }
    }

    private func appendLeaf(_ leaf: Leaf, _ slot: UnsafeMutablePointer<UInt64>) -> Node? {
        if NodeRef(slot.pointee).node.isLeaf { return leaf.node }
        let inner = RowNode(writer.own(slot))
        guard let sibling = appendLeaf(leaf, inner.refs + inner.count - 1) else { return nil }
        if inner.count < Limits.fanout {
            inner.insert(key: leaf.firstKey, ref: NodeRef(sibling).word, rows: 0, at: inner.count)
            return nil
        }
        let right = RowNode.make(level: inner.node.level, writer)
        right.insert(key: leaf.firstKey, ref: NodeRef(sibling).word, rows: 0, at: 0)
        return right.node
    }

    /// Makes a root above the old root and its new right sibling.
    func growRoot(_ sibling: Node) {
        let left = NodeRef(table.rows.pointee).node
        let root = RowNode.make(level: left.level + 1, writer)
        root.insert(key: left.lowestKey, ref: NodeRef(left).word, rows: left.rowsBelow, at: 0)
        let siblingKey = sibling.isLeaf ? Leaf(sibling).firstKey : RowNode(sibling).keys[0]
        root.insert(key: siblingKey, ref: NodeRef(sibling).word, rows: sibling.rowsBelow, at: 1)
        table.rows.pointee = NodeRef(root.node).word
    }
}

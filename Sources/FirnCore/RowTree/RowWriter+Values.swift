extension RowWriter {
    /// Writes a variable cell: a value's bytes, a list's inline block, or the reference of a blob or of a list's tree.
    /// Returns the leaf and row where the cell is afterwards, because the leaf is split if a chunk would exceed its
    /// limit. `isFresh` says that no version has seen the row yet, so that it is written in place.
    ///
    /// If the cell had a node of its own before, the caller retires that node: `putBytes` retires a blob, the list
    /// editor a list's tree.
    @discardableResult
    func put(
        _ bytes: UnsafeRawBufferPointer, length: UInt16, column: Int, leaf: Leaf, row: Int, isFresh: Bool
    ) -> (leaf: Leaf, row: Int) {
        var chunk = isFresh ? leaf.chunk(column) : ownChunk(leaf, column)
        if !chunk.put(bytes, length: length, row, replacing: !isFresh || writer.owns(chunk.node)) {
            let live = chunk.liveHeap(leaf.count) - chunk.slot(row).heapLength + bytes.count
            if live >= Limits.chunkByteCount - 8 {
                let key = leaf.key(row)
                split(at: key)
                guard let location = own(key) else { preconditionFailure("Firn: a row was lost by a split") }
                return put(
                    bytes, length: length, column: column, leaf: location.leaf, row: location.row, isFresh: false)
            }
            // The old value is dropped first, so that it is not copied to the new chunk.
            chunk = isFresh ? ownChunk(leaf, column) : chunk
            chunk.setSlot(Chunk.Slot(offset: 0, length: 0), row)
            chunk = resize(leaf, column, rows: leaf.count, capacity: chunk.node.capacity, heap: live + live / 2 + 64)
            guard chunk.put(bytes, length: length, row, replacing: false) else {
                preconditionFailure("Firn: a chunk of \(chunk.heapCapacity) bytes has no room for \(live)")
            }
        }
        return (leaf, row)
    }

    /// Writes a string or data value. A value that is too long for its chunk gets a blob.
    @discardableResult
    func putBytes(
        _ bytes: UnsafeRawBufferPointer, column: Int, leaf: Leaf, row: Int, isFresh: Bool
    ) -> (leaf: Leaf, row: Int) {
        releaseOwnNode(column, leaf: leaf, row: row)
        guard bytes.count > Limits.inlineByteCount else {
            return put(bytes, length: UInt16(bytes.count), column: column, leaf: leaf, row: row, isFresh: isFresh)
        }
        let blob = Blob.make(bytes, writer)
        return putReference(blob.node, length: Chunk.Slot.blob, column: column, leaf: leaf, row: row, isFresh: isFresh)
    }

    /// Writes a reference (of a blob or a list's tree) to a variable cell.
    @discardableResult
    func putReference(
        _ node: Node, length: UInt16, column: Int, leaf: Leaf, row: Int, isFresh: Bool
    ) -> (leaf: Leaf, row: Int) {
        withUnsafeBytes(of: NodeRef(node).word) {
            put($0, length: length, column: column, leaf: leaf, row: row, isFresh: isFresh)
        }
    }

    /// Retires the blob that a variable cell holds, if it holds one. A list's tree is retired by the list editor.
    func releaseOwnNode(_ column: Int, leaf: Leaf, row: Int) {
        if let (isTree, node) = leaf.chunk(column).ownNode(row), !isTree { writer.retire(node) }
    }
}

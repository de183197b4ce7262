/// Finds the references to blobs and to the trees of collections in a chunk of variable width.
enum CellRefs {
    /// Returns the addresses, possibly unaligned, of the references that the first `rows` rows hold.
    static func addresses(in chunk: Chunk, rows: Int, _ schema: ColumnSchema) -> [UnsafeMutableRawPointer] {
        var addresses: [UnsafeMutableRawPointer] = []
        let layout = ElementLayout(schema)
        let mayHoldBlobs = schema.collection != .none && layout.form == .variable
        for row in 0..<rows {
            let slot = chunk.slot(row)
            if slot.length == Chunk.Slot.blob || slot.length == Chunk.Slot.tree {
                addresses.append(chunk.heap + Int(slot.offset))
            } else if mayHoldBlobs, slot.length != Chunk.Slot.null,
                slot.length >= UInt16(NodeLayout.ElementBlock.headerByteCount)
            {
                ElementBlock(chunk.heap + Int(slot.offset), layout).forEachBlobRef { addresses.append($0) }
            }
        }
        return addresses
    }

    /// Returns the end of the part of the heap that the first `rows` rows use. (The writer may be adding values behind
    /// it.)
    static func heapEnd(of chunk: Chunk, rows: Int) -> Int {
        var end = 0
        for row in 0..<rows {
            let slot = chunk.slot(row)
            end = max(end, Int(slot.offset) + slot.heapLength)
        }
        return end
    }
}

extension ElementBlock {
    /// Calls `body` with the address of each blob's reference in the block.
    func forEachBlobRef(_ body: (UnsafeMutableRawPointer) -> Void) {
        guard layout.form == .variable else { return }
        var address = UnsafeRawPointer(content)
        for _ in 0..<count * (layout.collection == .map ? 2 : 1) {
            if ElementPart.isBlob(address) { body(UnsafeMutableRawPointer(mutating: ElementPart.blobRef(address))) }
            address = ElementPart.skip(address)
        }
    }
}

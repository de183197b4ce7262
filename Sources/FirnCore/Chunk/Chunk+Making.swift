extension Chunk {
    var layout: ChunkLayout { ChunkLayout(form: form, width: node.width) }

    /// Makes a chunk of zeros. Rows of a nullable chunk are null, and rows of a variable chunk are empty.
    static func make(_ layout: ChunkLayout, capacity: Int, heap: Int = 0, _ writer: NodeWriter) -> Chunk {
        let length = layout.byteCount(capacity: capacity, heap: heap)
        let node = writer.make(
            .chunk, form: layout.form.rawValue, width: layout.width, capacity: capacity, byteCount: length)
        // The heap is written before it is read, and only its used part is ever written to a file.
        let end = layout.form == .variable ? layout.byteCount(capacity: capacity) : node.byteCount
        node.clear(NodeLayout.Chunk.marks..<end)
        let chunk = Chunk(node)
        if layout.form == .nullable { chunk.nullFlags.update(repeating: 1, count: capacity) }
        return chunk
    }

    /// Returns a chunk of another size with the same first `rows` values. Their marks are copied if this transaction
    /// made the old chunk. The new heap holds no garbage.
    func resized(rows: Int, capacity: Int, heap minimumHeap: Int, _ writer: NodeWriter) -> Chunk {
        let result = Chunk.make(
            layout, capacity: capacity, heap: max(minimumHeap, form == .variable ? liveHeap(rows) : 0), writer)
        result.copyRows(from: self, 0..<rows, to: 0)
        // Later marks belong to rows that are gone. Rows that were not assigned may take the indexes of those rows.
        if writer.isNew(node) { forEachMark(in: 0..<rows) { result.mark($0) } }
        return result
    }

    /// The most bytes of a heap that slots can address.
    static let heapMaxByteCount = Int(UInt16.max)

    /// Copies values of a chunk of the same layout to the rows from `target` on. A variable chunk must have room for
    /// them.
    ///
    /// A forged chunk of a checkpoint may refer to a dictionary such that its values take more bytes than a chunk
    /// holds. No check finds this earlier, because only here each row gets bytes of its own. A value that does not fit
    /// becomes empty, and the contradiction is noted.
    func copyRows(from source: Chunk, _ rows: Range<Int>, to target: Int) {
        guard !rows.isEmpty else { return }
        switch form {
        case .fixed, .nullable:
            let width = node.width
            address(target).copyMemory(from: source.address(rows.lowerBound), byteCount: rows.count * width)
            if form == .nullable {
                (nullFlags + target).update(from: source.nullFlags + rows.lowerBound, count: rows.count)
            }
        case .variable:
            var used = heapUsed
            let limit = min(heapCapacity, Chunk.heapMaxByteCount)
            let heap = heap
            let sourceHeap = source.heap
            for row in rows {
                let slot = source.slot(row)
                let length = slot.heapLength
                guard used &+ length <= limit else {
                    setSlot(Slot(offset: 0, length: 0), target + row - rows.lowerBound)
                    DamageRecord.contradiction("a chunk's values take more bytes than a chunk can hold")
                    continue
                }
                setSlot(
                    Slot(offset: UInt16(truncatingIfNeeded: used), length: slot.length), target + row - rows.lowerBound)
                (heap + used).copyMemory(from: sourceHeap + Int(slot.offset), byteCount: length)
                used &+= length
            }
            heapUsed = used
        }
    }

    /// Bytes of the heap that the first `rows` rows use.
    func liveHeap(_ rows: Int) -> Int { liveHeap(0..<rows) }

    func liveHeap(_ rows: Range<Int>) -> Int {
        var total = 0
        for row in rows { total &+= slot(row).heapLength }
        return total
    }

    /// Removes a row; the rows after it move forward by one. The chunk must be the transaction's own.
    func removeRow(_ row: Int, of count: Int) {
        let moved = count - row - 1
        if moved > 0 {
            let width = node.width
            address(row).copyMemory(from: address(row + 1), byteCount: moved * width)
            if form == .nullable { (nullFlags + row).update(from: nullFlags + row + 1, count: moved) }
        }
        removeMark(row)
    }

    /// Removes a row's mark; the marks after it move forward by one.
    private func removeMark(_ row: Int) {
        guard hasMarks else { return }
        let words = node.pointer(NodeLayout.Chunk.marks, to: UInt64.self)
        let first = row >> 6
        let kept = (1 as UInt64) << UInt64(row & 63) &- 1
        for index in first..<NodeLayout.Chunk.markWordCount {
            let moved = words[index] >> 1 | (index + 1 < NodeLayout.Chunk.markWordCount ? words[index + 1] << 63 : 0)
            words[index] = index == first ? words[index] & kept | moved & ~kept : moved
        }
    }
}

extension ChunkLayout {
    /// The bytes of a chunk with room for `capacity` rows, and for `heap` bytes of variable values.
    func byteCount(capacity: Int, heap: Int = 0) -> Int {
        switch form {
        case .fixed: NodeLayout.Chunk.data + width * capacity
        case .nullable: NodeLayout.Chunk.data + (width + 1) * capacity
        case .variable: NodeLayout.Chunk.data + NodeLayout.Chunk.slotByteCount * capacity + heap
        }
    }
}

extension Chunk.Slot {
    /// Bytes of the heap that the slot's value takes.
    @inline(__always)
    var heapLength: Int {
        length < Chunk.Slot.tree ? Int(length) : length == Chunk.Slot.null ? 0 : NodeLayout.refByteCount
    }
}

/// How a column's values lie in its chunks.
public struct ChunkLayout: Equatable, Sendable {
    public var form: Chunk.Form
    /// Bytes per value; 4 (a slot) for variable ones.
    public var width: Int
    /// What a new row's cell is. Not part of the chunk.
    public var blank: Blank

    public enum Blank: Sendable {
        /// 0, false, the empty string or collection.
        case zero
        case null
        /// The link to nothing, -1.
        case noLink
    }

    public init(form: Chunk.Form, width: Int, blank: Blank = .zero) {
        self.form = form
        self.width = width
        self.blank = blank
    }

    /// Whether a chunk of this layout serves the other's column.
    func fits(_ other: ChunkLayout) -> Bool { form == other.form && width == other.width }

    /// The bytes of a chunk with room for `capacity` rows, and for `heap` bytes of variable values.
    func byteCount(capacity: Int, heap: Int) -> Int {
        switch form {
        case .fixed: 64 + width * capacity
        case .nullable: 64 + (width + 1) * capacity
        case .variable: 64 + 4 * capacity + heap
        }
    }
}

extension Chunk {
    var layout: ChunkLayout { ChunkLayout(form: form, width: node.width) }

    /// A chunk of zeros; a nullable one's rows are null, a variable one's empty.
    static func make(_ layout: ChunkLayout, capacity: Int, heap: Int = 0, _ writer: NodeWriter) -> Chunk {
        let length = layout.byteCount(capacity: capacity, heap: heap)
        let node = writer.make(
            .chunk, form: layout.form.rawValue, width: layout.width, capacity: capacity, byteCount: length)
        // The heap is written before it is read, and only its used part is ever written out.
        let cleared = layout.form == .variable ? 32 + 4 * capacity : node.byteCount - 32
        (node.address + 32).initializeMemory(as: UInt8.self, repeating: 0, count: cleared)
        let chunk = Chunk(node)
        if layout.form == .nullable { chunk.nullFlags.update(repeating: 1, count: capacity) }
        return chunk
    }

    /// A chunk with other room and the same first `rows` values, marks included where this transaction made the old one. The heap holds no garbage.
    func resized(rows: Int, capacity: Int, heap wanted: Int, _ writer: NodeWriter) -> Chunk {
        let result = Chunk.make(
            layout, capacity: capacity, heap: max(wanted, form == .variable ? liveHeap(rows) : 0), writer)
        result.copyRows(from: self, 0..<rows, to: 0)
        // Marks behind them are of rows that are gone: others may come there that were not assigned.
        if writer.isNew(node) { forEachMark(in: 0..<rows) { result.mark($0) } }
        return result
    }

    /// The most bytes of a heap that slots can lead to.
    static let mostHeap = Int(UInt16.max)

    /// Copies values of a chunk of the same layout to rows from `target` on. A variable chunk must have room.
    ///
    /// A chunk of a checkpoint that names the values of a dictionary may be forged so that they are more than a chunk
    /// holds, which nobody sees before each row gets bytes of its own here. What has no room is left out then, and
    /// noted.
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
            let room = min(heapCapacity, Chunk.mostHeap)
            let heap = heap
            let sourceHeap = source.heap
            for row in rows {
                let slot = source.slot(row)
                let length = slot.heapLength
                guard used &+ length <= room else {
                    setSlot(Slot(offset: 0, length: 0), target + row - rows.lowerBound)
                    Faults.contradiction("a chunk's values take more bytes than a chunk can hold")
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

    /// Takes a row out; those behind it move up. The chunk must be the transaction's own.
    func removeRow(_ row: Int, of count: Int) {
        let moved = count - row - 1
        if moved > 0 {
            let width = node.width
            address(row).copyMemory(from: address(row + 1), byteCount: moved * width)
            if form == .nullable { (nullFlags + row).update(from: nullFlags + row + 1, count: moved) }
        }
        removeMark(row)
    }

    /// The marks behind a row move one place forward.
    private func removeMark(_ row: Int) {
        guard hasMarks else { return }
        let words = node.pointer(32, to: UInt64.self)
        let first = row >> 6
        let kept = (1 as UInt64) << UInt64(row & 63) &- 1
        for place in first..<4 {
            let moved = words[place] >> 1 | (place < 3 ? words[place + 1] << 63 : 0)
            words[place] = place == first ? words[place] & kept | moved & ~kept : moved
        }
    }
}

extension Chunk.Slot {
    /// Bytes of the heap that the slot's value takes.
    @inline(__always)
    var heapLength: Int {
        length < Chunk.Slot.tree ? Int(length) : length == Chunk.Slot.null ? 0 : 8
    }
}

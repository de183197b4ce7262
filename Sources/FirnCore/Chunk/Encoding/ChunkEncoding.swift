import CFirn
import FirnBytes

/// The light encodings of chunks in a checkpoint. A form above those of `Chunk.Form` says which; rows behind one another share nothing but what the form says.
///
/// ```
///            40           44          48          56          64
///           ┌───────┬─────┬──────────┬───────────┬───────────┬──────────────────────────────────────────────
/// integers  │ width │ nul │ 0        │ base i64  │ step i64  │ a number of `width` bytes (0, 1, 2, 4) per row  · null flags
/// bits      │ 0     │ nul │ 0        │ 0         │ 0         │ a bit per row · null flags
/// text      │ width │ 0   │ heap     │ 0         │ 0         │ a length of `width` bytes (1, 2) per row · values
/// pressed   │ width │ 0   │ heap     │ pressed   │ 0         │ lengths and values, as in text, compressed by LZ4
/// dictionary│ 0     │ 0   │ 0        │ reference │ 0         │ a byte per row: a row of the dictionary, a variable chunk
///           └───────┴─────┴──────────┴───────────┴───────────┴──────────────────────────────────────────────
///             u8      u8    u32        u64         i64
/// ```
///
/// * **integers**: row i is `base + i · step + number`, of i64 (integers and links). `nul`: 1 where a byte of null flag per row follows.
/// * **text**: the lengths 0xFD, 0xFE, 0xFF of one byte stand for 0xFFFD, 0xFFFE, 0xFFFF of two, which are those of a slot: a tree, a blob, null. The values lie behind one another without
///   gaps, `heap` bytes long; a tree's and a blob's are references, which the reference table lists.
/// * **pressed**: only text that has no references, of columns without an index whose values are 32 bytes or more on average.
///
/// Reading a packed chunk unpacks all of it into memory of the reading thread, which keeps the last 16 (`Node.isScratch`); one cell is read where it lies (`Leaf.cell`).
enum ChunkEncoding {
    enum Form: UInt8 {
        case integers = 8
        case bits, text, pressed, dictionary
    }

    static let widthOffset = 40
    static let nullOffset = 41
    static let heapOffset = 44
    static let baseOffset = 48
    static let stepOffset = 56
    static let pressedOffset = 48
    static let dictionaryOffset = 48

    @inline(__always)
    static func isEncoded(_ node: Node) -> Bool { node.form >= Form.integers.rawValue }

    /// A packed chunk, or a `IntegerIndexRow`, as it would lie on the heap, in memory of this thread.
    @inline(never)
    static func unpacked(_ node: Node) -> Node {
        let address = UInt(bitPattern: node.address)
        guard let mapping = firn_mapping_of(address) else {
            preconditionFailure("Firn: a packed node outside a checkpoint")
        }
        if let memory = firn_scratch_find(address, mapping.pointee.number) { return Node(memory) }
        guard node.kindNumber == Node.Kind.chunk.rawValue else {
            let scratch = make(node, mapping, byteCount: IntegerIndexLeaf.byteCount(capacity: node.capacity))
            scratch.form = 0
            IntegerIndexRow(node).fill(IntegerIndexLeaf(scratch))
            return scratch
        }
        switch Form(rawValue: node.form) {
        case .integers: return integers(node, mapping)
        case .bits: return bits(node, mapping)
        case .text:
            return text(node, mapping, from: node.address + 64)
        case .pressed:
            return pressed(node, mapping)
        case .dictionary: return dictionary(node, mapping)
        case nil: preconditionFailure("Firn: a chunk of the unknown form \(node.form)")
        }
    }

    /// Memory for what is unpacked, its header filled in. The thread keeps it for the next who asks, but not once the thread's work has met damage: what is unpacked may come from a stand-in then.
    private static func make(_ node: Node, _ mapping: UnsafeMutablePointer<firn_mapping_t>, byteCount: Int) -> Node {
        let length = (byteCount + 15) & ~15
        guard
            let memory = firn_scratch_make(
                UInt(bitPattern: node.address), mapping.pointee.number, length, !Faults.isSet)
        else {
            fatalError("Firn: there is no memory left to unpack \(length) bytes")
        }
        memory.copyMemory(from: node.address, byteCount: 32)
        let scratch = Node(memory)
        // What is packed has 64 KiB at most.
        scratch.link = UInt64(UInt(bitPattern: node.address)) | UInt64(node.byteCount / OnDiskNode.unit) << 48
        scratch.store(node.kindNumber | Node.locationBits, 16)
        scratch.byteCount = length
        return scratch
    }

    private static func makeChunk(
        _ node: Node, _ mapping: UnsafeMutablePointer<firn_mapping_t>, _ form: Chunk.Form, byteCount: Int
    ) -> Chunk {
        let scratch = make(node, mapping, byteCount: byteCount)
        scratch.form = form.rawValue
        for word in 0..<4 { scratch.store(UInt64(0), 32 + 8 * word) }
        return Chunk(scratch)
    }

    private static func integers(_ node: Node, _ mapping: UnsafeMutablePointer<firn_mapping_t>) -> Node {
        let rows = node.capacity
        let isNullable = node.load(nullOffset, as: UInt8.self) != 0
        let chunk = makeChunk(
            node, mapping, isNullable ? .nullable : .fixed, byteCount: 64 + 8 * rows + (isNullable ? rows : 0))
        let width = Int(node.load(widthOffset, as: UInt8.self))
        let target = chunk.data.assumingMemoryBound(to: Int64.self)
        firn_unpack_i64(
            node.address + 64, UInt32(width), node.load(baseOffset), node.load(stepOffset), UInt32(rows), target)
        if isNullable {
            (chunk.data + 8 * rows).copyMemory(from: node.address + 64 + width * rows, byteCount: rows)
        }
        return chunk.node
    }

    private static func bits(_ node: Node, _ mapping: UnsafeMutablePointer<firn_mapping_t>) -> Node {
        let rows = node.capacity
        let isNullable = node.load(nullOffset, as: UInt8.self) != 0
        let chunk = makeChunk(
            node, mapping, isNullable ? .nullable : .fixed, byteCount: 64 + rows + (isNullable ? rows : 0))
        firn_unpack_bits(node.address + 64, UInt32(rows), chunk.data)
        if isNullable {
            (chunk.data + rows).copyMemory(from: node.address + 64 + (rows + 7) / 8, byteCount: rows)
        }
        return chunk.node
    }

    private static func text(
        _ node: Node, _ mapping: UnsafeMutablePointer<firn_mapping_t>, from payload: UnsafeRawPointer
    ) -> Node {
        let rows = node.capacity
        let heap = Int(node.load(heapOffset, as: UInt32.self))
        let width = Int(node.load(widthOffset, as: UInt8.self))
        let chunk = makeChunk(node, mapping, .variable, byteCount: 64 + 4 * rows + heap)
        chunk.heapUsed = heap
        firn_unpack_slots(payload, UInt32(width), UInt32(rows), chunk.data)
        chunk.heap.copyMemory(from: payload + width * rows, byteCount: heap)
        return chunk.node
    }

    private static func pressed(_ node: Node, _ mapping: UnsafeMutablePointer<firn_mapping_t>) -> Node {
        let rows = node.capacity
        let heap = Int(node.load(heapOffset, as: UInt32.self))
        let width = Int(node.load(widthOffset, as: UInt8.self))
        let pressed = Int(node.load(pressedOffset, as: UInt32.self))
        return withUnsafeTemporaryAllocation(byteCount: width * rows + heap, alignment: 16) { buffer in
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(width * rows + heap)])
            do throws(BytesError) {
                try LZ4.decompress(UnsafeRawBufferPointer(start: node.address + 64, count: pressed), into: target)
                guard isWhole(target, rows: rows, width: width) else {
                    throw BytesError(.invalid("its lengths make no sense"), offset: 0)
                }
            } catch {
                // The checksum was right, so it was written so.
                Faults.contradiction("a compressed chunk of a checkpoint makes no sense (\(error))")
                // Values without bytes, which any column of text may have.
                target.initializeMemory(as: UInt8.self, repeating: 0)
            }
            return text(node, mapping, from: UnsafeRawPointer(buffer.baseAddress.unsafelyUnwrapped))
        }
    }

    /// Whether the lengths that compressed text begins with are those of values that lie behind them.
    private static func isWhole(_ bytes: UnsafeMutableRawBufferPointer, rows: Int, width: Int) -> Bool {
        guard let lengths = bytes.baseAddress else { return rows == 0 }
        var end = 0
        for row in 0..<rows {
            let length = NodeCheck.length(row, width, lengths)
            if length == Int(Chunk.Slot.null) { continue }
            guard length < Int(Chunk.Slot.tree), end <= 0xFFFF else { return false }
            end += length
        }
        return width * rows + end <= bytes.count
    }

    private static func dictionary(_ node: Node, _ mapping: UnsafeMutablePointer<firn_mapping_t>) -> Node {
        let rows = node.capacity
        let words = Chunk(NodeRef(node.load(dictionaryOffset, as: UInt64.self)).node)
        let heap = words.heapUsed
        let chunk = makeChunk(node, mapping, .variable, byteCount: 64 + 4 * rows + heap)
        chunk.heapUsed = heap
        let codes = (node.address + 64).assumingMemoryBound(to: UInt8.self)
        let slots = words.data.assumingMemoryBound(to: UInt32.self)
        let target = chunk.data.assumingMemoryBound(to: UInt32.self)
        for row in 0..<rows { target[row] = slots[Int(codes[row])] }
        chunk.heap.copyMemory(from: words.heap, byteCount: heap)
        return chunk.node
    }
}

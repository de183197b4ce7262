import CFirn
import FirnBytes

/// The compact forms that a chunk can have in a checkpoint.
///
/// The node's form, a number above those of `Chunk.Form`, says which of these forms a chunk has. Rows are encoded one
/// by one; they share only the parameters of the form.
///
/// ```
///            40           44          48          56          64
///           ┌───────┬─────┬──────────┬───────────┬───────────┬─────────────────────────────────────────────────
/// integers  │ width │ nul │ 0        │ base i64  │ step i64  │ a number of `width` bytes (0, 1, 2, 4) per row
///           │       │     │          │           │           │ · null flags
/// bits      │ 0     │ nul │ 0        │ 0         │ 0         │ a bit per row · null flags
/// text      │ width │ 0   │ heap     │ 0         │ 0         │ a length of `width` bytes (1, 2) per row · values
/// lz4       │ width │ 0   │ heap     │ LZ4 bytes │ 0         │ lengths and values, as in text, compressed by LZ4
/// dictionary│ 0     │ 0   │ 0        │ reference │ 0         │ a byte per row: a row of the dictionary, which is
///           │       │     │          │           │           │ a variable chunk
///           └───────┴─────┴──────────┴───────────┴───────────┴─────────────────────────────────────────────────
///             u8      u8    u32        u64         i64
/// ```
///
/// * **integers**: row i is `base + i · step + number`, an i64 (integers and links). `nul` is 1 if a null flag of one
///   byte per row follows.
/// * **text**: the one-byte lengths 0xFD, 0xFE, 0xFF stand for the two-byte lengths 0xFFFD, 0xFFFE, 0xFFFF. As in a
///   slot, they mean a tree, a blob and null. The values follow each other without gaps, `heap` bytes in all. The
///   value of a tree or a blob is a reference, which the reference table lists.
/// * **lz4**: only text without references, of columns without an index, whose values are 32 bytes or more on
///   average.
///
/// Reading an encoded chunk decodes all of it into memory of the reading thread, which keeps the last 16 decoded chunks
/// (`Node.isScratch`). A single cell is read in place (`Leaf.cell`).
enum ChunkEncoding {
    enum Form: UInt8 {
        case integers = 8
        case bits, text, lz4, dictionary
    }

    /// The bytes of encoded text or numbers.
    @inline(__always)
    static func payload(_ node: Node) -> UnsafeMutableRawPointer { node.address + NodeLayout.EncodedChunk.payload }

    /// The number of bytes of a number, or of a length of text.
    @inline(__always)
    static func width(_ node: Node) -> Int { Int(node.load(NodeLayout.EncodedChunk.width, as: UInt8.self)) }

    @inline(__always)
    static func hasNulls(_ node: Node) -> Bool { node.load(NodeLayout.EncodedChunk.hasNulls, as: UInt8.self) != 0 }

    /// The number of bytes of the values of text.
    static func heapByteCount(_ node: Node) -> Int { Int(node.load(NodeLayout.EncodedChunk.heap, as: UInt32.self)) }

    /// The number of bytes of compressed text.
    static func lz4ByteCount(_ node: Node) -> Int { Int(node.load(NodeLayout.EncodedChunk.lz4, as: UInt32.self)) }

    /// The reference to the dictionary.
    @inline(__always)
    static func dictionaryRef(_ node: Node) -> NodeRef {
        NodeRef(node.load(NodeLayout.EncodedChunk.dictionary, as: UInt64.self))
    }

    @inline(__always)
    static func isEncoded(_ node: Node) -> Bool { node.form >= Form.integers.rawValue }

    /// The decoded form of a chunk, in memory of this thread (`ScratchNode`).
    @inline(never)
    static func decoded(_ node: Node) -> Node {
        ScratchNode.unpacked(node) { mapping in
            switch Form(rawValue: node.form) {
            case .integers: integers(node, mapping)
            case .bits: bits(node, mapping)
            case .text: text(node, mapping, from: payload(node))
            case .lz4: lz4(node, mapping)
            case .dictionary: dictionary(node, mapping)
            case nil: preconditionFailure("Firn: a chunk of the unknown form \(node.form)")
            }
        }
    }

    /// Makes the chunk that a node is decoded into, with a heap of `heap` bytes. Its values are not initialised.
    private static func makeChunk(
        _ node: Node, mapping: ScratchNode.Mapping, layout: ChunkLayout, heap: Int = 0
    ) -> Chunk {
        let scratch = ScratchNode.make(
            for: node, mapping, byteCount: layout.byteCount(capacity: node.capacity, heap: heap))
        scratch.form = layout.form.rawValue
        let chunk = Chunk(scratch)
        chunk.clearMarks()
        return chunk
    }

    private static func integers(_ node: Node, _ mapping: ScratchNode.Mapping) -> Node {
        let rows = node.capacity
        let isNullable = hasNulls(node)
        let layout = ChunkLayout(form: isNullable ? .nullable : .fixed, width: MemoryLayout<Int64>.size)
        let chunk = makeChunk(node, mapping: mapping, layout: layout)
        let width = width(node)
        let target = chunk.data.assumingMemoryBound(to: Int64.self)
        firn_unpack_i64(
            payload(node), UInt32(width), node.load(NodeLayout.EncodedChunk.base),
            node.load(NodeLayout.EncodedChunk.step), UInt32(rows), target)
        if isNullable {
            (chunk.data + layout.width * rows).copyMemory(from: payload(node) + width * rows, byteCount: rows)
        }
        return chunk.node
    }

    private static func bits(_ node: Node, _ mapping: ScratchNode.Mapping) -> Node {
        let rows = node.capacity
        let isNullable = hasNulls(node)
        let layout = ChunkLayout(form: isNullable ? .nullable : .fixed, width: MemoryLayout<Bool>.size)
        let chunk = makeChunk(node, mapping: mapping, layout: layout)
        firn_unpack_bits(payload(node), UInt32(rows), chunk.data)
        if isNullable {
            (chunk.data + layout.width * rows).copyMemory(from: payload(node) + bitByteCount(rows), byteCount: rows)
        }
        return chunk.node
    }

    private static func text(
        _ node: Node, _ mapping: ScratchNode.Mapping, from payload: UnsafeRawPointer
    ) -> Node {
        let rows = node.capacity
        let heap = heapByteCount(node)
        let width = width(node)
        let chunk = makeChunk(node, mapping: mapping, layout: .variable(), heap: heap)
        chunk.heapUsed = heap
        firn_unpack_slots(payload, UInt32(width), UInt32(rows), chunk.data)
        chunk.heap.copyMemory(from: payload + width * rows, byteCount: heap)
        return chunk.node
    }

    private static func lz4(_ node: Node, _ mapping: ScratchNode.Mapping) -> Node {
        let rows = node.capacity
        let heap = heapByteCount(node)
        let width = width(node)
        let compressed = UnsafeRawBufferPointer(start: payload(node), count: lz4ByteCount(node))
        return withUnsafeTemporaryAllocation(byteCount: width * rows + heap, alignment: 16) { buffer in
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(width * rows + heap)])
            do throws(Damage) {
                try LZ4.decompress(compressed, into: target)
                guard hasValidLengths(target, rows: rows, width: width) else {
                    throw Damage("its lengths are not valid", at: 0)
                }
            } catch {
                // The checksum is right, so the chunk was written like this.
                DamageRecord.contradiction("a compressed chunk of a checkpoint is not valid (\(error))")
                // Continue with empty values, which any column of text may have.
                target.initializeMemory(as: UInt8.self, repeating: 0)
            }
            return text(node, mapping, from: UnsafeRawPointer(buffer.baseAddress.unsafelyUnwrapped))
        }
    }

    /// The length of the value in a row of encoded text, as a slot on the heap states it.
    static func length(_ row: Int, width: Int, lengths: UnsafeRawPointer) -> Int {
        guard width == 1 else { return Int(lengths.loadUnaligned(fromByteOffset: 2 * row, as: UInt16.self)) }
        return length(ofByte: Int(lengths.load(fromByteOffset: row, as: UInt8.self)))
    }

    /// The length that a byte means, as a slot on the heap states it.
    @inline(__always)
    static func length<Length: FixedWidthInteger>(ofByte byte: Length) -> Length {
        byte < leastSpecialByte ? byte : byte | 0xFF00
    }

    /// The least one-byte length that marks a null, blob or tree: the low byte of `Slot.tree`.
    static var leastSpecialByte: UInt8 { @inline(__always) get { UInt8(truncatingIfNeeded: Chunk.Slot.tree) } }

    /// The number of bytes that hold one bit for each row.
    static func bitByteCount(_ rows: Int) -> Int { (rows + 7) / 8 }

    /// Whether the lengths at the start of the text are valid and fit the values after them.
    private static func hasValidLengths(_ bytes: UnsafeMutableRawBufferPointer, rows: Int, width: Int) -> Bool {
        guard let lengths = bytes.baseAddress else { return rows == 0 }
        var end = 0
        for row in 0..<rows {
            let length = length(row, width: width, lengths: lengths)
            if length == Int(Chunk.Slot.null) { continue }
            guard length < Int(Chunk.Slot.tree), end <= 0xFFFF else { return false }
            end += length
        }
        return width * rows + end <= bytes.count
    }

    private static func dictionary(_ node: Node, _ mapping: ScratchNode.Mapping) -> Node {
        let rows = node.capacity
        let words = Chunk(dictionaryRef(node).node)
        let heap = words.heapUsed
        let chunk = makeChunk(node, mapping: mapping, layout: .variable(), heap: heap)
        chunk.heapUsed = heap
        let codes = payload(node).assumingMemoryBound(to: UInt8.self)
        let slots = words.data.assumingMemoryBound(to: UInt32.self)
        let target = chunk.data.assumingMemoryBound(to: UInt32.self)
        for row in 0..<rows { target[row] = slots[Int(codes[row])] }
        chunk.heap.copyMemory(from: words.heap, byteCount: heap)
        return chunk.node
    }
}

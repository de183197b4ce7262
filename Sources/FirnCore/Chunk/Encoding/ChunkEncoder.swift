import CFirn
import FirnBytes

/// Chooses how a chunk is packed, and packs it. It belongs to the one who writes a checkpoint, and is used for one chunk after another.
struct ChunkEncoder: ~Copyable {
    private var lz4 = LZ4()
    /// Lengths and values on their way to be compressed; no chunk's are longer.
    private let staged = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 2 * Limits.chunkByteCount, alignment: 64)
    private let pressed = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * Limits.chunkByteCount, alignment: 64)

    deinit {
        staged.deallocate()
        pressed.deallocate()
    }

    /// The most, of what a chunk takes as text, that it may take compressed: below that it is worth the time to decompress it.
    static let pressedShare = 0.7
    /// Text whose values are shorter than this on average is not compressed: names and codes are looked up one at a time, and reading one then undoes all 256.
    static let leastPressedLength = 32

    /// A packed chunk: what its form and parameters are, and its payload. Valid until the next one is packed.
    struct Packed {
        var form: ChunkEncoding.Form
        var width = 0
        var isNullable = false
        var heap = 0
        var first: UInt64 = 0
        var second: UInt64 = 0
        var payload: UnsafeRawBufferPointer
        /// Where in the payload references lie, and what chunk bytes they come from.
        var refs: [(offset: Int, word: UInt64)] = []
    }

    // MARK: Numbers

    /// The first `rows` rows of a chunk of integers or booleans; nil where the plain form is as short.
    mutating func packNumbers(_ chunk: Chunk, rows: Int, _ schema: ColumnSchema) -> Packed? {
        guard schema.collection == .none, rows > 0, chunk.form != .variable else { return nil }
        let nulls = chunk.form == .nullable ? rows : 0
        guard let memory = staged.baseAddress else { return nil }
        switch schema.type {
        case .int, .link:
            let values = chunk.data.assumingMemoryBound(to: Int64.self)
            var range = (Int64.max, Int64.min)
            withUnsafeMutableBytes(of: &range) {
                firn_range_i64(values, UInt32(rows), $0.assumingMemoryBound(to: Int64.self).baseAddress)
            }
            let step = rows > 1 ? values[1] &- values[0] : 0
            let isRow = (1..<max(rows, 1)).allSatisfy { values[$0] &- values[$0 - 1] == step }
            let spread = UInt64(bitPattern: range.1 &- range.0)
            let width = isRow ? 0 : spread < 1 << 8 ? 1 : spread < 1 << 16 ? 2 : spread < 1 << 32 ? 4 : 8
            guard width < 8 else { return nil }
            let base = isRow ? values[0] : range.0
            for row in 0..<rows where width > 0 {
                let number = UInt64(bitPattern: values[row] &- base)
                switch width {
                case 1: memory.storeBytes(of: UInt8(truncatingIfNeeded: number), toByteOffset: row, as: UInt8.self)
                case 2:
                    memory.storeBytes(of: UInt16(truncatingIfNeeded: number), toByteOffset: 2 * row, as: UInt16.self)
                default:
                    memory.storeBytes(of: UInt32(truncatingIfNeeded: number), toByteOffset: 4 * row, as: UInt32.self)
                }
            }
            if nulls > 0 { (memory + width * rows).copyMemory(from: chunk.nullFlags, byteCount: rows) }
            return Packed(
                form: .integers, width: width, isNullable: nulls > 0, first: UInt64(bitPattern: base),
                second: UInt64(bitPattern: isRow ? step : 0),
                payload: UnsafeRawBufferPointer(start: memory, count: width * rows + nulls))
        case .bool:
            let length = (rows + 7) / 8
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: length)
            let values = chunk.data.assumingMemoryBound(to: UInt8.self)
            let bits = memory.assumingMemoryBound(to: UInt8.self)
            for row in 0..<rows {
                // Anything but 0 and 1 is no boolean, and would not come back.
                guard values[row] <= 1 else { return nil }
                bits[row >> 3] |= values[row] << UInt8(row & 7)
            }
            if nulls > 0 { (memory + length).copyMemory(from: chunk.nullFlags, byteCount: rows) }
            return Packed(
                form: .bits, isNullable: nulls > 0,
                payload: UnsafeRawBufferPointer(start: memory, count: length + nulls))
        default: return nil
        }
    }

    // MARK: Text

    /// The first `rows` rows of a variable chunk of single values, gaps left out.
    ///
    /// - Parameter mayPress: whether they may be compressed, which no column with an index is.
    mutating func packText(_ chunk: Chunk, rows: Int, mayPress: Bool) -> Packed? {
        guard rows > 0, let memory = staged.baseAddress else { return nil }
        var longest = 0
        var heap = 0
        for row in 0..<rows {
            let slot = chunk.slot(row)
            if slot.length < Chunk.Slot.tree { longest = max(longest, Int(slot.length)) }
            heap += slot.heapLength
        }
        let width = longest < 0xFD ? 1 : 2
        var place = memory + width * rows
        var refs: [(offset: Int, word: UInt64)] = []
        for row in 0..<rows {
            let slot = chunk.slot(row)
            if width == 1 {
                memory.storeBytes(of: UInt8(truncatingIfNeeded: slot.length), toByteOffset: row, as: UInt8.self)
            } else {
                memory.storeBytes(of: slot.length, toByteOffset: 2 * row, as: UInt16.self)
            }
            let length = slot.heapLength
            place.copyMemory(from: chunk.heap + Int(slot.offset), byteCount: length)
            if slot.length == Chunk.Slot.tree || slot.length == Chunk.Slot.blob {
                refs.append((place - memory, chunk.heapWord(slot)))
            }
            place += length
        }
        let whole = UnsafeRawBufferPointer(start: memory, count: place - memory)
        if mayPress, refs.isEmpty, heap >= ChunkEncoder.leastPressedLength * rows,
            let count = lz4.compress(
                whole,
                into: UnsafeMutableRawBufferPointer(
                    rebasing: pressed[..<Int(Double(whole.count) * ChunkEncoder.pressedShare)]))
        {
            return Packed(
                form: .pressed, width: width, heap: heap, first: UInt64(count),
                payload: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(pressed)[..<count]))
        }
        return Packed(form: .text, width: width, heap: heap, payload: whole, refs: refs)
    }
}

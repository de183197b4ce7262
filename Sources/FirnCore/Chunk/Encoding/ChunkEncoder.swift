import CFirn
import FirnBytes

/// Chooses the encoding of a chunk, and encodes it. The writer of a checkpoint owns it, and uses it for one chunk
/// after another.
struct ChunkEncoder: ~Copyable {
    private var lz4 = LZ4()
    /// The payload of the current chunk, before it is compressed. No chunk has a longer one.
    private let staged = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 2 * Limits.chunkByteCount, alignment: 64)
    private let compressed = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * Limits.chunkByteCount, alignment: 64)

    deinit {
        staged.deallocate()
        compressed.deallocate()
    }

    /// The greatest length of compressed text, as a share of the uncompressed text. Text that is compressed less is not
    /// worth the time to decompress it.
    static let lz4Share = 0.7
    /// Text whose values are shorter than this on average is not compressed. Names and codes are looked up one at a
    /// time, and each such read would decompress all 256 values.
    static let lz4LeastLength = 32

    /// An encoded chunk: its form, its parameters and its payload. It is valid until the next chunk is encoded.
    struct EncodedChunk {
        var form: ChunkEncoding.Form
        var width = 0
        var isNullable = false
        var heap = 0
        var first: UInt64 = 0
        var second: UInt64 = 0
        var payload: UnsafeRawBufferPointer
        /// The offset of each reference in the payload, and the reference that the chunk has there.
        var refs: [(offset: Int, word: UInt64)] = []
    }

    // MARK: Numbers

    /// Encodes the first `rows` rows of a chunk of integers, links or Booleans. Returns nil if the plain form is as
    /// short, or if the chunk holds anything else.
    mutating func encodeNumbers(_ chunk: Chunk, rows: Int, _ schema: ColumnSchema) -> EncodedChunk? {
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
            let isArithmetic = (1..<max(rows, 1)).allSatisfy { values[$0] &- values[$0 - 1] == step }
            let spread = UInt64(bitPattern: range.1 &- range.0)
            let width = isArithmetic ? 0 : spread < 1 << 8 ? 1 : spread < 1 << 16 ? 2 : spread < 1 << 32 ? 4 : 8
            guard width < 8 else { return nil }
            let base = isArithmetic ? values[0] : range.0
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
            return EncodedChunk(
                form: .integers, width: width, isNullable: nulls > 0, first: UInt64(bitPattern: base),
                second: UInt64(bitPattern: isArithmetic ? step : 0),
                payload: UnsafeRawBufferPointer(start: memory, count: width * rows + nulls))
        case .bool:
            let length = ChunkEncoding.bitByteCount(rows)
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: length)
            let values = chunk.data.assumingMemoryBound(to: UInt8.self)
            let bits = memory.assumingMemoryBound(to: UInt8.self)
            for row in 0..<rows {
                // A byte other than 0 and 1 is not a Boolean, and would not survive the encoding.
                guard values[row] <= 1 else { return nil }
                bits[row >> 3] |= values[row] << UInt8(row & 7)
            }
            if nulls > 0 { (memory + length).copyMemory(from: chunk.nullFlags, byteCount: rows) }
            return EncodedChunk(
                form: .bits, isNullable: nulls > 0,
                payload: UnsafeRawBufferPointer(start: memory, count: length + nulls))
        default: return nil
        }
    }

    // MARK: Text

    /// Encodes the first `rows` rows of a variable chunk of single values, without the gaps in its heap.
    ///
    /// - Parameter mayCompress: whether the values may be compressed. The values of an indexed column never are.
    mutating func encodeText(_ chunk: Chunk, rows: Int, mayCompress: Bool) -> EncodedChunk? {
        guard rows > 0, let memory = staged.baseAddress else { return nil }
        var longest = 0
        var heap = 0
        for row in 0..<rows {
            let slot = chunk.slot(row)
            if slot.length < Chunk.Slot.tree { longest = max(longest, Int(slot.length)) }
            heap += slot.heapLength
        }
        let width = longest < Int(ChunkEncoding.leastSpecialByte) ? 1 : 2
        var end = memory + width * rows
        var refs: [(offset: Int, word: UInt64)] = []
        for row in 0..<rows {
            let slot = chunk.slot(row)
            if width == 1 {
                memory.storeBytes(of: UInt8(truncatingIfNeeded: slot.length), toByteOffset: row, as: UInt8.self)
            } else {
                memory.storeBytes(of: slot.length, toByteOffset: 2 * row, as: UInt16.self)
            }
            let length = slot.heapLength
            end.copyMemory(from: chunk.heap + Int(slot.offset), byteCount: length)
            if slot.length == Chunk.Slot.tree || slot.length == Chunk.Slot.blob {
                refs.append((end - memory, chunk.heapWord(slot)))
            }
            end += length
        }
        let plain = UnsafeRawBufferPointer(start: memory, count: end - memory)
        if mayCompress, refs.isEmpty, heap >= ChunkEncoder.lz4LeastLength * rows,
            let count = lz4.compress(
                plain,
                into: UnsafeMutableRawBufferPointer(
                    rebasing: compressed[..<Int(Double(plain.count) * ChunkEncoder.lz4Share)]))
        {
            return EncodedChunk(
                form: .lz4, width: width, heap: heap, first: UInt64(count),
                payload: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(compressed)[..<count]))
        }
        return EncodedChunk(form: .text, width: width, heap: heap, payload: plain, refs: refs)
    }
}

/// The distinct values of a column in the leaves below one inner node, if there are at most 256. One byte per row then
/// says which of them the row has.
struct TextDictionary {
    private(set) var codes: [[UInt8]] = []
    /// The first row with each distinct value: leaf and row.
    private(set) var firsts: [(leaf: Int, row: Int)] = []

    /// The least number of rows per distinct value, on average, for which a dictionary pays.
    private static let leastRepeats = 4

    /// Returns nil if the leaves have too few rows or too many distinct values, or if these repeat too seldom. Also
    /// returns nil if a value has a node of its own.
    init?(_ leaves: [Leaf], _ column: Int) {
        let rowCount = leaves.reduce(0) { $0 + $1.count }
        guard rowCount >= 64 else { return nil }
        var table = [Int32](repeating: -1, count: 1024)
        for (index, leaf) in leaves.enumerated() {
            var codes = [UInt8](repeating: 0, count: leaf.count)
            for row in 0..<leaf.count {
                let cell = TextDictionary.cell(leaf, column, row: row)
                if cell.length == Chunk.Slot.blob || cell.length == Chunk.Slot.tree { return nil }
                var bucket = Int(truncatingIfNeeded: TextDictionary.hash(cell.bytes, cell.length) & 1023)
                while true {
                    let code = table[bucket]
                    if code < 0 {
                        guard firsts.count < 256, firsts.count * TextDictionary.leastRepeats <= rowCount else {
                            return nil
                        }
                        codes[row] = UInt8(firsts.count)
                        table[bucket] = Int32(firsts.count)
                        firsts.append((index, row))
                        break
                    }
                    let first = firsts[Int(code)]
                    // Both cells are read here, because a chunk stays valid only until others have been read.
                    let known = TextDictionary.cell(leaves[first.leaf], column, row: first.row)
                    let cell = TextDictionary.cell(leaf, column, row: row)
                    if known.length == cell.length, known.bytes.elementsEqual(cell.bytes) {
                        codes[row] = UInt8(code)
                        break
                    }
                    bucket = (bucket + 1) & 1023
                }
            }
            self.codes.append(codes)
        }
        // The distinct values must fit in one chunk.
        let heap = firsts.reduce(0) { $0 + leaves[$1.leaf].chunk(column).slot($1.row).heapLength }
        guard heap < Limits.chunkByteCount / 2 else { return nil }
    }

    /// The length in a cell's slot, and the bytes of its value.
    private static func cell(_ leaf: Leaf, _ column: Int, row: Int) -> (length: UInt16, bytes: UnsafeRawBufferPointer) {
        let chunk = leaf.chunk(column)
        let slot = chunk.slot(row)
        return (slot.length, UnsafeRawBufferPointer(start: chunk.heap + Int(slot.offset), count: slot.heapLength))
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer, _ length: UInt16) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ UInt64(length)
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash ^ hash >> 29
    }
}

import FirnBytes

/// The layout of a node's payload, as far as the node alone determines it.
extension OnDiskNode {
    static let fanout = 64
    static let rowsPerLeaf = 256
    /// The capacities of an integer index's leaf, and the lengths of a bytes index's page. A node that is not the root
    /// of its tree has the greatest, so that neighbours can be merged.
    static let leafCapacities = [4, 16, 64]
    static let pageByteCounts = [256, 1024, 4096]
    /// The highest level that an inner node may have. No tree is so deep.
    static let levelMax = 12
    /// The longest key in a bytes index: 128 bytes of a value, and what distinguishes null from a value. For a longer
    /// value, the key has the first 120 bytes and a hash.
    static let indexKeyByteCount = 136

    /// The offsets at which the payloads of a root and of a table end.
    static func rootEnd(tables: Int) -> Int { 32 + 8 * tables }
    static func tableEnd(columns: Int) -> Int { 64 + 16 * columns }

    /// Checks that the payload has all that the header says, that the rest is zero, and that the references are
    /// possible.
    func checkShape() throws(NodeDamage) {
        let end = try payloadEnd()
        guard end <= bytes.count else {
            throw damage("the \(kind.name.one) is too short for what it says it holds")
        }
        guard UnsafeRawBufferPointer(rebasing: bytes[end...]).isAllZero else {
            throw damage("the padding behind the \(kind.name.one)'s payload is not zero")
        }
        try forEachReference { (offset, _, _) throws(NodeDamage) in _ = try reference(offset) }
    }

    /// The offset at which the payload ends, with its list of references if the kind has one.
    private func payloadEnd() throws(NodeDamage) -> Int {
        switch kind {
        case .root:
            try checkCount(0...FormatNumbers.tableCount)
            return Self.rootEnd(tables: count)
        case .table:
            let columns = try columnCount(at: 56)
            try checkZero(60, 4)
            return Self.tableEnd(columns: columns)
        case .rowInner:
            try checkInner()
            return 1568
        case .leaf:
            let columns = try columnCount(at: 48)
            try checkCount(1...Self.rowsPerLeaf)
            try checkZero(52, 12)
            return 64 + 8 * columns
        case .chunk: return try listEnd(behind: chunkEnd())
        case .blob: return 32 + count
        case .integerIndexInner:
            try checkInner()
            guard header.form == 0, header.capacity == Self.fanout else {
                throw damage("the \(kind.name.one) has the form or the capacity of another node")
            }
            return 2080
        case .integerIndexLeaf:
            try checkCount(1...Self.fanout)
            guard header.form <= 1, count <= header.capacity, Self.leafCapacities.contains(header.capacity) else {
                throw damage("the \(kind.name.one) has an unknown form, or more entries than its capacity")
            }
            return header.form == 1 ? 64 : 32 + 16 * header.capacity
        case .bytesIndexInner, .bytesIndexLeaf:
            try checkPage()
            return bytes.count
        case .listInner:
            try checkInner()
            return 800
        case .listLeaf:
            try checkCount(1...Int(UInt16.max))
            try checkZero(36, 2)
            return try listEnd(behind: 38 + header.capacity)
        }
    }

    private func checkCount(_ range: ClosedRange<Int>) throws(NodeDamage) {
        guard range.contains(count) else { throw damage("the \(kind.name.one) can't have \(count) entries") }
    }

    private func checkInner() throws(NodeDamage) {
        try checkCount(1...Self.fanout)
        guard header.width >= 1, header.width <= Self.levelMax else {
            throw damage("the \(kind.name.one) can't be of level \(header.width)")
        }
    }

    private func checkZero(_ offset: Int, _ count: Int) throws(NodeDamage) {
        guard try slice(offset, count).isAllZero else {
            throw damage("the \(kind.name.one) has bytes that must be zero")
        }
    }

    private func columnCount(at offset: Int) throws(NodeDamage) -> Int {
        let columns = try u32(offset)
        guard columns <= FormatNumbers.columnCount else {
            throw damage("the \(kind.name.one) can't have \(columns) columns")
        }
        return columns
    }

    // MARK: Lists of references

    /// The offset of the list of references in a chunk or a list's leaf, and the number of references in it.
    private func referenceList() throws(NodeDamage) -> (offset: Int, count: Int) {
        if kind == .chunk { return (try u32(32), try u32(36)) }
        return ((38 + header.capacity + 3) & ~3, try u32(32))
    }

    /// The offsets of the references in a chunk or a list's leaf.
    func listedReferences() throws(NodeDamage) -> [Int] {
        let (start, count) = try referenceList()
        // The check of the node's shape refuses longer lists, too.
        guard count <= bytes.count / 4 else { throw damage("the list of references is longer than the node") }
        var offsets: [Int] = []
        offsets.reserveCapacity(count)
        for index in 0..<count { offsets.append(try u32(start + 4 * index)) }
        return offsets
    }

    /// Checks that the list lies behind the values, which end at `end`, and leads into them. Returns the list's end. A
    /// node without references has no list.
    private func listEnd(behind end: Int) throws(NodeDamage) -> Int {
        let (start, count) = try referenceList()
        guard count > 0 else { return end }
        guard start >= end, start % 4 == 0, count <= (bytes.count - start) / 4 else {
            throw damage("the reference table of the \(kind.name.one) lies at an impossible offset")
        }
        guard kind != .chunk || header.form != ChunkForm.dictionary.rawValue else {
            throw damage("the chunk has a dictionary, and so can't have other references")
        }
        for offset in try listedReferences() where offset < 32 || offset + 8 > end {
            throw damage("the reference table of the \(kind.name.one) leads out of its payload")
        }
        return start + 4 * count
    }

    // MARK: Chunks

    /// The offset at which the values end.
    private func chunkEnd() throws(NodeDamage) -> Int {
        guard let form = ChunkForm(rawValue: header.form) else {
            throw damage("the chunk is of the unknown form \(header.form)")
        }
        let rows = header.capacity
        guard rows <= Self.rowsPerLeaf else { throw damage("the chunk can't have \(rows) rows") }
        let nulls = form == .integers || form == .bits ? Int(try u8(41)) : 0
        guard nulls <= 1 else { throw damage("the chunk's field for null flags can't be \(nulls)") }
        let end: Int
        switch form {
        case .fixed: end = 64 + header.width * rows
        case .nullable: end = 64 + (header.width + 1) * rows
        case .variable:
            guard count <= FormatNumbers.chunkHeapByteCount else {
                throw damage("the chunk claims to hold \(count) bytes of values")
            }
            end = 64 + 4 * rows + count
        case .integers:
            let width = Int(try u8(40))
            guard [0, 1, 2, 4].contains(width) else { throw damage("the chunk can't have numbers of \(width) bytes") }
            end = 64 + (width + nulls) * rows
        case .bits: end = 64 + (rows + 7) / 8 + nulls * rows
        case .text:
            end = 64 + (try lengthWidth()) * rows + (try heapByteCount())
        case .compressed:
            _ = try lengthWidth()
            _ = try heapByteCount()
            end = 64 + (try u32(48))
        case .dictionary: end = 64 + rows
        }
        guard end <= bytes.count else { throw damage("the chunk is too short for what it says it holds") }
        return end
    }

    /// The number of bytes of each length in a text chunk.
    func lengthWidth() throws(NodeDamage) -> Int {
        let width = Int(try u8(40))
        guard width == 1 || width == 2 else { throw damage("the chunk can't have lengths of \(width) bytes") }
        return width
    }

    /// The number of bytes of all values in a text chunk.
    func heapByteCount() throws(NodeDamage) -> Int {
        let heap = try u32(44)
        guard heap <= FormatNumbers.chunkHeapByteCount else {
            throw damage("the chunk claims to hold \(heap) bytes of text")
        }
        return heap
    }

    // MARK: Indexes of bytes

    private func checkPage() throws(NodeDamage) {
        try checkCount(1...bytes.count / 8)
        guard kind == .bytesIndexLeaf || header.width >= 1 && header.width <= Self.levelMax else {
            throw damage("the \(kind.name.one) can't be of level \(header.width)")
        }
        try checkZero(36, 4)
        guard Self.pageByteCounts.contains(bytes.count), kind == .bytesIndexLeaf || isFull else {
            throw damage("the \(kind.name.one) can't have \(bytes.count) bytes")
        }
        let start = header.capacity
        guard start >= 40 + 8 * count, start <= bytes.count else {
            throw damage("the entries of the \(kind.name.one) can't begin at \(start)")
        }
        var entries: [Range<Int>] = []
        for index in 0..<count {
            let entry = try bytesEntry(index)
            let end = entry.key + (entry.keyByteCount + 7) & ~7
            guard entry.offset >= start, try isZero(behindKeyOf: entry) else {
                throw damage(
                    "entry \(index) of the \(kind.name.one) is not where entries are, or has bytes behind its key")
            }
            entries.append(entry.offset..<end)
        }
        entries.sort { $0.lowerBound < $1.lowerBound }
        guard zip(entries, entries.dropFirst()).allSatisfy({ $0.upperBound <= $1.lowerBound }) else {
            throw damage("entries of the \(kind.name.one) overlap")
        }
        let garbage = try u32(32)
        guard start + entries.reduce(garbage, { $0 + $1.count }) == bytes.count else {
            throw damage("the \(kind.name.one) has \(garbage) bytes of garbage, which its entries do not leave")
        }
    }

    /// Whether it has the length, or the capacity, that a node below the root of an index must have.
    var isFull: Bool {
        switch kind {
        case .integerIndexLeaf: header.capacity == Self.leafCapacities.last
        case .bytesIndexInner, .bytesIndexLeaf: bytes.count == Self.pageByteCounts.last
        default: true
        }
    }

    /// Whether the rest of a key's last word is zero. The word's highest byte comes first in the key.
    private func isZero(
        behindKeyOf entry: (offset: Int, key: Int, keyByteCount: Int, head: UInt32)
    ) throws(NodeDamage) -> Bool {
        let rest = -entry.keyByteCount & 7
        return try slice(entry.key + entry.keyByteCount & ~7, rest).isAllZero
    }

    /// The offset of a slot's entry, the offset and length of its key, and the key's head.
    func bytesEntry(_ index: Int) throws(NodeDamage) -> (offset: Int, key: Int, keyByteCount: Int, head: UInt32) {
        let slot = try u64(40 + 8 * index)
        let offset = Int(slot >> 16 & 0xFFFF)
        let keyByteCount = Int(slot & 0xFFFF)
        let key = offset + (kind == .bytesIndexInner ? 24 : 8)
        guard offset % 8 == 0, offset >= 40 + 8 * count, keyByteCount <= Self.indexKeyByteCount,
            key + (keyByteCount + 7) / 8 * 8 <= bytes.count
        else {
            throw damage("entry \(index) of the \(kind.name.one) lies at an impossible offset")
        }
        return (offset, key, keyByteCount, UInt32(truncatingIfNeeded: slot >> 32))
    }
}

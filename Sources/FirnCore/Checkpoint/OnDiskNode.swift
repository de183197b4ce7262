import FirnBytes

/// A node in a checkpoint's file: the same bytes as on the heap, with these differences.
///
/// ```
///  0        8           12          16   17   18      20       24         28       32
/// ┌────────┬───────────┬───────────┬────┬────┬───────┬────────┬──────────┬────────┬─────────
/// │ stamp  │ CRC       │ offset    │kind│form│ width │ count  │ capacity │ bytes  │ payload
/// └────────┴───────────┴───────────┴────┴────┴───────┴────────┴──────────┴────────┴─────────
/// ```
///
/// - `bytes` is a multiple of 32, and the next node of the file begins behind it: a file can be read from front to
///   back. What the payload does not use is zero.
/// - **CRC** is the checksum of all of the node's bytes, with the checksum itself taken as 0. **offset** says where
///   in its mapping the node lies, in units of 32 bytes (the lower 32 bits), so that a node that was written to the
///   wrong offset is found.
/// - The kind has `Node.onDiskBit` set.
/// - A reference is the distance from the beginning of the mapping, with the lowest bit set.
/// - A chunk has space for the rows of its leaf and no more. In place of its marks it has: where its reference table
///   begins (u32, from the node's beginning), how many entries that table has (u32), and, if its form is one of
///   `ChunkEncoding`, the fields of that encoding. The **reference table** (u32 each) says where in the chunk
///   references lie, at any alignment.
/// - A list's leaf has the number of entries of its reference table at byte 32 (u32); the table begins behind the
///   block, at a multiple of 4.
enum OnDiskNode {
    static let unit = Node.diskUnit

    static func roundUp(_ byteCount: Int) -> Int { (byteCount + unit - 1) & ~(unit - 1) }

    /// Returns the units of a range of offsets that consists of complete units.
    static func units(_ offsets: Range<Int>) -> Range<Int> { offsets.lowerBound / unit..<offsets.upperBound / unit }

    /// Completes a node at `address` that will lie at `offset` of its mapping: sets its length, checksum and offset.
    static func seal(_ address: UnsafeMutableRawPointer, byteCount: Int, offset: Int) {
        let node = Node(address)
        node.byteCount = byteCount
        node.store(node.load(16, as: UInt8.self) & ~Node.locationBits | Node.onDiskBit, 16)
        node.link = UInt64(UInt32(truncatingIfNeeded: offset / unit)) << 32
        node.store(CRC32C.checksum(UnsafeRawBufferPointer(start: address, count: byteCount)), 8)
    }

    /// Returns why the bytes at an offset are not a node; nil if they are one. `remaining` is how many bytes the file
    /// has from there on.
    static func fault(at address: UnsafeRawPointer, offset: Int, remaining: Int) -> String? {
        guard remaining >= Node.headerByteCount else { return "the file ends within a node's header" }
        let byteCount = Int(address.load(fromByteOffset: 28, as: UInt32.self))
        guard byteCount >= Node.headerByteCount, byteCount % unit == 0, byteCount <= remaining else {
            return "a node claims to have \(byteCount) bytes, where the file has \(remaining)"
        }
        let stored = address.load(fromByteOffset: 8, as: UInt32.self)
        var crc = CRC32C.checksum(UnsafeRawBufferPointer(start: address, count: 8))
        crc = withUnsafeBytes(of: 0 as UInt32) { CRC32C.checksum($0, from: crc) }
        crc = CRC32C.checksum(UnsafeRawBufferPointer(start: address + 12, count: byteCount - 12), from: crc)
        guard crc == stored else { return "a node's checksum is wrong" }
        guard address.load(fromByteOffset: 12, as: UInt32.self) == UInt32(truncatingIfNeeded: offset / unit) else {
            return "a node lies at an offset where another one belongs"
        }
        let kind = address.load(fromByteOffset: 16, as: UInt8.self)
        guard kind & Node.locationBits == Node.onDiskBit, Node.Kind(rawValue: kind & ~Node.locationBits) != nil else {
            return "a node is of an unknown kind"
        }
        return nil
    }

    /// Clears the bytes behind a node's entries that it does not use. Nodes of indexes and of backlinks and the inner
    /// nodes of lists are made without being cleared. Also clears what earlier releases left in the header of a chunk
    /// in a file.
    static func clearUnused(_ node: Node) {
        func clear(_ range: Range<Int>) {
            guard !range.isEmpty else { return }
            (node.address + range.lowerBound).initializeMemory(as: UInt8.self, repeating: 0, count: range.count)
        }
        func clear(behind count: Int, of capacity: Int, width: Int, at offset: Int) {
            clear(offset + width * min(count, capacity)..<offset + width * capacity)
        }
        let count = node.count
        switch node.kind {
        case .integerIndexInner:
            for offset in stride(from: 32, to: IntegerIndexInner.byteCount, by: 8 * IntegerIndexTree.fanout) {
                clear(behind: count, of: IntegerIndexTree.fanout, width: 8, at: offset)
            }
        case .integerIndexLeaf where node.form != IntegerIndexLeaf.progressionForm:
            clear(behind: count, of: node.capacity, width: 8, at: 32)
            clear(behind: count, of: node.capacity, width: 8, at: 32 + 8 * node.capacity)
        case .bytesIndexInner, .bytesIndexLeaf:
            let start = SlottedPage.slotsOffset + 8 * count
            clear(start..<max(start, SlottedPage(node).heapStart))
        case .listInner:
            clear(behind: count, of: ListTree.fanout, width: 8, at: 32)
            clear(behind: count, of: ListTree.fanout, width: 4, at: 32 + 8 * ListTree.fanout)
        case .chunk where !ChunkEncoding.isEncoded(node): clear(40..<64)
        default: break
        }
    }

    /// Calls `body` with the address of each reference that an on-disk node holds, including those that are 0. The
    /// node must be intact.
    static func forEachRef(_ node: Node, _ body: (UnsafeMutableRawPointer) -> Void) {
        func run(_ offset: Int, _ count: Int) {
            for index in 0..<count { body(node.address + offset + 8 * index) }
        }
        switch node.kind {
        case .root: run(32, node.count)
        case .table:
            run(32, 1)
            run(64, 2 * TableNode(node).columnCount)
        case .rowInner: run(544, node.count)
        case .leaf:
            run(40, 1)
            run(64, Leaf(node).columnCount)
        case .integerIndexInner: run(1056, node.count)
        case .bytesIndexInner:
            let page = SlottedPage(node)
            for index in 0..<page.count { body(UnsafeMutableRawPointer(page.refSlot(index))) }
        case .listInner: run(32, node.count)
        case .chunk:
            if node.form == ChunkEncoding.Form.dictionary.rawValue {
                body(node.address + ChunkEncoding.dictionaryOffset)
            }
            forEachTableRef(node, table: Int(node.load(32, as: UInt32.self)), count: 36, body)
        case .listLeaf:
            let table = (ListTree.Leaf.blockOffset + node.capacity + 3) & ~3
            forEachTableRef(node, table: table, count: 32, body)
        case .blob, .integerIndexLeaf, .bytesIndexLeaf: break
        }
    }

    private static func forEachTableRef(
        _ node: Node, table: Int, count: Int, _ body: (UnsafeMutableRawPointer) -> Void
    ) {
        for index in 0..<Int(node.load(count, as: UInt32.self)) {
            body(node.address + Int(node.load(table + 4 * index, as: UInt32.self)))
        }
    }
}

import CFirn
import FirnBytes

/// A node as it lies in a checkpoint's file: the same bytes as on the heap, with these differences.
///
/// ```
///  0        8           12          16   17   18      20       24         28       32
/// ┌────────┬───────────┬───────────┬────┬────┬───────┬────────┬──────────┬────────┬─────────
/// │ stamp  │ CRC       │ place     │kind│form│ width │ count  │ capacity │ bytes  │ payload
/// └────────┴───────────┴───────────┴────┴────┴───────┴────────┴──────────┴────────┴─────────
/// ```
///
/// * `bytes` is a multiple of 32, and the next node of the file begins behind it: a file can be read from front to back. What the payload does not use is zero.
/// * **CRC** is the checksum of all of the node's bytes, itself taken as 0. **place** is where in its space the node lies, in units of 32 bytes (its lower half), so that a node
///   written to the wrong place is found out.
/// * The kind bears `Node.onDiskBit`.
/// * A reference is the distance from the beginning of the space, with the lowest bit set.
/// * A chunk has room for the rows of its leaf and no more. In the place of its marks stand: where its reference table begins (u32, from the node's beginning), how many
///   entries that has (u32), and, where its form is one of `ChunkEncoding`, what that says. The **reference table** (u32 each) says where in the chunk references lie, at any alignment.
/// * A list's leaf has the number of entries of its reference table at byte 32 (u32); the table begins behind the block, at a multiple of 4.
enum OnDiskNode {
    static let unit = Int(FIRN_DISK_UNIT)

    static func roundUp(_ byteCount: Int) -> Int { (byteCount + unit - 1) & ~(unit - 1) }

    /// The units of places that consist of whole ones.
    static func units(_ places: Range<Int>) -> Range<Int> { places.lowerBound / unit..<places.upperBound / unit }

    /// Completes a node that stands at `address` and will lie at `place` of its space: its length, checksum and place.
    static func seal(_ address: UnsafeMutableRawPointer, byteCount: Int, place: Int) {
        let node = Node(address)
        node.byteCount = byteCount
        node.store(node.load(16, as: UInt8.self) & ~Node.locationBits | Node.onDiskBit, 16)
        node.link = UInt64(UInt32(truncatingIfNeeded: place / unit)) << 32
        node.store(CRC32C.checksum(UnsafeRawBufferPointer(start: address, count: byteCount)), 8)
    }

    /// Why the bytes at a place are no node; nil where they are one. `room` is how many bytes the file has from there on.
    static func fault(at address: UnsafeRawPointer, place: Int, room: Int) -> String? {
        guard room >= Node.headerByteCount else { return "the file ends within a node's header" }
        let byteCount = Int(address.load(fromByteOffset: 28, as: UInt32.self))
        guard byteCount >= Node.headerByteCount, byteCount % unit == 0, byteCount <= room else {
            return "a node claims to have \(byteCount) bytes, where the file has \(room)"
        }
        let stored = address.load(fromByteOffset: 8, as: UInt32.self)
        var crc = CRC32C.checksum(UnsafeRawBufferPointer(start: address, count: 8))
        crc = withUnsafeBytes(of: 0 as UInt32) { CRC32C.checksum($0, from: crc) }
        crc = CRC32C.checksum(UnsafeRawBufferPointer(start: address + 12, count: byteCount - 12), from: crc)
        guard crc == stored else { return "a node's checksum is wrong" }
        guard address.load(fromByteOffset: 12, as: UInt32.self) == UInt32(truncatingIfNeeded: place / unit) else {
            return "a node lies where another belongs"
        }
        let kind = address.load(fromByteOffset: 16, as: UInt8.self)
        guard kind & Node.locationBits == Node.onDiskBit, Node.Kind(rawValue: kind & ~Node.locationBits) != nil else {
            return "a node is of an unknown kind"
        }
        return nil
    }

    /// Zeros what a node does not use behind its entries: of an index, of backlinks, or of a list's inner nodes, which
    /// are made without being cleared; and what earlier releases have left in the head of a file's chunk.
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
            for place in stride(from: 32, to: IntegerIndexInner.byteCount, by: 8 * IntegerIndexTree.fanout) {
                clear(behind: count, of: IntegerIndexTree.fanout, width: 8, at: place)
            }
        case .integerIndexLeaf where node.form != IntegerIndexLeaf.rowForm:
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

    /// Calls `body` with the place of each reference that a node of a file holds, 0 among them. The node must be whole.
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

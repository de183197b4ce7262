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
/// - `bytes` is a multiple of 32. The next node of the file begins after that many bytes, so a file can be read from
///   front to back. Bytes that the payload does not use are zero.
/// - **CRC** is the checksum of all of the node's bytes, with the checksum itself taken as 0. **offset** says where in
///   its mapping the node lies, in units of 32 bytes (the lower 32 bits). It reveals a node that was written to the
///   wrong offset.
/// - The kind has `Node.onDiskBit` set.
/// - A reference is the distance from the beginning of the mapping, with the lowest bit set.
/// - A chunk has space for the rows of its leaf and no more. In place of its marks it has the distance of its
///   **reference table** from the node's beginning (u32, a multiple of 4). The number of the table's entries follows
///   (u32), and then the fields of an encoding, if the form is one of `ChunkEncoding`. The table (u32 each) says where
///   in the chunk references lie, at any alignment.
/// - A list's leaf has the number of entries of its reference table at byte 32 (u32). The table begins behind the
///   block, at a multiple of 4.
enum OnDiskNode {
    static let unit = NodeLayout.diskUnit

    static func roundUp(_ byteCount: Int) -> Int { (byteCount + unit - 1) & ~(unit - 1) }

    /// Returns the units of a range of offsets that consists of complete units.
    static func units(_ offsets: Range<Int>) -> Range<Int> { offsets.lowerBound / unit..<offsets.upperBound / unit }

    /// Returns the units that a range of offsets overlaps.
    static func units(overlapping offsets: Range<Int>) -> Range<Int> {
        offsets.lowerBound / unit..<(offsets.upperBound + unit - 1) / unit
    }

    /// What is wrong with a node whose bytes belong to another one, too.
    static let overlap = "a node shares bytes with another one"

    /// Completes a node at `address` that will lie at `offset` of its mapping: sets its length, checksum and offset.
    static func seal(_ address: UnsafeMutableRawPointer, byteCount: Int, offset: Int) {
        let node = Node(address)
        node.byteCount = byteCount
        node.kindByte = node.kindNumber | Node.onDiskBit
        node.link = 0
        node.store(UInt32(truncatingIfNeeded: offset / unit), NodeLayout.Header.offset)
        node.store(
            CRC32C.checksum(UnsafeRawBufferPointer(start: address, count: byteCount)), NodeLayout.Header.checksum)
    }

    /// Throws if the bytes at an offset are not a node. `remaining` is how many bytes the file has from there on.
    static func check(at address: UnsafeRawPointer, offset: Int, remaining: Int) throws(Damage) {
        guard remaining >= NodeLayout.headerByteCount else { throw Damage("the file ends within a node's header") }
        let byteCount = Int(address.load(fromByteOffset: NodeLayout.Header.bytes, as: UInt32.self))
        guard byteCount >= NodeLayout.headerByteCount, byteCount % unit == 0, byteCount <= remaining else {
            throw Damage("a node claims to have \(byteCount) bytes, where the file has \(remaining)")
        }
        let stored = address.load(fromByteOffset: NodeLayout.Header.checksum, as: UInt32.self)
        let behind = NodeLayout.Header.checksum + MemoryLayout.size(ofValue: stored)
        var crc = CRC32C.checksum(UnsafeRawBufferPointer(start: address, count: NodeLayout.Header.checksum))
        crc = withUnsafeBytes(of: 0 as UInt32) { CRC32C.checksum($0, from: crc) }
        crc = CRC32C.checksum(UnsafeRawBufferPointer(start: address + behind, count: byteCount - behind), from: crc)
        guard crc == stored else { throw Damage("a node's checksum is wrong") }
        guard
            address.load(fromByteOffset: NodeLayout.Header.offset, as: UInt32.self)
                == UInt32(truncatingIfNeeded: offset / unit)
        else {
            throw Damage("a node lies at an offset where another one belongs")
        }
        let kind = address.load(fromByteOffset: NodeLayout.Header.kind, as: UInt8.self)
        guard kind & Node.locationBits == Node.onDiskBit, Node.Kind(rawValue: kind & ~Node.locationBits) != nil else {
            throw Damage("a node is of an unknown kind")
        }
    }

    /// Clears the unused bytes behind a node's entries. Nodes of indexes and of backlinks and the inner nodes of lists
    /// are allocated without being cleared. Also clears what earlier releases left in the header of a chunk in a file.
    static func clearUnused(_ node: Node) {
        func clear(behind count: Int, of capacity: Int, width: Int, at offset: Int) {
            node.clear(offset + width * min(count, capacity)..<offset + width * capacity)
        }
        let number = NodeLayout.numberByteCount
        let count = node.count
        switch node.kind {
        case .integerIndexInner:
            let capacity = IntegerIndexTree.fanout
            clear(behind: count, of: capacity, width: number, at: NodeLayout.IntegerIndexInner.keys)
            clear(behind: count, of: capacity, width: number, at: NodeLayout.IntegerIndexInner.values)
            clear(behind: count, of: capacity, width: NodeLayout.refByteCount, at: NodeLayout.IntegerIndexInner.refs)
            clear(behind: count, of: capacity, width: number, at: NodeLayout.IntegerIndexInner.counts)
        case .integerIndexLeaf where node.form != IntegerIndexLeaf.progressionForm:
            let capacity = node.capacity
            clear(behind: count, of: capacity, width: number, at: NodeLayout.IntegerIndexLeaf.keys)
            clear(
                behind: count, of: capacity, width: number, at: NodeLayout.IntegerIndexLeaf.values(capacity: capacity))
        case .bytesIndexInner, .bytesIndexLeaf:
            let start = NodeLayout.BytesIndex.slot(count)
            node.clear(start..<max(start, SlottedPage(node).heapStart))
        case .listInner:
            clear(
                behind: count, of: ListTree.fanout, width: NodeLayout.refByteCount, at: NodeLayout.ListInner.refs)
            clear(
                behind: count, of: ListTree.fanout, width: NodeLayout.ListInner.endByteCount,
                at: NodeLayout.ListInner.ends)
        case .chunk where !ChunkEncoding.isEncoded(node):
            node.clear(NodeLayout.EncodedChunk.width..<NodeLayout.Chunk.data)
        default: break
        }
    }

    /// Calls `body` with the address of each reference that an on-disk node holds, including references that are 0.
    /// The node must be intact.
    static func forEachRef(_ node: Node, _ body: (UnsafeMutableRawPointer) -> Void) {
        switch node.kind {
        case .chunk:
            if node.form == ChunkEncoding.Form.dictionary.rawValue {
                body(node.address + NodeLayout.EncodedChunk.dictionary)
            }
            let table = Int(node.load(NodeLayout.Chunk.refTable, as: UInt32.self))
            forEachTableRef(node, table: table, count: NodeLayout.Chunk.refCount, body)
        case .listLeaf:
            let table = NodeLayout.refTable(after: NodeLayout.ListLeaf.block + node.capacity)
            forEachTableRef(node, table: table, count: NodeLayout.ListLeaf.refCount, body)
        default: node.forEachRefField { address, _ in body(address) }
        }
    }

    /// The addresses that the references of a node lead to. They are collected first, so that the node may be one that
    /// stays valid only until others are read (`Node.isScratch`).
    static func refs(_ node: Node) -> [UInt] {
        var addresses: [UInt] = []
        forEachRef(node) { slot in
            let word = slot.loadUnaligned(as: UInt64.self)
            if word != 0 { addresses.append(NodeRef(word).address) }
        }
        return addresses
    }

    private static func forEachTableRef(
        _ node: Node, table: Int, count: Int, _ body: (UnsafeMutableRawPointer) -> Void
    ) {
        for index in 0..<Int(node.load(count, as: UInt32.self)) {
            body(node.address + Int(node.load(NodeLayout.tableEntry(index, of: table), as: UInt32.self)))
        }
    }
}

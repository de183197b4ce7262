/// Collects the nodes that lead from the root to the values, until there are enough of them to lie together in the
/// file. These are the root, tables, leaves, and the inner nodes of the trees of rows and indexes.
///
/// Reading such a node costs memory for all of its page. A process changes the references in it, and an encrypted store
/// keeps it decrypted. A checkpoint that adds few changes has one of them among many chunks. So if each was written
/// where it is finished, each would cost a page.
///
/// Only these nodes refer to one another. Chunks and blobs, to which they refer, are in the file before them.
///
/// Where a node will lie is known only when its group is written. Until then a reference to it is **provisional**: it
/// has `provisionalBit` set, and counts bytes of all the nodes that were ever collected. References in the collected
/// nodes may be provisional; `write` replaces them.
struct StructureBuffer: ~Copyable {
    /// The number of bytes at which the nodes are written. It is several of the parts that `CleaningPlan` clears.
    static let groupByteCount = 256 << 10
    /// No offset in a mapping has this bit. References in `Forwarding` have 48 bits.
    static let provisionalBit: UInt64 = 1 << 47

    private var nodes = RawStack(capacity: 64 << 10)
    /// How many bytes were written before.
    private var writtenByteCount = 0
    /// The groups that were written: the position of the first byte among all bytes, and its offset in the mapping.
    private var groups: [(position: Int, offset: Int)] = []

    deinit { nodes.dispose() }

    /// The number of bytes that wait to be written.
    var byteCount: Int { nodes.count }

    /// Adds a node whose bytes `fill` writes, and returns a provisional reference to it. Bytes that `fill` does not
    /// write are zero.
    mutating func append(byteCount: Int, _ fill: (UnsafeMutableRawPointer) -> Void) -> UInt64 {
        let length = OnDiskNode.roundUp(byteCount)
        let start = nodes.count
        let address = nodes.grow(length)
        address.initializeMemory(as: UInt8.self, repeating: 0, count: length)
        fill(address)
        Node(address).byteCount = length
        return UInt64(writtenByteCount + start) | Self.provisionalBit | 1
    }

    /// Says that the nodes will be written now, the first one at an offset of the mapping.
    mutating func beginGroup(at offset: Int) { groups.append((writtenByteCount, offset)) }

    /// Writes the waiting node at a position to the file's buffer, after all that come before it. Returns the position
    /// of the next one.
    func write(at position: Int, to buffer: inout NodeBuffer) -> Int {
        let source = Node(nodes.base + position)
        let offset = buffer.append(byteCount: source.byteCount) { memory in
            memory.copyMemory(from: source.address, byteCount: source.byteCount)
            OnDiskNode.forEachRef(Node(memory)) { slot in
                slot.storeBytes(of: resolve(slot.loadUnaligned(as: UInt64.self)), as: UInt64.self)
            }
        }
        assert(
            resolve(UInt64(writtenByteCount + position) | Self.provisionalBit) == UInt64(offset),
            "Firn: a node of a checkpoint is not where references lead")
        return position + source.byteCount
    }

    /// Says that all nodes were written.
    mutating func endGroup() {
        writtenByteCount += nodes.count
        nodes.removeAll()
    }

    /// The reference in the file of a node that was written. Other references stay as they are.
    func resolve(_ word: UInt64) -> UInt64 {
        guard word & Self.provisionalBit != 0 else { return word }
        let position = Int(word & ~Self.provisionalBit & ~1)
        guard let group = groups.last(where: { $0.position <= position }) else {
            preconditionFailure("Firn: a reference leads to a node of a checkpoint that was not written")
        }
        return UInt64(group.offset + position - group.position) | word & 1
    }
}

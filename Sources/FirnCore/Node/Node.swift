import CFirn

/// A block of raw memory that versions are built of. It is an inner node, a leaf, a chunk, a blob, or a node of an
/// index or list.
///
/// ```
///  0        8        16   17   18      20       24         28       32
/// ┌────────┬────────┬────┬────┬───────┬────────┬──────────┬────────┬─────────
/// │ stamp  │ link   │kind│form│ width │ count  │ capacity │ bytes  │ payload
/// └────────┴────────┴────┴────┴───────┴────────┴──────────┴────────┴─────────
/// ```
///
/// * `stamp` (u64) is the **birth stamp**: the number of the transaction that made the node. A transaction takes a
///   new stamp after each transaction snapshot and each flush. It edits in place the nodes that have its current
///   stamp, and copies all others. Stamp, first key and level identify a node forever.
/// * `link` (u64) belongs to the node's owner. At first it is the node's index in the list of nodes that the
///   transaction made, later the next node on a dead list. No reader looks at it. In a checkpoint it is the node's
///   checksum: see `OnDiskNode`. In a decoded node, the lower 48 bits are the address of the on-disk node. The bits
///   above them are the length of that node in units of 32 bytes, or 0 if it is the length of this node.
/// * `width` (u16) is a chunk's bytes per value, or an inner node's level above the leaves.
/// * `count` and `capacity` (u32) depend on the kind; `bytes` (u32) is the length of the complete node.
///
/// All that a reader can reach in a node is immutable, unless the running transaction made the node. So any number of
/// threads may read it without a lock while a pin holds its version. `Node` itself neither owns nor retains memory:
/// versions own nodes, by the rule of `DeadList`.
@frozen
public struct Node: Equatable {
    public let address: UnsafeMutableRawPointer

    @inlinable @inline(__always)
    public init(_ address: UnsafeMutableRawPointer) { self.address = address }

    /// The kinds of nodes. A walk over raw memory can check by the kind that it has reached the right node.
    enum Kind: UInt8 {
        case root = 1
        case table, rowInner, leaf, chunk, blob, integerIndexInner, integerIndexLeaf, bytesIndexInner, bytesIndexLeaf,
            listInner, listLeaf
    }

    @inlinable @inline(__always)
    public func load<T: BitwiseCopyable>(_ offset: Int, as type: T.Type = T.self) -> T {
        address.load(fromByteOffset: offset, as: type)
    }

    @inlinable @inline(__always)
    public func store<T: BitwiseCopyable>(_ value: T, _ offset: Int) {
        address.storeBytes(of: value, toByteOffset: offset, as: T.self)
    }

    @inlinable @inline(__always)
    public func pointer<T>(_ offset: Int, to type: T.Type = T.self) -> UnsafeMutablePointer<T> {
        (address + offset).assumingMemoryBound(to: type)
    }

    /// Writes zeros to a part of the node.
    @inline(__always)
    func clear(_ bytes: Range<Int>) {
        (address + bytes.lowerBound).initializeMemory(as: UInt8.self, repeating: 0, count: bytes.count)
    }

    @inlinable public var stamp: UInt64 {
        @inline(__always) get { load(NodeLayout.Header.stamp) }
        @inline(__always) nonmutating set { store(newValue, NodeLayout.Header.stamp) }
    }
    var link: UInt64 {
        @inline(__always) get { load(NodeLayout.Header.link) }
        @inline(__always) nonmutating set { store(newValue, NodeLayout.Header.link) }
    }
    /// The bit of the kind byte that says that the node is in a `SpillArena`.
    static let spilledBit: UInt8 = 0x80
    /// The bit of the kind byte that says that the node is in a checkpoint: it is never written and never freed.
    static let onDiskBit: UInt8 = 0x40
    static let locationBits: UInt8 = spilledBit | onDiskBit

    /// The number of the node's kind, with the bits that say where the node is.
    var kindByte: UInt8 {
        @inline(__always) get { load(NodeLayout.Header.kind) }
        @inline(__always) nonmutating set { store(newValue, NodeLayout.Header.kind) }
    }

    var isSpilled: Bool {
        @inline(__always) get { kindByte & Node.spilledBit != 0 }
    }
    var isOnDisk: Bool {
        @inline(__always) get { kindByte & Node.onDiskBit != 0 }
    }

    /// Whether the node was decoded, or copied, into memory of the reading thread (`ScratchNode`). It stays there until
    /// the thread has requested 16 others. So code that needs the node for longer copies it.
    var isScratch: Bool {
        @inline(__always) get { kindByte & Node.locationBits == Node.locationBits }
    }

    /// The address and length of a node. For a decoded node they are those of the node that it was decoded
    /// from.
    var diskLocation: (address: UInt, byteCount: Int) {
        guard isScratch else { return (UInt(bitPattern: address), byteCount) }
        let units = Int(link >> 48)
        return (UInt(link & (1 << 48 - 1)), units == 0 ? byteCount : units * NodeLayout.diskUnit)
    }

    /// The number of the node's kind, without the bits that say where the node is.
    var kindNumber: UInt8 {
        @inline(__always) get { kindByte & ~Node.locationBits }
    }

    var kind: Kind {
        guard let kind = Kind(rawValue: kindNumber) else {
            preconditionFailure("Firn: a node of unknown kind at \(address)")
        }
        return kind
    }
    @inlinable public var form: UInt8 {
        @inline(__always) get { load(NodeLayout.Header.form) }
        @inline(__always) nonmutating set { store(newValue, NodeLayout.Header.form) }
    }
    @inlinable public var width: Int {
        @inline(__always) get { Int(load(NodeLayout.Header.width, as: UInt16.self)) }
        @inline(__always) nonmutating set { store(UInt16(truncatingIfNeeded: newValue), NodeLayout.Header.width) }
    }
    /// An inner node's level: 1 just above the leaves.
    var level: Int { width }
    @inlinable public var count: Int {
        @inline(__always) get { Int(load(NodeLayout.Header.count, as: UInt32.self)) }
        @inline(__always) nonmutating set { store(UInt32(truncatingIfNeeded: newValue), NodeLayout.Header.count) }
    }
    @inlinable public var capacity: Int {
        @inline(__always) get { Int(load(NodeLayout.Header.capacity, as: UInt32.self)) }
        @inline(__always) nonmutating set { store(UInt32(truncatingIfNeeded: newValue), NodeLayout.Header.capacity) }
    }
    @inlinable public var byteCount: Int {
        @inline(__always) get { Int(load(NodeLayout.Header.bytes, as: UInt32.self)) }
        @inline(__always) nonmutating set { store(UInt32(truncatingIfNeeded: newValue), NodeLayout.Header.bytes) }
    }
}

/// A reference from one node to another. It is 0 for none, or an address on the heap. With its lowest bit set, it is
/// the address of an on-disk node.
///
/// Addresses of nodes are multiples of 16, so the lowest bits are free. A reference with the bit may lead to a node
/// that is not yet validated: following it validates the node once, checksum included (`CheckpointMapping`). A
/// reference to a node that is validated may lack the bit.
///
/// In the file itself a reference is the distance from the start of the checkpoint mapping, with the lowest bit set.
/// It becomes an address when the node that holds it is validated.
@frozen
public struct NodeRef: Equatable {
    public let word: UInt64

    @inlinable @inline(__always) public init(_ word: UInt64) { self.word = word }
    @inlinable @inline(__always) public init(_ node: Node) { word = UInt64(UInt(bitPattern: node.address)) }
    @inlinable public static var none: NodeRef { @inline(__always) get { NodeRef(0) } }
    @inlinable public var isNone: Bool { @inline(__always) get { word == 0 } }

    /// Whether the reference may lead to a node that is not yet validated.
    @inlinable public var isTagged: Bool { @inline(__always) get { word & 1 != 0 } }

    /// The address referred to, whether its node is validated or not.
    var address: UInt { @inline(__always) get { UInt(truncatingIfNeeded: word & ~15) } }

    /// The node referred to.
    @inlinable public var node: Node {
        @inline(__always) get {
            if word & 1 != 0 { return Node(firn_disk_node(word)) }
            assert(word != 0 && word & 15 == 0, "Firn: a reference that leads to no node")
            return Node(UnsafeMutableRawPointer(bitPattern: UInt(word)).unsafelyUnwrapped)
        }
    }
}

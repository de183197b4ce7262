import CFirn

/// A block of raw memory that is part of a version: an inner node, a leaf, a chunk, a blob, a node of an index or list.
///
/// ```
///  0        8        16   17   18      20       24         28       32
/// ┌────────┬────────┬────┬────┬───────┬────────┬──────────┬────────┬─────────
/// │ stamp  │ link   │kind│form│ width │ count  │ capacity │ bytes  │ payload
/// └────────┴────────┴────┴────┴───────┴────────┴──────────┴────────┴─────────
/// ```
///
/// * `stamp` (u64) is the **birth stamp**: the transaction (or sub-version) that made it. A transaction edits in place what bears its own stamp and
///   copies all else. Stamp and first key identify a node for good.
/// * `link` (u64) is the owner's: the place in the transaction's list of what it allocated, later the next node on a dead list. No reader looks at
///   it. In a checkpoint it is the node's checksum: see `OnDiskNode`; in what was unpacked, the address of that, and above its 48 bits the length in
///   units of 32 bytes.
/// * `width` (u16) is a chunk's bytes per value, or an inner node's level above the leaves.
/// * `count`, `capacity` (u32) mean what the kind says; `bytes` (u32) is the length of the whole node.
///
/// A node that no running transaction made is immutable in all that a reader can reach, so any number of threads read it without a lock while a
/// pin holds its version. `Node` itself neither owns nor retains: versions own nodes by the rule of `DeadList`.
@frozen
public struct Node: Equatable {
    public let address: UnsafeMutableRawPointer

    @inlinable @inline(__always)
    public init(_ address: UnsafeMutableRawPointer) { self.address = address }

    /// What a node is, so that a walk over raw memory can check where it stands.
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

    @inlinable public var stamp: UInt64 {
        @inline(__always) get { load(0) }
        @inline(__always) nonmutating set { store(newValue, 0) }
    }
    var link: UInt64 {
        @inline(__always) get { load(8) }
        @inline(__always) nonmutating set { store(newValue, 8) }
    }
    /// In a node's kind: it lies in a `SpillArena`.
    static let spilledBit: UInt8 = 0x80
    /// In a node's kind: it lies in a checkpoint, is never written and never freed.
    static let onDiskBit: UInt8 = 0x40
    static let locationBits: UInt8 = spilledBit | onDiskBit

    var isSpilled: Bool {
        @inline(__always) get { load(16, as: UInt8.self) & Node.spilledBit != 0 }
    }
    var isOnDisk: Bool {
        @inline(__always) get { load(16, as: UInt8.self) & Node.onDiskBit != 0 }
    }

    /// Whether it has been unpacked into memory of the reading thread, where it stays until 16 others have been asked for: what is to be kept longer is copied.
    var isScratch: Bool {
        @inline(__always) get { load(16, as: UInt8.self) & Node.locationBits == Node.locationBits }
    }

    /// Where a checkpoint's node lies, and its length: its own, or that of what it was unpacked from.
    var diskLocation: (address: UInt, byteCount: Int) {
        guard isScratch else { return (UInt(bitPattern: address), byteCount) }
        return (UInt(link & (1 << 48 - 1)), Int(link >> 48) * OnDiskNode.unit)
    }

    /// The kind's number, wherever the node lies.
    var kindNumber: UInt8 {
        @inline(__always) get { load(16, as: UInt8.self) & ~Node.locationBits }
    }

    var kind: Kind {
        guard let kind = Kind(rawValue: kindNumber) else {
            preconditionFailure("Firn: a node of unknown kind at \(address)")
        }
        return kind
    }
    @inlinable public var form: UInt8 {
        @inline(__always) get { load(17) }
        @inline(__always) nonmutating set { store(newValue, 17) }
    }
    @inlinable public var width: Int {
        @inline(__always) get { Int(load(18, as: UInt16.self)) }
        @inline(__always) nonmutating set { store(UInt16(truncatingIfNeeded: newValue), 18) }
    }
    /// An inner node's level: 1 just above the leaves.
    var level: Int { width }
    @inlinable public var count: Int {
        @inline(__always) get { Int(load(20, as: UInt32.self)) }
        @inline(__always) nonmutating set { store(UInt32(truncatingIfNeeded: newValue), 20) }
    }
    @inlinable public var capacity: Int {
        @inline(__always) get { Int(load(24, as: UInt32.self)) }
        @inline(__always) nonmutating set { store(UInt32(truncatingIfNeeded: newValue), 24) }
    }
    @inlinable public var byteCount: Int {
        @inline(__always) get { Int(load(28, as: UInt32.self)) }
        @inline(__always) nonmutating set { store(UInt32(truncatingIfNeeded: newValue), 28) }
    }

    static let headerByteCount = 32
}

/// A reference from one node to another: 0 for none, an address on the heap, or, with its lowest bit set, the address of a node in a checkpoint's file.
///
/// Nodes lie on multiples of 16 bytes, so the lowest bits are free. A reference of the second kind may lead to a node that nobody has touched yet: following it checks the
/// node's checksum once (`CheckpointMapping`). What has been followed may be referred to without the bit.
///
/// In the file itself a reference is the distance from the beginning of the checkpoint's space, with the lowest bit set; it becomes an address when the node that holds
/// it is touched.
@frozen
public struct NodeRef: Equatable {
    public let word: UInt64

    @inlinable @inline(__always) public init(_ word: UInt64) { self.word = word }
    @inlinable @inline(__always) public init(_ node: Node) { word = UInt64(UInt(bitPattern: node.address)) }
    @inlinable public static var none: NodeRef { @inline(__always) get { NodeRef(0) } }
    @inlinable public var isNone: Bool { @inline(__always) get { word == 0 } }

    /// Whether the node may be one that nobody has touched.
    @inlinable public var isTagged: Bool { @inline(__always) get { word & 1 != 0 } }

    /// The address referred to, touched or not.
    var address: UInt { @inline(__always) get { UInt(truncatingIfNeeded: word & ~15) } }

    /// The node referred to.
    @inlinable public var node: Node {
        @inline(__always) get {
            if word & 1 != 0 { return Node(firn_disk_node(word)) }
            assert(word != 0 && word & 15 == 0, "Firn: a reference to no node")
            return Node(UnsafeMutableRawPointer(bitPattern: UInt(word)).unsafelyUnwrapped)
        }
    }
}

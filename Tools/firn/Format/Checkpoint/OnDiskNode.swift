import FirnBytes

/// The kind of an on-disk node, by the number in the format. `firn info --json` has the cases' names as keys.
enum NodeKind: UInt8, CaseIterable {
    case root = 1
    case table, rowInner, leaf, chunk, blob, integerIndexInner, integerIndexLeaf, bytesIndexInner, bytesIndexLeaf,
        listInner, listLeaf

    /// The name that a person reads, in the singular and in the plural.
    var name: (one: String, many: String) {
        switch self {
        case .root: ("root", "roots")
        case .table: ("table", "tables")
        case .rowInner: ("inner node of rows", "inner nodes of rows")
        case .leaf: ("leaf", "leaves")
        case .chunk: ("chunk", "chunks")
        case .blob: ("blob", "blobs")
        case .integerIndexInner: ("inner node of a number index", "inner nodes of number indexes")
        case .integerIndexLeaf: ("leaf of a number index", "leaves of number indexes")
        case .bytesIndexInner: ("inner node of a bytes index", "inner nodes of bytes indexes")
        case .bytesIndexLeaf: ("leaf of a bytes index", "leaves of bytes indexes")
        case .listInner: ("inner node of a list", "inner nodes of lists")
        case .listLeaf: ("leaf of a list", "leaves of lists")
        }
    }

    /// Whether it is a node of a tree with children.
    var isInner: Bool {
        self == .rowInner || self == .integerIndexInner || self == .bytesIndexInner || self == .listInner
    }

    var mayHaveReferences: Bool { self != .blob && self != .integerIndexLeaf && self != .bytesIndexLeaf }
}

/// Damage of a node, or of what it says about another node.
struct NodeDamage: Error {
    /// The node's position in the mapping.
    var position: Int
    var text: String

    init(_ position: Int, _ text: String) {
        self.position = position
        self.text = text
    }
}

/// The 32 bytes that a node of a checkpoint begins with:
///
/// ```
///  0 stamp u64 · 8 CRC u32 · 12 position / 32, u32 · 16 kind + 64, u8 · 17 form u8 · 18 width u16
/// 20 count u32 · 24 capacity u32 · 28 byte count u32
/// ```
struct NodeHeader {
    static let byteCount = 32
    /// The positions and the lengths of nodes are multiples of this.
    static let unit = 32
    private static let onDiskBit: UInt8 = 64

    var stamp: UInt64
    var kind: NodeKind
    var form: UInt8
    var width: Int
    var count: Int
    var capacity: Int
    var nodeByteCount: Int

    /// Reads the header of the node at `position`. The node's file has `available` bytes from there on.
    static func read(
        _ bytes: UnsafeRawBufferPointer, position: Int, available: Int
    ) throws(Damage) -> NodeHeader {
        guard bytes.count >= byteCount else { throw Damage("the file ends within a node's header") }
        let fields = Fields(bytes)
        guard fields.u32(12) == UInt32(truncatingIfNeeded: position / unit) else {
            throw Damage("no node begins here, or one that belongs to another position")
        }
        let number = fields.u8(16)
        guard number & 0xC0 == onDiskBit, let kind = NodeKind(rawValue: number & ~onDiskBit) else {
            throw Damage("the node is of the unknown kind \(number)")
        }
        let length = Int(fields.u32(28))
        let limit = kind == .blob ? FormatNumbers.blobNodeByteCount : FormatNumbers.nodeByteCount
        guard length >= byteCount, length % unit == 0, length <= min(available, limit) else {
            throw Damage(
                "the node claims to have \(length) bytes, but at most \(min(available, limit)) are possible")
        }
        return NodeHeader(
            stamp: fields.u64(0), kind: kind, form: fields.u8(17), width: Int(fields.u16(18)),
            count: Int(fields.u32(20)), capacity: Int(fields.u32(24)), nodeByteCount: length)
    }

    /// Whether a node's checksum matches its bytes.
    static func isIntact(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<8]))
        crc = withUnsafeBytes(of: 0 as UInt32) { CRC32C.checksum($0, from: crc) }
        crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[12...]), from: crc)
        return crc == Fields(bytes).u32(8)
    }
}

/// An on-disk node whose checksum is right. Whatever its bytes hold, reading them returns a number or throws.
final class OnDiskNode {
    let position: Int
    let header: NodeHeader
    /// The node's bytes, valid as long as the node.
    let bytes: UnsafeRawBufferPointer
    private let isOwner: Bool

    /// A node that owns `memory`.
    init(position: Int, header: NodeHeader, owning memory: UnsafeMutableRawBufferPointer) {
        self.position = position
        self.header = header
        bytes = UnsafeRawBufferPointer(memory)
        isOwner = true
    }

    /// A node in memory that the caller owns, valid as long as that memory.
    init(position: Int, header: NodeHeader, borrowing bytes: UnsafeRawBufferPointer) {
        self.position = position
        self.header = header
        self.bytes = bytes
        isOwner = false
    }

    deinit { if isOwner { bytes.deallocate() } }

    var kind: NodeKind { header.kind }
    var count: Int { header.count }

    func damage(_ text: String) -> NodeDamage { NodeDamage(position, text) }

    private func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) throws(NodeDamage) -> T {
        guard offset >= 0, offset <= bytes.count - MemoryLayout<T>.size else {
            throw damage("the \(kind.name.one) is too short for what it says it holds")
        }
        return T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    func u8(_ offset: Int) throws(NodeDamage) -> UInt8 { try load(offset) }
    func u16(_ offset: Int) throws(NodeDamage) -> UInt16 { try load(offset) }
    func u32(_ offset: Int) throws(NodeDamage) -> Int { Int(try load(offset) as UInt32) }
    func u64(_ offset: Int) throws(NodeDamage) -> UInt64 { try load(offset) }
    func i64(_ offset: Int) throws(NodeDamage) -> Int64 { try load(offset) }

    func slice(_ offset: Int, _ count: Int) throws(NodeDamage) -> UnsafeRawBufferPointer {
        guard offset >= 0, count >= 0, offset <= bytes.count - count else {
            throw damage("the \(kind.name.one) is too short for what it says it holds")
        }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    /// The position to which the reference at `offset` leads; nil for none.
    func reference(_ offset: Int) throws(NodeDamage) -> Int? { try Self.position(of: u64(offset), in: self) }

    /// The position to which a reference leads; nil for none.
    static func position(of word: UInt64, in node: OnDiskNode) throws(NodeDamage) -> Int? {
        if word == 0 { return nil }
        guard word & UInt64(NodeHeader.unit - 1) == 1, word < UInt64(FormatNumbers.mappingByteCount) else {
            throw node.damage("the \(node.kind.name.one) holds something that is not a reference")
        }
        return Int(word - 1)
    }
}

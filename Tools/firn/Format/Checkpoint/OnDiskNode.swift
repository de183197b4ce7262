import FirnBytes

/// What a node of a checkpoint is, by its number in the format.
enum NodeKind: UInt8, CaseIterable {
    case root = 1
    case table, rowInner, leaf, chunk, blob, integerIndexInner, integerIndexLeaf, bytesIndexInner, bytesIndexLeaf,
        listInner, listLeaf

    /// What a person calls it: one, many.
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
}

/// What is wrong with a node, or with what it says of another.
struct NodeFault: Error {
    /// Where the node lies in its space.
    var place: Int
    var text: String

    init(_ place: Int, _ text: String) {
        self.place = place
        self.text = text
    }
}

/// The 32 bytes that a node of a checkpoint begins with:
///
/// ```
///  0 stamp u64 · 8 CRC u32 · 12 place / 32, u32 · 16 kind + 64, u8 · 17 form u8 · 18 width u16
/// 20 count u32 · 24 capacity u32 · 28 byte count u32
/// ```
struct NodeHead {
    static let byteCount = 32
    /// Nodes begin at multiples of this, and their lengths are.
    static let unit = 32
    private static let onDiskBit: UInt8 = 64

    var stamp: UInt64
    var kind: NodeKind
    var form: UInt8
    var width: Int
    var count: Int
    var capacity: Int
    var nodeByteCount: Int

    enum Reading {
        case head(NodeHead)
        case refused(String)
    }

    /// Reads the head of the node that lies at `place`, where its file has `room` bytes more.
    static func read(_ bytes: UnsafeRawBufferPointer, place: Int, room: Int) -> Reading {
        guard bytes.count >= byteCount else { return .refused("the file ends within a node's head") }
        let fields = Fields(bytes)
        guard fields.u32(12) == UInt32(truncatingIfNeeded: place / unit) else {
            return .refused("no node begins here, or one that belongs to another place")
        }
        let number = fields.u8(16)
        guard number & 0xC0 == onDiskBit, let kind = NodeKind(rawValue: number & ~onDiskBit) else {
            return .refused("the node is of the unknown kind \(number)")
        }
        let length = Int(fields.u32(28))
        let limit = kind == .blob ? FormatNumbers.blobNodeByteCount : FormatNumbers.nodeByteCount
        guard length >= byteCount, length % unit == 0, length <= min(room, limit) else {
            return .refused("the node claims to have \(length) bytes, where the file has \(room)")
        }
        return .head(
            NodeHead(
                stamp: fields.u64(0), kind: kind, form: fields.u8(17), width: Int(fields.u16(18)),
                count: Int(fields.u32(20)), capacity: Int(fields.u32(24)), nodeByteCount: length))
    }

    /// Whether a node's checksum is that of its bytes.
    static func isWhole(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<8]))
        crc = withUnsafeBytes(of: 0 as UInt32) { CRC32C.checksum($0, from: crc) }
        crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[12...]), from: crc)
        return crc == Fields(bytes).u32(8)
    }
}

/// A node of a checkpoint whose checksum is right. Whatever its bytes hold, reading them gives a number or throws.
final class OnDiskNode {
    let place: Int
    let head: NodeHead
    /// Valid as long as the node.
    let bytes: UnsafeRawBufferPointer
    private let isOwner: Bool

    /// A node with memory of its own, which `memory` becomes.
    init(place: Int, head: NodeHead, owning memory: UnsafeMutableRawBufferPointer) {
        self.place = place
        self.head = head
        bytes = UnsafeRawBufferPointer(memory)
        isOwner = true
    }

    /// A node in somebody else's memory, valid as long as that.
    init(place: Int, head: NodeHead, borrowing bytes: UnsafeRawBufferPointer) {
        self.place = place
        self.head = head
        self.bytes = bytes
        isOwner = false
    }

    deinit { if isOwner { bytes.deallocate() } }

    var kind: NodeKind { head.kind }
    var count: Int { head.count }

    func fault(_ text: String) -> NodeFault { NodeFault(place, text) }

    private func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) throws(NodeFault) -> T {
        guard offset >= 0, offset <= bytes.count - MemoryLayout<T>.size else {
            throw fault("the \(kind.name.one) is too short for what it says it holds")
        }
        return T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    func u8(_ offset: Int) throws(NodeFault) -> UInt8 { try load(offset) }
    func u16(_ offset: Int) throws(NodeFault) -> UInt16 { try load(offset) }
    func u32(_ offset: Int) throws(NodeFault) -> Int { Int(try load(offset) as UInt32) }
    func u64(_ offset: Int) throws(NodeFault) -> UInt64 { try load(offset) }
    func i64(_ offset: Int) throws(NodeFault) -> Int64 { try load(offset) }

    func slice(_ offset: Int, _ count: Int) throws(NodeFault) -> UnsafeRawBufferPointer {
        guard offset >= 0, count >= 0, offset <= bytes.count - count else {
            throw fault("the \(kind.name.one) is too short for what it says it holds")
        }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    /// The place that the reference at `offset` leads to; nil for none.
    func reference(_ offset: Int) throws(NodeFault) -> Int? { try Self.place(of: u64(offset), in: self) }

    /// The place that a reference leads to; nil for none.
    static func place(of word: UInt64, in node: OnDiskNode) throws(NodeFault) -> Int? {
        if word == 0 { return nil }
        guard word & UInt64(NodeHead.unit - 1) == 1, word < UInt64(FormatNumbers.spaceByteCount) else {
            throw node.fault("the \(node.kind.name.one) holds something that is no reference")
        }
        return Int(word - 1)
    }
}

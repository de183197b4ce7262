import CFirn

/// The values of one property for the rows of one leaf: typed, contiguous, aligned.
///
/// ```
///  0               32               64
/// ┌───────────────┬────────────────┬──────────────────────────────────────────────────┐
/// │ node header   │ marks, 256 bit │ values                                           │
/// └───────────────┴────────────────┴──────────────────────────────────────────────────┘
///   fixed            width x capacity bytes
///   fixed, nullable  width x capacity bytes, then capacity bytes: 1 if the row is null (its value bytes are then 0)
///   variable         a slot of 4 bytes per row, then the heap
///
///   slot  ┌───────────────┬───────────────┐   offset of the value within the heap, its length;
///         │ offset (u16)  │ length (u16)  │   lengths from 0xFFFD on are no lengths:
///         └───────────────┴───────────────┘   FFFF null · FFFE a blob · FFFD a list's tree
///                                             (for these two the heap holds the node's reference, u64)
/// ```
///
/// * `form` and `width` are the column's. `capacity` is the number of rows that there is room for. A variable chunk's
///   `count` is the used length of the heap.
/// * A **mark** says that the running transaction assigned the row's value, whether or not the value differs. A copy
///   of an older transaction's chunk starts without marks. Once committed, the marks of a chunk mean nothing.
/// * Rows after the leaf's count do not exist for readers: a version reads only the rows that its own leaf counts. So
///   an append writes its row in place, into a chunk of any age. All else is written only in chunks that have the
///   transaction's stamp.
@frozen
public struct Chunk {
    public let node: Node

    @inlinable @inline(__always) public init(_ node: Node) { self.node = node }

    package typealias Form = ChunkForm

    @inlinable public var data: UnsafeMutableRawPointer {
        @inline(__always) get { node.address + NodeLayout.Chunk.data }
    }

    var form: Form {
        @inline(__always) get { Form(rawValue: node.form).unsafelyUnwrapped }
    }

    /// The chunk that a reference to an on-disk node leads to: the node itself, or its decoded form if the node is
    /// encoded (see `Node.isScratch`).
    @usableFromInline @inline(never)
    static func onDisk(_ word: UInt64) -> Chunk { Chunk(at: NodeRef(word).node) }

    /// The chunk at a node, decoded if the node is encoded.
    @inline(__always)
    init(at node: Node) {
        self.init(ChunkEncoding.isEncoded(node) ? ChunkEncoding.decoded(node) : node)
    }

    // MARK: Marks

    @inlinable @inline(__always)
    public func mark(_ row: Int) {
        let word = node.pointer(NodeLayout.Chunk.markWord(row >> 6), to: UInt64.self)
        word.pointee |= 1 &<< UInt64(truncatingIfNeeded: row)
    }

    var hasMarks: Bool {
        let words = node.pointer(NodeLayout.Chunk.marks, to: UInt64.self)
        var all: UInt64 = 0
        for index in 0..<NodeLayout.Chunk.markWordCount { all |= words[index] }
        return all != 0
    }

    /// Calls `body` for each marked row of a range.
    @inline(__always)
    func forEachMark(in rows: Range<Int>, _ body: (Int) -> Void) {
        guard !rows.isEmpty else { return }
        for index in rows.lowerBound >> 6...(rows.upperBound - 1) >> 6 {
            var word = node.load(NodeLayout.Chunk.markWord(index), as: UInt64.self)
            while word != 0 {
                let row = index << 6 + word.trailingZeroBitCount
                if rows.contains(row) { body(row) }
                word &= word &- 1
            }
        }
    }

    func clearMarks() {
        for word in 0..<NodeLayout.Chunk.markWordCount { node.store(UInt64(0), NodeLayout.Chunk.markWord(word)) }
    }

    // MARK: Fixed width

    @inlinable @inline(__always)
    public func load<T: BitwiseCopyable>(_ row: Int, as type: T.Type = T.self) -> T {
        data.loadUnaligned(fromByteOffset: row &* MemoryLayout<T>.stride, as: T.self)
    }

    @inlinable @inline(__always)
    public func store<T: BitwiseCopyable>(_ value: T, _ row: Int) {
        data.storeBytes(of: value, toByteOffset: row &* MemoryLayout<T>.stride, as: T.self)
    }

    /// The address of a fixed-width value.
    @inline(__always)
    func address(_ row: Int) -> UnsafeMutableRawPointer { data + row &* node.width }

    /// The null flags of a nullable chunk, one byte per row.
    @inlinable public var nullFlags: UnsafeMutablePointer<UInt8> {
        @inline(__always) get { (data + node.capacity &* node.width).assumingMemoryBound(to: UInt8.self) }
    }

    @inlinable @inline(__always)
    public func isNullFlag(_ row: Int) -> Bool { nullFlags[row] != 0 }

    /// Whether the row is null, in a chunk of any form.
    public func isNull(_ row: Int) -> Bool {
        switch form {
        case .fixed: false
        case .nullable: isNullFlag(row)
        case .variable: slot(row).length == Slot.null
        }
    }

    // MARK: Variable width

    @frozen
    public struct Slot {
        public var offset: UInt16
        public var length: UInt16

        @inlinable @inline(__always)
        public init(offset: UInt16, length: UInt16) {
            self.offset = offset
            self.length = length
        }

        // Computed, so that they are constants in code that is inlined into other modules. The kernels use them, too.
        @inlinable public static var null: UInt16 {
            @inline(__always) get { UInt16(truncatingIfNeeded: FIRN_SLOT_NULL) }
        }
        @inlinable public static var blob: UInt16 {
            @inline(__always) get { UInt16(truncatingIfNeeded: FIRN_SLOT_BLOB) }
        }
        @inlinable public static var tree: UInt16 {
            @inline(__always) get { UInt16(truncatingIfNeeded: FIRN_SLOT_TREE) }
        }
    }

    @inlinable @inline(__always)
    public func slot(_ row: Int) -> Slot {
        let word = data.load(fromByteOffset: row &* NodeLayout.Chunk.slotByteCount, as: UInt32.self)
        return Slot(offset: UInt16(truncatingIfNeeded: word), length: UInt16(truncatingIfNeeded: word >> 16))
    }

    @inline(__always)
    func setSlot(_ slot: Slot, _ row: Int) {
        data.storeBytes(
            of: UInt32(slot.offset) | UInt32(slot.length) << 16, toByteOffset: row &* NodeLayout.Chunk.slotByteCount,
            as: UInt32.self)
    }

    @inlinable public var heap: UnsafeMutableRawPointer {
        @inline(__always) get { data + node.capacity &* NodeLayout.Chunk.slotByteCount }
    }

    var heapUsed: Int {
        @inline(__always) get { node.count }
        @inline(__always) nonmutating set { node.count = newValue }
    }

    var heapCapacity: Int { node.byteCount - NodeLayout.Chunk.data - node.capacity * NodeLayout.Chunk.slotByteCount }

    /// The bytes of the row's value, wherever they are; nil for a null and for a list's tree. See `VariableCell.bytes`.
    @inlinable @inline(__always)
    public func bytes(_ row: Int) -> UnsafeRawBufferPointer? {
        cell(row).bytes
    }

    /// The reference that a blob's or tree's slot leads to.
    @inlinable @inline(__always)
    public func heapWord(_ slot: Slot) -> UInt64 {
        (heap + Int(slot.offset)).loadUnaligned(as: UInt64.self)
    }

    /// The node that holds the row's value, if the value has one of its own: a blob, or the root of a list's tree.
    func ownNode(_ row: Int) -> (isTree: Bool, node: Node)? {
        let slot = slot(row)
        guard slot.length == Slot.blob || slot.length == Slot.tree else { return nil }
        return (slot.length == Slot.tree, NodeRef(heapWord(slot)).node)
    }
}

/// A value of more than `Limits.inlineByteCount` bytes, in a node of its own: the header, then the bytes. `count` is
/// the number of bytes. Versions share the node.
@frozen
public struct Blob {
    public let node: Node

    @inlinable @inline(__always) public init(_ node: Node) { self.node = node }

    @inlinable public var bytes: UnsafeRawBufferPointer {
        @inline(__always) get { UnsafeRawBufferPointer(start: node.address + NodeLayout.Blob.bytes, count: node.count) }
    }

    static func make(_ bytes: UnsafeRawBufferPointer, _ writer: NodeWriter) -> Blob {
        let node = writer.make(.blob, count: bytes.count, byteCount: NodeLayout.Blob.bytes + bytes.count)
        if let base = bytes.baseAddress {
            (node.address + NodeLayout.Blob.bytes).copyMemory(from: base, byteCount: bytes.count)
        }
        return Blob(node)
    }
}

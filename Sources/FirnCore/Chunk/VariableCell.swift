/// The content of one cell of a variable column, and its address. The cell is in a chunk, or in an encoded chunk, which
/// is decoded only if it is compressed text.
///
/// The bytes belong to the store. They are valid as long as the version that they were read from is pinned. Bytes of
/// compressed text, or of a copied node, are valid only until the thread has requested 16 others (`ScratchNode`).
@frozen
public struct VariableCell {
    /// The length in the cell's slot: the value's length, or the number for null, a blob or a tree.
    @usableFromInline let length: UInt16
    /// The address of the value; for a blob or a tree, the address of its reference.
    @usableFromInline let address: UnsafeRawPointer

    @inlinable @inline(__always)
    init(length: UInt16, at address: UnsafeRawPointer) {
        self.length = length
        self.address = address
    }

    @inlinable public var isNull: Bool {
        @inline(__always) get { length == Chunk.Slot.null }
    }

    /// The value's bytes, wherever they are; nil for a null. A list's tree also gives nil, so check `tree` first.
    @inlinable public var bytes: UnsafeRawBufferPointer? {
        @inline(__always) get {
            if length < Chunk.Slot.tree { return UnsafeRawBufferPointer(start: address, count: Int(length)) }
            return length == Chunk.Slot.blob ? Blob(NodeRef(word).node).bytes : nil
        }
    }

    /// The root of a list's tree; nil if the cell holds no tree.
    @inlinable public var tree: NodeRef? {
        @inline(__always) get { length == Chunk.Slot.tree ? NodeRef(word) : nil }
    }

    /// The node that holds the value, if the value has one of its own: a blob, or the root of a list's tree.
    var ownNode: Node? { length == Chunk.Slot.blob || length == Chunk.Slot.tree ? NodeRef(word).node : nil }

    @inlinable var word: UInt64 {
        @inline(__always) get { address.loadUnaligned(as: UInt64.self) }
    }
}

extension Chunk {
    @inlinable @inline(__always)
    public func cell(_ row: Int) -> VariableCell {
        let slot = slot(row)
        return VariableCell(length: slot.length, at: heap + Int(slot.offset))
    }
}

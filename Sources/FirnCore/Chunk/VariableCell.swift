/// What a row of a variable column holds, and where: found in a chunk, or in a packed one without unpacking it.
///
/// The bytes are the store's own: valid as long as the version they were read from is pinned, those of compressed text until the thread has unpacked 16 other
/// chunks (see `Node.isScratch`).
@frozen
public struct VariableCell {
    /// A slot's: the value's length, or what else the cell is.
    @usableFromInline let length: UInt16
    /// Where the value lies; of a blob or a tree, its reference.
    @usableFromInline let place: UnsafeRawPointer

    @inlinable @inline(__always)
    init(length: UInt16, at place: UnsafeRawPointer) {
        self.length = length
        self.place = place
    }

    @inlinable public var isNull: Bool {
        @inline(__always) get { length == Chunk.Slot.null }
    }

    /// The value's bytes wherever they lie; nil where it is null. A list's tree has no bytes: ask `tree` first.
    @inlinable public var bytes: UnsafeRawBufferPointer? {
        @inline(__always) get {
            if length < Chunk.Slot.tree { return UnsafeRawBufferPointer(start: place, count: Int(length)) }
            return length == Chunk.Slot.blob ? Blob(NodeRef(word).node).bytes : nil
        }
    }

    /// The root of a list's tree; nil where the cell is none.
    @inlinable public var tree: NodeRef? {
        @inline(__always) get { length == Chunk.Slot.tree ? NodeRef(word) : nil }
    }

    /// The node that the value lies in, where it has one of its own: a blob, or the root of a list's tree.
    var ownNode: Node? { length == Chunk.Slot.blob || length == Chunk.Slot.tree ? NodeRef(word).node : nil }

    @inlinable var word: UInt64 {
        @inline(__always) get { place.loadUnaligned(as: UInt64.self) }
    }
}

extension Chunk {
    @inlinable @inline(__always)
    public func cell(_ row: Int) -> VariableCell {
        let slot = slot(row)
        return VariableCell(length: slot.length, at: heap + Int(slot.offset))
    }
}

/// Reads one cell at a time. A cell of an encoded chunk is read in place, without decoding the rest of the chunk
/// (except for compressed text). A caller that reads most rows of a column calls `chunk` instead.
extension Leaf {
    /// The value of a column of fixed width. The bytes of a null are zeros.
    @inlinable @inline(__always)
    public func load<T: BitwiseCopyable>(_ column: Int, _ row: Int, as type: T.Type = T.self) -> T {
        let word = chunkSlot(column).pointee
        if word & 1 == 0 { return Chunk(NodeRef(word).node).load(row) }
        return withUnsafeBytes(of: Leaf.onDiskWords(word, row)) { $0.loadUnaligned(as: T.self) }
    }

    /// The value of a column of fixed width, of any type. The cell must not be null.
    func fixedValue(_ column: Int, row: Int, type: ColumnType) -> Value {
        let word = chunkSlot(column).pointee
        if word & 1 == 0 { return FixedCoding.load(Chunk(NodeRef(word).node).address(row), as: type) }
        return withUnsafeBytes(of: Leaf.onDiskWords(word, row)) {
            FixedCoding.load($0.baseAddress.unsafelyUnwrapped, as: type)
        }
    }

    /// Whether the row of a nullable column of fixed width is null.
    @inlinable @inline(__always)
    public func isNullFlag(_ column: Int, _ row: Int) -> Bool {
        let word = chunkSlot(column).pointee
        return word & 1 == 0 ? Chunk(NodeRef(word).node).isNullFlag(row) : Leaf.onDiskIsNull(word, row)
    }

    /// Whether the row is null, in a column of any form.
    public func isNull(_ column: Int, _ row: Int) -> Bool {
        let word = chunkSlot(column).pointee
        return word & 1 == 0 ? Chunk(NodeRef(word).node).isNull(row) : Leaf.onDiskIsNull(word, row)
    }

    /// The cell of a row in a variable column.
    @inlinable @inline(__always)
    public func cell(_ column: Int, _ row: Int) -> VariableCell {
        let word = chunkSlot(column).pointee
        return word & 1 == 0 ? Chunk(NodeRef(word).node).cell(row) : Leaf.onDiskCell(word, row)
    }

    // MARK: In a checkpoint

    /// The bytes of a cell of fixed width, in as many words as the widest type needs.
    @usableFromInline @inline(never)
    static func onDiskWords(_ word: UInt64, _ row: Int) -> (UInt64, UInt64) {
        let node = NodeRef(word).node
        if ChunkEncoding.isEncoded(node) { return (ChunkEncoding.number(node, row), 0) }
        let address = UnsafeRawPointer(Chunk(node).address(row))
        switch node.width {
        case 1: return (UInt64(address.load(as: UInt8.self)), 0)
        case 4: return (UInt64(address.loadUnaligned(as: UInt32.self)), 0)
        case 8: return (address.loadUnaligned(as: UInt64.self), 0)
        case 12:
            return (
                address.loadUnaligned(as: UInt64.self), UInt64((address + 8).loadUnaligned(as: UInt32.self))
            )
        default: return (address.loadUnaligned(as: UInt64.self), (address + 8).loadUnaligned(as: UInt64.self))
        }
    }

    @usableFromInline @inline(never)
    static func onDiskIsNull(_ word: UInt64, _ row: Int) -> Bool {
        let node = NodeRef(word).node
        return ChunkEncoding.isEncoded(node) ? ChunkEncoding.isNull(node, row) : Chunk(node).isNull(row)
    }

    @usableFromInline @inline(never)
    static func onDiskCell(_ word: UInt64, _ row: Int) -> VariableCell {
        let node = NodeRef(word).node
        return ChunkEncoding.isEncoded(node) ? ChunkEncoding.cell(node, row) : Chunk(node).cell(row)
    }
}

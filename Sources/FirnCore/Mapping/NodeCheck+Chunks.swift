import CFirn
import FirnBytes

/// Checks nodes that hold values: chunks, and blocks of elements.
extension NodeCheck {
    // MARK: Chunks

    mutating func chunk() throws(Damage) {
        let cells: CellClass
        let isDictionary: Bool
        switch claim.role {
        case .chunk(let claimed): (cells, isDictionary) = (claimed, false)
        case .dictionary(let claimed): (cells, isDictionary) = (claimed, true)
        default: return
        }
        guard isKind(.chunk), node.byteCount >= NodeLayout.Chunk.data else {
            throw Damage("a reference leads to a node that is not a chunk")
        }
        guard hasRows(node, claim), node.capacity <= Limits.rowsPerLeaf else {
            throw Damage("a chunk of \(node.capacity) rows, where \(claim.count ?? 0) were expected")
        }
        let layout = cells.column.layout
        guard node.width == layout.width else {
            throw Damage("a chunk of \(node.width) bytes per row can't hold values of type \(cells.type)")
        }
        if let form = Chunk.Form(rawValue: node.form) {
            guard form == layout.form else {
                throw Damage("a chunk of the form \(form) can't hold values of type \(cells.type)")
            }
            switch form {
            case .fixed, .nullable:
                let rows = node.capacity
                guard layout.byteCount(capacity: rows) <= node.byteCount else {
                    throw Damage("a chunk of \(rows) rows ends early")
                }
                guard areBools(cells) else { throw Damage("a boolean is neither true nor false") }
                return try checkHasNoRefs()
            case .variable: return try slots(cells, isDictionary: isDictionary)
            }
        }
        guard !isDictionary, cells.collection == .none, let form = ChunkEncoding.Form(rawValue: node.form) else {
            throw Damage("a chunk has the unknown form \(node.form)")
        }
        switch form {
        case .integers:
            guard cells.type == .int || cells.type == .link, packedNumbersFit(nullable: layout.form == .nullable) else {
                throw Damage("a packed chunk of numbers is invalid")
            }
            try checkHasNoRefs()
        case .bits:
            let rows = node.capacity
            let nulls = Int(node.load(NodeLayout.EncodedChunk.hasNulls, as: UInt8.self))
            guard cells.type == .bool, nulls == (layout.form == .nullable ? 1 : 0),
                NodeLayout.EncodedChunk.payload + ChunkEncoding.bitByteCount(rows) + nulls * rows <= node.byteCount
            else { throw Damage("a packed chunk of booleans is invalid") }
            try checkHasNoRefs()
        case .text: try text(cells)
        case .lz4: try lz4(cells)
        case .dictionary: try dictionary(cells)
        }
    }

    /// Whether all bytes of a chunk of Booleans are 0 or 1; other bytes are not a `Bool`. True for other types.
    private func areBools(_ cells: CellClass) -> Bool {
        guard cells.type == .bool else { return true }
        return (0..<node.capacity).allSatisfy { node.load(NodeLayout.Chunk.data + $0, as: UInt8.self) <= 1 }
    }

    func packedNumbersFit(nullable: Bool) -> Bool {
        let width = ChunkEncoding.width(node)
        let nulls = Int(node.load(NodeLayout.EncodedChunk.hasNulls, as: UInt8.self))
        return [0, 1, 2, 4].contains(width) && nulls == (nullable ? 1 : 0)
            && NodeLayout.EncodedChunk.payload + (width + nulls) * node.capacity <= node.byteCount
    }

    /// Checks a chunk of slots and a heap.
    private mutating func slots(_ cells: CellClass, isDictionary: Bool) throws(Damage) {
        let chunk = Chunk(node)
        let rows = node.capacity
        let heapStart = NodeLayout.Chunk.data + NodeLayout.Chunk.slotByteCount * rows
        let heap = node.count
        guard heap <= 2 * Limits.chunkByteCount, heapStart + heap <= node.byteCount else {
            throw Damage("a chunk's values of \(heap) bytes end early")
        }
        var ranges: [Range<Int>] = []
        var total = 0
        let isText = cells.collection == .none && cells.type == .string
        let isPlain =
            cells.collection == .none
            && (cells.type == .data
                || isText && UnsafeRawBufferPointer(start: node.address + heapStart, count: heap).isASCII)
        for row in 0..<rows {
            let slot = chunk.slot(row)
            if slot.length == Chunk.Slot.null {
                guard cells.collection != .none || cells.mayBeNull else {
                    throw Damage("a null in a column that can't hold nulls")
                }
                continue
            }
            let start = heapStart + Int(slot.offset)
            guard Int(slot.offset) + slot.heapLength <= heap else {
                throw Damage("a value lies beyond the end of its chunk's values")
            }
            total += slot.heapLength
            if cells.collection != .none, slot.heapLength > 0 { ranges.append(start..<start + slot.heapLength) }
            let address = node.address + start
            switch slot.length {
            case Chunk.Slot.blob:
                guard cells.collection == .none, !isDictionary else { throw Damage("a blob where none is allowed") }
                ranges.append(start..<start + NodeLayout.refByteCount)
                add(address, NodeClaim(.blob(cells.value)))
            case Chunk.Slot.tree:
                guard cells.collection != .none else { throw Damage("a collection where none is allowed") }
                add(address, NodeClaim(.list(cells)))
            default:
                if cells.collection != .none {
                    guard block(at: start, length: Int(slot.length), cells) != nil else {
                        throw Damage("the elements of a collection are invalid")
                    }
                } else if slot.length > Limits.inlineByteCount {
                    throw Self.tooLong
                } else if !isPlain,
                    !isValue(UnsafeRawBufferPointer(start: address, count: Int(slot.length)), cells)
                {
                    throw Damage("a value is not a valid \(cells.type)")
                }
            }
        }
        // Values may share bytes in this node, but copying the chunk writes them one after the other.
        guard total <= Chunk.heapMaxByteCount else { throw Self.tooMany }
        guard Self.areApart(&ranges) else { throw Damage("values of a chunk overlap") }
        guard !refs.isEmpty else { return try checkHasNoRefs() }
        try checkRefs(after: heapStart + heap)
    }

    private static var tooLong: Damage { Damage("a value in a chunk is too long to lie in one") }
    private static var tooMany: Damage { Damage("a chunk's values take more bytes than a chunk can hold") }

    private mutating func text(_ cells: CellClass) throws(Damage) {
        let rows = node.capacity
        let width = ChunkEncoding.width(node)
        let heap = ChunkEncoding.heapByteCount(node)
        let values = NodeLayout.EncodedChunk.payload + width * rows
        guard cells.type.fixedWidth == nil, width == 1 || width == 2, heap <= 2 * Limits.chunkByteCount,
            values + heap <= node.byteCount
        else { throw Damage("a packed chunk of text is invalid") }
        try self.values(cells, width, lengths: ChunkEncoding.payload(node), heap: heap, mayRefer: true)
        guard !refs.isEmpty else { return try checkHasNoRefs() }
        try checkRefs(after: values + heap)
    }

    /// Checks packed text: the lengths of the values, and behind them the values, `heap` bytes in all.
    private mutating func values(
        _ cells: CellClass, _ width: Int, lengths: UnsafeMutableRawPointer, heap: Int, mayRefer: Bool
    ) throws(Damage) {
        let rows = node.capacity
        let values = lengths + width * rows
        let isPlain =
            cells.type == .data
            || cells.type == .string && UnsafeRawBufferPointer(start: values, count: heap).isASCII
        var offset = 0
        for row in 0..<rows {
            let length = ChunkEncoding.length(row, width: width, lengths: lengths)
            if length == Int(Chunk.Slot.null) {
                guard cells.mayBeNull else { throw Damage("a null in a column that can't hold nulls") }
                continue
            }
            guard length != Int(Chunk.Slot.tree) else { throw Damage("a collection where none is allowed") }
            let isBlob = length == Int(Chunk.Slot.blob)
            let byteCount = isBlob ? NodeLayout.refByteCount : length
            guard offset + byteCount <= heap else { throw Damage("a value lies beyond the end of its chunk's values") }
            guard offset + byteCount <= Chunk.heapMaxByteCount else { throw Self.tooMany }
            guard byteCount <= Limits.inlineByteCount else { throw Self.tooLong }
            if isBlob {
                guard mayRefer else { throw Damage("a blob where none is allowed") }
                add(values + offset, NodeClaim(.blob(cells.value)))
            } else if !isPlain, !isValue(UnsafeRawBufferPointer(start: values + offset, count: byteCount), cells) {
                throw Damage("a value is not a valid \(cells.type)")
            }
            offset += byteCount
        }
    }

    /// Checks compressed text. It is decompressed once for the check, because later readers check nothing but
    /// lengths.
    private mutating func lz4(_ cells: CellClass) throws(Damage) {
        let width = ChunkEncoding.width(node)
        let heap = ChunkEncoding.heapByteCount(node)
        let byteCount = ChunkEncoding.lz4ByteCount(node)
        var wrong: Damage { Damage("a compressed chunk is invalid") }
        guard cells.type == .string || cells.type == .data, width == 1 || width == 2,
            heap <= 2 * Limits.chunkByteCount, NodeLayout.EncodedChunk.payload + byteCount <= node.byteCount
        else { throw wrong }
        try checkHasNoRefs()
        let source = UnsafeRawBufferPointer(start: ChunkEncoding.payload(node), count: byteCount)
        let count = width * node.capacity + heap
        try withUnsafeTemporaryAllocation(byteCount: max(count, 1), alignment: 16) { (buffer) throws(Damage) in
            guard let lengths = buffer.baseAddress else { throw wrong }
            let target = UnsafeMutableRawBufferPointer(start: lengths, count: count)
            do throws(Damage) { try LZ4.decompress(source, into: target) } catch { throw wrong }
            try values(cells, width, lengths: lengths, heap: heap, mayRefer: false)
        }
    }

    private mutating func dictionary(_ cells: CellClass) throws(Damage) {
        let rows = node.capacity
        guard cells.type == .string || cells.type == .data,
            NodeLayout.EncodedChunk.payload + rows <= node.byteCount, !ChunkEncoding.dictionaryRef(node).isNone
        else { throw Damage("a chunk with a dictionary is invalid") }
        let codes = UnsafeRawBufferPointer(start: ChunkEncoding.payload(node), count: rows)
        let highest = Int(codes.max() ?? 0)
        // The chunk's own table of references is empty.
        try checkHasNoRefs()
        add(node.address + NodeLayout.EncodedChunk.dictionary, NodeClaim(.dictionary(cells), count: highest + 1))
    }

    // MARK: Reference tables

    /// Checks that the table of a chunk without references lists none. Code that copies or walks the chunk goes by the
    /// table alone.
    func checkHasNoRefs() throws(Damage) { try checkRefs(table: 0, countAt: NodeLayout.Chunk.refCount) }

    /// Checks that the reference table of a chunk begins behind everything else, is aligned, and lists exactly the
    /// references that were found.
    private func checkRefs(after end: Int) throws(Damage) {
        let table = Int(node.load(NodeLayout.Chunk.refTable, as: UInt32.self))
        guard table >= end else { throw Damage("a table of references overlaps with values") }
        guard table % NodeLayout.tableEntryByteCount == 0 else { throw Damage("a table of references is not aligned") }
        try checkRefs(table: table, countAt: NodeLayout.Chunk.refCount)
    }

    func checkRefs(table: Int, countAt offset: Int) throws(Damage) {
        var wrong: Damage { Damage("a table of references does not list the references of its node") }
        let count = Int(node.load(offset, as: UInt32.self))
        guard count == refs.count, NodeLayout.tableEntry(count, of: table) <= node.byteCount else { throw wrong }
        let found = refs.map { $0.address - node.address }.sorted()
        let listed = (0..<count).map { Int(node.load(NodeLayout.tableEntry($0, of: table), as: UInt32.self)) }.sorted()
        let areApart = zip(found, found.dropFirst()).allSatisfy { $0 + NodeLayout.refByteCount <= $1 }
        guard found == listed, areApart else { throw wrong }
    }

    // MARK: Values and elements

    /// Whether the bytes are a valid value, or element, of the type.
    func isValue(_ bytes: UnsafeRawBufferPointer, _ cells: CellClass) -> Bool {
        switch cells.type {
        case .string: bytes.isUTF8
        case .data: true
        case .mixed: MixedCoding.decode(bytes) != nil
        default: bytes.count == cells.type.fixedWidth
        }
    }

    /// Checks a block of `length` bytes and adds its references. Returns the number of its elements; nil if they are
    /// not a valid block.
    mutating func block(at start: Int, length: Int, _ cells: CellClass) -> Int? {
        // A block of no bytes is an empty collection, and so is one that is too short for a count.
        let header = NodeLayout.ElementBlock.headerByteCount
        guard length >= header else { return 0 }
        let layout = ElementLayout(cells.column)
        let isLeaf = isKind(.listLeaf)
        let count = Int((node.address + start).loadUnaligned(as: UInt16.self))
        guard isLeaf || length <= Limits.inlineByteCount, count <= ListTree.leafElementCount else { return nil }
        switch layout.form {
        case .fixed: return header + count * layout.width == length ? count : nil
        case .nullable: return header + count * (layout.width + 1) == length ? count : nil
        case .variable: break
        }
        let end = start + length
        var offset = start + header
        let parts = layout.collection == .map ? 2 : 1
        for part in 0..<count * parts {
            let isKey = parts == 2 && part & 1 == 0
            guard let next = self.part(at: offset, before: end, layout, cells, isKey: isKey) else { return nil }
            offset = next
        }
        return offset == end ? count : nil
    }

    /// Checks an element's value, or the key of a map's element, that begins at `start`. Returns its end; nil if it is
    /// invalid.
    private mutating func part(
        at start: Int, before end: Int, _ layout: ElementLayout, _ cells: CellClass, isKey: Bool
    ) -> Int? {
        var offset = start
        guard offset < end else { return nil }
        var code = Int(node.load(offset, as: UInt8.self))
        offset += 1
        if code >= 0x80 {
            guard offset < end else { return nil }
            code = code & 0x7F | Int(node.load(offset, as: UInt8.self)) << 7
            offset += 1
            // A code that is longer than needed would be read as another one.
            guard code >= 0x80 else { return nil }
        }
        switch code {
        case Int(ElementPart.nullCode): return isKey || !cells.mayBeNull ? nil : offset
        case Int(ElementPart.blobCode):
            let next = offset + NodeLayout.refByteCount
            guard next <= end, isKey || cells.type.fixedWidth == nil else { return nil }
            add(node.address + offset, NodeClaim(.blob(isKey ? .key : cells.value)))
            return next
        default:
            let count = code - Int(ElementPart.emptyCode)
            guard count <= layout.partByteCount, offset + count <= end else { return nil }
            let bytes = UnsafeRawBufferPointer(start: node.address + offset, count: count)
            guard isKey ? bytes.isUTF8 : isValue(bytes, cells) else { return nil }
            return offset + count
        }
    }
}

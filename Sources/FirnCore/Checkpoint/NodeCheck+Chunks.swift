import CFirn
import FirnBytes

/// Checking what holds values: chunks, and blocks of elements.
extension NodeCheck {
    // MARK: Chunks

    mutating func chunk() -> String? {
        let cells: CellClass
        let isDictionary: Bool
        switch claim.role {
        case .chunk(let its): (cells, isDictionary) = (its, false)
        case .dictionary(let its): (cells, isDictionary) = (its, true)
        default: return nil
        }
        guard isKind(.chunk), node.byteCount >= 64 else { return "a reference leads to a node that is no chunk" }
        guard hasRows(node, claim), node.capacity <= Limits.rowsPerLeaf else {
            return "a chunk of \(node.capacity) rows, where \(claim.count ?? 0) were expected"
        }
        let layout = cells.column.layout
        guard node.width == layout.width else { return "a chunk of \(node.width) bytes a row is no \(cells.type)" }
        if let form = Chunk.Form(rawValue: node.form) {
            guard form == layout.form else { return "a chunk of the form \(form) is no \(cells.type)" }
            switch form {
            case .fixed, .nullable:
                let rows = node.capacity
                guard 64 + (layout.width + (form == .nullable ? 1 : 0)) * rows <= node.byteCount else {
                    return "a chunk of \(rows) rows ends early"
                }
                return areBools(cells) ? hasNoRefs() : "a boolean that is neither true nor false"
            case .variable: return slots(cells, isDictionary: isDictionary)
            }
        }
        guard !isDictionary, cells.collection == .none, let form = ChunkEncoding.Form(rawValue: node.form) else {
            return "a chunk of the form \(node.form)"
        }
        switch form {
        case .integers:
            guard cells.type == .int || cells.type == .link, packedNumbersFit(nullable: layout.form == .nullable) else {
                return "a packed chunk of numbers makes no sense"
            }
            return hasNoRefs()
        case .bits:
            let rows = node.capacity
            let nulls = Int(node.load(ChunkEncoding.nullOffset, as: UInt8.self))
            guard cells.type == .bool, nulls == (layout.form == .nullable ? 1 : 0),
                64 + (rows + 7) / 8 + nulls * rows <= node.byteCount
            else { return "a packed chunk of booleans makes no sense" }
            return hasNoRefs()
        case .text: return text(cells)
        case .pressed: return pressed(cells)
        case .dictionary: return dictionary(cells)
        }
    }

    /// Other bytes than 0 and 1 are no `Bool`.
    private func areBools(_ cells: CellClass) -> Bool {
        guard cells.type == .bool else { return true }
        return (0..<node.capacity).allSatisfy { node.load(64 + $0, as: UInt8.self) <= 1 }
    }

    func packedNumbersFit(nullable: Bool) -> Bool {
        let width = Int(node.load(ChunkEncoding.widthOffset, as: UInt8.self))
        let nulls = Int(node.load(ChunkEncoding.nullOffset, as: UInt8.self))
        return [0, 1, 2, 4].contains(width) && nulls == (nullable ? 1 : 0)
            && 64 + (width + nulls) * node.capacity <= node.byteCount
    }

    /// A chunk of slots and a heap.
    private mutating func slots(_ cells: CellClass, isDictionary: Bool) -> String? {
        let chunk = Chunk(node)
        let rows = node.capacity
        let heapStart = 64 + 4 * rows
        let heap = node.count
        guard heap <= 2 * Limits.chunkByteCount, heapStart + heap <= node.byteCount else {
            return "a chunk's values of \(heap) bytes end early"
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
                guard cells.collection != .none || cells.mayBeNull else { return "a null in a column that has none" }
                continue
            }
            let place = heapStart + Int(slot.offset)
            guard Int(slot.offset) + slot.heapLength <= heap else { return "a value lies behind its chunk's" }
            total += slot.heapLength
            if cells.collection != .none, slot.heapLength > 0 { ranges.append(place..<place + slot.heapLength) }
            let address = node.address + place
            switch slot.length {
            case Chunk.Slot.blob:
                guard cells.collection == .none, !isDictionary else { return "a blob where none can be" }
                ranges.append(place..<place + 8)
                add(address, NodeClaim(.blob(cells.value)))
            case Chunk.Slot.tree:
                guard cells.collection != .none else { return "a collection where none can be" }
                add(address, NodeClaim(.list(cells)))
            default:
                if cells.collection != .none {
                    guard block(at: place, length: Int(slot.length), cells) != nil else {
                        return "the elements of a collection make no sense"
                    }
                } else if slot.length > Limits.inlineByteCount {
                    return Self.tooLong
                } else if !isPlain,
                    !isValue(UnsafeRawBufferPointer(start: address, count: Int(slot.length)), cells)
                {
                    return "a value is no \(cells.type)"
                }
            }
        }
        // They may share bytes, and are written one behind the other once the chunk is copied.
        guard total <= Chunk.mostHeap else { return Self.tooMany }
        guard Self.areApart(&ranges) else { return "values of a chunk overlap" }
        guard !refs.isEmpty else { return hasNoRefs() }
        return refsAreListed(after: heapStart + heap)
    }

    private static let tooLong = "a value lies in its chunk that is too long for one"
    private static let tooMany = "a chunk's values take more bytes than a chunk can hold"

    private mutating func text(_ cells: CellClass) -> String? {
        let rows = node.capacity
        let width = Int(node.load(ChunkEncoding.widthOffset, as: UInt8.self))
        let heap = Int(node.load(ChunkEncoding.heapOffset, as: UInt32.self))
        let values = 64 + width * rows
        guard cells.type.fixedWidth == nil, width == 1 || width == 2, heap <= 2 * Limits.chunkByteCount,
            values + heap <= node.byteCount
        else { return "a packed chunk of text makes no sense" }
        if let fault = self.values(cells, width, lengths: node.address + 64, heap: heap, mayRefer: true) {
            return fault
        }
        guard !refs.isEmpty else { return hasNoRefs() }
        return refsAreListed(after: values + heap)
    }

    /// Packed text: the lengths of the values, and behind them the values, `heap` bytes long.
    private mutating func values(
        _ cells: CellClass, _ width: Int, lengths: UnsafeMutableRawPointer, heap: Int, mayRefer: Bool
    ) -> String? {
        let rows = node.capacity
        let values = lengths + width * rows
        let isPlain =
            cells.type == .data
            || cells.type == .string && UnsafeRawBufferPointer(start: values, count: heap).isASCII
        var offset = 0
        for row in 0..<rows {
            let length = Self.length(row, width, lengths)
            if length == Int(Chunk.Slot.null) {
                guard cells.mayBeNull else { return "a null in a column that has none" }
                continue
            }
            guard length != Int(Chunk.Slot.tree) else { return "a collection where none can be" }
            let isBlob = length == Int(Chunk.Slot.blob)
            let byteCount = isBlob ? 8 : length
            guard offset + byteCount <= heap else { return "a value lies behind its chunk's" }
            guard offset + byteCount <= Chunk.mostHeap else { return Self.tooMany }
            guard byteCount <= Limits.inlineByteCount else { return Self.tooLong }
            if isBlob {
                guard mayRefer else { return "a blob where none can be" }
                add(values + offset, NodeClaim(.blob(cells.value)))
            } else if !isPlain, !isValue(UnsafeRawBufferPointer(start: values + offset, count: byteCount), cells) {
                return "a value is no \(cells.type)"
            }
            offset += byteCount
        }
        return nil
    }

    /// A length of packed text, as a slot has it.
    static func length(_ row: Int, _ width: Int, _ lengths: UnsafeRawPointer) -> Int {
        guard width == 1 else { return Int(lengths.loadUnaligned(fromByteOffset: 2 * row, as: UInt16.self)) }
        let length = Int(lengths.load(fromByteOffset: row, as: UInt8.self))
        return length < 0xFD ? length : length | 0xFF00
    }

    /// What was compressed is unpacked once to be looked at: whoever unpacks it later looks at nothing but lengths.
    private mutating func pressed(_ cells: CellClass) -> String? {
        let width = Int(node.load(ChunkEncoding.widthOffset, as: UInt8.self))
        let heap = Int(node.load(ChunkEncoding.heapOffset, as: UInt32.self))
        let byteCount = Int(node.load(ChunkEncoding.pressedOffset, as: UInt32.self))
        let wrong = "a compressed chunk makes no sense"
        guard cells.type == .string || cells.type == .data, width == 1 || width == 2,
            heap <= 2 * Limits.chunkByteCount, 64 + byteCount <= node.byteCount
        else { return wrong }
        if let fault = hasNoRefs() { return fault }
        let source = UnsafeRawBufferPointer(start: node.address + 64, count: byteCount)
        let count = width * node.capacity + heap
        return withUnsafeTemporaryAllocation(byteCount: max(count, 1), alignment: 16) { buffer in
            guard let lengths = buffer.baseAddress else { return wrong }
            let target = UnsafeMutableRawBufferPointer(start: lengths, count: count)
            do throws(BytesError) { try LZ4.decompress(source, into: target) } catch { return wrong }
            return values(cells, width, lengths: lengths, heap: heap, mayRefer: false)
        }
    }

    private mutating func dictionary(_ cells: CellClass) -> String? {
        let rows = node.capacity
        guard cells.type == .string || cells.type == .data, 64 + rows <= node.byteCount,
            node.load(ChunkEncoding.dictionaryOffset, as: UInt64.self) != 0
        else { return "a chunk with a dictionary makes no sense" }
        let highest = (0..<rows).reduce(0) { max($0, Int(node.load(64 + $1, as: UInt8.self))) }
        // Its own table of references is empty.
        if let fault = hasNoRefs() { return fault }
        add(node.address + ChunkEncoding.dictionaryOffset, NodeClaim(.dictionary(cells), count: highest + 1))
        return nil
    }

    // MARK: Reference tables

    /// Whether the table of a chunk that holds no references lists none. Whoever copies or walks the chunk goes by the
    /// table alone.
    func hasNoRefs() -> String? { refsAreListed(table: 0, countAt: 36) }

    /// Whether the table of a chunk, which begins behind everything else, lists the references found and no others.
    private func refsAreListed(after end: Int) -> String? {
        let table = Int(node.load(32, as: UInt32.self))
        return table >= end ? refsAreListed(table: table, countAt: 36) : "a table of references lies among values"
    }

    func refsAreListed(table: Int, countAt place: Int) -> String? {
        let wrong = "a table of references is not that of its node"
        let count = Int(node.load(place, as: UInt32.self))
        guard count == refs.count, table + 4 * count <= node.byteCount else { return wrong }
        let found = refs.map { $0.place - node.address }.sorted()
        let listed = (0..<count).map { Int(node.load(table + 4 * $0, as: UInt32.self)) }.sorted()
        guard found == listed, zip(found, found.dropFirst()).allSatisfy({ $0 + 8 <= $1 }) else { return wrong }
        return nil
    }

    // MARK: Values and elements

    /// Whether the bytes are a value of the type, or an element.
    func isValue(_ bytes: UnsafeRawBufferPointer, _ cells: CellClass) -> Bool {
        switch cells.type {
        case .string: bytes.isUTF8
        case .data: true
        case .mixed: MixedCoding.decode(bytes) != nil
        default: bytes.count == cells.type.fixedWidth
        }
    }

    /// The number of elements of a block of `length` bytes, whose references are added; nil where it is none.
    mutating func block(at start: Int, length: Int, _ cells: CellClass) -> Int? {
        // No bytes are an empty collection, and so is what is too short for a count.
        guard length >= 2 else { return 0 }
        let layout = ElementLayout(cells.column)
        let isLeaf = isKind(.listLeaf)
        let count = Int((node.address + start).loadUnaligned(as: UInt16.self))
        guard isLeaf || length <= Limits.inlineByteCount, count <= ListTree.leafElementCount else { return nil }
        switch layout.form {
        case .fixed: return 2 + count * layout.width == length ? count : nil
        case .nullable: return 2 + count * (layout.width + 1) == length ? count : nil
        case .variable: break
        }
        let end = start + length
        var place = start + 2
        let parts = layout.collection == .map ? 2 : 1
        for part in 0..<count * parts {
            let isKey = parts == 2 && part & 1 == 0
            guard let next = self.part(at: place, before: end, layout, cells, isKey: isKey) else { return nil }
            place = next
        }
        return place == end ? count : nil
    }

    /// Where the part of an element ends; nil where it is none.
    private mutating func part(
        at start: Int, before end: Int, _ layout: ElementLayout, _ cells: CellClass, isKey: Bool
    ) -> Int? {
        var place = start
        guard place < end else { return nil }
        var code = Int(node.load(place, as: UInt8.self))
        place += 1
        if code >= 0x80 {
            guard place < end else { return nil }
            code = code & 0x7F | Int(node.load(place, as: UInt8.self)) << 7
            place += 1
            // A longer code than is needed would be read as another one.
            guard code >= 0x80 else { return nil }
        }
        switch code {
        case 0: return isKey || !cells.mayBeNull ? nil : place
        case 1:
            guard place + 8 <= end, isKey || cells.type.fixedWidth == nil else { return nil }
            add(node.address + place, NodeClaim(.blob(isKey ? .key : cells.value)))
            return place + 8
        default:
            let count = code - 2
            guard count <= layout.partByteCount, place + count <= end else { return nil }
            let bytes = UnsafeRawBufferPointer(start: node.address + place, count: count)
            guard isKey ? bytes.isUTF8 : isValue(bytes, cells) else { return nil }
            return place + count
        }
    }
}

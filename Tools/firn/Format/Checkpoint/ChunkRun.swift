import FirnBytes

/// How a chunk stores its values, by the number in the format.
enum ChunkForm: UInt8 {
    case fixed = 0
    case variable, nullable
    case integers = 8
    case bits, text, compressed, dictionary
}

/// The values of one property for the rows of one leaf, read from a chunk of any form.
///
/// The cells that it returns are valid as long as the run; those of blobs and collections until `forget` is called.
final class ChunkRun {
    /// Special values of a slot's length.
    enum Slot {
        static let tree = 0xFFFD
        static let blob = 0xFFFE
        static let null = 0xFFFF
    }

    enum Content {
        /// Values of one width from an offset on. `nulls` is the offset of the null flags, if there are any.
        case fixed(OnDiskNode, at: Int, width: Int, nulls: Int?)
        case integers(OnDiskNode, width: Int, base: Int64, step: Int64, nulls: Int?)
        case bits(OnDiskNode, nulls: Int?)
        case variable(Texts)
        case dictionary(OnDiskNode, Texts)
    }

    /// Values of any length in a heap.
    struct Texts {
        /// The offset in the heap, and the length or a value of `Slot`.
        var slots: [(offset: Int, length: Int)]
        let heap: UnsafeRawBufferPointer
        /// The object that keeps the heap's memory.
        let owner: AnyObject
        /// The heap's offset in its node; nil if it was decompressed from there.
        let heapOffset: Int?
    }

    let checkpoint: OpenedCheckpoint
    let node: OnDiskNode
    let column: DecodedSchema.Column
    let rows: Int
    let content: Content
    /// The blobs and the leaves of collections that cells point into.
    var kept: [OnDiskNode] = []

    /// - Parameter rows: the number of rows of the chunk's leaf.
    init(checkpoint: OpenedCheckpoint, node: OnDiskNode, column: DecodedSchema.Column, rows: Int) throws {
        self.checkpoint = checkpoint
        self.node = node
        self.column = column
        self.rows = rows
        guard let form = ChunkForm(rawValue: node.header.form), rows <= node.header.capacity else {
            throw node.damage("the chunk has \(node.header.capacity) rows, its leaf \(rows)")
        }
        let all = node.header.capacity
        let width = column.collection == .none ? column.type.fixedWidth : nil
        let isFixed = width != nil
        guard Self.isAllowed(form, column) else {
            throw node.damage("the chunk has the form \(form), which \(column.name)'s type can't have")
        }
        switch form {
        case .fixed, .nullable:
            guard isFixed, node.header.width == width else {
                throw node.damage(
                    "the chunk's values have \(node.header.width) bytes, unlike those of \(column.name)'s type")
            }
            content = .fixed(
                node, at: 64, width: node.header.width, nulls: form == .nullable ? 64 + node.header.width * all : nil)
        case .integers:
            let bytes = Int(try node.u8(40))
            content = .integers(
                node, width: bytes, base: try node.i64(48), step: try node.i64(56),
                nulls: try node.u8(41) != 0 ? 64 + bytes * all : nil)
        case .bits: content = .bits(node, nulls: try node.u8(41) != 0 ? 64 + (all + 7) / 8 : nil)
        case .variable, .text, .compressed: content = .variable(try Self.texts(node, form))
        case .dictionary:
            guard let dictionary = try checkpoint.node(node.reference(48), of: node, .chunk),
                dictionary.header.form == ChunkForm.variable.rawValue
            else { throw node.damage("the chunk's dictionary is missing, or has another form than a dictionary's") }
            content = .dictionary(node, try Self.texts(dictionary, .variable))
        }
    }

    /// Whether a column's chunks may be of a form.
    private static func isAllowed(_ form: ChunkForm, _ column: DecodedSchema.Column) -> Bool {
        guard column.collection == .none else { return form == .variable }
        switch form {
        case .fixed: return column.type.fixedWidth != nil && (!column.isNullable || column.type == .link)
        case .nullable: return column.type.fixedWidth != nil && column.isNullable && column.type != .link
        case .variable, .text: return column.type.isVariable
        case .integers: return column.type == .int || column.type == .link
        case .bits: return column.type == .bool
        case .compressed, .dictionary: return column.type == .string || column.type == .data
        }
    }

    private static func texts(_ node: OnDiskNode, _ form: ChunkForm) throws -> Texts {
        let rows = node.header.capacity
        if form == .variable {
            let heapOffset = 64 + 4 * rows
            let slots = try (0..<rows).map { row in
                (offset: Int(try node.u16(64 + 4 * row)), length: Int(try node.u16(66 + 4 * row)))
            }
            return Texts(
                slots: slots, heap: try node.slice(heapOffset, node.count), owner: node, heapOffset: heapOffset)
        }
        let width = try node.lengthWidth()
        let heapByteCount = try node.heapByteCount()
        let payload: UnsafeRawBufferPointer
        let owner: AnyObject
        if form == .compressed {
            let memory = Decompressed(byteCount: width * rows + heapByteCount)
            let compressed = try node.slice(64, node.u32(48))
            do throws(Damage) {
                try LZ4.decompress(compressed, into: memory.bytes)
            } catch {
                throw node.damage("the chunk does not decompress to what it should hold")
            }
            payload = UnsafeRawBufferPointer(memory.bytes)
            owner = memory
        } else {
            payload = try node.slice(64, width * rows + heapByteCount)
            owner = node
        }
        var slots: [(offset: Int, length: Int)] = []
        var offset = 0
        for row in 0..<rows {
            let length: Int
            if width == 1 {
                let byte = Int(payload[row])
                length = byte < 0xFD ? byte : 0xFF00 | byte
            } else {
                length = Int(payload[2 * row]) | Int(payload[2 * row + 1]) << 8
            }
            slots.append((offset, length))
            offset += heapLength(length)
        }
        guard offset == heapByteCount else { throw node.damage("the chunk's lengths are not those of its text") }
        return Texts(
            slots: slots, heap: UnsafeRawBufferPointer(rebasing: payload[(width * rows)...]), owner: owner,
            heapOffset: form == .compressed ? nil : 64 + width * rows)
    }

    /// Memory that a chunk was decompressed to.
    private final class Decompressed {
        let bytes: UnsafeMutableRawBufferPointer
        init(byteCount: Int) { bytes = .allocate(byteCount: byteCount, alignment: 16) }
        deinit { bytes.deallocate() }
    }

    /// How many bytes of the heap a value of this length takes.
    private static func heapLength(_ length: Int) -> Int { length < Slot.tree ? length : length == Slot.null ? 0 : 8 }

    // MARK: Values

    /// Releases the memory that cells of blobs and collections point into.
    func forget() { kept.removeAll() }

    /// The value of a row.
    func cell(_ row: Int) throws -> Cell {
        precondition(row >= 0 && row < rows, "Firn: a row lies within its chunk")
        do {
            switch content {
            case .fixed(let node, let offset, let width, let nulls):
                if try isNull(node, nulls: nulls, row: row) { return .null }
                return try Cell.plain(column.type, node.slice(offset + row * width, width))
            case .integers(let node, let width, let base, let step, let nulls):
                if try isNull(node, nulls: nulls, row: row) { return .null }
                let number: Int64 =
                    switch width {
                    case 0: 0
                    case 1: Int64(try node.u8(64 + row))
                    case 2: Int64(try node.u16(64 + 2 * row))
                    default: Int64(try node.u32(64 + 4 * row))
                    }
                let value = base &+ Int64(row) &* step &+ number
                return column.type == .link ? try Cell.link(key: value) : .int(value)
            case .bits(let node, let nulls):
                if try isNull(node, nulls: nulls, row: row) { return .null }
                return .bool(try node.u8(64 + row / 8) >> UInt8(row % 8) & 1 != 0)
            case .variable(let texts): return try cell(texts, row)
            case .dictionary(let node, let texts):
                let code = Int(try node.u8(64 + row))
                guard code < texts.slots.count else {
                    throw node.damage("row \(row) has a code that is not in the dictionary")
                }
                return try cell(texts, code)
            }
        } catch let error as Damage {
            throw node.damage("the value of row \(row) can't be read: \(error)")
        }
    }

    private func isNull(_ node: OnDiskNode, nulls: Int?, row: Int) throws -> Bool {
        guard let nulls else { return false }
        let flag = try node.u8(nulls + row)
        guard flag <= 1 else { throw node.damage("the null flag of row \(row) is \(flag)") }
        return flag == 1
    }

    func bytes(_ texts: Texts, _ row: Int) throws -> (bytes: UnsafeRawBufferPointer, length: Int) {
        let slot = texts.slots[row]
        let count = Self.heapLength(slot.length)
        guard slot.offset + count <= texts.heap.count else {
            throw node.damage("the value of row \(row) lies behind the chunk's heap")
        }
        return (UnsafeRawBufferPointer(rebasing: texts.heap[slot.offset..<slot.offset + count]), slot.length)
    }

    private func cell(_ texts: Texts, _ row: Int) throws -> Cell {
        if column.collection != .none {
            var list: [Cell] = []
            var entries: [(key: UnsafeRawBufferPointer, value: Cell)] = []
            try forEachElement(row) { key, value in
                if let key { entries.append((key, value)) } else { list.append(value) }
            }
            switch column.collection {
            case .map: return .map(entries)
            case .set: return .set(list)
            default: return .list(list)
            }
        }
        let (bytes, length) = try bytes(texts, row)
        switch length {
        case Slot.null: return .null
        case Slot.tree: throw node.damage("row \(row) has a tree, but \(column.name) is no collection")
        case Slot.blob: return try Cell.plain(column.type, blob(bytes, of: node))
        default: return try Cell.plain(column.type, bytes)
        }
    }

    func blob(_ reference: UnsafeRawBufferPointer, of parent: OnDiskNode) throws -> UnsafeRawBufferPointer {
        let word = UInt64(littleEndian: reference.loadUnaligned(as: UInt64.self))
        guard let blob = try checkpoint.node(OnDiskNode.position(of: word, in: parent), of: parent, .blob) else {
            throw parent.damage("a value's blob is missing")
        }
        kept.append(blob)
        return try blob.slice(32, blob.count)
    }
}

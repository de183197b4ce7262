/// Values of one column, collected from anywhere in memory and ready to be encoded.
///
/// Fixed-width values are copied one after the other to `fixed`, and for each a null flag of one byte to `flags`. For
/// values of varying length only their locations are kept (`pieces`), so their memory must stay valid until they are
/// encoded. In a column of collections, `fixed` or `pieces` hold the elements, `counts` holds the number of elements
/// per row, and `keys` a map's keys.
///
/// A staged column belongs to one encoder, on one thread. It is reused: filling it allocates nothing once it has grown.
final class StagedColumn {
    @exclusivity(unchecked) private(set) var type: ColumnType = .int
    @exclusivity(unchecked) private(set) var collection: CollectionKind = .none
    /// The number of rows, whatever they contain.
    @exclusivity(unchecked) private(set) var rowCount = 0
    /// The number of values. In a column of collections, the number of elements.
    @exclusivity(unchecked) private(set) var valueCount = 0
    @exclusivity(unchecked) private(set) var hasNulls = false
    @exclusivity(unchecked) private(set) var fixed = RawStack(capacity: 256)
    @exclusivity(unchecked) private(set) var flags = RawStack(capacity: 64)
    @exclusivity(unchecked) private(set) var counts = RawStack(capacity: 64)
    @exclusivity(unchecked) var pieces: [Piece] = []
    @exclusivity(unchecked) var keys: [Piece] = []
    /// The number of bytes of pieces and keys: `inlineByteCount` in the block itself, `longByteCount` in the blobs
    /// before it.
    @exclusivity(unchecked) private(set) var inlineByteCount = 0
    @exclusivity(unchecked) private(set) var longByteCount = 0
    /// Rows whose collection is too long for the block. Such a collection is staged as empty, and its elements follow
    /// in other blocks.
    @exclusivity(unchecked) private(set) var deferred: [Int] = []
    @exclusivity(unchecked) private var arena = RawArena()

    init() {}

    deinit {
        fixed.dispose()
        flags.dispose()
        counts.dispose()
        arena.removeAll()
    }

    func begin(_ type: ColumnType, _ collection: CollectionKind) {
        self.type = type
        self.collection = collection
        rowCount = 0
        valueCount = 0
        hasNulls = false
        fixed.removeAll()
        flags.removeAll()
        counts.removeAll()
        pieces.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        inlineByteCount = 0
        longByteCount = 0
        deferred.removeAll(keepingCapacity: true)
        arena.removeAll()
    }

    // MARK: Size

    /// An upper bound of the bytes that the column takes in a block.
    var byteBound: Int {
        var bound = 64 &+ (collection == .none ? 0 : IntRun.bound(rowCount))
        if let width = type.fixedWidth {
            bound &+= 64 &+ valueCount &* (width &+ 1)
        } else {
            bound &+= 64 &+ valueCount &* 5
        }
        bound &+= 64 &+ keys.count &* 5 &+ inlineByteCount
        if longByteCount > 0 { bound &+= (longByteCount / ChangesetFormat.cellByteCount) &* 30 &+ 16 }
        return bound
    }

    var cellCount: Int { rowCount &+ (collection == .none ? 0 : valueCount &+ keys.count) }

    // MARK: Filling

    /// Adds fixed-width values that lie one after the other. `nullFlags` has one byte per value, or is nil if no value
    /// is null.
    func addFixed(_ values: UnsafeRawPointer, _ count: Int, nullFlags: UnsafePointer<UInt8>?) {
        let width = type.fixedWidth.unsafelyUnwrapped
        fixed.grow(count &* width).copyMemory(from: values, byteCount: count &* width)
        let target = flags.grow(count).assumingMemoryBound(to: UInt8.self)
        if let nullFlags {
            target.update(from: nullFlags, count: count)
            for index in 0..<count where nullFlags[index] != 0 { hasNulls = true }
        } else {
            target.update(repeating: 0, count: count)
        }
        valueCount &+= count
    }

    @inline(__always)
    func addFixed(_ value: UnsafeRawPointer, width: Int, isNull: Bool) {
        if width == 8 {
            fixed.grow(8).storeBytes(of: value.loadUnaligned(as: UInt64.self), as: UInt64.self)
        } else {
            fixed.grow(width).copyMemory(from: value, byteCount: width)
        }
        flags.grow(1).storeBytes(of: isNull ? 1 : 0, as: UInt8.self)
        if isNull { hasNulls = true }
        valueCount &+= 1
    }

    @inline(__always)
    func addPiece(_ piece: Piece) {
        pieces.append(piece)
        if piece.count < 0 { hasNulls = true }
        inlineByteCount &+= piece.inlineCount
        if piece.isLong { longByteCount &+= piece.count }
        valueCount &+= 1
    }

    func addKey(_ piece: Piece) {
        keys.append(piece)
        inlineByteCount &+= piece.inlineCount
        if piece.isLong { longByteCount &+= piece.count }
    }

    func endRow() { rowCount &+= 1 }

    /// Ends the row of a collection. `before` is the number of values when the row began.
    func endCollection(since before: Int) {
        counts.grow(8).storeBytes(of: Int64(valueCount &- before), as: Int64.self)
        rowCount &+= 1
    }

    /// Adds a row of `chunk`. The column may hold scalars or collections.
    func add(_ chunk: Chunk, _ row: Int) {
        guard collection == .none else {
            addCollection(ListCell(chunk: chunk, row: row, layout: layout))
            return
        }
        switch chunk.form {
        case .fixed: addFixed(chunk.address(row), width: chunk.node.width, isNull: false)
        case .nullable: addFixed(chunk.address(row), width: chunk.node.width, isNull: chunk.isNullFlag(row))
        case .variable: addPiece(chunk.node.isScratch ? copied(chunk.bytes(row)) : stable(chunk.bytes(row)))
        }
        rowCount &+= 1
    }

    private var layout: ElementLayout { ElementLayout(type: type, collection: collection, isNullable: isNullable) }
    /// Whether elements may be null. The layout of a collection's cell depends on this.
    @exclusivity(unchecked) var isNullable = false

    // MARK: Collections

    private struct State {
        let values: Int
        let fixed: Int
        let keys: Int
        let inline: Int
        let long: Int
    }

    /// Adds a collection as a row. If the collection is too long, adds an empty one instead, and the row to `deferred`.
    private func addCollection(_ cell: ListCell) {
        let before = State(
            values: valueCount, fixed: fixed.count, keys: keys.count, inline: inlineByteCount, long: longByteCount)
        if add(elementsOf: cell, cell.count, from: 0, limit: ChangesetFormat.cellByteCount) < cell.count {
            if type.fixedWidth != nil {
                fixed.truncate(to: before.fixed)
                flags.truncate(to: before.values)
            } else {
                pieces.removeLast(valueCount - before.values)
            }
            keys.removeLast(keys.count - before.keys)
            valueCount = before.values
            inlineByteCount = before.inline
            longByteCount = before.long
            deferred.append(rowCount)
        }
        endCollection(since: before.values)
    }

    /// Adds as many elements from `start` on as fit in `limit` bytes, but at least one. Returns the index after the
    /// last added element.
    func add(elementsOf cell: ListCell, _ count: Int, from start: Int, limit: Int) -> Int {
        guard start < count else { return start }
        let layout = cell.layout
        if layout.form != .variable {
            let end = min(count, start + max(limit / (layout.width + 1), 1))
            cell.forEachRun(start..<end) { values, nullFlags, count in
                addFixed(values, count, nullFlags: nullFlags)
                return true
            }
            return end
        }
        var taken = 0
        var next = start
        cell.forEachBytes(start..<count) { key, bytes in
            taken += 8 + (key?.count ?? 0) + (bytes?.count ?? 0)
            if taken > limit, next > start { return false }
            if let key { addKey(stable(key)) }
            addElementBytes(bytes)
            next += 1
            return true
        }
        return next
    }

    /// Adds an element, given as plain bytes, or nil for null. A map's values of fixed width are given in this form
    /// too.
    private func addElementBytes(_ bytes: UnsafeRawBufferPointer?) {
        guard let width = type.fixedWidth else {
            addPiece(stable(bytes))
            return
        }
        if let base = bytes?.baseAddress {
            addFixed(base, width: width, isNull: false)
        } else {
            withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { buffer in
                FixedCoding.store(.null, as: type, to: buffer.baseAddress.unsafelyUnwrapped)
                addFixed(UnsafeRawPointer(buffer.baseAddress.unsafelyUnwrapped), width: width, isNull: type != .link)
            }
        }
    }

    // MARK: Values

    /// Adds the value of a row. It must be of the column's type.
    func add(_ value: Value) {
        switch value {
        case .list(let elements) where collection == .list, .set(let elements) where collection == .set:
            let before = valueCount
            for element in elements { addElement(element) }
            endCollection(since: before)
        case .map(let entries) where collection == .map:
            let before = valueCount
            for entry in entries { addElement(.map([entry])) }
            endCollection(since: before)
        default:
            precondition(collection == .none, "Firn: \(value) is not a collection, but its column holds collections")
            addScalar(value)
            rowCount &+= 1
        }
    }

    /// Adds an element of a collection. An element of a map is a map of one entry.
    func addElement(_ element: Value) {
        guard collection == .map else {
            addScalar(element)
            return
        }
        guard case .map(let entries) = element, let entry = entries.first, entries.count == 1 else {
            preconditionFailure("Firn: \(element) is not an entry of a map")
        }
        PlainCoding.withBytes(.string(entry.key), as: .string) { addKey(copied($0)) }
        addScalar(entry.value)
    }

    private func addScalar(_ value: Value) {
        guard let width = type.fixedWidth else {
            PlainCoding.withBytes(value, as: type) { addPiece(copied($0)) }
            return
        }
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { buffer in
            FixedCoding.store(value, as: type, to: buffer.baseAddress.unsafelyUnwrapped)
            addFixed(
                UnsafeRawPointer(buffer.baseAddress.unsafelyUnwrapped), width: width,
                isNull: value == .null && type != .link)
        }
    }

    /// The location of bytes that were read. Values in the thread's scratch memory do not stay there. So they are
    /// copied if the thread has ever had copies of nodes.
    @inline(__always)
    private func stable(_ bytes: UnsafeRawBufferPointer?) -> Piece {
        ScratchNode.hasCopies ? copied(bytes) : Piece(bytes)
    }

    private func copied(_ bytes: UnsafeRawBufferPointer?) -> Piece {
        guard let bytes else { return Piece(nil) }
        return Piece(arena.copy(bytes), bytes.count)
    }
}

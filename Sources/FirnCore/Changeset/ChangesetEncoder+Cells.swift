import FirnBytes

/// A cell that was assigned: where it is now, and where it was in the version before.
struct UpdatedCell {
    let key: Int64
    let chunk: Chunk
    /// The old chunk, as it is stored. It may be encoded (`ChunkEncoding`), and is decoded only while it is read.
    private let oldRef: NodeRef
    let row: Int32
    let oldRow: Int32

    init(key: Int64, chunk: Chunk, row: Int, oldRef: NodeRef, oldRow: Int) {
        self.key = key
        self.chunk = chunk
        self.oldRef = oldRef
        self.row = Int32(truncatingIfNeeded: row)
        self.oldRow = Int32(truncatingIfNeeded: oldRow)
    }

    var oldChunk: Chunk { @inline(__always) get { Chunk(at: oldRef.node) } }

    /// Whether the two cells hold the same bytes. Collections in list trees count as the same only if they are the same
    /// node. Blobs are compared by their bytes.
    @inline(__always)
    var isUnchanged: Bool {
        let oldChunk = oldChunk
        let (a, b) = (Int(row), Int(oldRow))
        switch chunk.form {
        case .fixed: return equal(chunk.address(a), oldChunk.address(b), count: chunk.node.width)
        case .nullable:
            return chunk.isNullFlag(a) == oldChunk.isNullFlag(b)
                && equal(chunk.address(a), oldChunk.address(b), count: chunk.node.width)
        case .variable:
            let (new, old) = (chunk.slot(a), oldChunk.slot(b))
            guard new.length == old.length else { return isSameLong }
            return new.heapLength == 0
                || equal(chunk.heap + Int(new.offset), oldChunk.heap + Int(old.offset), count: new.heapLength)
                || isSameLong
        }
    }

    /// Whether both are blobs with the same bytes.
    private var isSameLong: Bool {
        let oldChunk = oldChunk
        guard chunk.slot(Int(row)).length == Chunk.Slot.blob, oldChunk.slot(Int(oldRow)).length == Chunk.Slot.blob,
            let new = chunk.bytes(Int(row)), let old = oldChunk.bytes(Int(oldRow)), new.count == old.count
        else { return false }
        return equal(new.baseAddress.unsafelyUnwrapped, old.baseAddress.unsafelyUnwrapped, count: new.count)
    }

    @inline(__always)
    private func equal(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, count: Int) -> Bool {
        if count == 8 { return a.loadUnaligned(as: UInt64.self) == b.loadUnaligned(as: UInt64.self) }
        for index in 0..<count
        where a.load(fromByteOffset: index, as: UInt8.self) != b.load(fromByteOffset: index, as: UInt8.self) {
            return false
        }
        return true
    }
}

/// A deleted row of the version before.
struct DeletedRow {
    let leaf: Leaf
    let row: Int
}

extension ChangesetEncoder {
    // MARK: Updates

    /// Reports that a cell was assigned. The cell is written later, together with other cells of its column.
    @inline(__always)
    mutating func updated(column: Int, _ cell: UpdatedCell) {
        while workspace.pendingUpdates.count <= column { workspace.pendingUpdates.append([]) }
        workspace.pendingUpdates[column].append(cell)
        if workspace.pendingUpdates[column].count == ChangesetFormat.updateCellCount { flushUpdates(column) }
    }

    /// Writes cells of one column that were assigned.
    mutating func updated(column: Int, _ cells: UnsafeBufferPointer<UpdatedCell>) {
        guard let column = columns.first(where: { $0.number == column }) else {
            preconditionFailure("Firn: an update of column \(column), which table \(table.index) does not have")
        }
        var start = 0
        while start < cells.count {
            let end = min(start + ChangesetFormat.updateCellCount, cells.count)
            updateBlocks(column, UnsafeBufferPointer(rebasing: cells[start..<end]))
            start = end
        }
    }

    mutating func flushUpdates(_ column: Int) {
        var cells: [UpdatedCell] = []
        swap(&cells, &workspace.pendingUpdates[column])
        cells.withUnsafeBufferPointer { updated(column: column, $0) }
        cells.removeAll(keepingCapacity: true)
        swap(&cells, &workspace.pendingUpdates[column])
    }

    private mutating func updateBlocks(_ column: NumberedColumn, _ cells: UnsafeBufferPointer<UpdatedCell>) {
        let count = cells.count
        guard count > 0 else { return }
        let new = stage(0, type: column.type, collection: column.collection, isNullable: column.isNullable)
        let old = stage(1, type: column.type, collection: column.collection, isNullable: column.isNullable)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { unchanged in
            updateBlocks(column, cells: cells, new: new, old: old, unchanged: unchanged.baseAddress.unsafelyUnwrapped)
        }
    }

    private mutating func updateBlocks(
        _ column: NumberedColumn, cells: UnsafeBufferPointer<UpdatedCell>, new: StagedColumn, old: StagedColumn,
        unchanged: UnsafeMutablePointer<UInt8>
    ) {
        let count = cells.count
        var unchangedCount = 0
        for index in 0..<count {
            let cell = cells[index]
            new.add(cell.chunk, Int(cell.row))
            let isUnchanged = cell.isUnchanged
            unchanged[index] = isUnchanged ? 1 : 0
            if isUnchanged {
                unchangedCount &+= 1
            } else if hasOldValues {
                old.add(cell.oldChunk, Int(cell.oldRow))
            }
        }
        let newBound = 128 &+ IntRun.bound(count) &+ count &+ new.byteBound
        let oldBound = 128 &+ old.byteBound
        let cellCount = count &+ new.cellCount &+ old.cellCount
        let size = RowsSize(
            bytes: newBound + oldBound, cells: cellCount, blobs: max(new.longByteCount, old.longByteCount))
        guard size.fits || count == 1 else {
            updateBlocks(column, UnsafeBufferPointer(rebasing: cells[..<(count / 2)]))
            updateBlocks(column, UnsafeBufferPointer(rebasing: cells[(count / 2)...]))
            return
        }
        sendBlobs(of: new, old: false)
        sendBlobs(of: old, old: true)
        reserve(size.bytes, cells: cellCount)
        let scratch = integers(count + 2 * max(new.valueCount, old.valueCount, new.rowCount) + count)
        for index in 0..<count { scratch[index] = cells[index].key }
        updateBlock(
            column, keys: scratch, count: count, unchanged: unchanged, unchangedCount: unchangedCount, new: new,
            newBound: newBound, old: old, oldBound: oldBound)
        for index in new.deferred {
            let cell = cells[index]
            elements(
                column, key: cell.key, owner: .updated,
                cell: ListCell(chunk: cell.chunk, row: Int(cell.row), layout: ElementLayout(column)))
        }
        guard hasOldValues else { return }
        // Writing elements reuses the staging areas, so the deferred old collections are determined again.
        let layout = ElementLayout(column)
        for cell in cells where column.collection != .none && !cell.isUnchanged {
            let list = ListCell(chunk: cell.oldChunk, row: Int(cell.oldRow), layout: layout)
            if ChangesetEncoder.isDeferred(list) { elements(column, key: cell.key, owner: .updatedOld, cell: list) }
        }
    }

    /// Writes an `update` block and the `updateOld` block that belongs to it. `keys` holds `count` keys, and behind
    /// them space that serves as scratch memory.
    mutating func updateBlock(
        _ column: NumberedColumn, keys: UnsafeMutablePointer<Int64>, count: Int, unchanged: UnsafePointer<UInt8>,
        unchangedCount: Int, new: StagedColumn, newBound: Int, old: StagedColumn, oldBound: Int
    ) {
        let table = table
        let scratch = keys + count
        var byteCount = 0
        block(.update, bound: newBound) { cursor in
            cursor.varint(table.index)
            cursor.varint(column.number)
            cursor.varint(count)
            IntRun.encode(keys, count: count, into: &cursor)
            cursor.byte(unchangedCount > 0 ? 1 : 0)
            if unchangedCount > 0 { cursor.bitmap(unchanged, count) }
            let start = cursor.address
            ColumnCoding.encode(new, scratch: scratch, into: &cursor)
            byteCount = cursor.address - start
        }
        note(byteCount, cells: new.cellCount, old: false)
        guard unchangedCount < count, hasOldValues else { return }
        block(.updateOld, old: true, bound: oldBound) { cursor in
            cursor.varint(table.index)
            cursor.varint(column.number)
            let start = cursor.address
            ColumnCoding.encode(old, scratch: scratch, into: &cursor)
            byteCount = cursor.address - start
        }
        note(byteCount, cells: old.cellCount, old: true)
    }

    // MARK: Deletes

    /// Reports that a row was deleted. The row is written later, together with other rows of its table.
    mutating func deleted(_ leaf: Leaf, _ row: Int) {
        workspace.pendingDeletes.append(DeletedRow(leaf: leaf, row: row))
        if workspace.pendingDeletes.count == 1024 { flushDeletes() }
    }

    mutating func flushDeletes() {
        guard !workspace.pendingDeletes.isEmpty else { return }
        var rows: [DeletedRow] = []
        swap(&rows, &workspace.pendingDeletes)
        // Runs of neighbours in a leaf are written straight from their chunks. Single rows are staged together.
        var single: [DeletedRow] = []
        var start = 0
        while start < rows.count {
            var end = start + 1
            while end < rows.count, rows[end].leaf.node == rows[start].leaf.node,
                rows[end].row == rows[start].row + end - start
            {
                end += 1
            }
            if end - start >= 32 {
                deleted(rows[start].leaf, rows[start].row..<rows[start].row + end - start)
            } else {
                single += rows[start..<end]
            }
            start = end
        }
        deleteBlocks(single[...])
        rows.removeAll(keepingCapacity: true)
        swap(&rows, &workspace.pendingDeletes)
    }

    private mutating func deleteBlocks(_ rows: ArraySlice<DeletedRow>) {
        guard let first = rows.first else { return }
        guard hasOldValues else { return deleteBlock(rows) }
        if rows.count == 1 {
            deleted(first.leaf, first.row..<first.row + 1)
            return
        }
        let count = rows.count
        var size = RowsSize(bytes: 256 + 2 * IntRun.bound(count), cells: 2 * count, blobs: 0)
        var staged: [StagedColumn] = []
        for (index, column) in columns.enumerated() {
            let stage = stage(index, type: column.type, collection: column.collection, isNullable: column.isNullable)
            for row in rows {
                precondition(row.leaf.hasChunk(column.number), "Firn: a leaf lacks column \(column.number)")
                stage.add(row.leaf.chunk(column.number), row.row)
            }
            size.bytes += 8 + stage.byteBound
            size.cells += stage.cellCount
            size.blobs += stage.longByteCount
            staged.append(stage)
        }
        guard size.fits, staged.allSatisfy({ $0.deferred.isEmpty }) else {
            let middle = rows.startIndex + count / 2
            deleteBlocks(rows[..<middle])
            deleteBlocks(rows[middle...])
            return
        }
        for stage in staged { sendBlobs(of: stage, old: true) }
        reserve(size.bytes, cells: size.cells)
        let longest = staged.reduce(count) { max($0, $1.valueCount) }
        let scratch = integers(count + 2 * longest)
        for (index, row) in rows.enumerated() { scratch[index] = row.leaf.key(row.row) }
        let (table, columns) = (table, columns)
        let start = part.count
        block(.deleteOld, old: true, bound: size.bytes) { cursor in
            cursor.varint(table.index)
            cursor.varint(count)
            IntRun.encode(scratch, count: count, into: &cursor)
            cursor.varint(columns.count)
            for (column, stage) in zip(columns, staged) {
                cursor.varint(column.number)
                ColumnCoding.encode(stage, scratch: scratch + count, into: &cursor)
            }
        }
        note(part.count - start, cells: size.cells - count, old: true)
        block(.delete, bound: 64 + IntRun.bound(count)) { cursor in
            cursor.varint(table.index)
            cursor.varint(count)
            IntRun.encode(scratch, count: count, into: &cursor)
        }
    }

    /// Writes the keys of deleted rows, without old values.
    private mutating func deleteBlock(_ rows: ArraySlice<DeletedRow>) {
        let (count, bound) = (rows.count, 64 + IntRun.bound(rows.count))
        reserve(bound, cells: count)
        let keys = integers(count)
        for (index, row) in rows.enumerated() { keys[index] = row.leaf.key(row.row) }
        let table = table
        block(.delete, bound: bound) { cursor in
            cursor.varint(table.index)
            cursor.varint(count)
            IntRun.encode(keys, count: count, into: &cursor)
        }
    }
}

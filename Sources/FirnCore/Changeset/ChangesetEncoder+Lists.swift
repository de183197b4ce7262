import FirnBytes

extension ChangesetEncoder {
    /// The number of bytes of elements after which a block ends.
    private static let elementsByteCount = 256 << 10

    /// Whether a collection is too long for its row's block. It counts in the same way as
    /// `StagedColumn.add(elementsOf:)`.
    static func isDeferred(_ cell: ListCell) -> Bool {
        let count = cell.count
        let layout = cell.layout
        if layout.form != .variable {
            return count > max(ChangesetFormat.cellByteCount / (layout.width + 1), 1)
        }
        var taken = 0
        var passed = 0
        cell.forEachBytes { key, bytes in
            taken += 8 + (key?.count ?? 0) + (bytes?.count ?? 0)
            if taken > ChangesetFormat.cellByteCount, passed > 0 { return false }
            passed += 1
            return true
        }
        return passed < count
    }

    /// Writes a collection that was left empty in its row's block. The collection gets as many blocks as it needs.
    mutating func elements(_ column: NumberedColumn, key: Int64, owner: ElementsOwner, cell: ListCell) {
        let count = cell.count
        var next = 0
        while next < count {
            let stage = stage(0, type: column.type, collection: column.collection, isNullable: column.isNullable)
            next = stage.add(elementsOf: cell, count, from: next, limit: ChangesetEncoder.elementsByteCount)
            stage.endCollection(since: 0)
            elementsBlock(column.number, key: key, owner: owner, stage: stage)
        }
    }

    mutating func elementsBlock(_ column: Int, key: Int64, owner: ElementsOwner, stage: StagedColumn) {
        sendBlobs(of: stage, old: owner.isOld)
        let bound = 64 + stage.byteBound
        reserve(bound + 64, cells: stage.cellCount)
        let scratch = integers(2 * max(stage.valueCount, 1))
        let (table, start) = (table, part.count)
        block(.elements, old: owner.isOld, bound: bound) { cursor in
            cursor.varint(table.index)
            cursor.varint(column)
            cursor.varint(Int(key))
            cursor.byte(owner.rawValue)
            ColumnCoding.encode(stage, scratch: scratch, into: &cursor)
        }
        note(part.count - start, cells: stage.cellCount, old: owner.isOld)
    }

    // MARK: Scripts

    /// Writes the edits of the collection in one cell. This changeset must not insert the cell's row.
    mutating func script(column: Int, key: Int64, _ script: ListScript) {
        guard let column = columns.first(where: { $0.number == column }) else {
            preconditionFailure("Firn: a script of column \(column), which table \(table.index) does not have")
        }
        precondition(
            column.collection != .none, "Firn: a script of column \(column.number), which holds no collections")
        let (new, old) = (
            stage(0, type: column.type, collection: column.collection, isNullable: column.isNullable),
            stage(1, type: column.type, collection: column.collection, isNullable: column.isNullable)
        )
        var operations: [ChangesetBlock.Operation] = []
        for edit in script.edits {
            switch edit {
            case .insert(let index, let value):
                new.addElement(value)
                ChangesetBlock.Operation.extend(&operations, .insert(index, count: 1))
            case .remove(let index, let value):
                if hasOldValues { old.addElement(value) }
                ChangesetBlock.Operation.extend(&operations, .remove(index, count: 1))
            case .set(let index, let value, let replaced):
                new.addElement(value)
                if hasOldValues { old.addElement(replaced) }
                ChangesetBlock.Operation.extend(&operations, .set(index, count: 1))
            case .move(let from, let to): operations.append(.move(from: from, to: to))
            case .removeAll(let values) where !hasOldValues:
                ChangesetBlock.Operation.extend(&operations, .remove(0, count: values.count))
            case .removeAll(let values):
                for value in values {
                    old.addElement(value)
                    ChangesetBlock.Operation.extend(&operations, .remove(0, count: 1))
                    flushScript(column, key: key, operations: &operations, new: new, old: old)
                }
            }
            flushScript(column, key: key, operations: &operations, new: new, old: old)
        }
        // A script without edits still says that the collection was assigned.
        if !operations.isEmpty || script.isEmpty {
            scriptBlock(column, key: key, operations: operations, new: new, old: old)
        }
    }

    /// Writes the staged part of a script once it is long enough.
    private mutating func flushScript(
        _ column: NumberedColumn, key: Int64, operations: inout [ChangesetBlock.Operation], new: StagedColumn,
        old: StagedColumn
    ) {
        let byteCount =
            new.inlineByteCount + old.inlineByteCount + 17 * (new.valueCount + old.valueCount) + 16 * operations.count
        guard
            byteCount > ChangesetEncoder.elementsByteCount
                || new.longByteCount + old.longByteCount > ChangesetFormat.blobByteCount
        else { return }
        scriptBlock(column, key: key, operations: operations, new: new, old: old)
        operations.removeAll(keepingCapacity: true)
        for stage in [new, old] {
            let isNullable = stage.isNullable
            stage.begin(column.type, column.collection)
            stage.isNullable = isNullable
        }
    }

    private mutating func scriptBlock(
        _ column: NumberedColumn, key: Int64, operations: [ChangesetBlock.Operation], new: StagedColumn,
        old: StagedColumn
    ) {
        new.endCollection(since: 0)
        old.endCollection(since: 0)
        sendBlobs(of: new, old: false)
        sendBlobs(of: old, old: true)
        let newBound = 128 + 21 * operations.count + new.byteBound
        let oldBound = 128 + old.byteBound
        reserve(newBound + oldBound, cells: new.cellCount + old.cellCount + operations.count)
        let scratch = integers(2 * max(new.valueCount, old.valueCount, 1))
        let table = table
        var byteCount = 0
        block(.script, bound: newBound) { cursor in
            cursor.varint(table.index)
            cursor.varint(column.number)
            cursor.varint(Int(key))
            cursor.varint(operations.count)
            for operation in operations { ChangesetEncoder.write(operation, &cursor) }
            let start = cursor.address
            ColumnCoding.encode(new, scratch: scratch, into: &cursor)
            byteCount = cursor.address - start
        }
        note(byteCount, cells: new.valueCount, old: false)
        guard old.valueCount > 0 else { return }
        block(.scriptOld, old: true, bound: oldBound) { cursor in
            cursor.varint(table.index)
            cursor.varint(column.number)
            cursor.varint(Int(key))
            let start = cursor.address
            ColumnCoding.encode(old, scratch: scratch, into: &cursor)
            byteCount = cursor.address - start
        }
        note(byteCount, cells: old.valueCount, old: true)
    }

    private static func write(_ operation: ChangesetBlock.Operation, _ cursor: inout RawCursor) {
        let (code, first, second): (UInt8, Int, Int) =
            switch operation {
            case .insert(let index, let count): (1, index, count)
            case .remove(let index, let count): (2, index, count)
            case .set(let index, let count): (3, index, count)
            case .move(let from, let to): (4, from, to)
            }
        cursor.byte(code)
        cursor.varint(first)
        cursor.varint(second)
    }
}

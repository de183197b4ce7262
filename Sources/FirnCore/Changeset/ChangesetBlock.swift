import FirnBytes

/// One block of a changeset, validated and ready to be read. `ChangesetReader` passes it to a closure, and it is valid
/// only until the closure returns.
enum ChangesetBlock {
    /// The schema that holds from this version on.
    case schema(StoreSchema)
    /// New rows.
    case insert(Rows)
    /// More columns of new rows that an earlier `insert` block began.
    case insertMore(Rows)
    /// Old values of deleted rows.
    case deleteOld(Rows)
    /// Deleted rows.
    case delete(TableID, IntRun)
    /// Assigned cells of one column.
    case update(Cells)
    /// Edits of one collection.
    case script(Script)
    /// More elements of a collection that an earlier block left empty.
    case elements(Elements)
    /// The key that the table's next new object gets.
    case nextKey(TableID, Int64)

    struct Rows {
        let table: TableID
        let keys: IntRun
        var columns: [(number: Int, values: ColumnDecoder)]
    }

    struct Cells {
        let table: TableID
        let column: Int
        let keys: IntRun
        fileprivate let unchanged: UnsafeRawPointer?
        fileprivate let unchangedCount: Int
        var new: ColumnDecoder
        /// The old values of the cells whose value changed. Nil if the reader reads forward, if no value changed, or if
        /// the changeset has no old values.
        var old: ColumnDecoder?

        /// Whether the assigned value is equal to the old one.
        func isUnchanged(_ index: Int) -> Bool { unchanged.map { ColumnDecoder.bit($0, index) } ?? false }
    }

    /// A step of an edit script. Its indices refer to the collection as the steps before it have left it.
    enum Operation {
        /// Inserts `count` new elements, the first one at the index.
        case insert(Int, count: Int)
        /// Removes `count` elements from the index on.
        case remove(Int, count: Int)
        /// Replaces `count` elements from the index on.
        case set(Int, count: Int)
        /// Moves the element at `from`, so that its new index is `to`.
        case move(from: Int, to: Int)

        /// Adds a step. A step that continues the last operation is merged into it.
        static func extend(_ operations: inout [Operation], _ step: Operation) {
            switch (operations.last, step) {
            case (.insert(let start, let count)?, .insert(let index, let more)) where index == start + count:
                operations[operations.count - 1] = .insert(start, count: count + more)
            case (.remove(let start, let count)?, .remove(let index, let more)) where index == start:
                operations[operations.count - 1] = .remove(start, count: count + more)
            case (.set(let start, let count)?, .set(let index, let more)) where index == start + count:
                operations[operations.count - 1] = .set(start, count: count + more)
            default: operations.append(step)
            }
        }
    }

    struct Script {
        let table: TableID
        let column: Int
        let key: Int64
        let operations: [Operation]
        /// One row, which holds the inserted and set elements in the order of the operations.
        var new: ColumnDecoder
        /// One row, which holds the removed and replaced elements in the order of the operations. Nil if the reader
        /// reads forward, if there are no such elements, or if the changeset has no old values.
        var old: ColumnDecoder?
        let oldCount: Int
    }

    struct Elements {
        let table: TableID
        let column: Int
        let key: Int64
        let owner: ElementsOwner
        /// One row, which holds the elements.
        var values: ColumnDecoder
    }

    // MARK: Reading

    init(
        kind: BlockKind, isOld: Bool, reader: inout ByteReader, context: inout ColumnDecoder.Context
    ) throws(Damage) {
        let start = reader.offset
        var mayBeOld = kind == .deleteOld
        switch kind {
        case .schema: self = .schema(try ChangesetBlock.schema(&reader, &context))
        case .insert: self = .insert(try ChangesetBlock.rows(&reader, &context, ascending: true))
        case .insertMore: self = .insertMore(try ChangesetBlock.rows(&reader, &context, ascending: true))
        case .deleteOld: self = .deleteOld(try ChangesetBlock.rows(&reader, &context, ascending: false))
        case .delete:
            let table = try ChangesetBlock.table(&reader)
            self = .delete(table, try ChangesetBlock.keys(&reader, &context, ascending: false))
        case .update: self = .update(try ChangesetBlock.cells(&reader, &context))
        case .script: self = .script(try ChangesetBlock.script(&reader, &context))
        case .elements:
            let table = try ChangesetBlock.table(&reader)
            let column = try reader.readCount(limit: Limits.columnCount - 1)
            let key = try ChangesetBlock.key(&reader)
            guard let owner = ElementsOwner(rawValue: try reader.readUInt8()) else {
                throw Damage("elements with an unknown owner", at: start)
            }
            mayBeOld = owner.isOld
            let values = try ChangesetBlock.collection(&reader, &context)
            self = .elements(Elements(table: table, column: column, key: key, owner: owner, values: values))
        case .nextKey:
            let table = try ChangesetBlock.table(&reader)
            self = .nextKey(table, try ChangesetBlock.key(&reader))
        case .blob, .updateOld, .scriptOld, .withoutOld:
            throw Damage("old values without the block that they belong to", at: start)
        }
        guard isOld == mayBeOld else {
            throw Damage("a block is marked as old values and is not, or the other way round", at: start)
        }
    }

    /// Reads the block of old values that follows this block, and adds the values to this block.
    mutating func addOld(_ reader: inout ByteReader, _ context: inout ColumnDecoder.Context) throws(Damage) {
        let start = reader.offset
        let table = try ChangesetBlock.table(&reader)
        let column = try reader.readCount(limit: Limits.columnCount - 1)
        switch self {
        case .update(var cells):
            guard table == cells.table, column == cells.column else { break }
            let old = try ColumnDecoder(
                reader: &reader, count: cells.keys.count - cells.unchangedCount, context: &context)
            guard old.type == cells.new.type, old.collection == cells.new.collection else { break }
            cells.old = old
            self = .update(cells)
            return
        case .script(var script):
            guard table == script.table, column == script.column, try ChangesetBlock.key(&reader) == script.key else {
                break
            }
            let old = try ChangesetBlock.collection(&reader, &context)
            guard old.type == script.new.type, old.collection == script.new.collection,
                old.integers[0] == script.oldCount
            else { break }
            script.old = old
            self = .script(script)
            return
        default: break
        }
        throw Damage("old values do not belong to the block before them", at: start)
    }

    private static func table(_ reader: inout ByteReader) throws(Damage) -> TableID {
        TableID(try reader.readCount(limit: Limits.tableCount - 1))
    }

    private static func key(_ reader: inout ByteReader) throws(Damage) -> Int64 {
        Int64(try reader.readCount(limit: Int(ChangesetFormat.keyLimit - 1)))
    }

    private static func keys(
        _ reader: inout ByteReader, _ context: inout ColumnDecoder.Context, ascending: Bool
    ) throws(Damage) -> IntRun {
        let start = reader.offset
        let count = try reader.readCount(limit: Limits.partCellCount)
        try context.take(count, at: start)
        let keys = try IntRun(&reader, count)
        guard keys.fits(0, ChangesetFormat.keyLimit) else {
            throw Damage("a key is out of range", at: start)
        }
        if ascending, keys.width != IntRun.ascending, count > 1 {
            for index in 1..<count where keys[index - 1] >= keys[index] {
                throw Damage("the keys of new rows do not ascend", at: start)
            }
        }
        return keys
    }

    private static func rows(
        _ reader: inout ByteReader, _ context: inout ColumnDecoder.Context, ascending: Bool
    ) throws(Damage) -> Rows {
        let table = try table(&reader)
        let keys = try keys(&reader, &context, ascending: ascending)
        let count = try reader.readCount(limit: Limits.columnCount)
        var columns: [(number: Int, values: ColumnDecoder)] = []
        columns.reserveCapacity(count)
        for _ in 0..<count {
            let start = reader.offset
            let number = try reader.readCount(limit: Limits.columnCount - 1)
            if let last = columns.last, last.number >= number {
                throw Damage("the columns of rows do not ascend", at: start)
            }
            columns.append((number, try ColumnDecoder(reader: &reader, count: keys.count, context: &context)))
        }
        return Rows(table: table, keys: keys, columns: columns)
    }

    private static func cells(
        _ reader: inout ByteReader, _ context: inout ColumnDecoder.Context
    ) throws(Damage) -> Cells {
        let table = try table(&reader)
        let column = try reader.readCount(limit: Limits.columnCount - 1)
        let keys = try keys(&reader, &context, ascending: false)
        let start = reader.offset
        var unchanged: UnsafeRawPointer?
        var unchangedCount = 0
        switch try reader.readUInt8() {
        case 0: break
        case 1:
            let bitmap = try ColumnDecoder.bitmap(&reader, keys.count)
            for index in 0..<keys.count where ColumnDecoder.bit(bitmap, index) { unchangedCount += 1 }
            unchanged = bitmap
        default: throw Damage("an update block has an unknown flag for unchanged cells", at: start)
        }
        let new = try ColumnDecoder(reader: &reader, count: keys.count, context: &context)
        return Cells(
            table: table, column: column, keys: keys, unchanged: unchanged, unchangedCount: unchangedCount, new: new,
            old: nil)
    }

    /// Reads a run of one row that holds a collection.
    private static func collection(
        _ reader: inout ByteReader, _ context: inout ColumnDecoder.Context
    ) throws(Damage) -> ColumnDecoder {
        let start = reader.offset
        let values = try ColumnDecoder(reader: &reader, count: 1, context: &context)
        guard values.collection != .none else {
            throw Damage("the elements of a collection are not stored as one", at: start)
        }
        return values
    }

    private static func script(
        _ reader: inout ByteReader, _ context: inout ColumnDecoder.Context
    ) throws(Damage) -> Script {
        let table = try table(&reader)
        let column = try reader.readCount(limit: Limits.columnCount - 1)
        let key = try key(&reader)
        let start = reader.offset
        let count = try reader.readCount(limit: Limits.partCellCount)
        try context.take(count, at: start)
        var operations: [Operation] = []
        var newCount = 0
        var oldCount = 0
        for _ in 0..<count {
            let start = reader.offset
            let code = try reader.readUInt8()
            let first = try reader.readCount(limit: Limits.listCount - 1)
            let second = try reader.readCount(limit: Limits.listCount - 1)
            guard code == 4 || second > 0 else {
                throw Damage("an operation of a script has no elements", at: start)
            }
            // There are at most 2^20 operations of at most 2^31 elements each, so the sums can't overflow.
            switch code {
            case 1:
                operations.append(.insert(first, count: second))
                newCount += second
            case 2:
                operations.append(.remove(first, count: second))
                oldCount += second
            case 3:
                operations.append(.set(first, count: second))
                newCount += second
                oldCount += second
            case 4: operations.append(.move(from: first, to: second))
            default: throw Damage("an unknown operation \(code) of a script", at: start)
            }
        }
        let new = try collection(&reader, &context)
        guard new.integers[0] == newCount else {
            throw Damage("a script's operations need \(newCount) new elements, and it has another number", at: start)
        }
        return Script(
            table: table, column: column, key: key, operations: operations, new: new, old: nil, oldCount: oldCount)
    }

    private static func schema(
        _ reader: inout ByteReader, _ context: inout ColumnDecoder.Context
    ) throws(Damage) -> StoreSchema {
        let start = reader.offset
        let bytes: UnsafeRawBufferPointer
        switch try reader.readUInt8() {
        case 0: bytes = try reader.readBytes(reader.remaining)
        case 1:
            let id = try reader.readVarint()
            let length = try reader.readCount(limit: Limits.schemaByteCount)
            guard let blob = context.blobs.take(id, length) else {
                throw Damage("the schema refers to blob \(id), which did not come before it", at: start)
            }
            bytes = blob
        default: throw Damage("a schema of an unknown form", at: start)
        }
        do throws(Damage) {
            return try SchemaCoding.decode(bytes)
        } catch {
            throw Damage("its schema is damaged, \(error)", at: start)
        }
    }
}

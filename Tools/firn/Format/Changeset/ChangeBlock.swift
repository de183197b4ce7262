import FirnBytes

/// A run of object keys.
struct KeyRun {
    let run: IntRun

    var count: Int { run.count }
    subscript(index: Int) -> Int64 { run[index] }

    init(_ reader: inout ByteReader, _ context: inout CellRun.Context) throws(Damage) {
        let start = reader.offset
        let count = try reader.readCount(limit: FormatNumbers.partCellCount)
        try context.take(count, at: start)
        run = try IntRun(&reader, count: count)
        if let key = run.first(outside: 0..<FormatNumbers.keyLimit) {
            throw Damage("\(key) can't be an object's key", at: start)
        }
    }
}

/// Objects with the values of some of their columns: table · keys · number of columns · per column: its number, values.
struct RowRun {
    let table: Int
    let keys: KeyRun
    let columns: [(column: Int, values: CellRun)]

    init(_ reader: inout ByteReader, _ context: inout CellRun.Context) throws(Damage) {
        table = try reader.readCount(limit: FormatNumbers.tableCount - 1)
        keys = try KeyRun(&reader, &context)
        var columns: [(column: Int, values: CellRun)] = []
        for _ in 0..<(try reader.readCount(limit: FormatNumbers.columnCount)) {
            let start = reader.offset
            let column = try reader.readCount(limit: FormatNumbers.columnCount - 1)
            guard !columns.contains(where: { $0.column == column }) else {
                throw Damage("column \(column) comes twice", at: start)
            }
            columns.append((column, try CellRun(&reader, count: keys.count, &context)))
        }
        self.columns = columns
    }
}

/// Objects that were deleted.
struct DeleteRun {
    let table: Int
    let keys: KeyRun
    /// Whether the log has their old values, in the deleteOld blocks before this one.
    let hasOldValues: Bool
}

/// Assignments of one property of several objects.
struct UpdateRun {
    let table: Int
    let column: Int
    let keys: KeyRun
    /// A bit for each cell: set if the assigned value equals the old one. Nil if no value does.
    let unchanged: Bitmap?
    let values: CellRun
    /// The old values of the cells whose bit is not set, in order. Nil if all bits are set, or if these values were not
    /// logged.
    var old: CellRun?

    /// How many old values there must be.
    var oldCount: Int { keys.count - (unchanged?.setCount ?? 0) }

    /// Whether there are old values that were not logged.
    var lacksOldValues: Bool { old == nil && oldCount > 0 }

    init(_ reader: inout ByteReader, _ context: inout CellRun.Context) throws(Damage) {
        table = try reader.readCount(limit: FormatNumbers.tableCount - 1)
        column = try reader.readCount(limit: FormatNumbers.columnCount - 1)
        keys = try KeyRun(&reader, &context)
        let start = reader.offset
        let form = try reader.readUInt8()
        guard form <= 1 else {
            throw Damage("the bitmap of an update has the unknown form \(form)", at: start)
        }
        unchanged = form == 1 ? try Bitmap(&reader, count: keys.count) : nil
        values = try CellRun(&reader, count: keys.count, &context)
    }
}

/// Edits of one collection.
struct EditScript {
    enum Operation {
        case insert(index: Int, count: Int)
        case remove(index: Int, count: Int)
        case replace(index: Int, count: Int)
        case move(from: Int, to: Int)

        var newCount: Int {
            switch self {
            case .insert(_, let count), .replace(_, let count): count
            case .remove, .move: 0
            }
        }

        var oldCount: Int {
            switch self {
            case .remove(_, let count), .replace(_, let count): count
            case .insert, .move: 0
            }
        }
    }

    let table: Int
    let column: Int
    let key: Int64
    let operations: [Operation]
    /// One row: all new elements, in the order of the operations.
    let new: CellRun
    /// One row: all old elements; nil if there are none, or if they were not logged.
    var old: CellRun?

    init(_ reader: inout ByteReader, _ context: inout CellRun.Context) throws(Damage) {
        (table, column, key) = try Self.location(&reader)
        let start = reader.offset
        var operations: [Operation] = []
        // An operation has at least three bytes. If there is none, the collection was assigned and is unchanged.
        let count = try reader.readCount(limit: reader.remaining / 3)
        try context.take(count, at: start)
        for _ in 0..<count {
            operations.append(try Self.operation(&reader))
        }
        new = try CellRun(&reader, count: 1, &context)
        guard new.collection != .none, new.elementCount == operations.reduce(0, { $0 + $1.newCount }) else {
            throw Damage("a script has \(new.elementCount) new elements, not as many as it inserts", at: start)
        }
        self.operations = operations
    }

    var oldCount: Int { operations.reduce(0) { $0 + $1.oldCount } }

    /// Whether there are old elements that were not logged.
    var lacksOldValues: Bool { old == nil && oldCount > 0 }

    private static func operation(_ reader: inout ByteReader) throws(Damage) -> Operation {
        let start = reader.offset
        let code = try reader.readUInt8()
        let limit = Int(Int32.max)
        let first = try reader.readCount(limit: limit)
        let second = try reader.readCount(limit: limit)
        guard code == 4 || second > 0 else {
            throw Damage("an operation affects no element", at: start)
        }
        switch code {
        case 1: return .insert(index: first, count: second)
        case 2: return .remove(index: first, count: second)
        case 3: return .replace(index: first, count: second)
        case 4: return .move(from: first, to: second)
        default: throw Damage("a script has the unknown operation \(code)", at: start)
        }
    }

    /// Reads the cell that a block is about: table · column · key
    static func location(_ reader: inout ByteReader) throws(Damage) -> (table: Int, column: Int, key: Int64) {
        let table = try reader.readCount(limit: FormatNumbers.tableCount - 1)
        let column = try reader.readCount(limit: FormatNumbers.columnCount - 1)
        let key = try reader.readCount(limit: Int(FormatNumbers.keyLimit - 1))
        return (table, column, Int64(key))
    }
}

/// More elements of a collection that was too long for its object's block.
struct MoreElements {
    /// Which collection the elements continue.
    enum Owner: UInt8 {
        case inserted, deleted, updated, updatedOld
        var isOld: Bool { self == .deleted || self == .updatedOld }
    }

    let table: Int
    let column: Int
    let key: Int64
    let owner: Owner
    /// One row: the further elements.
    let values: CellRun
}

/// A block of a changeset, with the blobs put into its values, and with old values beside the new ones.
enum ChangeBlock {
    case schema(DecodedSchema)
    case insert(RowRun)
    case insertMore(RowRun)
    case delete(DeleteRun)
    case deleteOld(RowRun)
    case update(UpdateRun)
    case script(EditScript)
    case elements(MoreElements)
    case nextKey(table: Int, Int64)
    /// A block of a later release, which says that it may be skipped.
    case unknown(kind: UInt8, byteCount: Int)

    /// The table that the block belongs to; nil for a schema or an unknown block.
    var table: Int? {
        switch self {
        case .schema, .unknown: nil
        case .insert(let rows), .insertMore(let rows), .deleteOld(let rows): rows.table
        case .delete(let rows): rows.table
        case .nextKey(let table, _): table
        case .update(let update): update.table
        case .script(let script): script.table
        case .elements(let more): more.table
        }
    }
}

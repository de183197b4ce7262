/// Merges the rows of a table in the checkpoints with what the log has changed since, in the order of their keys.
///
/// It is used by one thread, for one walk through a range of keys.
struct TableMerge {
    /// A row whose values are being put together.
    private struct Draft {
        var row: RecoveredRow
        /// The columns whose values are lost, or can't be right.
        var lost: [Int] = []
        /// The columns whose values are those of an older checkpoint.
        var outdated: [(column: Int, version: UInt64)] = []
        /// The version of the row's checkpoint, if a newer checkpoint has lost the row.
        var outdatedSince: UInt64?
    }

    private let number: Int
    private let table: DecodedSchema.Table
    private let range: Range<Int64>
    private let columns: RowColumns
    /// The columns that are read.
    private let read: [Int]
    private let sources: RecoverSources
    private let changes: NetChanges
    /// The first version that is lost.
    private let firstLost: UInt64
    /// The keys of the objects that the log has changed, in order, and the first that was not visited yet.
    private let changed: [Int64]
    private var next = 0
    /// The number of visited objects that no checkpoint has, although the log did not insert them.
    private var partialCount = 0
    private var lastKey: Int64 = -1
    private(set) var losses: RowLosses

    /// - Parameters:
    ///   - changedKeys: the keys of the table's objects in `changes`, in any order.
    ///   - losses: the losses of the walk until now.
    init(
        _ number: Int, of schema: DecodedSchema, range: Range<Int64>, columns: RowColumns, sources: RecoverSources,
        changes: NetChanges, changedKeys: [Int64], losses: RowLosses
    ) {
        let table = schema.tables[number]
        self.number = number
        self.table = table
        self.range = range
        self.columns = columns
        // Without its primary key, a row is lost, so the primary key is always read.
        read = table.columns.indices.filter { column in
            !table.columns[column].isRemoved
                && (columns == .plain || table.primaryKey == column || columns.contains(column, of: table))
        }
        self.sources = sources
        self.changes = changes
        self.losses = losses
        firstLost = sources.firstLost
        changed = changedKeys.filter(range.contains).sorted()
    }

    /// Calls `visit` with each row.
    mutating func run(_ visit: (RecoveredRow) throws -> Void) throws {
        if let start = sources.start(of: number) { _ = try visitRows(of: start, range, visit) }
        try visitChanged(before: .max, visit)
    }

    // MARK: The walk

    private func object(_ key: Int64) -> NetObject? { changes.objects[.init(table: number, key: key)] }

    /// Visits the objects with lower keys that no checkpoint has.
    private mutating func visitChanged(before key: Int64, _ visit: (RecoveredRow) throws -> Void) throws {
        while next < changed.count, changed[next] < key {
            if let object = object(changed[next]) {
                if object.change != .inserted { partialCount += 1 }
                if object.change != .deleted { try finish(draft(changed[next], object), visit) }
            }
            next += 1
        }
    }

    /// Visits the rows that a checkpoint has. For rows that can't be read there, it visits the rows of the checkpoint
    /// before.
    ///
    /// - Parameters:
    ///   - index: the checkpoint's index.
    ///   - isOutdated: whether rows are taken because they can't be read in a newer checkpoint.
    /// - Returns: how many rows there were.
    private mutating func visitRows(
        of index: Int, _ range: Range<Int64>, isOutdated: Bool = false, _ visit: (RecoveredRow) throws -> Void
    ) throws -> Int {
        guard sources.checkpoints.indices.contains(index) else { return 0 }
        let checkpoint = sources.checkpoints[index]
        var count = 0
        try checkpoint.forEachLeaf(number, range: range) { item in
            switch item {
            case .lost(let lost):
                let keys = lost.keys.clamped(to: range)
                guard !keys.isEmpty else { return }
                let partialBefore = partialCount
                let older = try visitRows(of: index + 1, keys, isOutdated: true, visit)
                try visitChanged(before: keys.upperBound, visit)
                count += older
                guard !isOutdated else { return }
                // Lost rows that the log has changed since are reported separately.
                losses.add(lost, of: number, outdated: older, partial: partialCount - partialBefore)
            case .leaf(let leaf):
                let rows = try LeafRows(
                    leaf, of: checkpoint, table: number, columns: read, older: sources.checkpoints[(index + 1)...])
                for (row, key) in rows.keys.enumerated() where range.contains(key) {
                    try visitChanged(before: key, visit)
                    count += 1
                    var change: NetObject?
                    if next < changed.count, changed[next] == key {
                        change = object(key)
                        next += 1
                    }
                    if change?.change == .deleted { continue }
                    var draft = try draft(key, row: row, of: rows, change)
                    if isOutdated { draft.outdatedSince = checkpoint.version }
                    try finish(draft, visit)
                }
            }
        }
        return count
    }

    /// Visits a row, unless its primary key is lost.
    private mutating func finish(_ draft: Draft, _ visit: (RecoveredRow) throws -> Void) throws {
        let key = draft.row.key
        if let primaryKey = table.primaryKey, draft.lost.contains(primaryKey) {
            return losses.objects.add(key, at: SchemaPath(table: number))
        }
        for column in draft.lost { losses.values.add(key, at: SchemaPath(table: number, column: column)) }
        for (column, version) in draft.outdated where !draft.lost.contains(column) {
            losses.addOutdated(key, since: version, at: SchemaPath(table: number, column: column))
        }
        if let version = draft.outdatedSince { losses.addOutdated(key, since: version, at: SchemaPath(table: number)) }
        // Leaves whose keys overlap contradict each other: the first one wins.
        guard key > lastKey else { return losses.objects.add(key, at: SchemaPath(table: number)) }
        lastKey = key
        try visit(draft.row)
    }

    // MARK: Values

    private func blank(_ key: Int64) -> Draft {
        Draft(
            row: RecoveredRow(table: number, key: key, values: Array(repeating: nil, count: table.columns.count)))
    }

    /// The draft of an object that only the log has.
    private mutating func draft(_ key: Int64, _ object: NetObject) -> Draft {
        var draft = blank(key)
        for column in read where !put(object, column: column, into: &draft) && object.change == .updated {
            draft.lost.append(column)
        }
        return draft
    }

    /// A row of a checkpoint, with what the log has changed in it since.
    private mutating func draft(_ key: Int64, row: Int, of rows: LeafRows, _ change: NetObject?) throws -> Draft {
        var draft = blank(key)
        for column in read {
            if let change, put(change, column: column, into: &draft) { continue }
            let collection = change?.collections[column]
            switch try rows.value(column, row: row) {
            case .here(let cell): put(cell, editedBy: collection, column: column, into: &draft)
            case .older(let kept, let version):
                draft.outdated.append((column, version))
                withExtendedLifetime(kept) {
                    put(kept.cell, editedBy: collection, column: column, into: &draft)
                }
            // A collection that was added later was empty.
            case .tooOld: if collection != nil { put(.list([]), editedBy: collection, column: column, into: &draft) }
            case .lost: draft.lost.append(column)
            }
        }
        rows.forget()
        return draft
    }

    /// Puts the value that the log has for a column into a row. Returns false if it has none.
    private mutating func put(_ object: NetObject, column: Int, into draft: inout Draft) -> Bool {
        if table.columns[column].collection == .none {
            guard let kept = object.singles[column]?.new else { return false }
            put(kept.cell, column: column, into: &draft)
            return true
        }
        guard let collection = object.collections[column], let elements = collection.new else { return false }
        put(elements, of: collection, column: column, into: &draft)
        return true
    }

    /// Puts the value that a checkpoint has into a row.
    ///
    /// - Parameter collection: how the log has edited it since.
    private mutating func put(
        _ cell: Cell, editedBy collection: NetCollection?, column: Int, into draft: inout Draft
    ) {
        guard let collection else { return put(cell, column: column, into: &draft) }
        put(collection.edited(KeptCollection(cell)), of: collection, column: column, into: &draft)
    }

    /// Puts a collection's elements into a row. They are doubtful if it was edited after a version that is lost.
    private mutating func put(
        _ elements: KeptCollection, of collection: NetCollection, column: Int, into draft: inout Draft
    ) {
        if collection.isDoubtful || collection.lastEdit > firstLost {
            losses.doubtful.add(draft.row.key, at: SchemaPath(table: number, column: column))
        }
        withExtendedLifetime(elements) {
            put(elements.cell(table.columns[column].collection), column: column, into: &draft)
        }
    }

    /// Puts a value into a row. A value that no store takes is lost.
    private func put(_ cell: Cell, column: Int, into draft: inout Draft) {
        guard table.columns[column].allows(cell) else { return draft.lost.append(column) }
        if columns.contains(column, of: table) { draft.row.values[column] = cell.value }
    }
}

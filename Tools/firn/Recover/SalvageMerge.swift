/// Merges the rows of a table in the checkpoints with what the log has changed since, in the order of their numbers.
///
/// It is used by one thread, during one walk.
final class SalvageMerge {
    private let salvage: Salvage
    private let table: Int
    private let changes: NetChanges
    private let visit: (Salvage.Row) throws -> Void
    /// The numbers of the objects that the log has changed, in order, and the first that was not visited yet.
    private let changed: [Int64]
    private var next = 0
    /// How many visited objects no checkpoint has, although they are not new.
    private var partialCount = 0

    init(
        salvage: Salvage, table: Int, range: Range<Int64>, changes: NetChanges,
        _ visit: @escaping (Salvage.Row) throws -> Void
    ) {
        self.salvage = salvage
        self.table = table
        self.changes = changes
        self.visit = visit
        changed = changes.objects.keys.filter { $0.table == table && range.contains($0.key) }.map(\.key).sorted()
    }

    private func object(_ key: Int64) -> NetObject? { changes.objects[.init(table: table, key: key)] }

    /// Visits the objects with lower numbers that no checkpoint has.
    func visitChanged(before key: Int64) throws {
        while next < changed.count, changed[next] < key {
            if let object = object(changed[next]) {
                if object.change != .inserted { partialCount += 1 }
                try salvage.visit(table, key: changed[next], object: object, visit)
            }
            next += 1
        }
    }

    /// Visits the rows that a checkpoint has. For rows that can't be read there, it visits the rows of the checkpoint
    /// before.
    ///
    /// - Parameter isOutdated: whether rows are taken because they can't be read in a newer checkpoint.
    /// - Returns: how many rows there were.
    @discardableResult func takeRows(
        from index: Int, _ range: Range<Int64>, isOutdated: Bool = false
    ) throws -> Int {
        guard salvage.sources.bases.indices.contains(index) else { return 0 }
        let base = salvage.sources.bases[index]
        var count = 0
        try base.forEachLeaf(table, range: range) { lost in
            let keys = lost.keys.clamped(to: range)
            guard !keys.isEmpty else { return }
            let partialBefore = partialCount
            let older = try takeRows(from: index + 1, keys, isOutdated: true)
            try visitChanged(before: keys.upperBound)
            count += older
            guard !isOutdated else { return }
            // Lost rows that the log has changed since are reported separately.
            salvage.lose(lost, of: table, outdated: older, partial: partialCount - partialBefore)
        } _: { leaf in
            let rows = try SalvageLeaf(
                schema: salvage.schema, base: base, leaf: leaf, table: table,
                before: salvage.sources.bases[(index + 1)...])
            for (row, key) in leaf.keys.enumerated() where range.contains(key) {
                try visitChanged(before: key)
                count += 1
                var change: NetObject?
                if next < changed.count, changed[next] == key {
                    change = object(key)
                    next += 1
                }
                if change?.change == .deleted { continue }
                try salvage.visit(
                    rows, row: row, key: key, change: change, outdatedSince: isOutdated ? base.version : nil, visit)
            }
        }
        return count
    }
}

/// The rows of one leaf of a checkpoint.
struct SalvageLeaf {
    let base: SalvageBase
    let table: Int
    /// By the column's number; nil for a column that can't be read, or that the leaf is too old to have.
    private(set) var runs: [ChunkRun?] = []
    /// Whether the leaf is too old to have a column.
    private(set) var isOlder: [Bool] = []
    /// What can't be read here.
    let older: OlderValues

    /// - Parameter older: the checkpoints before this one, newest first.
    init(
        schema: DecodedSchema, base: SalvageBase, leaf: OnDiskLeaf, table: Int,
        before older: ArraySlice<SalvageBase>
    ) throws {
        self.base = base
        self.table = table
        self.older = OlderValues(
            schema: schema, bases: older, table: table, keys: leaf.keys[0]...leaf.keys[leaf.keys.count - 1])
        for number in schema.tables[table].columns.indices {
            isOlder.append(Self.column(number, of: table, base: base, leaf: leaf) == nil)
            runs.append(try Self.run(schema, base: base, leaf: leaf, table: table, number: number))
        }
    }

    /// A column of a leaf; nil if the leaf is too old to have it.
    private static func column(
        _ number: Int, of table: Int, base: SalvageBase, leaf: OnDiskLeaf
    ) -> DecodedSchema.Column? {
        guard number < leaf.columnCount else { return nil }
        return base.schema.column(table, number)
    }

    /// The values of a column; nil if they can't be read, or if there are none.
    static func run(
        _ schema: DecodedSchema, base: SalvageBase, leaf: OnDiskLeaf, table: Int, number: Int
    ) throws -> ChunkRun? {
        guard !schema.tables[table].columns[number].isRemoved,
            let column = column(number, of: table, base: base, leaf: leaf)
        else { return nil }
        return try base.salvaging { try leaf.run(base.checkpoint, number: number, column: column) } ?? nil
    }

    /// A value; nil if it can't be read.
    func cell(_ number: Int, _ row: Int) throws -> Cell? {
        guard let run = runs[number] else { return nil }
        return try base.salvaging { try run.cell(row) }
    }

    /// Ends the life of the cells of a row.
    func forget() { for run in runs { run?.forget() } }
}

import FirnBytes

/// The objects of the newest version that can be put together from checkpoints and the log behind them, in the order of
/// tables and keys.
///
/// Memory: about `byteMax` of what the log has changed since the checkpoints. If that is more, the log is read several
/// times, for some of the objects each time.
struct MergedRows {
    let schema: DecodedSchema
    private let sources: RecoverSources
    private let byteMax: Int

    init(_ sources: RecoverSources, schema: DecodedSchema, byteMax: Int) {
        self.sources = sources
        self.schema = schema
        self.byteMax = byteMax
    }

    /// Calls `visit` with each object of the tables that have such columns, and returns what it could not read.
    ///
    /// A walk for the plain columns reads all others, too, so that it returns all losses.
    ///
    /// - Parameter columns: the columns whose values the rows have.
    func forEachRow(_ columns: RowColumns, _ visit: (RecoveredRow) throws -> Void) throws -> RowLosses {
        var losses = RowLosses()
        var lower: ChangedObject.Identity? = .init(table: 0, key: 0)
        var isFirst = true
        while let start = lower {
            var changes = NetChanges(from: start, .all, byteMax: byteMax, isSalvage: true)
            let unreadable = try sources.log.forEachBlock(after: sources.version, schema) { block, version in
                guard let table = block.table, version > sources.version(of: table) else { return }
                try changes.add(block, version: version)
            }
            // Each pass meets the same damage.
            if isFirst { losses.log = unreadable }
            isFirst = false
            let changedKeys = Dictionary(grouping: changes.objects.keys, by: \.table)
            for (number, table) in schema.tables.enumerated() where !table.isRemoved && number >= start.table {
                let first = number == start.table ? start.key : 0
                var end = FormatNumbers.keyLimit
                if let upper = changes.upper, number >= upper.table { end = number == upper.table ? upper.key : 0 }
                guard first < end, columns == .plain || table.mayLink else { continue }
                var merge = TableMerge(
                    number, of: schema, range: first..<end, columns: columns, sources: sources, changes: changes,
                    changedKeys: changedKeys[number]?.map(\.key) ?? [], losses: losses)
                try merge.run(visit)
                losses = merge.losses
            }
            lower = changes.upper
        }
        return losses
    }
}

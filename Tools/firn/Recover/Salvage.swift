import FirnBytes

/// The objects of the newest version that can be put together from checkpoints and the log behind them, in the order of
/// tables and numbers.
///
/// Memory: about `byteMax` of what the log has changed since the checkpoints. If that is more, the log is read several
/// times, for some of the objects each time.
final class Salvage {
    /// An object. Its values are valid while it is visited.
    struct Row {
        let table: Int
        let key: Int64
        /// The values by the column's number; nil for one that is as in a new object.
        fileprivate(set) var cells: [Cell?]
        /// What the cells point into.
        fileprivate var kept: [KeptCollection] = []
        fileprivate var keptCells: [KeptCell] = []
    }

    let schema: DecodedSchema
    private let log: SalvageLog
    let sources: SalvageSources
    private let byteMax: Int
    private(set) var report = SalvageReport()
    /// The rows that the newest checkpoint has lost, by their table and their group; and of how many an older one has
    /// an older state, or the log a part.
    private var gaps: [ChangedObject.Identity: (lost: SalvageBase.Lost, outdated: Int, partial: Int)] = [:]
    /// Whether losses are noted: in the first of several walks.
    private var isNoting = true

    init(log: SalvageLog, sources: SalvageSources, schema: DecodedSchema, byteMax: Int) {
        self.log = log
        self.sources = sources
        self.schema = schema
        self.byteMax = byteMax
    }

    /// Notes a loss that the writer of the objects has found.
    func note(
        _ loss: WritableKeyPath<SalvageReport, [SalvageReport.Place: SalvageReport.Loss]>, _ table: Int,
        column: Int? = nil, key: Int64, count: Int = 1
    ) {
        report[keyPath: loss][.init(table: table, column: column), default: .init()].add(key, count: count)
    }

    /// Notes that rows can't be read in the newest checkpoint. Rows that several passes over the log meet are noted
    /// once, when all of them are known.
    ///
    /// - Parameters:
    ///   - outdated: how many were taken from an older one.
    ///   - partial: of how many the log has changed a part since.
    func lose(_ lost: SalvageBase.Lost, of table: Int, outdated: Int, partial: Int) {
        guard isNoting else { return }
        var gap = gaps[.init(table: table, key: lost.group)] ?? (lost, 0, 0)
        gap.outdated += outdated
        gap.partial += partial
        gaps[.init(table: table, key: lost.group)] = gap
    }

    private func noteGaps() {
        for (place, gap) in gaps.sorted(by: { $0.key < $1.key }) {
            if let rows = gap.lost.rows {
                let count = Int(clamping: rows) - gap.outdated - gap.partial
                if count > 0 { report.lost[.init(table: place.table), default: .init()].add(nil, count: count) }
            } else {
                report.unknown.insert(place.table)
            }
        }
    }

    /// Notes that an object which was visited could not be kept after all.
    func loseVisited(_ table: Int, _ key: Int64) {
        report.recovered[table, default: 0] -= 1
        note(\.lost, table, key: key)
    }

    /// Notes that embedded objects were not kept, since their parents are lost.
    func lose(orphans count: Int, of table: Int) {
        guard count > 0 else { return }
        report.recovered[table, default: 0] -= count
        report.lost[.init(table: table), default: .init()].add(nil, count: count)
    }

    /// Notes that an object which was visited is one that a lost version has deleted.
    func removeStale(_ table: Int) { report.recovered[table, default: 0] -= 1 }

    // MARK: The walk

    /// Calls `visit` with each object. May be called several times, with the same result.
    func forEachRow(_ visit: @escaping (Row) throws -> Void) throws {
        var lower: ChangedObject.Identity? = .init(table: 0, key: 0)
        while let start = lower {
            var changes = NetChanges(from: start, .all, byteMax: byteMax, isSalvage: true)
            try log.forEachBlock(after: sources.version, schema) { finding, version in
                guard isNoting, start.table == 0, start.key == 0 else { return }
                report.add(finding)
                report.lose(versions: version...version)
            } _: { block, version in
                guard let table = block.table, version > sources.version(of: table) else { return }
                try changes.add(block, version: version)
            }
            for (number, table) in schema.tables.enumerated() where !table.isRemoved && number >= start.table {
                let first = number == start.table ? start.key : 0
                var end = FormatNumbers.keyLimit
                if let upper = changes.upper, number >= upper.table { end = number == upper.table ? upper.key : 0 }
                if first < end { try merge(number, range: first..<end, changes: changes, visit) }
            }
            lower = changes.upper
        }
        if isNoting {
            for finding in sources.findings + log.findings { report.add(finding) }
            noteGaps()
            noteVersions()
        }
        isNoting = false
    }

    private func noteVersions() {
        report.isEndLost = log.isEndLost
        let base = sources.version
        if log.firstVersion > base + 1 { report.lose(versions: base + 1...log.firstVersion - 1) }
        for range in log.lost where range.upperBound > base {
            report.lose(versions: max(range.lowerBound, base + 1)...range.upperBound)
        }
        report.versions.sort { $0.lowerBound < $1.lowerBound }
    }

    /// Merges the rows of the checkpoints with what the log has changed since.
    private func merge(
        _ table: Int, range: Range<Int64>, changes: NetChanges, _ visit: @escaping (Row) throws -> Void
    ) throws {
        let merge = SalvageMerge(salvage: self, table: table, range: range, changes: changes, visit)
        if let start = sources.start(of: table) { try merge.takeRows(from: start, range) }
        try merge.visitChanged(before: .max)
    }

    /// Visits an object that no checkpoint has any data of.
    func visit(_ table: Int, key: Int64, object: NetObject, _ visit: (Row) throws -> Void) throws {
        guard object.change != .deleted else { return }
        var row = Row(table: table, key: key, cells: [Cell?](repeating: nil, count: schema.tables[table].columns.count))
        var lost: [Int] = []
        for (number, column) in schema.tables[table].columns.enumerated() where !column.isRemoved {
            if !take(object, number: number, column: column, row: &row), object.change == .updated {
                lost.append(number)
            }
        }
        try finish(row, lost: lost, visit)
    }

    /// Visits a row of a checkpoint, with what the log has changed in it since.
    ///
    /// - Parameter outdatedSince: the checkpoint's version, if the row is missing in a newer one.
    func visit(
        _ leaf: SalvageLeaf, row: Int, key: Int64, change: NetObject?, outdatedSince: UInt64?,
        _ visit: (Row) throws -> Void
    ) throws {
        let columns = schema.tables[leaf.table].columns
        var result = Row(table: leaf.table, key: key, cells: [Cell?](repeating: nil, count: columns.count))
        var lost: [Int] = []
        var outdated: [(column: Int, version: UInt64)] = []
        for (number, column) in columns.enumerated() where !column.isRemoved {
            if let change, take(change, number: number, column: column, row: &result) { continue }
            if !leaf.isOlder[number] {
                if let cell = try leaf.cell(number, row) {
                    result.cells[number] = cell
                } else if let older = try leaf.older.value(number, of: key) {
                    result.cells[number] = older.value.cell
                    result.keptCells.append(older.value)
                    outdated.append((number, older.version))
                } else {
                    lost.append(number)
                    continue
                }
            }
            guard let collection = change?.collections[number] else { continue }
            // A collection that was added later was empty.
            let elements = collection.edited(KeptCollection(result.cells[number] ?? .list([])))
            put(elements, collection: collection, number: number, column: column, row: &result)
        }
        try finish(result, lost: lost, outdated: outdated, outdatedSince: outdatedSince, visit)
        leaf.forget()
    }

    /// Whether a collection must be reported, because it was edited after a version that is lost.
    private func isDoubtful(_ collection: NetCollection) -> Bool {
        guard isNoting else { return false }
        let base = sources.version
        let firstLost =
            log.firstVersion > base + 1 ? base + 1 : log.lost.first { $0.upperBound > base }?.lowerBound ?? .max
        return collection.isDoubtful || collection.lastEdit > firstLost
    }

    /// Puts the value that the log has for a column into a row. Returns false if it has none.
    private func take(
        _ object: NetObject, number: Int, column: DecodedSchema.Column, row: inout Row
    ) -> Bool {
        if column.collection == .none {
            guard let cell = object.singles[number]?.new?.cell else { return false }
            row.cells[number] = cell
            return true
        }
        guard let collection = object.collections[number], let elements = collection.new else { return false }
        put(elements, collection: collection, number: number, column: column, row: &row)
        return true
    }

    /// Puts a collection's elements into a row.
    private func put(
        _ elements: KeptCollection, collection: NetCollection, number: Int, column: DecodedSchema.Column,
        row: inout Row
    ) {
        if isDoubtful(collection) { note(\.doubtful, row.table, column: number, key: row.key) }
        row.kept.append(elements)
        row.cells[number] = elements.cell(column.collection)
    }

    /// Visits a row, unless its primary key is lost.
    private func finish(
        _ row: Row, lost: [Int], outdated: [(column: Int, version: UInt64)] = [], outdatedSince: UInt64? = nil,
        _ visit: (Row) throws -> Void
    ) throws {
        var row = row
        var lost = lost
        let table = schema.tables[row.table]
        for (number, column) in table.columns.enumerated() {
            guard let cell = row.cells[number], !column.allows(cell) else { continue }
            row.cells[number] = nil
            lost.append(number)
        }
        if let primaryKey = table.primaryKey, lost.contains(primaryKey) {
            if isNoting { note(\.lost, row.table, key: row.key) }
            return
        }
        if isNoting {
            for number in lost { note(\.lostValues, row.table, column: number, key: row.key) }
            for (number, version) in outdated where !lost.contains(number) {
                report.outdate(.init(table: row.table, column: number), row.key, since: version)
            }
            report.recovered[row.table, default: 0] += 1
            if let outdatedSince { report.outdate(.init(table: row.table), row.key, since: outdatedSince) }
        }
        try withExtendedLifetime(row) { try visit(row) }
    }
}

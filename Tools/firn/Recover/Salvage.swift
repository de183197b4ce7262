import FirnBytes

/// The objects of the newest version that can be put together from a checkpoint and the log behind it, in the order of
/// tables and numbers.
///
/// Memory: about `byteMax` of what the log has changed since the checkpoint. If that is more, the log is read several
/// times, for some of the objects each time.
final class Salvage {
    /// An object. Its values are valid while it is visited.
    struct Row {
        let table: Int
        let key: Int64
        /// The values by the column's number; nil for one that is as in a new object.
        fileprivate(set) var cells: [Cell?]
        /// The values whose bytes the cells point into.
        fileprivate var kept: [KeptCollection] = []
    }

    let schema: DecodedSchema
    private let log: SalvageLog
    private let base: SalvageBase?
    private let byteMax: Int
    private(set) var report = SalvageReport()
    /// Whether losses are noted: in the first of several walks.
    private var isNoting = true

    private var baseVersion: UInt64 { base?.version ?? 0 }

    init(_ log: SalvageLog, _ base: SalvageBase?, _ schema: DecodedSchema, byteMax: Int) {
        self.log = log
        self.base = base
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
    func forEachRow(_ visit: (Row) throws -> Void) throws {
        var lower: ChangedObject.Identity? = .init(table: 0, key: 0)
        while let start = lower {
            var changes = NetChanges(from: start, .all, byteMax: byteMax, isSalvage: true)
            try log.forEachBlock(after: baseVersion) { finding, version in
                guard isNoting, start.table == 0, start.key == 0 else { return }
                report.add(finding)
                report.lose(versions: version...version)
            } _: { block, version in
                try changes.add(block, version: version)
            }
            for (number, table) in schema.tables.enumerated() where !table.isRemoved && number >= start.table {
                let first = number == start.table ? start.key : 0
                var end = FormatNumbers.keyLimit
                if let upper = changes.upper, number >= upper.table { end = number == upper.table ? upper.key : 0 }
                if first < end { try merge(number, first..<end, changes, visit) }
            }
            lower = changes.upper
        }
        if isNoting {
            for finding in (base?.findings ?? []) + log.findings { report.add(finding) }
            noteVersions()
        }
        isNoting = false
    }

    private func noteVersions() {
        let base = baseVersion
        if log.firstVersion > base + 1 { report.lose(versions: base + 1...log.firstVersion - 1) }
        for range in log.lost where range.upperBound > base {
            report.lose(versions: max(range.lowerBound, base + 1)...range.upperBound)
        }
        report.versions.sort { $0.lowerBound < $1.lowerBound }
    }

    /// Merges the rows of the checkpoint with what the log has changed since.
    private func merge(
        _ table: Int, _ range: Range<Int64>, _ changes: NetChanges, _ visit: (Row) throws -> Void
    ) throws {
        let changed = changes.objects.keys.filter { $0.table == table && range.contains($0.key) }.map(\.key).sorted()
        var next = 0
        func object(_ key: Int64) -> NetObject? { changes.objects[.init(table: table, key: key)] }
        func visitChanged(before key: Int64) throws {
            while next < changed.count, changed[next] < key {
                if let object = object(changed[next]) { try self.visit(table, changed[next], object, visit) }
                next += 1
            }
        }
        try base?.forEachLeaf(table, range) { lost in
            guard isNoting else { return }
            // Those that the log has changed since are told of by themselves.
            let told = changed.count { lost.keys.contains($0) && object($0)?.change != .inserted }
            if let rows = lost.rows {
                let count = Int(clamping: rows) - told
                if count > 0 { report.lost[.init(table: table), default: .init()].add(nil, count: count) }
            } else {
                report.unknown.append((table, lost.keys))
            }
        } _: { leaf in
            let leafRow = LeafRows(self, leaf, table)
            for (row, key) in leaf.keys.enumerated() where range.contains(key) {
                try visitChanged(before: key)
                var change: NetObject?
                if next < changed.count, changed[next] == key {
                    change = object(key)
                    next += 1
                }
                if change?.change == .deleted { continue }
                try leafRow.visit(row, key, change, visit)
            }
        }
        try visitChanged(before: .max)
    }

    /// Visits an object of which the checkpoint has nothing.
    private func visit(_ table: Int, _ key: Int64, _ object: NetObject, _ visit: (Row) throws -> Void) throws {
        guard object.change != .deleted else { return }
        var row = Row(table: table, key: key, cells: [Cell?](repeating: nil, count: schema.tables[table].columns.count))
        var lost: [Int] = []
        for (number, column) in schema.tables[table].columns.enumerated() where !column.isRemoved {
            if !take(object, number, column, &row), object.change == .updated { lost.append(number) }
        }
        try finish(row, lost: lost, visit)
    }

    /// Whether a collection is to be told of, because it was edited after a version that is lost.
    private func isDoubtful(_ collection: NetCollection) -> Bool {
        guard isNoting else { return false }
        let base = baseVersion
        let firstLost =
            log.firstVersion > base + 1 ? base + 1 : log.lost.first { $0.upperBound > base }?.lowerBound ?? .max
        return collection.isDoubtful || collection.lastEdit > firstLost
    }

    /// Puts the value that the log has for a column into a row. Returns false if it has none.
    fileprivate func take(
        _ object: NetObject, _ number: Int, _ column: DecodedSchema.Column, _ row: inout Row
    ) -> Bool {
        if column.collection == .none {
            guard let cell = object.singles[number]?.new?.cell else { return false }
            row.cells[number] = cell
            return true
        }
        guard let collection = object.collections[number], let elements = collection.new else { return false }
        put(elements, collection, number, column, &row)
        return true
    }

    /// Puts a collection's elements into a row.
    fileprivate func put(
        _ elements: KeptCollection, _ collection: NetCollection, _ number: Int, _ column: DecodedSchema.Column,
        _ row: inout Row
    ) {
        if isDoubtful(collection) { note(\.doubtful, row.table, column: number, key: row.key) }
        row.kept.append(elements)
        row.cells[number] = elements.cell(column.collection)
    }

    /// Visits a row, unless its primary key is lost.
    fileprivate func finish(_ row: Row, lost: [Int], _ visit: (Row) throws -> Void) throws {
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
            report.recovered[row.table, default: 0] += 1
        }
        try withExtendedLifetime(row) { try visit(row) }
    }

    /// The rows of one leaf of the checkpoint.
    private struct LeafRows {
        private let salvage: Salvage
        private let leaf: OnDiskLeaf
        private let table: Int
        /// By the column's number; nil for a column that can't be read, or that the leaf is too old to have.
        private var runs: [ChunkRun?] = []
        private var isOlder: [Bool] = []

        init(_ salvage: Salvage, _ leaf: OnDiskLeaf, _ table: Int) {
            self.salvage = salvage
            self.leaf = leaf
            self.table = table
            guard let base = salvage.base else { return }
            let known = base.schema.tables.indices.contains(table) ? base.schema.tables[table].columns : []
            for (number, column) in salvage.schema.tables[table].columns.enumerated() {
                let isKnown = number < known.count && number < leaf.columnCount
                isOlder.append(!isKnown)
                let run =
                    isKnown && !column.isRemoved
                    ? (try? base.salvaging { try leaf.run(base.checkpoint, number, known[number]) }) ?? nil : nil
                runs.append(run ?? nil)
            }
        }

        func visit(_ row: Int, _ key: Int64, _ change: NetObject?, _ visit: (Row) throws -> Void) throws {
            let columns = salvage.schema.tables[table].columns
            var result = Row(table: table, key: key, cells: [Cell?](repeating: nil, count: columns.count))
            var lost: [Int] = []
            for (number, column) in columns.enumerated() where !column.isRemoved {
                if let change, salvage.take(change, number, column, &result) { continue }
                if !isOlder[number] {
                    guard let run = runs[number], let cell = try salvage.base?.salvaging({ try run.cell(row) }) else {
                        lost.append(number)
                        continue
                    }
                    result.cells[number] = cell
                }
                guard let collection = change?.collections[number] else { continue }
                // A collection that was added later was empty.
                let elements = collection.edited(KeptCollection(result.cells[number] ?? .list([])))
                salvage.put(elements, collection, number, column, &result)
            }
            try salvage.finish(result, lost: lost, visit)
            for run in runs { run?.forget() }
        }
    }
}

extension DecodedSchema.Column {
    /// Whether a store takes the value. Forged bytes with right checksums may hold others, and behind a gap in the log
    /// blocks are not compared with the schema.
    fileprivate func allows(_ cell: Cell) -> Bool {
        func fits(_ cell: Cell) -> Bool {
            switch (type, cell) {
            case (.link, .null), (.mixed, .null): true
            case (_, .null): isNullable
            case (.string, .string(let bytes)), (.data, .data(let bytes)): bytes.count <= FormatNumbers.valueByteCount
            case (.bool, .bool), (.int, .int), (.float, .float), (.double, .double), (.date, .date),
                (.objectID, .objectID), (.uuid, .uuid), (.decimal, .decimal), (.link, .link):
                true
            // A link from a mixed value says to which table it leads.
            case (.mixed, .link): false
            case (.mixed, .string(let bytes)), (.mixed, .data(let bytes)): bytes.count <= FormatNumbers.valueByteCount
            case (.mixed, .list(let cells)), (.mixed, .set(let cells)): cells.allSatisfy(fits)
            case (.mixed, .map(let entries)): entries.allSatisfy { fits($0.value) }
            case (.mixed, _): true
            default: false
            }
        }
        switch (collection, cell) {
        case (.list, .list(let cells)): return cells.allSatisfy(fits)
        case (.set, .set(let cells)): return cells.allSatisfy(fits)
        case (.map, .map(let entries)):
            return zip(entries, entries.dropFirst()).allSatisfy { $0.key.lexicographicallyPrecedes($1.key) }
                && entries.allSatisfy { fits($0.value) && $0.key.count <= FormatNumbers.valueByteCount }
        case (.none, _): return fits(cell)
        default: return false
        }
    }
}

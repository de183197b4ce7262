import FirnBytes
import FirnStorage

/// The checkpoints that rows are recovered from, and the one with which each table begins. The log's changes since then
/// follow.
///
/// A table begins with the newest checkpoint in which all of it can be read, if the log has every version since then.
/// If there is none, it begins with the empty store before version 1, if the log is complete; otherwise with the newest
/// checkpoint, and what can't be read there is taken from older ones, as it was then.
struct SalvageSources {
    /// Newest first.
    let bases: [SalvageBase]
    /// For each table the index of the checkpoint that it begins with; nil for the empty store.
    private var starts: [Int?] = []

    /// - Parameter found: gets what is wrong with the checkpoint that the manifest lists.
    init(store: OpenedStore, log: SalvageLog, found: inout [Finding]) throws {
        if let listed = store.manifest.checkpoint { found += try store.open(listed).findings }
        var bases: [SalvageBase] = []
        for entry in try Self.entries(store) {
            guard let checkpoint = try store.salvage(entry, schema: log.schema) else { continue }
            bases.append(try SalvageBase(checkpoint))
        }
        self.bases = bases
        let tables = max(log.schema?.tables.count ?? 0, bases.first?.schema.tables.count ?? 0)
        var chosen = [Int??](repeating: nil, count: tables)
        for (index, base) in bases.enumerated()
        where log.continues(base.version) && chosen.contains(where: { $0 == nil }) {
            var check = CheckpointCheck(base.checkpoint)
            try check.run()
            for table in chosen.indices where chosen[table] == nil {
                if try check.findings.isEmpty || base.isWhole(table) { chosen[table] = .some(index) }
            }
        }
        let isLogComplete = log.firstVersion == 1 && log.lost.isEmpty && log.lastVersion > 0
        let otherwise = isLogComplete || bases.isEmpty ? nil : 0
        starts = chosen.map { $0 ?? otherwise }
    }

    /// The checkpoints that the manifest lists, and all others of the store that have a whole footer. Newest first.
    private static func entries(_ store: OpenedStore) throws -> [Manifest.Checkpoint] {
        var entries = try store.checkpointsThatExist()
        for listed in store.manifest.earlier + (store.manifest.checkpoint.map { [$0] } ?? [])
        where !entries.contains(where: { $0.id == listed.id }) {
            entries.append(listed)
        }
        return entries.sorted { $0.id > $1.id }
    }

    /// The index of the checkpoint that a table begins with; nil for the empty store.
    func start(of table: Int) -> Int? { starts.indices.contains(table) ? starts[table] : nil }

    /// The version that a table begins with.
    func version(of table: Int) -> UInt64 { start(of: table).map { bases[$0].version } ?? 0 }

    /// The lowest version that a table begins with.
    var version: UInt64 { starts.indices.map(version(of:)).min() ?? 0 }

    /// The highest version that a checkpoint has.
    var newestVersion: UInt64 { bases.first?.version ?? 0 }

    /// The schema that has most: tables and columns are only ever added, or marked as removed.
    var schema: DecodedSchema? { bases.map(\.schema).max { $0.size < $1.size } }

    /// What is wrong with the checkpoints that tables begin with.
    var findings: [Finding] { Set(starts.compactMap { $0 }).sorted().flatMap { bases[$0].findings } }
}

extension DecodedSchema {
    /// How many tables and columns it has.
    var size: Int { tables.reduce(tables.count) { $0 + $1.columns.count } }

    /// Whether it may be a later schema of the same store: it has all tables and columns of the older one. Names don't
    /// count, as they may change.
    func extends(_ older: DecodedSchema) -> Bool {
        older.tables.count <= tables.count
            && zip(older.tables, tables).allSatisfy { old, new in
                old.columns.count <= new.columns.count
                    && zip(old.columns, new.columns).allSatisfy { old, new in
                        new.isRemoved
                            || old.type == new.type && old.collection == new.collection
                                && old.target == new.target
                    }
            }
    }
}

import FirnStorage

/// What rows are recovered from: the checkpoints, the log, and the checkpoint with which each table begins. The log's
/// changes since then follow.
///
/// A table begins with the newest checkpoint in which all of it can be read, if the log has every version since then.
/// If there is none, it begins with the empty store before version 1, if the log is complete or there is no
/// checkpoint. Otherwise it begins with the newest checkpoint, and what can't be read there is taken from older ones,
/// as it was then.
struct RecoverSources {
    let log: DamagedLog
    /// All checkpoints with known nodes, newest first.
    let checkpoints: [DamagedCheckpoint]
    /// For each table the index of the checkpoint that it begins with; nil for the empty store.
    private let starts: [Int?]
    /// The lowest version that a table begins with.
    let version: UInt64
    /// The first version after `version` that the log lacks completely or in part.
    let firstLost: UInt64
    /// What is wrong with the manifest, and with the checkpoint that it lists.
    let storeFindings: [Finding]

    init(_ store: OpenedStore) throws {
        log = try DamagedLog(store)
        storeFindings = store.findings + (try store.manifest.checkpoint.map { try store.open($0).findings } ?? [])
        var checkpoints: [DamagedCheckpoint] = []
        for entry in try Self.entries(store) {
            guard let checkpoint = try store.openDamaged(entry, schema: log.schema) else { continue }
            checkpoints.append(try DamagedCheckpoint(checkpoint))
        }
        self.checkpoints = checkpoints
        starts = try Self.starts(log, checkpoints)
        let version = starts.map { $0.map { checkpoints[$0].version } ?? 0 }.min() ?? 0
        self.version = version
        firstLost =
            log.firstVersion > version + 1
            ? version + 1 : log.lost.first { $0.upperBound > version }?.lowerBound ?? .max
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

    private static func starts(_ log: DamagedLog, _ checkpoints: [DamagedCheckpoint]) throws -> [Int?] {
        let tables = max(log.schema?.tables.count ?? 0, checkpoints.first?.schema.tables.count ?? 0)
        var chosen = [Int??](repeating: nil, count: tables)
        for (index, checkpoint) in checkpoints.enumerated()
        where log.continues(checkpoint.version) && chosen.contains(where: { $0 == nil }) {
            let isIntact = try checkpoint.isIntact()
            for table in chosen.indices where chosen[table] == nil {
                if try isIntact || checkpoint.isWhole(table) { chosen[table] = .some(index) }
            }
        }
        let isLogComplete = log.firstVersion == 1 && log.lost.isEmpty && log.lastVersion > 0
        let otherwise = isLogComplete || checkpoints.isEmpty ? nil : 0
        return chosen.map { $0 ?? otherwise }
    }

    /// The index of the checkpoint that a table begins with; nil for the empty store.
    func start(of table: Int) -> Int? { starts.indices.contains(table) ? starts[table] : nil }

    /// The version that a table begins with.
    func version(of table: Int) -> UInt64 { start(of: table).map { checkpoints[$0].version } ?? 0 }

    /// The highest version that a checkpoint or the log has.
    var newestVersion: UInt64 { max(log.lastVersion, checkpoints.first?.version ?? 0) }

    /// The schema with the most tables and columns. It is the newest, since these are only ever added, or marked as
    /// removed.
    var schema: DecodedSchema? {
        let newest = checkpoints.map(\.schema).max { $0.size < $1.size }
        return [log.schema, newest].compactMap { $0 }.max { $0.size < $1.size }
    }

    /// The versions after `version` that the log lacks completely or in part.
    var lostVersions: [ClosedRange<UInt64>] {
        let before = log.firstVersion > version + 1 ? [version + 1...log.firstVersion - 1] : []
        return before
            + log.lost.filter { $0.upperBound > version }.map { max($0.lowerBound, version + 1)...$0.upperBound }
    }

    /// All damage met until now: in the checkpoints that tables begin with, in the log, and in the store.
    var findings: [Finding] {
        Set(starts.compactMap { $0 }).sorted().flatMap { checkpoints[$0].findings.all } + log.findings + storeFindings
    }
}

/// The numbers of objects that one commit inserts, deletes and updates in each table, counted block by block.
struct CommitCounts {
    struct Table {
        var inserted = 0
        var deleted = 0
        /// The lowest key inserted. Keys are assigned in order, so all keys from it on are new in this commit.
        var firstInserted: Int64 = .max
        /// The key after the highest one that was inserted or assigned.
        var nextKey: Int64 = 0
        var updatedKeys: Set<Int64> = []
    }

    /// The most updated objects that are counted in one commit. If there are more, the count is a lower bound
    /// (`isAtLeast`), so that memory stays bounded.
    static let updatedMax = 1 << 20

    var tables: [Int: Table] = [:]
    var changesSchema = false
    var isAtLeast = false
    /// Whether objects were deleted or changed whose old values were not logged.
    private(set) var lacksOldValues = false
    private var updatedCount = 0
    private let countsUpdates: Bool
    /// The objects that are counted.
    private let filter: ObjectFilter

    /// Whether the version has changed any object that is counted.
    var isEmpty: Bool { tables.values.allSatisfy { $0.inserted == 0 && $0.deleted == 0 && $0.updatedKeys.isEmpty } }

    init(countsUpdates: Bool, _ filter: ObjectFilter = .all) {
        self.countsUpdates = countsUpdates
        self.filter = filter
    }

    /// How many of the objects with these keys are counted.
    private func count(_ table: Int, _ keys: KeyRun) -> Int {
        guard filter.includes(table: table) else { return 0 }
        return filter.keys == nil ? keys.count : (0..<keys.count).count { filter.includes(table, keys[$0]) }
    }

    mutating func add(_ block: ChangeBlock) {
        switch block {
        case .schema: changesSchema = true
        case .insert(let rows):
            guard rows.keys.count > 0 else { return }
            tables[rows.table, default: Table()].inserted += count(rows.table, rows.keys)
            tables[rows.table]!.firstInserted = min(tables[rows.table]!.firstInserted, rows.keys[0])
            tables[rows.table]!.nextKey = max(tables[rows.table]!.nextKey, rows.keys[rows.keys.count - 1] + 1)
        case .delete(let rows):
            tables[rows.table, default: Table()].deleted += count(rows.table, rows.keys)
            if !rows.hasOldValues { lacksOldValues = true }
        case .nextKey(let table, let key):
            tables[table, default: Table()].nextKey = max(tables[table]?.nextKey ?? 0, key)
        case .update(let update):
            for index in 0..<update.keys.count { noteUpdate(update.table, update.keys[index]) }
            if update.lacksOldValues { lacksOldValues = true }
        case .script(let script):
            noteUpdate(script.table, script.key)
            if script.lacksOldValues { lacksOldValues = true }
        case .insertMore, .deleteOld, .elements, .unknown: break
        }
    }

    private mutating func noteUpdate(_ table: Int, _ key: Int64) {
        guard countsUpdates, filter.includes(table, key), key < tables[table]?.firstInserted ?? .max else { return }
        guard updatedCount < Self.updatedMax else {
            isAtLeast = true
            return
        }
        if tables[table, default: Table()].updatedKeys.insert(key).inserted { updatedCount += 1 }
    }
}

/// How many objects each table holds: the checkpoint's counts, and those of the commits after it.
struct ObjectCounts {
    /// The counts of a checkpoint.
    struct CheckpointCounts {
        var version: UInt64
        var counts: [Int: Int]
        var nextKeys: [Int: Int64]

        init(_ checkpoint: OpenedCheckpoint) throws {
            version = checkpoint.footer.version
            counts = [:]
            nextKeys = [:]
            for table in try checkpoint.walk({ try checkpoint.tables() }) {
                counts[table.number] = Int(table.rowCount)
                nextKeys[table.number] = table.nextKey
            }
        }
    }

    private(set) var counts: [Int: Int] = [:]
    private var nextKeys: [Int: Int64] = [:]
    /// False if commits are missing, so that the counts can't be known.
    private(set) var areKnown = true
    /// The counts from which to go on once the log has reached the checkpoint's version.
    private let checkpoint: CheckpointCounts?

    /// - Parameter firstVersion: the first version that the log holds.
    init(firstVersion: UInt64, checkpoint: CheckpointCounts?) {
        self.checkpoint = checkpoint
        areKnown = firstVersion <= 1
    }

    mutating func forget() {
        areKnown = false
        counts = [:]
        nextKeys = [:]
    }

    private mutating func begin(_ checkpoint: CheckpointCounts) {
        areKnown = true
        counts = checkpoint.counts
        nextKeys = checkpoint.nextKeys
    }

    /// Ends the count. If the log has no version after the checkpoint's, the counts are the checkpoint's.
    mutating func finish(lastVersion: UInt64) {
        if let checkpoint, lastVersion <= checkpoint.version { begin(checkpoint) }
    }

    /// Adds a complete commit. Returns what is impossible in it, or nil.
    mutating func add(_ commit: CommitCounts, version: UInt64, _ schema: DecodedSchema?) -> String? {
        if let checkpoint, checkpoint.version &+ 1 == version { begin(checkpoint) }
        var problem: String?
        for (table, change) in commit.tables.sorted(by: { $0.key < $1.key }) {
            func name() -> String { schema?.name(table) ?? "table \(table)" }
            if change.inserted > 0, change.firstInserted < nextKeys[table] ?? 0 {
                problem =
                    "an object of \(name()) is inserted with the key \(change.firstInserted), which was assigned before"
            }
            nextKeys[table] = max(nextKeys[table] ?? 0, change.nextKey)
            let count = (counts[table] ?? 0) + change.inserted - change.deleted
            if count < 0, areKnown {
                problem = "\(change.deleted) objects of \(name()) are deleted, more than there are"
            }
            counts[table] = max(0, count)
        }
        return problem ?? difference(version, schema)
    }

    /// The first difference between the log's and the checkpoint's counts at the checkpoint's version, or nil.
    private func difference(_ version: UInt64, _ schema: DecodedSchema?) -> String? {
        guard areKnown, let checkpoint, let schema, checkpoint.version == version else { return nil }
        for (number, table) in schema.tables.enumerated() where !table.isRemoved {
            let (inLog, inCheckpoint) = (counts[number] ?? 0, checkpoint.counts[number] ?? 0)
            if inLog != inCheckpoint {
                return
                    "the log leads to \(Amount.of(inLog, one: "object")) of \(table.name), the checkpoint has \(inCheckpoint)"
            }
        }
        return nil
    }
}

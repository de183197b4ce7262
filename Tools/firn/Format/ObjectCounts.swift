/// What one commit does to each table, counted as its blocks go by.
struct CommitCounts {
    struct Table {
        var inserted = 0
        var deleted = 0
        /// The lowest key inserted: as keys are handed out in order, all from it on are new in this commit.
        var firstInserted: Int64 = .max
        /// The key after the highest one seen inserted or given away.
        var nextKey: Int64 = 0
        var updatedKeys: Set<Int64> = []
    }

    /// Beyond so many objects updated in one commit the count is "at least", so that memory stays bounded.
    static let updatedMax = 1 << 20

    var tables: [Int: Table] = [:]
    var changesSchema = false
    var isAtLeast = false
    private var updatedCount = 0
    private let countsUpdates: Bool

    init(countsUpdates: Bool) { self.countsUpdates = countsUpdates }

    mutating func add(_ block: ChangeBlock) {
        switch block {
        case .schema: changesSchema = true
        case .insert(let rows):
            guard rows.keys.count > 0 else { return }
            tables[rows.table, default: Table()].inserted += rows.keys.count
            tables[rows.table]!.firstInserted = min(tables[rows.table]!.firstInserted, rows.keys[0])
            tables[rows.table]!.nextKey = max(tables[rows.table]!.nextKey, rows.keys[rows.keys.count - 1] + 1)
        case .delete(let table, let keys): tables[table, default: Table()].deleted += keys.count
        case .nextKey(let table, let key):
            tables[table, default: Table()].nextKey = max(tables[table]?.nextKey ?? 0, key)
        case .update(let update):
            for index in 0..<update.keys.count { noteUpdate(update.table, update.keys[index]) }
        case .script(let script): noteUpdate(script.table, script.key)
        case .insertMore, .deleteOld, .elements, .unknown: break
        }
    }

    private mutating func noteUpdate(_ table: Int, _ key: Int64) {
        guard countsUpdates, key < tables[table]?.firstInserted ?? .max else { return }
        guard updatedCount < Self.updatedMax else {
            isAtLeast = true
            return
        }
        if tables[table, default: Table()].updatedKeys.insert(key).inserted { updatedCount += 1 }
    }
}

/// How many objects each table holds: those of the checkpoint, and the commits' counts after it.
struct ObjectCounts {
    /// What a checkpoint counts.
    struct Beginning {
        var version: UInt64
        var counts: [Int: Int]
        var nextKeys: [Int: Int64]

        init(_ space: CheckpointSpace) throws {
            version = space.foot.version
            counts = [:]
            nextKeys = [:]
            for table in try space.walk({ try space.tables() }) {
                counts[table.number] = Int(table.rowCount)
                nextKeys[table.number] = table.nextKey
            }
        }
    }

    private(set) var counts: [Int: Int] = [:]
    private var nextKeys: [Int: Int64] = [:]
    /// False where commits are missing, so that counts can't be known.
    private(set) var areKnown = true
    /// Taken over once the log has passed its version.
    private let beginning: Beginning?

    /// - Parameter firstVersion: the first one that the log holds.
    init(firstVersion: UInt64, beginning: Beginning?) {
        self.beginning = beginning
        areKnown = firstVersion <= 1
    }

    mutating func forget() {
        areKnown = false
        counts = [:]
        nextKeys = [:]
    }

    private mutating func begin(_ beginning: Beginning) {
        areKnown = true
        counts = beginning.counts
        nextKeys = beginning.nextKeys
    }

    /// The log ends with a version, which may be the checkpoint's own.
    mutating func finish(lastVersion: UInt64) {
        if let beginning, lastVersion <= beginning.version { begin(beginning) }
    }

    /// Takes a whole commit; says what in it can't be, if anything.
    mutating func add(_ commit: CommitCounts, version: UInt64, _ schema: DecodedSchema?) -> String? {
        if let beginning, beginning.version &+ 1 == version { begin(beginning) }
        var problem: String?
        for (table, change) in commit.tables.sorted(by: { $0.key < $1.key }) {
            func name() -> String { schema?.name(table) ?? "table \(table)" }
            if change.inserted > 0, change.firstInserted < nextKeys[table] ?? 0 {
                problem =
                    "an object of \(name()) is inserted with the key \(change.firstInserted), which had been given out before"
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

    /// What the log and the checkpoint do not agree upon, where the log leads up to it.
    private func difference(_ version: UInt64, _ schema: DecodedSchema?) -> String? {
        guard areKnown, let beginning, let schema, beginning.version == version else { return nil }
        for (number, table) in schema.tables.enumerated() where !table.isRemoved {
            let (log, checkpoint) = (counts[number] ?? 0, beginning.counts[number] ?? 0)
            if log != checkpoint {
                return "the log leads to \(Amount.of(log, "object")) of \(table.name), the checkpoint has \(checkpoint)"
            }
        }
        return nil
    }
}

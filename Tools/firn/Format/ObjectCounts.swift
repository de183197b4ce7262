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

/// How many objects each table holds, by replaying the commits' counts.
struct ObjectCounts {
    private(set) var counts: [Int: Int] = [:]
    private var nextKeys: [Int: Int64] = [:]
    /// False where commits are missing, so that counts can't be known.
    private(set) var areKnown = true

    mutating func forget() {
        areKnown = false
        counts = [:]
        nextKeys = [:]
    }

    /// Takes a whole commit; says what in it can't be, if anything.
    mutating func add(_ commit: CommitCounts, _ schema: StoreSchema?) -> String? {
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
        return problem
    }
}

import FirnLog

/// The rows that commits were about, and the columns of them that were assigned to or edited: by table and key. A row that came or went has no columns here. What became of a row is
/// seen by looking at the two ends.
public typealias TouchedRows = [TableID: [Int64: ColumnSet]]

extension TouchedRows {
    fileprivate mutating func add(_ block: ChangesetBlock) {
        switch block {
        case .insert(let rows), .insertMore(let rows): add(rows.table, rows.keys)
        case .delete(let table, let keys): add(table, keys)
        case .update(let cells): add(cells.table, cells.keys, cells.column)
        case .script(let script):
            self[script.table, default: [:]][script.key, default: ColumnSet()].insert(script.column)
        case .elements(let elements):
            self[elements.table, default: [:]][elements.key, default: ColumnSet()].insert(elements.column)
        case .schema, .deleteOld, .nextKey: break
        }
    }

    private mutating func add(_ table: TableID, _ keys: IntRun, _ column: Int? = nil) {
        for place in 0..<keys.count {
            self[table, default: [:]][keys[place], default: ColumnSet()].formUnion(ColumnSet(column))
        }
    }

    fileprivate init(_ notes: ChangeSummary) {
        self = notes.tables.mapValues { table in
            var rows = table.modified
            for key in table.inserted.union(table.deleted) { rows[key] = ColumnSet() }
            for list in table.scripts.keys { rows[list.key, default: ColumnSet()].insert(list.column) }
            return rows
        }
    }
}

extension ColumnSet {
    fileprivate init(_ column: Int?) {
        self.init()
        if let column { insert(column) }
    }
}

extension Store {
    /// The rows that the commits after one version and up to a later one were about. From the log, decoding the commits between but for their old values; O(rows touched) memory. In a store without a log, by
    /// comparing: O(nodes changed).
    public func touchedRows(from old: Pin, to new: Pin) throws(StoreError) -> TouchedRows {
        precondition(old.version <= new.version, "Firn: changes are read forwards")
        guard log != nil else { return try reading { TouchedRows(old.snapshot.difference(to: new.snapshot)) } }
        var result: TouchedRows = [:]
        try forEachBlock(after: old.version, through: new.version) { _, block in result.add(block) }
        return result
    }

    /// The states that a row had up to a version, oldest first, each held: how it was in the oldest version that is retained, and in each version since that left it with
    /// another value in one of `columns`. Versions in which it was not there are left out.
    ///
    /// Cost: the commits since the oldest version retained are decoded, and those up to the last state replayed, once.
    public func states(
        of key: Int64, in table: TableID, columns: [Int], through last: UInt64
    ) throws(StoreError) -> [PastVersion] {
        try checkOpen()
        let past = try retainedPast(historyLog("a store in memory cannot tell what an object was"))
        let first = min(past.oldest, last)
        var candidates = [first]
        try forEachBlock(after: first, through: last) { version, block in
            if candidates.last != version, block.touches(key, in: table) { candidates.append(version) }
        }
        var result: [PastVersion] = []
        var before: [Value]?
        for number in candidates {
            let version = try open(number, past)
            let snapshot = version.pin.snapshot
            guard table.index < snapshot.schema.tables.count else { continue }
            let found: [Value]? = try reading {
                let view = snapshot.table(table)
                return view.find(key).map { place in columns.map { view.value($0, place.leaf, place.row) } }
            }
            guard let values = found else { continue }
            if values != before { result.append(version) }
            before = values
        }
        return result
    }

    /// Runs what reads versions of the store for an entry that throws: damage that it meets is thrown at its end, whatever it gives.
    public func reading<Result>(_ body: () -> Result) throws(StoreError) -> Result {
        try Faults.throwing { () throws(StoreError) in body() }
    }

    private func forEachBlock(
        after: UInt64, through: UInt64, _ body: (UInt64, ChangesetBlock) -> Void
    ) throws(StoreError) {
        guard let log, after < through else { return }
        var last: UInt64 = 0
        do {
            try log.replay(after: after, through: through) { commit in
                last = commit.version
                let version = commit.version
                let reader = ChangesetReader(version: version, direction: .forward)
                while let part = try commit.next() {
                    if part.kind == .changes { try reader.read(part.bytes) { body(version, $0) } }
                }
                try reader.finish()
            }
        } catch {
            throw replayError(error, after: last, log)
        }
    }
}

extension ChangesetBlock {
    /// Whether it is about a row.
    fileprivate func touches(_ key: Int64, in wanted: TableID) -> Bool {
        func has(_ keys: IntRun) -> Bool { (0..<keys.count).contains { keys[$0] == key } }
        return switch self {
        case .insert(let rows), .insertMore(let rows): rows.table == wanted && has(rows.keys)
        case .delete(let table, let keys): table == wanted && has(keys)
        case .update(let cells): cells.table == wanted && has(cells.keys)
        case .script(let script): script.table == wanted && script.key == key
        case .elements(let elements): elements.table == wanted && elements.key == key
        case .schema, .deleteOld, .nextKey: false
        }
    }
}

import FirnLog

extension Store {
    /// Returns what the commits after one version and up to a later one changed. With a log, these commits are decoded,
    /// without their old values; O(rows changed) memory. In a store without a log, the two versions are compared:
    /// O(nodes changed).
    package func changeSummary(from old: Pin, to new: Pin) throws(StoreError) -> ChangeSummary {
        precondition(old.version <= new.version, "Firn: changes can only be read forwards")
        guard log != nil else { return try reading { old.snapshot.difference(to: new.snapshot) } }
        var result = ChangeSummary()
        try forEachBlock(after: old.version, through: new.version) { _, block in result.append(block) }
        return result
    }

    /// Returns the versions in which a row had another state than before, oldest first, up to version `last`. Each is
    /// pinned.
    ///
    /// These are the oldest retained version, and each version since then that left the row with another value in one
    /// of `columns`. Versions in which the row does not exist are left out.
    ///
    /// Cost: the commits since the oldest retained version are decoded, and those up to the last state are replayed,
    /// once.
    package func states(
        of key: Int64, in table: TableID, columns: [Int], through last: UInt64
    ) throws(StoreError) -> [PastVersion] {
        try checkOpen()
        let past = try retainedPast(historyLog("a store in memory has no earlier states of an object"))
        let first = min(past.oldest, last)
        var candidates = [first]
        try forEachBlock(after: first, through: last) { version, block in
            if candidates.last != version, block.concerns(key, in: table) { candidates.append(version) }
        }
        var result: [PastVersion] = []
        var before: [Value]?
        for number in candidates {
            let version = try open(number, past)
            let snapshot = version.pin.snapshot
            guard table.index < snapshot.schema.tables.count else { continue }
            let found: [Value]? = try reading {
                let view = snapshot.table(table)
                return view.find(key).map { location in
                    columns.map { view.value($0, leaf: location.leaf, row: location.row) }
                }
            }
            guard let values = found else { continue }
            if values != before { result.append(version) }
            before = values
        }
        return result
    }

    /// Runs code that reads versions of the store, for a function that throws. Damage that the code meets is thrown at
    /// its end, whatever it returns.
    package func reading<Result>(_ body: () -> Result) throws(StoreError) -> Result {
        try DamageRecord.throwing { () throws(StoreError) in body() }
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
    /// Whether the block changes a row.
    fileprivate func concerns(_ key: Int64, in wanted: TableID) -> Bool {
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

extension StoreSchema {
    /// This schema, an earlier form of `later`, with the tables, columns and indexes that came since. What is new is blank and empty. What has gone since stays as long as it
    /// was there; what came and went is there from the beginning, so that each schema between can be extended in turn and follow the one before.
    func extended(to later: StoreSchema) -> StoreSchema {
        var result = self
        for (place, table) in later.tables.enumerated() {
            if place == result.tables.count {
                result.tables.append(TableSchema(name: table.name, isEmbedded: table.isEmbedded, columns: []))
            }
            guard !result.tables[place].isRemoved else { continue }
            var own = result.tables[place]
            for (column, now) in zip(own.columns.indices, table.columns)
            where !now.isRemoved && !own.columns[column].isRemoved { own.columns[column].isIndexed = now.isIndexed }
            for var new in table.columns.dropFirst(own.columns.count) {
                new.isRemoved = false
                own.columns.append(new)
            }
            own.primaryKey = table.primaryKey
            result.tables[place] = own
        }
        return result
    }

    /// This schema extended, with its columns null or not as they are now: rows of it can be read as rows of `later`.
    func conformed(to later: StoreSchema) -> StoreSchema {
        var result = extended(to: later)
        for (place, table) in later.tables.enumerated() where !table.isRemoved && !result.tables[place].isRemoved {
            for (column, now) in table.columns.enumerated()
            where !now.isRemoved && !result.tables[place].columns[column].isRemoved {
                result.tables[place].columns[column].isNullable = now.isNullable
            }
        }
        return result
    }

    /// Whether rows of this schema can be read as rows of `later`.
    func serves(_ later: StoreSchema) -> Bool { self == later || conformed(to: later) == self }
}

/// How past versions are shown in the schema of today: that of each version is extended on the way (`Schema.extended(to:)`), which costs nothing for rows that are yet to
/// come, and columns that became optional or required since are converted at the end. It belongs to its `PastStore`.
final class PastSchema {
    /// The schema of today.
    let target: StoreSchema
    /// The schemas as they were, each from a version on; ascending.
    private var known: [(from: UInt64, schema: StoreSchema)]
    /// False once columns have been converted: the commits that follow are about the columns as they were.
    private(set) var canGoOn = true

    init(_ base: HistoryBase, as target: StoreSchema) {
        self.target = target
        known = [(base.version, base.schema)]
    }

    /// The schema that a version had; it must have been reached.
    func schema(at version: UInt64) -> StoreSchema {
        guard let found = known.last(where: { $0.from <= version }) else {
            preconditionFailure("Firn: version \(version) is before the base of its past")
        }
        return found.schema
    }

    // MARK: In a transaction that replays

    func begin(_ transaction: WriteTransaction) throws(StoreError) {
        precondition(canGoOn, "Firn: a converted version is no base for the next")
        let extended = schema(at: transaction.base.version).extended(to: target)
        if extended != transaction.reference.schema { try transaction.changeSchema(to: extended) }
    }

    /// Notes a schema that holds from a version on, and gives the one that the store is to have.
    func follow(_ schema: StoreSchema, from version: UInt64) -> StoreSchema {
        // A replay that failed may have come here before.
        known.removeAll { $0.from >= version }
        known.append((version, schema))
        return schema.extended(to: target)
    }

    func end(_ transaction: WriteTransaction) throws(StoreError) {
        let schema = transaction.reference.schema
        let conformed = schema.conformed(to: target)
        guard conformed != schema else { return }
        try transaction.changeSchema(to: conformed)
        canGoOn = false
    }

    /// The transaction failed, and what it has converted is undone with it.
    func resume() { canGoOn = true }
}

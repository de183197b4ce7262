extension StoreSchema {
    /// Returns this schema, an earlier form of `later`, with the tables, columns and indexes that were added since.
    /// Added tables are empty, and added columns blank. What was removed since stays as long as it existed. What was
    /// added and then removed is there from the beginning. So each schema between the two can be extended in turn, and
    /// follow the one before.
    func extended(to later: StoreSchema) -> StoreSchema {
        var result = self
        for (index, table) in later.tables.enumerated() {
            if index == result.tables.count {
                result.tables.append(TableSchema(name: table.name, isEmbedded: table.isEmbedded, columns: []))
            }
            guard !result.tables[index].isRemoved else { continue }
            var own = result.tables[index]
            for (column, now) in zip(own.columns.indices, table.columns)
            where !now.isRemoved && !own.columns[column].isRemoved { own.columns[column].isIndexed = now.isIndexed }
            for var new in table.columns.dropFirst(own.columns.count) {
                new.isRemoved = false
                own.columns.append(new)
            }
            own.primaryKey = table.primaryKey
            result.tables[index] = own
        }
        return result
    }

    /// Returns this schema extended, with its columns optional or required as they are now: rows of it can be read as
    /// rows of `later`.
    func conformed(to later: StoreSchema) -> StoreSchema {
        var result = extended(to: later)
        for (index, table) in later.tables.enumerated() where !table.isRemoved && !result.tables[index].isRemoved {
            for (column, now) in table.columns.enumerated()
            where !now.isRemoved && !result.tables[index].columns[column].isRemoved {
                result.tables[index].columns[column].isNullable = now.isNullable
            }
        }
        return result
    }

    /// Whether rows of this schema can be read as rows of `later`.
    func canBeRead(as later: StoreSchema) -> Bool { self == later || conformed(to: later) == self }
}

/// Shows past versions in today's schema. The schema of each version is extended on the way
/// (`StoreSchema.extended(to:)`), which costs nothing for rows that are added later. Columns that have become optional
/// or required since are converted at the end. It belongs to its `PastStore`.
final class PastSchema {
    /// Today's schema.
    let target: StoreSchema
    /// The schemas as they were, each with the version from which it held, ascending.
    private var known: [(from: UInt64, schema: StoreSchema)]
    /// False once columns have been converted, because the commits that follow are about the columns as they were.
    private(set) var canContinue = true

    init(from version: UInt64, _ schema: StoreSchema, as target: StoreSchema) {
        self.target = target
        known = [(version, schema)]
    }

    /// Returns the schema that a version had. The version must have been reached.
    func schema(at version: UInt64) -> StoreSchema {
        guard let found = known.last(where: { $0.from <= version }) else {
            preconditionFailure("Firn: version \(version) is older than the base that it is replayed from")
        }
        return found.schema
    }

    // MARK: In a transaction that replays

    /// - Parameter version: the version whose content the transaction begins with.
    func begin(_ transaction: WriteTransaction, at version: UInt64) throws(StoreError) {
        precondition(canContinue, "Firn: a converted version cannot be the base of the next one")
        let extended = schema(at: version).extended(to: target)
        if extended != transaction.resolvedSchema.schema { try transaction.changeSchema(to: extended) }
    }

    /// Records a schema that holds from a version on, and returns the schema that the store must have.
    func follow(_ schema: StoreSchema, from version: UInt64) -> StoreSchema {
        // A replay that failed may have come here before.
        known.removeAll { $0.from >= version }
        known.append((version, schema))
        return schema.extended(to: target)
    }

    func end(_ transaction: WriteTransaction) throws(StoreError) {
        let schema = transaction.resolvedSchema.schema
        let conformed = schema.conformed(to: target)
        guard conformed != schema else { return }
        try transaction.changeSchema(to: conformed)
        canContinue = false
    }

    /// Allows the replay to continue after a transaction failed: what it converted is undone with it.
    func resume() { canContinue = true }
}

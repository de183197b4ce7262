extension StoreSchema {
    /// Returns this schema, an earlier form of `later`, with the tables, columns and indexes that were added since.
    /// Added tables are empty, and added columns blank. A table or column that was removed since is kept until its
    /// removal. A table or column that was added and then removed exists from the beginning. So each schema between the
    /// two can be extended in turn, and the result can follow the extended schema before it.
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

    /// Returns this schema extended to `later`, with each column optional or required as in `later`. Rows of the result
    /// can be read as rows of `later`.
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

/// Makes past versions readable in today's schema. During the replay, the schema of each version is extended
/// (`StoreSchema.extended(to:)`), which costs nothing for rows that are added later. Columns that have become optional
/// or required since are converted at the end. A `PastSchema` belongs to its `PastStore`.
final class PastSchema {
    /// Today's schema.
    let target: StoreSchema
    /// The original schemas, each with the first version that had it, in ascending order.
    private var known: [(from: UInt64, schema: StoreSchema)]
    /// False once columns have been converted, because later commits refer to the columns before their conversion.
    private(set) var canContinue = true

    init(from version: UInt64, _ schema: StoreSchema, as target: StoreSchema) {
        self.target = target
        known = [(version, schema)]
    }

    /// Returns the schema that a version had. The replay must have reached the version.
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

    /// Records a schema that holds from a version on. Returns its extended form, which the replaying store must have.
    func follow(_ schema: StoreSchema, from version: UInt64) -> StoreSchema {
        // A failed replay may have recorded these versions already.
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

    /// Allows the replay to continue after a failed transaction, whose conversions were undone with it.
    func resume() { canContinue = true }
}

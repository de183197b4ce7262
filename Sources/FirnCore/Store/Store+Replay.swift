import CFirn
import FirnBytes
import FirnLog

extension Store {
    /// Brings the store to the log's last durable version. This is the second half of recovery, after the log has
    /// found its end.
    func replay(_ log: Log) throws(StoreError) {
        let start = versions.tip.version
        if log.isWriting, log.schema.isEmpty, !schema.tables.isEmpty {
            try logged(log.restoreSchema(SchemaCoding.encode(schema)))
        }
        guard log.publishedVersion > start else { return }
        try replay(log, after: start, through: log.publishedVersion, isOpening: true)
        if !isReadOnly { try logged(log.setSchema(SchemaCoding.encode(schema))) }
    }

    /// Applies the commits `after + 1 ... through` of a log to the store, which has the content of version `after`, and
    /// publishes `through`. If there are no commits, it publishes `after` itself, which the store must not have
    /// published yet.
    ///
    /// The commits are applied in one transaction, because nobody needs the versions between them.
    ///
    /// - Parameters:
    ///   - position: the position at which an earlier replay ended.
    ///   - past: how to show a past version; nil to follow the log's schemas as they are.
    ///   - time: when `after` was committed, if there are no commits.
    ///   - isOpening: whether the store is being opened; see `Log.replay`.
    /// - Returns: the position from which a later replay continues.
    @discardableResult
    func replay(
        _ log: Log, after: UInt64, through: UInt64, from position: LogPosition? = nil, as past: PastSchema? = nil,
        time: Int64 = 0, isOpening: Bool = false
    ) throws(StoreError) -> LogPosition? {
        let transaction = WriteTransaction(
            context, owner: self, base: versions.pinForStore(.tip))
        transaction.isReplay = true
        guard queue.tryAcquire() else { preconditionFailure("Firn: a store was written to while its log was replayed") }
        var last = (version: after, time: time)
        let reached: LogPosition?
        do {
            reached = try transaction.recordingDamage {
                try past?.begin(transaction, at: after)
                let reached = try log.replay(after: after, through: through, from: position, isOpening: isOpening) {
                    last = ($0.version, $0.time)
                    try transaction.apply(&$0, as: past)
                }
                try past?.end(transaction)
                return reached
            }
            try transaction.checkDamage()
        } catch {
            let error = transaction.metDamage ?? error
            transaction.cancel()
            throw replayError(error, after: last.version, log)
        }
        finishReplay(transaction, version: last.version, time: last.time)
        return reached
    }

    func replayError(_ error: any Error, after version: UInt64, _ log: Log) -> StoreError {
        switch error {
        case let error as StoreError: error
        case let error as LogError: StoreError(error)
        default:
            StoreError(
                .damage,
                "version \(version) of \(log.options.folder) cannot be applied: \(error). Nothing was changed; `firn verify` shows what else is damaged, "
                    + "`firn replay --to \(version - 1)` writes a store that ends before it, `firn recover` one of all that can be read"
            )
        }
    }
}

extension WriteTransaction {
    /// Applies a commit of the log. `check` is called with each schema that the commit sets, and may refuse it.
    func apply(
        _ commit: inout CommitReader, as past: PastSchema? = nil, check: (StoreSchema) throws -> Void = { _ in }
    ) throws {
        let outer = firn_set_damage_record(damageRecord)
        defer { _ = firn_set_damage_record(outer) }
        let version = commit.version
        let reader = ChangesetReader(version: version, direction: .forward)
        while let part = try commit.next() {
            switch part.kind {
            case .schema:
                let schema: StoreSchema
                do throws(Damage) { schema = try SchemaCoding.decode(part.bytes) } catch {
                    throw StoreError(
                        .damage, "the schema of version \(version) cannot be read: \(error); run `firn verify`")
                }
                try check(schema)
                try follow(schema, from: version, as: past)
            case .changes:
                try reader.read(part.bytes) { block in
                    if case .schema(let schema) = block {
                        try check(schema)
                        try follow(schema, from: version, as: past)
                    } else {
                        try apply(&block)
                        try checkDamage()
                    }
                }
            }
        }
        try reader.finish()
    }

    private func follow(_ schema: StoreSchema, from version: UInt64, as past: PastSchema?) throws(StoreError) {
        do {
            try changeSchema(to: past?.follow(schema, from: version) ?? schema)
        } catch  where error.code == .schema {
            // No caller asked for this schema: the log says that it is in force.
            throw StoreError(
                .damage,
                "the schema of version \(version) can't be in force: \(error.description); run `firn verify`")
        }
    }
}

extension Store {
    /// Adds what a transaction has replayed as the version with which the log ends. Nothing is logged.
    func finishReplay(_ transaction: WriteTransaction, version: UInt64, time: Int64) {
        transaction.scripts = [:]
        add(transaction, version: version, time: time)
        publish(through: version)
        endTransaction()
    }

    /// Adds the commits of other processes, which a transaction has replayed, as one version: the last of theirs.
    /// Nothing is logged, and the write lock stays held.
    func finishFollowing(_ transaction: WriteTransaction, version: UInt64, time: Int64) throws(StoreError) {
        if keepsChangeSummaries {
            let summary = transaction.recordingDamage { transaction.makeChangeSummary(transaction.makeDeltas()) }
            try transaction.checkDamage()
            keep(summary, after: transaction.base.version, version)
        }
        transaction.scripts = [:]
        add(transaction, version: version, time: time)
    }
}

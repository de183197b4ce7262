import CFirn
import FirnBytes
import FirnLog

extension Store {
    /// Brings the store to the log's last durable version: what recovery is once the log has found its end.
    func replay(_ log: Log) throws(StoreError) {
        let start = versions.tip.version
        if log.isWriting, log.schema.isEmpty, !schema.tables.isEmpty {
            do { try log.restoreSchema(SchemaCoding.encode(schema)) } catch { throw StoreError(error) }
        }
        guard log.publishedVersion > start else { return }
        try replay(log, after: start, through: log.publishedVersion, isOpening: true)
        if !isReadOnly {
            do { try log.setSchema(SchemaCoding.encode(schema)) } catch { throw StoreError(error) }
        }
    }

    /// Applies the commits `after + 1 ... through` of a log to the store, which is at `after`, and publishes `through`. Consecutive commits are applied in one transaction, as
    /// no version between them is asked for.
    ///
    /// - Parameters:
    ///   - position: where an earlier replay has ended.
    ///   - isOpening: whether the store is just being opened; see `Log.replay`.
    ///   - past: how a past version is to be shown; nil to follow the log's schemas as they are.
    /// - Returns: where to go on.
    @discardableResult
    func replay(
        _ log: Log, after: UInt64, through: UInt64, from position: LogPosition? = nil, as past: PastSchema? = nil,
        isOpening: Bool = false
    ) throws(StoreError) -> LogPosition? {
        let transaction = WriteTransaction(
            store: self, base: versions.pinForStore(.tip), stamp: nextStamp())
        guard queue.tryAcquire() else { preconditionFailure("Firn: a store is written while it is replayed") }
        var last: (version: UInt64, time: Int64) = (0, 0)
        let reached: LogPosition?
        do {
            reached = try transaction.noting {
                try past?.begin(transaction)
                let reached = try log.replay(after: after, through: through, from: position, isOpening: isOpening) {
                    last = ($0.version, $0.time)
                    try transaction.apply(&$0, as: past)
                }
                try past?.end(transaction)
                return reached
            }
            try transaction.checkFaults()
        } catch {
            let error = transaction.fault ?? error
            transaction.cancel()
            throw replayError(error, after: last.version, log)
        }
        transaction.finishReplay(version: last.version, time: last.time)
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
                    + "`firn replay --to \(version - 1)` writes a store that ends before it")
        }
    }
}

extension WriteTransaction {
    /// Applies a commit of the log. `check` is shown each schema that it sets, and may refuse it.
    func apply(
        _ commit: inout CommitReader, as past: PastSchema? = nil, check: (StoreSchema) throws -> Void = { _ in }
    ) throws {
        let outer = firn_set_fault_record(faults)
        defer { _ = firn_set_fault_record(outer) }
        let version = commit.version
        let reader = ChangesetReader(version: version, direction: .forward)
        while let part = try commit.next() {
            switch part.kind {
            case .schema:
                let schema: StoreSchema
                do throws(BytesError) { schema = try SchemaCoding.decode(part.bytes) } catch {
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
                        try checkFaults()
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
            // Nobody asks for this schema: the log says that it is in force.
            throw StoreError(
                .damage,
                "the schema of version \(version) can't be in force: \(error.description); run `firn verify`")
        }
    }

    /// Enters what was replayed as the version that the log ends with. Nothing is logged.
    func finishReplay(version: UInt64, time: Int64) {
        scripts = [:]
        let store = store
        enter(version: version, time: time)
        store.publish(through: version)
        store.endTransaction()
    }

    /// Enters what other processes have committed as the version that they ended with. Nothing is logged, and the write lock stays.
    func finishFollowing(version: UInt64, time: Int64) throws(StoreError) {
        if store.keepsChangeSummaries {
            let notes = noting { makeChangeSummary(makeDeltas()) }
            try checkFaults()
            store.keep(notes, after: base.version, version)
        }
        scripts = [:]
        enter(version: version, time: time)
    }

    private func enter(version: UInt64, time: Int64) {
        let store = store
        let root = NodeRef(rootSlot.pointee).node
        let stamp = writer.stamp
        let reference = reference
        let outcome = finish()
        store.versions.add(stamp: stamp, version: version, time: time, root: root, reference: reference, outcome)
    }
}

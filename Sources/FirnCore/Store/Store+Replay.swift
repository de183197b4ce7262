import FirnBytes
import FirnLog

extension Store {
    /// Brings the store to the log's last durable version: what recovery is once the log has found its end. Consecutive commits are applied in one transaction as far as possible,
    /// as no version between them is asked for.
    func replay(_ log: Log) throws(StoreError) {
        let start = versions.tip.version
        guard log.publishedVersion > start else { return }
        let transaction = WriteTransaction(
            store: self, base: versions.pinForStore(.tip), stamp: nextStamp())
        guard queue.tryAcquire() else { preconditionFailure("Firn: a store is written before it is open") }
        var last: (version: UInt64, time: Int64) = (0, 0)
        do {
            try log.replay(after: start, through: log.publishedVersion) { commit in
                last = (commit.version, commit.time)
                let reader = ChangesetReader(version: commit.version, direction: .forward)
                while let part = try commit.next() {
                    switch part.kind {
                    case .schema:
                        let schema: Schema
                        do throws(BytesError) { schema = try SchemaCoding.decode(part.bytes) } catch {
                            throw StoreError(
                                .damage,
                                "the schema of version \(commit.version) cannot be read: \(error); run `firn verify`")
                        }
                        try transaction.changeSchema(to: schema)
                    case .changes: try reader.read(part.bytes) { try transaction.apply(&$0) }
                    }
                }
                try reader.finish()
            }
        } catch {
            transaction.cancel()
            throw replayError(error, after: last.version, log)
        }
        transaction.finishReplay(version: last.version, time: last.time)
        if !isReadOnly {
            do { try log.setSchema(SchemaCoding.encode(schema)) } catch { throw StoreError(error) }
        }
    }

    private func replayError(_ error: any Error, after version: UInt64, _ log: Log) -> StoreError {
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
    /// Enters what was replayed as the version that the log ends with. Nothing is logged.
    func finishReplay(version: UInt64, time: Int64) {
        scripts = [:]
        let store = store
        let root = NodeRef(rootSlot.pointee).node
        let stamp = writer.stamp
        let reference = reference
        let outcome = finish()
        store.versions.add(stamp: stamp, version: version, time: time, root: root, reference: reference, outcome)
        store.publish(through: version)
        store.endTransaction()
    }
}

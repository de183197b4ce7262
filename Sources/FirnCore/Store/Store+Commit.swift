import FirnLog

extension Store {
    func commit(_ transaction: WriteTransaction, pins: Bool) throws(StoreError) -> CommittedVersion {
        let committed = try append(transaction, wakesFollower: false, pins: pins)
        defer { letOthersWriteIfAsked() }
        try waitUntilPublished(committed.number)
        return committed
    }

    func commitWithoutWaiting(_ transaction: WriteTransaction, pins: Bool) throws(StoreError) -> CommittedVersion {
        try append(transaction, wakesFollower: true, pins: pins)
    }

    /// Writes a transaction's commit to the log: the write lock is released, and the version is the tip.
    ///
    /// - Parameters:
    ///   - wakesFollower: as in `endTransaction`.
    ///   - pins: whether the result holds a pin on the version.
    private func append(
        _ transaction: WriteTransaction, wakesFollower: Bool, pins: Bool
    ) throws(StoreError) -> CommittedVersion {
        let before = transaction.base.version
        let version = before + 1
        var time = max(clock.now(), transaction.base.time)
        do throws(StoreError) {
            // A forked child has no right to its parent's log, and not all of its parent's memory.
            if isForked { try checkWritable() }
            try checkMemory(of: transaction)
            try transaction.checkDamage()
            try transaction.recordingDamage { () throws(StoreError) in
                // The changeset and the change summary come from the same deltas.
                lazy var deltas = transaction.makeDeltas()
                let summary = keepsChangeSummaries ? transaction.makeChangeSummary(deltas) : nil
                // From here on nothing is read that could be damaged, except by the encoder: `PartSink` checks for
                // damage before the last part.
                try transaction.checkDamage()
                if let log { time = try logged(transaction.append(deltas, to: log, version: version)) }
                if let summary { keep(summary, after: before, version) }
            }
        } catch {
            transaction.cancel()
            // A checkpoint may free space for the next commit.
            if error.isDiskFull { startCheckpointIfDue() }
            throw error
        }
        add(transaction, version: version, time: time)
        // The write lock is held, so nobody has added a later version, or another tree.
        let pin = pins ? versions.pinForStore(.tip) : nil
        endTransaction(wakesFollower: wakesFollower)
        startCheckpointIfDue()
        reportClockChange()
        return CommittedVersion(number: version, time: time, pin: pin)
    }

    /// Throws if a transaction takes more memory than an encrypted store allows. Other stores use scratch files beyond
    /// that.
    private func checkMemory(of transaction: WriteTransaction) throws(StoreError) {
        guard let log, log.isEncrypted else { return }
        let (byteCount, most) = (transaction.writer.state.pointee.byteDelta, options.transactionMemoryByteCount)
        guard byteCount > most else { return }
        throw StoreError(
            LogError(
                .tooLarge, path: log.options.folder,
                detail:
                    "it takes \(byteCount) bytes of memory, and an encrypted store writes none of it to scratch files: "
                    + "the limit is \(most)"))
    }

    /// Ends a transaction, and adds its tree to the version table as the tip. The write lock stays held.
    func add(_ transaction: WriteTransaction, version: UInt64, time: Int64) {
        let root = NodeRef(transaction.rootSlot.pointee).node
        let stamp = transaction.writer.stamp
        let resolvedSchema = transaction.resolvedSchema
        let outcome = transaction.detach()
        versions.add(
            stamp: stamp, version: version, time: time, root: root, resolvedSchema: resolvedSchema, outcome)
        #if DEBUG
            if Self.checksInvariants { checkTip() }
        #endif
    }

    /// Reports that the clock was set, if the log has noticed that; otherwise costs one load. Called under no lock.
    @inline(__always)
    func reportClockChange() {
        guard let log, log.hasClockChange, let change = log.takeClockChange() else { return }
        options.onEvent?(.clockChanged(change))
    }

    /// Waits until a written version is durable, and publishes it.
    package func waitUntilPublished(_ version: UInt64) throws(StoreError) {
        guard let log else { return publish(through: version) }
        try logged(log.waitUntilDurable(version))
        publish(through: log.publishedVersion)
    }

    /// Calls `done` on the log's own thread when a written version is durable and published, or can't be.
    package func whenPublished(_ version: UInt64, _ done: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
        guard let log else {
            publish(through: version)
            return done(.success(()))
        }
        log.whenDurable(version) { [self] result in
            switch result {
            case .success:
                publish(through: log.publishedVersion)
                done(.success(()))
            case .failure(let error): done(.failure(StoreError(error)))
            }
        }
    }
}

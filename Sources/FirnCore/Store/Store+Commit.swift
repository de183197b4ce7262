import FirnLog

/// A version that a commit made.
package struct CommittedVersion: Sendable {
    package let number: UInt64
    /// Nanoseconds since 1970.
    package let time: Int64
    /// A pin on exactly this version, if the caller of the commit asked for one; later versions may have been
    /// published together with it. The pin is listed nowhere and counts against no limit.
    package var pin: Pin?
}

extension WriteTransaction {
    /// The store that the transaction writes to.
    var store: Store { unsafeDowncast(owner, to: Store.self) }

    /// Commits, and returns when the version is durable (as defined by the store's durability) and published.
    ///
    /// Throws if the version could not be written. Then it never existed, unless the error says that the outcome is
    /// unknown.
    ///
    /// - Parameter pins: whether the result holds the version.
    @discardableResult
    package func commit(pins: Bool = false) throws(StoreError) -> CommittedVersion {
        let store = store
        let committed = try append(wakesFollower: false, pins: pins)
        defer { store.letOthersWriteIfAsked() }
        try store.waitUntilPublished(committed.number)
        return committed
    }

    /// Writes the commit to the log and does not wait: the write lock is released and the version is the tip, but
    /// nobody sees it before `Store.waitUntilPublished` or `whenPublished` reports that it is durable.
    package func commitWithoutWaiting(pins: Bool = false) throws(StoreError) -> CommittedVersion {
        try append(wakesFollower: true, pins: pins)
    }

    private func append(wakesFollower: Bool, pins: Bool = false) throws(StoreError) -> CommittedVersion {
        let version = base.version + 1
        let store = store
        var time = max(store.clock.now(), base.time)
        do throws(StoreError) {
            // A forked child has no right to its parent's log, and not all of its parent's memory.
            if store.isForked { try store.checkWritable() }
            try checkFaults()
            try recordingDamage { () throws(StoreError) in
                // The changeset and the change summary come from the same deltas.
                lazy var deltas = makeDeltas()
                let summary = store.keepsChangeSummaries ? makeChangeSummary(deltas) : nil
                // From here on nothing is read that could be damaged, except by the encoder: `PartSink` checks for
                // damage before the last part.
                try checkFaults()
                if let log = store.log {
                    do throws(LogError) { time = try append(deltas, to: log, version: version) } catch {
                        throw StoreError(error)
                    }
                }
                if let summary { store.keep(summary, after: base.version, version) }
            }
        } catch {
            cancel()
            // A checkpoint may make room for the next one.
            if error.isDiskFull { store.compactIfDue() }
            throw error
        }
        let root = NodeRef(rootSlot.pointee).node
        let stamp = writer.stamp
        let resolvedSchema = resolvedSchema
        let outcome = detach()
        store.versions.add(
            stamp: stamp, version: version, time: time, root: root, resolvedSchema: resolvedSchema, outcome)
        // The write lock is held, so nobody has added a later version, or another tree.
        let pin = pins ? store.versions.pinForStore(.tip) : nil
        store.endTransaction(wakesFollower: wakesFollower)
        store.compactIfDue()
        store.reportClockChange()
        return CommittedVersion(number: version, time: time, pin: pin)
    }
}

extension Store {
    /// Reports that the clock was set, as the log has noticed it. Called under no lock. Costs a load if it was not.
    @inline(__always)
    func reportClockChange() {
        guard let log, log.hasClockChange, let change = log.takeClockChange() else { return }
        options.onEvent?(.clockChanged(change))
    }

    /// Waits until a written version is durable, and publishes it.
    package func waitUntilPublished(_ version: UInt64) throws(StoreError) {
        guard let log else { return publish(through: version) }
        do { try log.waitUntilDurable(version) } catch { throw StoreError(error) }
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

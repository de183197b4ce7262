import FirnLog

/// A version that a commit made.
public struct CommittedVersion: Sendable {
    public let number: UInt64
    /// Nanoseconds since 1970.
    public let time: Int64
    /// Holds exactly this version, if the commit was asked to; later versions may have been published with it. It is
    /// listed nowhere and counts against no limit.
    public var pin: Pin?
}

extension WriteTransaction {
    /// Commits, and returns when the version is durable (as the store's durability has it) and published.
    ///
    /// Throws where the version could not be written: it never was then, except for an outcome that the error calls unknown.
    ///
    /// - Parameter pins: whether the result holds the version.
    @discardableResult
    public func commit(pins: Bool = false) throws(StoreError) -> CommittedVersion {
        let store = store
        let committed = try write(wakesFollower: false, pins: pins)
        defer { store.letOthersWriteIfAsked() }
        try store.waitUntilPublished(committed.number)
        return committed
    }

    /// Commits as far as the log: the write lock is free, the version is the tip, but nobody sees it before `Store.waitUntilPublished` or `whenPublished`
    /// says that it is durable.
    public func write() throws(StoreError) -> CommittedVersion { try write(wakesFollower: true) }

    private func write(wakesFollower: Bool, pins: Bool = false) throws(StoreError) -> CommittedVersion {
        let version = base.version + 1
        let store = store
        var time = max(store.clock.now(), base.time)
        do throws(StoreError) {
            // A forked child has no right to its parent's log, and not all of its parent's memory.
            if store.isForked { try store.checkWritable() }
            try checkFaults()
            try noting { () throws(StoreError) in
                // The log and the notes tell the same.
                lazy var deltas = makeDeltas()
                let notes = store.keepsChangeSummaries ? makeChangeSummary(deltas) : nil
                // From the log on nothing is read any more that could be damaged: `PartSink` looks before the last part.
                try checkFaults()
                if let log = store.log {
                    do throws(LogError) { time = try append(deltas, to: log, version: version) } catch {
                        throw StoreError(error)
                    }
                }
                if let notes { store.keep(notes, after: base.version, version) }
            }
        } catch {
            cancel()
            throw error
        }
        let root = NodeRef(rootSlot.pointee).node
        let stamp = writer.stamp
        let reference = reference
        let outcome = finish()
        store.versions.add(stamp: stamp, version: version, time: time, root: root, reference: reference, outcome)
        // The write lock is held: nobody has put a later version, or another tree, on top.
        let pin = pins ? store.versions.pinForStore(.tip) : nil
        store.endTransaction(wakesFollower: wakesFollower)
        store.compactIfDue()
        return CommittedVersion(number: version, time: time, pin: pin)
    }
}

extension Store {
    /// Waits until a written version is durable, and publishes it.
    public func waitUntilPublished(_ version: UInt64) throws(StoreError) {
        guard let log else { return publish(through: version) }
        do { try log.waitUntilDurable(version) } catch { throw StoreError(error) }
        publish(through: log.publishedVersion)
    }

    /// Calls `done` when a written version is durable and published, or can't be; on the log's own thread.
    public func whenPublished(_ version: UInt64, _ done: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
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

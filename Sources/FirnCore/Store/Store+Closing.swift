import FirnLog
import FirnStorage

/// The checkpoint that a store writes when it is closed, so that the next opening has next to nothing to replay. SQLite
/// does the same when the last connection closes.
extension Store {
    /// Waits for running writes, makes everything durable and closes the log. Versions that are pinned stay readable.
    ///
    /// If the log has grown since the last checkpoint, another one is written first
    /// (`CompactionRule.closingLogByteCount`). So the next opening has next to nothing to replay. The checkpoint takes
    /// as long as writing what has changed. If the disk is full, the changes stay in the log.
    ///
    /// - Parameter endsReading: whether nothing of the store is read any more, so that it can be deleted while the
    ///   object still exists.
    /// - Throws: the error that kept the log from becoming durable or the checkpoint from being written, except for a
    ///   full disk during the checkpoint. The store is closed in any case.
    package func close(endsReading: Bool = false) throws(StoreError) {
        // In a forked child the write lock may be held by a thread that has stayed with the parent.
        if isForked { return closed.store(true, ordering: .releasing) }
        guard !closing.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var failure: StoreError?
        // This comes before anything that takes long, because the process may end meanwhile.
        do throws(StoreError) { try syncPendingCommits() } catch { failure = error }
        do throws(StoreError) { try writeClosingCheckpoint() } catch {
            // Everything is in the log, and the next opening replays it.
            if !error.isDiskFull { failure = error }
        }
        closed.store(true, ordering: .releasing)
        try closeLog(endsReading: endsReading)
        if let failure { throw failure }
    }

    private func closeLog(endsReading: Bool) throws(StoreError) {
        follower?.stop(waits: true)
        versions.endWaiting()
        compaction.thread.stop()
        spiller?.stop()
        queue.acquire()
        defer { queue.release() }
        guard let log else { return }
        // From now on another process may get the slot. So pins that are released later report to nobody.
        versions.withLock { $0.report = nil }
        // Held versions still read checkpoint files. This keeps other openers from punching holes in them.
        try logged(log.close(isRead: !endsReading && !fileReferences.isEmpty))
    }

    /// How long the exit of a process waits for a checkpoint that is being written, in nanoseconds.
    private static let exitTimeout: Int64 = 60_000_000_000

    /// Writes the checkpoint that is due. If another one is being written, waits for it first, and lets it write at
    /// full speed.
    ///
    /// Does nothing if the rule wants no checkpoint, or if nothing can be written any more. Also does nothing if
    /// another process that can write keeps the store open, because the last such process writes the checkpoint.
    func writeClosingCheckpoint() throws(StoreError) {
        guard let log, options.compaction.isAutomatic, !isReadOnly, !log.isForked else { return }
        // This comes before any waiting, as in `prepareForExit`.
        let isLast = log.beginEnding()
        compaction.thread.hurry()
        try compaction.thread.run { () throws(StoreError) in if isLast { try writeClosingCheckpoint(log) } }
    }

    private func writeClosingCheckpoint(_ log: Log) throws(StoreError) {
        guard log.failure == nil else { return }
        // Another process may have written and compacted since this one last wrote.
        let byteCount = try withWriteLock { () throws(LogError) in log.byteCountBehindCheckpoint }
        guard byteCount > options.compaction.closingLogByteCount else { return }
        try compactor.writeDueCheckpoint(options.compaction)
    }

    /// Makes durable what relaxed durability has not synced yet.
    func syncPendingCommits() throws(StoreError) {
        guard let log, case .relaxed = log.options.durability, !log.isForked, !isReadOnly, log.failure == nil else {
            return
        }
        try logged(log.sync())
    }

    /// Prepares the end of a process that has the store open. Syncs what `.relaxed` has not synced yet, and writes the
    /// checkpoint that `close` would write. The store stays open, because other threads may still use it.
    ///
    /// Each time that it needs the write lock it waits for a second at most. The running transaction may be the
    /// exiting thread's own, or may wait for this thread. Then the log stays as it is, and the next opening replays
    /// it.
    package func prepareForExit() throws(StoreError) {
        guard let log, !isClosed, !log.isForked, !isReadOnly else { return }
        // This comes first: another process that ends while this one waits must not rely on this process. Then that
        // process is the last to announce its end, and writes the checkpoint.
        let isLast = log.beginEnding()
        try syncPendingCommits()
        guard options.compaction.isAutomatic else { return }
        compaction.thread.processEnds()
        // The compactor itself may be waiting for a transaction that does not end.
        guard acquireForCheckpoint() else { return }
        queue.release()
        let deadline = SystemClock.shared.monotonic() + Store.exitTimeout
        do throws(StoreError) {
            try compaction.thread.run(until: deadline) { () throws(StoreError) in
                if isLast { try writeClosingCheckpoint(log) }
            }
        } catch {
            // A transaction began meanwhile and is still running.
            guard error.code == .closed else { throw error }
        }
    }

    /// Acquires the write lock for a checkpoint. Returns false if the process ends and a transaction runs for too long.
    func acquireForCheckpoint() -> Bool {
        guard let timeout = compaction.thread.transactionTimeout else {
            queue.acquire()
            return true
        }
        return acquire(until: SystemClock.shared.monotonic() + timeout)
    }

    /// Acquires the write lock. Returns false if it is not free by `deadline`, a time of the monotonic clock in
    /// nanoseconds.
    func acquire(until deadline: Int64) -> Bool {
        while !queue.tryAcquire() {
            if SystemClock.shared.monotonic() > deadline { return false }
            sleepThread(nanoseconds: 1_000_000)
        }
        return true
    }

    /// The error with which a checkpoint is abandoned if `acquireForCheckpoint` returns false.
    static var endsBesideTransaction: StoreError {
        StoreError(.closed, "the process ends while a transaction runs; the next opening replays the log")
    }
}

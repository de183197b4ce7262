import FirnLog
import FirnStorage

/// The checkpoints that a store writes by itself.
extension Compactor {
    /// What the compactor's thread did before it checks again whether something is due.
    private enum Before {
        case nothing, removal, checkpoint, failure
    }

    /// The slow part of `Store.startCheckpointIfDue`.
    @inline(never)
    func startIfDue(_ log: Log) { startIfDue(log, after: .nothing) }

    /// Starts the work that is due. Work that the work before can't have made due is left out, so that the thread does
    /// not work without end. So a removal follows no other work. After a checkpoint, the memory that is still used is
    /// held, so it makes nothing due.
    private func startIfDue(_ log: Log, after before: Before) {
        guard log.options.usesThreads else { return }
        let rule = options.compaction
        let live = state.liveByteCount.load(ordering: .relaxed)
        let isDue =
            (rule.isDue(log: log.byteCountSinceCheckpoint, live: live)
                || rule.isAutomatic && (before != .checkpoint && isHeapDue(log, live: live) || isDueForSpace(log)))
            && mayRetry(log)
        let hasReleased = before == .nothing && rule.isAutomatic && (fileReferences.hasReleased || mayPunchHoles)
        guard isDue || hasReleased else { return }
        let (reference, chosen) = (store.reference, isDue ? rule : nil)
        thread.start { Compactor.work(for: reference, log, rule: chosen) }
    }

    /// The compactor's thread: writes a checkpoint by a rule, or only removes what versions have released. Static, so
    /// that the thread keeps no store open while it waits for its turn.
    private static func work(
        for reference: WeakReference<Store>, _ log: Log, rule: CompactionRule?
    ) -> CompactorThread.End {
        guard let compactor = reference.object?.compactor else { return CompactorThread.End() }
        let start = compactor.clock.monotonic()
        // Measured before a checkpoint: the space that is freed while it is written may be enough for the next one.
        var needs: (needed: Int, space: Int)?
        // Commits that come meanwhile can't start the next checkpoint, and may be the last ones. So the thread checks
        // by itself.
        func look(after before: Before) -> @Sendable () -> Void {
            { reference.object?.compactor.startIfDue(log, after: before) }
        }
        do throws(StoreError) {
            let report = try compactor.thread.run { () throws(StoreError) -> CompactionReport? in
                guard let rule else {
                    try compactor.removeReleased()
                    return nil
                }
                needs = compactor.spaceNeeds(log)
                return try compactor.writeDueCheckpoint(rule)
            }
            compactor.noteDueReport(report, since: start)
            guard rule == nil || report != nil else { return CompactorThread.End() }
            let now = compactor.clock.monotonic()
            return CompactorThread.End(next: (now, look(after: rule == nil ? .removal : .checkpoint)))
        } catch {
            let retry = compactor.noteFailure(error, log, needs: needs)
            return CompactorThread.End(failure: error, next: retry.map { ($0, look(after: .failure)) })
        }
    }

    /// Whether a checkpoint is due because of the memory that the newest version takes. A few bytes of the log may
    /// change many leaves, and each of them is then on the heap or in scratch files. An encrypted store has no scratch
    /// files, so its heap may not grow with its data.
    private func isHeapDue(_ log: Log, live: Int) -> Bool {
        isHeap(above: max(options.transactionMemoryByteCount, log.isEncrypted ? 0 : live / 4))
    }

    private func isHeap(above limit: Int) -> Bool {
        // A checkpoint does not free what only older versions need.
        heap.byteCount > limit && heap.byteCount - versions.withLock { $0.deadByteCount } > limit
    }

    /// Whether an encrypted store takes so much memory that the next transaction waits for the compactor. Transactions
    /// have then been faster, and what a checkpoint is written from counts, too. A plain store writes to scratch files
    /// instead.
    func isHeapOverfull(_ log: Log) -> Bool {
        log.isEncrypted && options.compaction.isAutomatic && heap.byteCount > 2 * options.transactionMemoryByteCount
            && mayRetry(log)
    }

    /// Waits for the checkpoint that is being written before a transaction begins, and writes another one, if there is
    /// an overfull heap to be freed. If that fails, the transaction begins nevertheless.
    func freeOverfullHeap(_ log: Log) throws(StoreError) {
        guard isHeapOverfull(log) else { return }
        let start = clock.monotonic()
        do throws(StoreError) {
            let report = try thread.run { () throws(StoreError) -> CompactionReport? in
                guard isHeap(above: options.transactionMemoryByteCount) else { return nil }
                var rule = options.compaction
                rule.bytesPerSecond = 0
                return try writeDueCheckpoint(rule)
            }
            noteDueReport(report, since: start)
        } catch {
            _ = noteFailure(error, log, needs: nil)
            if error.code == .closed { throw error }
        }
    }

    private func noteDueReport(_ report: CompactionReport?, since start: Int64) {
        noteReport(report, since: start)
        if report != nil { state.spaceRetry.withLock { $0.noteSuccess() } }
    }

    /// Notes that a checkpoint that was due failed. Returns when the next one may be tried if the disk was full.
    ///
    /// - Parameter needs: the space that it needed, and the space that it found; nil if that is what it would need now.
    private func noteFailure(_ error: StoreError, _ log: Log, needs: (needed: Int, space: Int)?) -> Int64? {
        let retry = error.isDiskFull ? noteFullDisk(log, needs ?? spaceNeeds(log)) : nil
        if error.code != .closed { options.onEvent?(.compactionFailed(error)) }
        return retry
    }
}

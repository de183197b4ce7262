import FirnLog
import FirnStorage

/// The checkpoints that a store writes by itself.
extension Compactor {
    /// The slow part of `Store.startCheckpointIfDue`.
    @inline(never)
    func startIfDue(_ log: Log) {
        guard log.options.usesThreads else { return }
        let rule = options.compaction
        let live = state.liveByteCount.load(ordering: .relaxed)
        let isDue =
            (rule.isDue(log: log.byteCountSinceCheckpoint, live: live)
                || rule.isAutomatic && (isHeapDue(live: live) || isDueForSpace(log))) && mayRetry(log)
        let hasReleased = rule.isAutomatic && (fileReferences.hasReleased || mayPunchHoles)
        guard isDue || hasReleased else { return }
        let reference = store.reference
        thread.start { () throws(StoreError) in
            try Compactor.work(for: reference, log, rule: isDue ? rule : nil)
        } afterwards: {
            // Commits that came meanwhile could not ask for the next one, and may have been the last.
            Compactor.startIfDueForSpace(reference, log)
        }
    }

    /// The compactor's thread: writes a checkpoint by a rule, or only removes what versions have released. Static, so
    /// that the thread keeps no store open while it waits for its turn. Returns whether a checkpoint was written.
    private static func work(
        for reference: WeakReference<Store>, _ log: Log, rule: CompactionRule?
    ) throws(StoreError) -> Bool {
        guard let compactor = reference.object?.compactor else { return false }
        let start = compactor.clock.monotonic()
        do throws(StoreError) {
            let report = try compactor.thread.run { () throws(StoreError) -> CompactionReport? in
                if let rule { return try compactor.writeDueCheckpoint(rule) }
                try compactor.removeReleased()
                return nil
            }
            compactor.noteReport(report, since: start)
            guard report != nil else { return false }
            compactor.noteSpace(log, after: nil)
            return true
        } catch {
            compactor.noteSpace(log, after: error)
            if error.code != .closed { compactor.options.onEvent?(.compactionFailed(error)) }
            throw error
        }
    }

    private static func startIfDueForSpace(_ reference: WeakReference<Store>, _ log: Log) {
        guard let compactor = reference.object?.compactor, compactor.isDueForSpace(log) else { return }
        compactor.startIfDue(log)
    }

    /// Whether a checkpoint is due because of the memory that the newest version takes: a few bytes of the log may
    /// change many leaves, and each of them is then on the heap or in scratch files.
    private func isHeapDue(live: Int) -> Bool {
        let limit = max(options.transactionMemoryByteCount, live / 4)
        // A checkpoint does not free what only older versions need.
        return heap.byteCount > limit && heap.byteCount - versions.withLock { $0.deadByteCount } > limit
    }
}

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
        let hasWritten = Guarded(.innermost, false)
        thread.start { [reference = store.reference] () throws(StoreError) in
            guard let store = reference.object else { return }
            let compactor = store.compactor
            let start = store.clock.monotonic()
            do throws(StoreError) {
                let report = try compactor.thread.run { () throws(StoreError) -> CompactionReport? in
                    if isDue { return try compactor.writeDueCheckpoint(rule) }
                    try compactor.removeReleased()
                    return nil
                }
                compactor.noteReport(report, since: start)
                guard report != nil else { return }
                compactor.noteSpace(log, after: nil)
                hasWritten.withLock { $0 = true }
            } catch {
                compactor.noteSpace(log, after: error)
                if error.code != .closed { store.options.onEvent?(.compactionFailed(error)) }
                throw error
            }
        } afterwards: { [reference = store.reference] in
            // Commits that came meanwhile could not ask for the next one, and may have been the last.
            guard hasWritten.withLock({ $0 }), let store = reference.object, store.compactor.isDueForSpace(log) else {
                return
            }
            store.compactor.startIfDue(log)
        }
    }

    /// Whether a checkpoint is due because of the memory that the newest version takes: a few bytes of the log may
    /// change many leaves, and each of them is then on the heap or in scratch files.
    private func isHeapDue(live: Int) -> Bool {
        let limit = max(options.transactionMemoryByteCount, live / 4)
        // A checkpoint does not free what only older versions need.
        return heap.byteCount > limit && heap.byteCount - versions.withLock { $0.deadByteCount } > limit
    }
}

import FirnLog
import FirnStorage

/// The checkpoints that a store writes by itself.
extension Store {
    /// Why the last automatic checkpoint could not be written; nil if it could. It is tried again after the next
    /// commits.
    package var compactionFailure: StoreError? { compactor.lastFailure }

    /// Starts a checkpoint if the rule wants one, or the removal of files that versions have released. Called after
    /// each commit. Costs six loads and compares.
    @inline(__always)
    func compactIfDue() {
        guard let log,
            log.byteCountSinceCheckpoint > options.compaction.logByteCount.least || fileReferences.hasReleased
                || deferredHoles.areMany || heap.byteCount > options.transactionMemoryByteCount
                || mayBeShortOfSpace(log)
        else { return }
        compactIfDue(log)
    }

    @inline(never)
    private func compactIfDue(_ log: Log) {
        guard log.options.usesThreads else { return }
        let rule = options.compaction
        let live = checkpointLiveByteCount.load(ordering: .relaxed)
        let isDue =
            (rule.isDue(log: log.byteCountSinceCheckpoint, live: live)
                || rule.isAutomatic && (isHeapDue(live: live) || isDueForSpace(log))) && mayRetry(log)
        let hasReleased = rule.isAutomatic && (fileReferences.hasReleased || mayPunchHoles)
        guard isDue || hasReleased else { return }
        let hasWritten = Guarded(.innermost, false)
        compactor.start { [reference] () throws(StoreError) in
            guard let store = reference.object else { return }
            let start = store.clock.monotonic()
            do throws(StoreError) {
                let report = try store.compactor.run { () throws(StoreError) -> CompactionReport? in
                    if isDue { return try store.writeDueCheckpoint(rule) }
                    try store.removeReleased()
                    return nil
                }
                store.noteCompaction(report, since: start)
                guard report != nil else { return }
                store.noteSpace(log, after: nil)
                hasWritten.withLock { $0 = true }
            } catch {
                store.noteSpace(log, after: error)
                if error.code != .closed { store.options.onEvent?(.compactionFailed(error)) }
                throw error
            }
        } afterwards: { [reference] in
            // Commits that came meanwhile could not ask for the next one, and may have been the last.
            guard hasWritten.withLock({ $0 }), let store = reference.object, store.isDueForSpace(log) else { return }
            store.compactIfDue(log)
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

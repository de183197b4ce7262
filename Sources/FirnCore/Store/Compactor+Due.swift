import FirnLog
import FirnStorage

/// The checkpoints that a store writes by itself.
extension Compactor {
    /// What the compactor's thread did before it looks again whether something is due.
    private enum Before {
        case nothing, removal, checkpoint, failure
    }

    /// The slow part of `Store.startCheckpointIfDue`.
    @inline(never)
    func startIfDue(_ log: Log) { startIfDue(log, after: .nothing) }

    /// Starts what is due. What can't have become due by the work before is left out, so that the thread doesn't work
    /// without end: a removal doesn't follow another one, and after a checkpoint the memory that is still used is held.
    private func startIfDue(_ log: Log, after before: Before) {
        guard log.options.usesThreads else { return }
        let rule = options.compaction
        let live = state.liveByteCount.load(ordering: .relaxed)
        let isDue =
            (rule.isDue(log: log.byteCountSinceCheckpoint, live: live)
                || rule.isAutomatic && (before != .checkpoint && isHeapDue(live: live) || isDueForSpace(log)))
            && mayRetry(log)
        let hasReleased = before == .nothing && rule.isAutomatic && (fileReferences.hasReleased || mayPunchHoles)
        guard isDue || hasReleased else { return }
        let reference = store.reference
        let work = Work(rule: isDue ? rule : nil)
        thread.start {
            work.run(for: reference, log)
        } afterwards: {
            // Commits that came meanwhile could not ask for the next one, and may have been the last.
            guard let compactor = reference.object?.compactor else { return }
            compactor.startIfDue(log, after: work.end.withLock { $0 })
        }
    }

    /// What the compactor's thread does: it writes a checkpoint by a rule, or only removes what versions have released.
    /// It keeps no store open while the thread waits for its turn.
    private final class Work: Sendable {
        let rule: CompactionRule?
        /// How it ended. The thread that runs it sets and reads it.
        let end = Guarded<Before>(.innermost, .nothing)

        init(rule: CompactionRule?) { self.rule = rule }

        func run(for reference: WeakReference<Store>, _ log: Log) -> CompactorThread.End {
            guard let compactor = reference.object?.compactor else { return CompactorThread.End() }
            let start = compactor.clock.monotonic()
            // Measured before the try: what is deleted during it may be what the next one lacks.
            var (needed, space) = (0, 0)
            do throws(StoreError) {
                let report = try compactor.thread.run { () throws(StoreError) -> CompactionReport? in
                    (needed, space) = compactor.spaceNeeds(log)
                    if let rule { return try compactor.writeDueCheckpoint(rule) }
                    try compactor.removeReleased()
                    return nil
                }
                compactor.noteReport(report, since: start)
                if report != nil { compactor.state.spaceRetry.withLock { $0.noteSuccess() } }
                guard rule == nil || report != nil else { return CompactorThread.End() }
                end.withLock { $0 = rule == nil ? .removal : .checkpoint }
                return CompactorThread.End(next: compactor.clock.monotonic())
            } catch {
                end.withLock { $0 = .failure }
                let next = error.isDiskFull ? compactor.noteFullDisk(log, needed: needed, space: space) : nil
                if error.code != .closed { compactor.options.onEvent?(.compactionFailed(error)) }
                return CompactorThread.End(failure: error, next: next)
            }
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

import FirnLog
import FirnStorage

/// The checkpoint that a store writes as it is closed, so that the next opening has next to nothing to replay: as SQLite checkpoints when the
/// last connection closes.
extension Store {
    /// How long the exit of a process waits for the transaction of another thread, and for a checkpoint that is being written.
    private static let exitPatience: (transaction: Int64, checkpoint: Int64) = (1_000_000_000, 60_000_000_000)

    /// Writes the checkpoint that is due, waiting for one that is being written, which no longer keeps to its pace.
    ///
    /// Nothing if the rule wants none, if another process has the store open (it or the last of them does it), or if nothing can be written any more.
    func writeClosingCheckpoint() throws(StoreError) {
        guard let log, options.compaction.isAutomatic, !isReadOnly, !log.isForked else { return }
        compactor.hurry()
        try compactor.run { () throws(StoreError) in try writeClosingCheckpoint(log) }
    }

    private func writeClosingCheckpoint(_ log: Log) throws(StoreError) {
        guard log.failure == nil, log.isAlone else { return }
        var byteCount = 0
        // Another process may have written, and have compacted, since this one did.
        try inTurn { () throws(LogError) in byteCount = log.byteCountBehindCheckpoint }
        guard byteCount > options.compaction.closingLogByteCount else { return }
        try writeDueCheckpoint(options.compaction)
    }

    /// For a process that ends with the store open: does what `close` would, and leaves the store open, as other threads may still use it.
    ///
    /// It waits for no transaction longer than a second, since the one that runs may be the exiting thread's own: the log then stays as it is, and the next
    /// opening replays it.
    public func prepareForExit() throws(StoreError) {
        guard let log, !isClosed, !log.isForked, waitForTransactions() else { return }
        guard options.compaction.isAutomatic, !isReadOnly else { return }
        compactor.hurry()
        let deadline = SystemClock.shared.monotonic() + Store.exitPatience.checkpoint
        try compactor.run(until: deadline) { () throws(StoreError) in try writeClosingCheckpoint(log) }
    }

    /// False if a transaction runs for too long.
    private func waitForTransactions() -> Bool {
        let deadline = SystemClock.shared.monotonic() + Store.exitPatience.transaction
        while !queue.tryAcquire() {
            if SystemClock.shared.monotonic() > deadline { return false }
            restThread(nanoseconds: 1_000_000)
        }
        queue.release()
        return true
    }
}

import FirnLog
import FirnStorage

/// The checkpoint that a store writes as it is closed, so that the next opening has next to nothing to replay: as SQLite checkpoints when the
/// last connection closes.
extension Store {
    /// How long the exit of a process waits for a checkpoint that is being written.
    private static let exitPatience: Int64 = 60_000_000_000

    /// Writes the checkpoint that is due, waiting for one that is being written, which no longer keeps to its pace.
    ///
    /// Nothing if the rule wants none, if another process that can write keeps the store open (it or the last of them does it), or if nothing can be written any more.
    func writeClosingCheckpoint() throws(StoreError) {
        guard let log, options.compaction.isAutomatic, !isReadOnly, !log.isForked else { return }
        // Before anything is waited for, as in `prepareForExit`.
        let isLast = log.beginEnding()
        compactor.hurry()
        try compactor.run { () throws(StoreError) in if isLast { try writeClosingCheckpoint(log) } }
    }

    private func writeClosingCheckpoint(_ log: Log) throws(StoreError) {
        guard log.failure == nil else { return }
        var byteCount = 0
        // Another process may have written, and have compacted, since this one did.
        try inTurn { () throws(LogError) in byteCount = log.byteCountBehindCheckpoint }
        guard byteCount > options.compaction.closingLogByteCount else { return }
        try writeDueCheckpoint(options.compaction)
    }

    /// Makes durable what a relaxed durability has left for later.
    func syncWhatIsOwed() throws(StoreError) {
        guard let log, case .relaxed = log.options.durability, !log.isForked, !isReadOnly, log.failure == nil else {
            return
        }
        do { try log.sync() } catch { throw StoreError(error) }
    }

    /// For a process that ends with the store open: makes durable what `.relaxed` owes, writes the checkpoint that `close` would, and leaves the store open, as other threads may still use it.
    ///
    /// Each time that it needs the write lock it waits a second at most, since the transaction that runs may be the exiting thread's own, or another's that needs something of this thread: the log then
    /// stays as it is, and the next opening replays it.
    public func prepareForExit() throws(StoreError) {
        guard let log, !isClosed, !log.isForked, !isReadOnly else { return }
        // First of all: another process that ends while this one waits must not count on it. Then that one is the last
        // to say that it ends, and writes the checkpoint.
        let isLast = log.beginEnding()
        try syncWhatIsOwed()
        guard options.compaction.isAutomatic else { return }
        compactor.processEnds()
        // The compactor may itself be waiting for a transaction that does not end.
        guard acquireForCheckpoint() else { return }
        queue.release()
        let deadline = SystemClock.shared.monotonic() + Store.exitPatience
        do throws(StoreError) {
            try compactor.run(until: deadline) { () throws(StoreError) in
                if isLast { try writeClosingCheckpoint(log) }
            }
        } catch {
            // A transaction has begun meanwhile and runs on.
            guard error.code == .closed else { throw error }
        }
    }

    /// Takes the write lock for a checkpoint. False where the process ends and a transaction runs for too long.
    func acquireForCheckpoint() -> Bool {
        guard let patience = compactor.transactionPatience else {
            queue.acquire()
            return true
        }
        return acquire(until: SystemClock.shared.monotonic() + patience)
    }

    /// Takes the write lock, unless that takes until `deadline`, a time of the monotonic clock in nanoseconds.
    func acquire(until deadline: Int64) -> Bool {
        while !queue.tryAcquire() {
            if SystemClock.shared.monotonic() > deadline { return false }
            restThread(nanoseconds: 1_000_000)
        }
        return true
    }

    /// Why a checkpoint is given up where `acquireForCheckpoint` is false.
    static var endsBesideTransaction: StoreError {
        StoreError(.closed, "the process ends while a transaction runs; the next opening replays the log")
    }
}

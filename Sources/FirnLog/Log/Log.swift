import FirnBytes
import FirnStorage
import Synchronization

/// The log of a store: the list of its commits, on disk.
///
/// Opening a log recovers it (`recovery` says what was found). `replay` reads the commits back. `beginCommit` writes
/// a commit; `waitUntilDurable` or `whenDurable` makes it durable, together with all others written meanwhile.
///
/// All calls may come from any thread, but only one commit at a time may be begun: its caller holds the store's write
/// lock. State that changes is atomic or guarded, as its comments say. The state of writing is in `LogWriter`.
package final class Log: @unchecked Sendable {
    package let options: LogOptions
    package let recovery: RecoveryReport
    let folder: StoreFolder
    /// The store's folder, open.
    package var storageFolder: any StorageFolder { folder.root }
    let locks: StoreLocks
    let page: SharedPage
    /// The highest version that a log opened read-only has seen published. Atomic: it only rises.
    let seen: Atomic<UInt64>
    /// The highest version that a log opened read-only has seen durable. Atomic: it only rises.
    let seenDurable: Atomic<UInt64>
    let writer: LogWriter?
    /// The schema at the end of a log that was opened read-only.
    let recoveredSchema: [UInt8]
    /// The opener's slot of the shared page; nil for a reader that could get none.
    let slot: Int?
    /// Whether the slot is still this opener's. Once the log is closed, another opener may get it.
    private let ownsSlot = Guarded(.innermost, true)
    /// For a reader that found no opener for writing: the page's session at that time. Otherwise nil.
    let unmaintainedSession: UInt64?
    /// The manifest that a log opened read-only uses while the store is being opened, and perhaps files that no other
    /// process keeps for it.
    private let fileReferences: Guarded<HeldLogFiles?>
    var held: HeldLogFiles? { fileReferences.withLock { $0 } }
    /// Whether a compactor of this opener runs. Atomic.
    let isCompacting = Atomic<Bool>(false)
    let isClosed = Atomic<Bool>(false)
    /// Whether `ceaseReading` was called; it stays true. The next call of `publishHoldings` shows it to the other
    /// processes. Atomic.
    let hasCeasedReading = Atomic<Bool>(false)
    let checkpoints: Guarded<ListedCheckpoints>
    /// The position behind the checkpoint's version, if recovery has passed it. The replay that opens the store begins
    /// there, and does not read again what the checkpoint covers.
    let checkpointPosition: LogPosition?
    /// Shows whether this process is a child that was forked after the log was opened.
    let forkMark = ForkMark()

    init(
        options: LogOptions, recovery: RecoveryReport, folder: StoreFolder, locks: StoreLocks, page: SharedPage,
        schema: [UInt8], checkpoints listed: [Checkpoint], nextCheckpointID: UInt64, writer: LogWriter?,
        slot: Int?, unmaintainedSession: UInt64? = nil, durable: UInt64? = nil, held: HeldLogFiles? = nil,
        checkpointPosition: LogPosition? = nil
    ) {
        self.checkpointPosition = checkpointPosition
        self.slot = slot
        self.unmaintainedSession = unmaintainedSession
        fileReferences = Guarded(.innermost, held)
        checkpoints = Guarded(.innermost, ListedCheckpoints(listed: listed, nextID: nextCheckpointID))
        recoveredSchema = schema
        self.options = options
        self.recovery = recovery
        self.folder = folder
        self.locks = locks
        self.page = page
        seen = Atomic(recovery.lastVersion)
        seenDurable = Atomic(durable ?? recovery.lastVersion)
        self.writer = writer
    }

    deinit { try? close() }

    /// Calls `body` with the slot, if it is still this opener's.
    func withSlot(_ body: (Int) -> Void) {
        guard let slot else { return }
        ownsSlot.withLock { if $0 { body(slot) } }
    }

    /// Frees the slot. Called before the slot's lock is released.
    func leaveSlot() {
        guard let slot else { return }
        ownsSlot.withLock { owns in
            if owns { page.freeSlot(slot) }
            owns = false
        }
    }

    /// Releases the files that were held for opening the store, because they have been read.
    package func finishOpening() {
        // The files are closed outside of the lock.
        let held = fileReferences.withLock { held in
            defer { held = nil }
            return held
        }
        withExtendedLifetime(held) {}
    }
}

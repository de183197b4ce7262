import FirnStorage
import Synchronization

/// The names under which others find what a log has open: its segment, the folders `log` and `checkpoint`, and the file
/// `lock`.
///
/// People move, remove and restore files under open stores. A commit to a segment that was removed is lost, however
/// well it was synced. A lock of a file that was replaced keeps nobody out. So each of these names must still give the
/// file that is held: after a sync, and before the manifest is replaced. Counting links would not do, because backups
/// hold hard links. Descriptors guarantee the rest: whatever is found under the names, nothing but the held folders is
/// ever written to.
///
/// After a sync they are looked up at most once in 1 ms, because they take a twentieth of a fast disk's sync. A
/// person's change to the files loses a commit that was acknowledged 1 ms later as well as one acknowledged 1 ms
/// earlier. What matters is that the next commit fails. Closing the store looks, too, and so does a process before it
/// lets another one write.
///
/// Moving the whole folder of a store changes none of these names, so its log goes on.
final class HeldNames: Sendable {
    private let log: any StorageFolder
    private let folder: StoreFolder
    private let locks: StoreLocks
    private let clock: any Clock
    /// When `checkIfDue` looks the names up again. Atomic, because the leaders of syncs, one after another, run on any
    /// thread.
    private let nextLook = Atomic<Int64>(.min)
    private static let interval: Int64 = 1_000_000

    init(folder: StoreFolder, locks: StoreLocks, clock: any Clock) throws(LogError) {
        log = try stored(folder.folder(.log))
        self.folder = folder
        self.locks = locks
        self.clock = clock
    }

    /// Called after each sync; does something once in 1 ms.
    ///
    /// - Parameter segment: the open segment.
    func checkIfDue(_ segment: any StorageFile) throws(LogError) {
        let now = clock.monotonic()
        if now < nextLook.load(ordering: .relaxed) { return }
        try check(segment)
        nextLook.store(now + Self.interval, ordering: .relaxed)
    }

    /// Throws `.replaced` if one of the names no longer leads to what the log has open. A name that could not be looked
    /// up is no reason to end the writing: that error is transient.
    ///
    /// Costs four system calls, which only look names up in memory. They must not read the files' times, or the next
    /// sync would be dearer (`firn_identify`).
    ///
    /// - Parameter segment: the open segment.
    func check(_ segment: any StorageFile) throws(LogError) {
        guard try looked(segment.isNamed()) else {
            throw .replaced(segment.path, "the log's newest file is not there")
        }
        try checkFolders()
    }

    /// Like `check`, but leaves out the open segment, which only the appender knows.
    func checkFolders() throws(LogError) {
        guard try looked(log.isNamed()) else {
            throw .replaced(log.path, "the log's folder is not there")
        }
        guard try looked(locks.isNamed()) else {
            throw .replaced(folder.path(of: folder.lock), "the file whose locks keep other openers out is not there")
        }
        if let checkpoints = folder.inner.withLock({ $0[.checkpoints] }),
            try looked(!checkpoints.isNamed())
        {
            throw .replaced(checkpoints.path, "the folder of the checkpoints is not there")
        }
    }

    @inline(__always)
    private func looked(_ call: @autoclosure () throws(StorageError) -> Bool) throws(LogError) -> Bool {
        do throws(StorageError) { return try call() } catch { throw LogError(error).markedTransient }
    }
}

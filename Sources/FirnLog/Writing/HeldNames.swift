import FirnStorage
import Synchronization

/// The names under which others find what a log has open: its segment, the folders `log` and `checkpoint`, and the file
/// `lock`.
///
/// People move, remove and restore files under open stores. A commit to a segment that was removed is lost, however
/// well it was synced. A lock of a file that was replaced keeps nobody out. So each of these names must still lead to
/// the file that is held: after a sync, and before the manifest is replaced. Counting the file's links would not show
/// that, because backups hold hard links. Whatever the names lead to, only the held folders are ever written to,
/// through their descriptors.
///
/// Syncs look the names up at most once in 1 ms, because that takes a twentieth of a fast disk's sync. If a person
/// removes the files, a commit is lost whether it was acknowledged 1 ms before or 1 ms after. What matters is that the
/// next commit fails. The names are also looked up when the store is closed, and before this process lets another
/// process write.
///
/// Moving the whole folder of a store changes none of these names, so its log continues.
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

    /// Called after each sync. Checks at most once in 1 ms.
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
    /// Costs four system calls, which only look names up in memory. They must not read the files' times, because that
    /// would make the next sync more expensive (`firn_identify`).
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

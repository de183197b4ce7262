import FirnStorage

/// The names under which others find what a log has open: its segment, the folders `log` and `checkpoint`, and the file
/// `lock`.
///
/// People move, remove and restore files under open stores. A commit to a segment that was removed is lost, however
/// well it was synced, and a lock of a file that was replaced keeps nobody out. So after each sync, and before the
/// manifest is replaced, each of these names must still give the file that is held. (To count links would not do:
/// backups hold hard links.) Descriptors guarantee the rest: whatever is found under the names, nothing but the held
/// folders is ever written to.
///
/// Moving the whole folder of a store changes none of these names, so its log goes on.
struct HeldNames: Sendable {
    private let log: any StorageFolder
    private let folder: StoreFolder
    private let locks: StoreLocks

    init(_ folder: StoreFolder, _ locks: StoreLocks) throws(LogError) {
        log = try stored { () throws(StorageError) in try folder.folder(.log) }
        self.folder = folder
        self.locks = locks
    }

    /// Throws `.replaced` if one of the names does not give what is held. A name that could not be looked up is no
    /// reason to end the writing: that error is transient. Costs six calls of the system that only look at names in
    /// memory.
    ///
    /// - Parameter segment: the open segment.
    func check(_ segment: any StorageFile) throws(LogError) {
        guard try looked({ () throws(StorageError) in try segment.isNamed() }) else {
            throw .replaced(segment.path, "the log's newest file is not there")
        }
        try checkFolders()
    }

    /// Like `check`, but leaves out the open segment, which only the appender knows.
    func checkFolders() throws(LogError) {
        guard try looked({ () throws(StorageError) in try log.isNamed() }) else {
            throw .replaced(log.path, "the log's folder is not there")
        }
        guard try looked({ () throws(StorageError) in try locks.isNamed() }) else {
            throw .replaced(folder.path(of: folder.lock), "the file whose locks keep other openers out is not there")
        }
        if let checkpoints = folder.inner.withLock({ $0[.checkpoints] }),
            try looked({ () throws(StorageError) in try !checkpoints.isNamed() })
        {
            throw .replaced(checkpoints.path, "the folder of the checkpoints is not there")
        }
    }

    private func looked(_ body: () throws(StorageError) -> Bool) throws(LogError) -> Bool {
        do throws(StorageError) { return try body() } catch { throw LogError(error).markedTransient }
    }
}

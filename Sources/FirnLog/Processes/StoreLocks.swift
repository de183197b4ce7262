import FirnStorage

/// Which openers have a store open, and which one writes: locks of bytes of the file `lock`. The kernel frees them
/// when their process dies.
///
/// | byte | held by | how |
/// | --- | --- | --- |
/// | 0 | the process that writes (`WriterLock`), or that is opening the store for writing | exclusive |
/// | 1 | every opener that has the store open; the one that deletes it | shared; exclusive |
/// | 2 | every opener that has it open for writing; the first alone until the log is recovered | shared; exclusive |
/// | 3 | the process whose compactor runs, for as long as that takes | exclusive |
/// | 4 | an opener that has closed the store, but still reads versions of it that something holds | shared |
/// | 5 | an opener for writing that writes checkpoints by itself, until it begins to close or to end | shared |
/// | 64 + n | the owner of the shared page's slot n | exclusive |
///
/// Besides, every opener that has the store open for writing holds the lock of the store's folder itself, shared. The
/// first one, and one that deletes the store, tries to take it exclusively. That fails if openers hold bytes of another
/// file, because somebody has removed or replaced `lock`. Openers for reading do not hold the folder's lock. Once
/// `lock` is replaced, writers do not know of these openers, and may remove files that they have yet to read.
///
/// Byte 2 says whether the shared page is right. An opener takes the byte shared while another opener holds it, or
/// after it has recovered the log and written the page.
struct StoreLocks: Sendable {
    private static let writerByte = 0
    private static let openByte = 1
    private static let openForWritingByte = 2
    private static let compactorByte = 3
    private static let readingByte = 4
    private static let finalCheckpointByte = 5
    private static let firstSlotByte = 64

    /// Nil for a reader that can't open the file. Either the file does not exist, as on an image of a store, or this
    /// user may not read it. Then nothing is locked, and no opener seems to hold anything.
    private let lock: (any StorageLock)?
    private let root: any StorageFolder
    let path: String

    /// The locks of an opener that may create the file and write.
    init(_ folder: StoreFolder) throws(LogError) {
        path = folder.path
        root = folder.root
        do throws(StorageError) {
            lock = try folder.root.lockFile(folder.lock.name, .create(folder.fileMode))
        } catch {
            throw Self.refusal(error)
        }
    }

    /// The locks of a reader, which creates nothing.
    init(reading folder: StoreFolder) throws(LogError) {
        path = folder.path
        root = folder.root
        do throws(StorageError) {
            lock = try folder.root.lockFile(folder.lock.name, .existing)
        } catch  where error.code == .notFound || error.code == .permissionDenied {
            lock = nil
        } catch {
            throw LogError(error)
        }
    }

    /// Whether it can be known what other openers hold.
    var areKnown: Bool { lock != nil }

    // MARK: The writer

    /// Takes the lock to write, if no other opener has it.
    func tryLockWriter() throws(LogError) -> Bool { try tryLock(Self.writerByte, exclusive: true) }

    func unlockWriter() throws(LogError) { try unlock(Self.writerByte) }

    // MARK: Which openers have the store open

    /// Declares that this opener has the store open. Throws if the store is being deleted, or has been since the
    /// lock file was opened.
    func registerOpen() throws(LogError) {
        // Another opener can remove the file until this byte is held, so the file's name is checked after that.
        guard try awaitShared(Self.openByte), try isStillNamed() else {
            throw LogError(.locked(processID: nil), path: path, detail: "it is being deleted")
        }
    }

    /// Takes a byte shared. A deletion that is refused in the end may hold it exclusively for a moment. Returns false
    /// if that lasts longer, or if the lock file has lost its name.
    private func awaitShared(_ byte: Int) throws(LogError) -> Bool {
        for _ in 1...20 {
            if try tryLock(byte, exclusive: false) { return true }
            if try !isStillNamed() { return false }
            sleepThread(nanoseconds: 1_000_000)
        }
        return false
    }

    /// Whether the lock file is still the one that others open.
    func isNamed() throws(StorageError) -> Bool { try lock?.isNamed() ?? true }

    private func isStillNamed() throws(LogError) -> Bool {
        try stored(isNamed())
    }

    /// Takes the lock of the folder, which an opener for writing holds until it closes the store.
    ///
    /// After a process was killed, the system closes its files one after another. The bytes are free at once, but the
    /// folder only after all files between the two are closed. That takes long if closing removes large files. So a
    /// first opener waits for the folder, but not for ever: openers that hold another lock file keep it locked.
    ///
    /// - Parameters:
    ///   - isFirst: whether the bytes say that no other opener has the store open for writing.
    ///   - waitMilliseconds: how long a first opener may wait.
    /// - Throws: `.replaced` if another opener has the store open for writing although `isFirst` is true. The same if
    ///   the lock file has lost its name meanwhile. `.locked` if the store is being deleted.
    func lockFolder(isFirst: Bool, waitMilliseconds: Int = 0) throws(LogError) {
        if isFirst, try !tryLockFolder(exclusive: true, waitMilliseconds) {
            throw .replaced(
                path + "/lock",
                "somebody holds the lock of the store's folder, and none of this file: "
                    + "openers that hold another one, or a process that is still ending"
            )
        }
        guard try tryLockFolder(exclusive: false) else {
            throw LogError(.locked(processID: nil), path: path, detail: "it is being deleted")
        }
        // From here on, a first opener that uses another lock file finds the folder locked. If such an opener came
        // before, this lock file has lost its name.
        guard try isStillNamed() else {
            throw .replaced(path + "/lock", "it was removed or replaced while this process opened the store")
        }
    }

    /// Tries to take the folder's lock. An opener that is refused in the end may hold it for a moment. Returns false if
    /// it is held for longer than 20 ms, or than `waitMilliseconds` if that is more.
    private func tryLockFolder(exclusive: Bool, _ waitMilliseconds: Int = 0) throws(LogError) -> Bool {
        let deadline = SystemClock.shared.monotonic() + .nanoseconds(milliseconds: max(waitMilliseconds, 20))
        while true {
            if try stored(root.tryLock(exclusive: exclusive)) { return true }
            guard SystemClock.shared.monotonic() < deadline else { return false }
            sleepThread(nanoseconds: 1_000_000)
        }
    }

    /// Takes all locks, so that no other opener gets in. False if another one has the store open, is opening it, or
    /// still reads a version of it.
    ///
    /// If another opener has one of the bytes, nothing is locked, so a deletion that will be refused hinders
    /// nobody. Byte 1 is claimed before byte 4, because an opener that closes the store takes byte 4 while it has
    /// byte 1.
    func claimAll() throws(LogError) -> Bool {
        let bytes = [Self.writerByte, Self.openForWritingByte, Self.openByte, Self.readingByte, Self.compactorByte]
        for byte in bytes where try isLocked(byte, exclusive: true) { return false }
        for byte in bytes {
            guard try tryLock(byte, exclusive: true) else { return false }
        }
        guard try isStillNamed() else { return false }
        return try stored(root.tryLock(exclusive: true))
    }

    /// True if no other opener has the store open.
    func isAlone() throws(LogError) -> Bool { try !isLocked(Self.openByte, exclusive: true) }

    /// True if another opener may read checkpoint files: it has the store open, or still holds a version of it.
    func isReadByOthers() throws(LogError) -> Bool {
        guard try isAlone() else { return true }
        return try isLocked(Self.readingByte, exclusive: true)
    }

    /// True if other openers have the store open for writing, or are opening it for writing.
    func isOpenForWriting() throws(LogError) -> Bool { try isLocked(Self.openForWritingByte, exclusive: true) }

    /// True if another opener is opening the store for writing, and no opener has it open for writing yet.
    func isBeingOpened() throws(LogError) -> Bool { try isLocked(Self.openForWritingByte, exclusive: false) }

    /// Keeps others from joining until `registerWriter`. False if others already have the store open for writing.
    /// The caller holds the writer lock.
    func beginRecovery() throws(LogError) -> Bool {
        if try isOpenForWriting() { return false }
        return try tryLock(Self.openForWritingByte, exclusive: true)
    }

    /// Declares that this opener has the store open for writing. False if another opener is recovering it.
    ///
    /// - Parameter writesFinalCheckpoint: whether this opener writes the checkpoint that is due before it ends.
    func registerWriter(writesFinalCheckpoint: Bool) throws(LogError) -> Bool {
        guard try tryLock(Self.openForWritingByte, exclusive: false) else { return false }
        guard writesFinalCheckpoint else { return true }
        // No opener ever holds that byte exclusively.
        return try tryLock(Self.finalCheckpointByte, exclusive: false)
    }

    /// Declares that this opener ends. True if no other opener is left that writes the checkpoint that is due. If
    /// several openers end at the same time, the last of them gets true, so at least one writes it.
    func beginEnding() throws(LogError) -> Bool {
        try unlock(Self.finalCheckpointByte)
        return try !isLocked(Self.finalCheckpointByte, exclusive: true)
    }

    /// Undoes `registerWriter` and `lockFolder`.
    func unregisterWriter() throws(LogError) {
        // The folder is unlocked first, because an opener with the folder's lock and without the byte would look like
        // one that uses another lock file.
        root.unlock()
        try unlock(Self.finalCheckpointByte)
        try unlock(Self.openForWritingByte)
    }

    // MARK: Slots and the compactor

    func tryLockSlot(_ slot: Int) throws(LogError) -> Bool { try tryLock(Self.firstSlotByte + slot, exclusive: true) }

    func unlockSlot(_ slot: Int) throws(LogError) { try unlock(Self.firstSlotByte + slot) }

    /// Whether another opener owns the slot.
    func isSlotLocked(_ slot: Int) throws(LogError) -> Bool { try isLocked(Self.firstSlotByte + slot, exclusive: true) }

    func tryLockCompactor() throws(LogError) -> Bool { try tryLock(Self.compactorByte, exclusive: true) }

    func unlockCompactor() throws(LogError) { try unlock(Self.compactorByte) }

    // MARK: Bytes

    private func tryLock(_ byte: Int, exclusive: Bool) throws(LogError) -> Bool {
        guard let lock else { return !exclusive }
        do throws(StorageError) { return try lock.tryLock(byte, exclusive: exclusive) } catch {
            throw Self.refusal(error)
        }
    }

    /// Turns a missing permission into an error that says what the user can do.
    private static func refusal(_ error: StorageError) -> LogError {
        guard error.code == .permissionDenied || error.code == .readOnlyFileSystem else { return LogError(error) }
        return LogError(
            lasting: error,
            detail:
                "writing to a store, or deleting it, needs permission to write its files; to read it, open it with `readOnly`"
        )
    }

    private func isLocked(_ byte: Int, exclusive: Bool) throws(LogError) -> Bool {
        guard let lock else { return false }
        return try stored(lock.isLocked(byte, exclusive: exclusive))
    }

    private func unlock(_ byte: Int) throws(LogError) {
        try stored(lock?.unlock(byte))
    }

    func releaseAll() {
        root.unlock()
        lock?.close()
    }

    /// Declares that this opener reads checkpoint files until it closes the lock file, whether or not it has the store
    /// open.
    func keepReading() throws(LogError) {
        // A deletion can't have this byte, because the caller still has the store open.
        _ = try tryLock(Self.readingByte, exclusive: false)
    }

    /// Like `releaseAll`, but keeps what `keepReading` declared. If this throws, nothing is kept.
    func leaveReading(slot: Int?) throws(LogError) {
        // The folder is unlocked first, as in `unregisterWriter`.
        root.unlock()
        do throws(LogError) {
            for byte in [Self.writerByte, Self.openForWritingByte, Self.compactorByte, Self.finalCheckpointByte] {
                try unlock(byte)
            }
            if let slot { try unlockSlot(slot) }
            try unlock(Self.openByte)
        } catch {
            // Others must not think that this opener writes, or has the store open.
            releaseAll()
            throw error
        }
    }
}

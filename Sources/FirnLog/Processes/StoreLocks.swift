import FirnStorage

/// Who has a store open, and who writes: locks of bytes of the file `lock`, which die with their process.
///
/// | byte | held by | how |
/// | --- | --- | --- |
/// | 0 | the process that writes (`WriterLock`), or that is opening the store for writing | exclusive |
/// | 1 | everybody who has the store open; who deletes it | shared; exclusive |
/// | 2 | everybody who has it open for writing; the first of them alone until it has recovered the log | shared; exclusive |
/// | 3 | the process whose compactor runs, for as long as that takes | exclusive |
/// | 4 | who has closed the store, but still reads versions of it that something holds | shared |
/// | 5 | who has it open for writing and writes checkpoints by itself, until it begins to close the store or to end | shared |
/// | 64 + n | the owner of the shared page's slot n | exclusive |
///
/// Byte 2 says whether the shared page tells the truth: who holds it took it while another held it, or has recovered the log and written the page.
struct StoreLocks: Sendable {
    private static let writerByte = 0
    private static let openByte = 1
    private static let servingByte = 2
    private static let compactorByte = 3
    private static let readingByte = 4
    private static let stayingByte = 5
    private static let firstSlotByte = 64

    /// Nil for a reader who can't open the file: it is not there, as on an image of a store, or is not this user's to read. Then nothing is locked, and nobody seems to hold anything.
    private let lock: (any StorageLock)?
    let path: String

    /// Of one who may create the file, and write.
    init(_ folder: StoreFolder) throws(LogError) {
        path = folder.path
        do throws(StorageError) {
            lock = try folder.storage.lockFile(folder.lock, .create(folder.fileMode))
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Of a reader, who creates nothing.
    init(reading folder: StoreFolder) throws(LogError) {
        path = folder.path
        do throws(StorageError) {
            lock = try folder.storage.lockFile(folder.lock, .existing)
        } catch  where error.code == .notFound || error.code == .permissionDenied {
            lock = nil
        } catch {
            throw LogError(error)
        }
    }

    /// Whether it can be known what others hold.
    var areKnown: Bool { lock != nil }

    // MARK: The writer

    /// Becomes the one that writes, if nobody is.
    func tryLockWriter() throws(LogError) -> Bool { try tryLock(Self.writerByte, exclusive: true) }

    func unlockWriter() throws(LogError) { try unlock(Self.writerByte) }

    // MARK: Who has it open

    /// Says that this opener has the store open. Throws where the store is being deleted, or has been since the lock file was opened.
    func enter() throws(LogError) {
        // Only while the byte is held can nobody remove the file.
        guard try awaitShared(Self.openByte), try !isRemoved() else {
            throw LogError(.locked(processID: nil), path: path, detail: "it is being deleted")
        }
    }

    /// Gets a byte that others hold shared, too. A deletion that is refused in the end may hold it exclusively for a moment; false where that lasts.
    private func awaitShared(_ byte: Int) throws(LogError) -> Bool {
        for _ in 1...20 {
            if try tryLock(byte, exclusive: false) { return true }
            if try isRemoved() { return false }
            restThread(nanoseconds: 1_000_000)
        }
        return false
    }

    /// Whether the lock file has lost its name since it was opened.
    func isRemoved() throws(LogError) -> Bool {
        try stored { () throws(StorageError) in try lock?.isRemoved() ?? false }
    }

    /// Keeps everybody else out, to delete the store; false where somebody has it open, is opening it, or still reads a version of it.
    ///
    /// While somebody has one of the bytes nothing is locked, so that a deletion that will be refused hinders nobody. Byte 1 is claimed before byte 4: whoever closes the store gets the latter while it has the former.
    func claimAll() throws(LogError) -> Bool {
        let bytes = [Self.writerByte, Self.servingByte, Self.openByte, Self.readingByte, Self.compactorByte]
        for byte in bytes where try isLocked(byte, exclusive: true) { return false }
        for byte in bytes {
            guard try tryLock(byte, exclusive: true) else { return false }
        }
        return true
    }

    /// True where nobody else has the store open.
    func isAlone() throws(LogError) -> Bool { try !isLocked(Self.openByte, exclusive: true) }

    /// True where somebody else may read the files of checkpoints: by having the store open, or by holding a version of it on.
    func isReadByOthers() throws(LogError) -> Bool {
        guard try isAlone() else { return true }
        return try isLocked(Self.readingByte, exclusive: true)
    }

    /// True where others have the store open for writing, or are just opening it so.
    func isServed() throws(LogError) -> Bool { try isLocked(Self.servingByte, exclusive: true) }

    /// True where another is just opening the store for writing, before anybody else has it open so.
    func isBeingOpened() throws(LogError) -> Bool { try isLocked(Self.servingByte, exclusive: false) }

    /// Keeps others from joining until `serve`; false where others have it open for writing already. Only the holder of the writer's lock calls it.
    func beginRecovery() throws(LogError) -> Bool {
        if try isServed() { return false }
        return try tryLock(Self.servingByte, exclusive: true)
    }

    /// Says that this opener has the store open for writing; false where another is just opening it.
    ///
    /// - Parameter stays: whether it writes the checkpoint that is due before it ends.
    func serve(stays: Bool) throws(LogError) -> Bool {
        guard try tryLock(Self.servingByte, exclusive: false) else { return false }
        guard stays else { return true }
        // Nobody ever holds that byte exclusively.
        return try tryLock(Self.stayingByte, exclusive: false)
    }

    /// Says that this opener ends. True where nobody stays who writes the checkpoint that is due. Of several that end
    /// at the same time, the last to say so finds that, so at least one does.
    func beginEnding() throws(LogError) -> Bool {
        try unlock(Self.stayingByte)
        return try !isLocked(Self.stayingByte, exclusive: true)
    }

    /// Takes `serve` back.
    func stopServing() throws(LogError) {
        try unlock(Self.stayingByte)
        try unlock(Self.servingByte)
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

    /// Says what somebody can do who may not write to the store.
    private static func refusal(_ error: StorageError) -> LogError {
        guard error.code == .permissionDenied || error.code == .readOnlyFileSystem else { return LogError(error) }
        return LogError(
            .storage(error), path: error.path,
            detail:
                "a store is written to, or deleted, by those only who may write to its files; to read it, open it with `readOnly`"
        )
    }

    private func isLocked(_ byte: Int, exclusive: Bool) throws(LogError) -> Bool {
        guard let lock else { return false }
        return try stored { () throws(StorageError) in try lock.isLocked(byte, exclusive: exclusive) }
    }

    private func unlock(_ byte: Int) throws(LogError) {
        try stored { () throws(StorageError) in try lock?.unlock(byte) }
    }

    func leave() { lock?.close() }

    /// Says that files of checkpoints are read on, whether the store is open or not: until the lock file is closed.
    func keepReading() throws(LogError) {
        // A deletion can't have it: the caller still has the store open.
        _ = try tryLock(Self.readingByte, exclusive: false)
    }

    /// As `leave`, but what `keepReading` says still holds. Where this throws, nothing does.
    func leaveReading(slot: Int?) throws(LogError) {
        do throws(LogError) {
            for byte in [Self.writerByte, Self.servingByte, Self.compactorByte, Self.stayingByte] { try unlock(byte) }
            if let slot { try unlockSlot(slot) }
            try unlock(Self.openByte)
        } catch {
            // Others must not take this opener for one that writes, or has the store open.
            leave()
            throw error
        }
    }
}

import FirnStorage

/// What other processes write, and whose turn it is to write. `WriterLock` tells the cycle; who calls these holds the write lock of his own (as for `beginCommit`), where it is not said
/// otherwise.
extension Log {
    /// How far `readPublished` or `readToEnd` came.
    public struct Progress {
        let place: LogReadPosition
        let manifest: Manifest

        public var version: UInt64 { place.version }
    }

    // MARK: The writer's lock

    /// Whether this process may write at this moment. While a caller holds the write lock, true stays true.
    @inline(__always)
    public var isWriting: Bool { writer?.lock.isReady ?? false }

    /// Whether this process has the kernel's lock, and has to read what others wrote before it may write.
    public var isAboutToWrite: Bool { writer?.lock.isLocked ?? false }

    /// Whether the lock ought to be given up: another process waits for it, or a write or sync failed. Two loads.
    @inline(__always)
    public var shouldGiveUpWriting: Bool {
        guard let writer else { return false }
        return (page.isWriterWanted || writer.group.hasFailed) && writer.lock.isReady
    }

    /// Whether the process has written for long enough while others waited, or can't any more.
    public var isTurnOver: Bool {
        guard let writer else { return false }
        return writer.group.hasFailed || writer.lock.isTurnOver
    }

    /// Whether the log has been idle for a while, so that the lock may be given up; once.
    public func takeWishForRest() -> Bool { writer?.lock.takeWishForRest() ?? false }

    /// Gets the kernel's writer lock, waiting as long as other processes write. Called without any lock; at once where the process has it.
    ///
    /// - Parameters:
    ///   - deadline: a time of the monotonic clock, in nanoseconds, by which `isWanted` is asked again at the latest, also while another of this process's threads waits for the lock.
    ///   - isWanted: whether the caller goes on waiting.
    /// - Throws: `.locked` where the log uses no threads and another process has the lock; `.closed` where it is no longer wanted; what makes writing impossible.
    public func awaitWriting(until deadline: Int64 = .max, while isWanted: () -> Bool = { true }) throws(LogError) {
        let writer = try writable()
        guard writer.lock.isAway else { return }
        try writer.lock.acquire(until: deadline) { () throws(LogError) in
            _ = try writable()
            if !isWanted() { throw LogError(.closed, path: folder.path) }
        }
    }

    /// Gives the writer's lock up: what is written becomes durable first. After a failure it is given up as it stands, and who gets it recovers the log.
    ///
    /// Nothing where this process has it not, or has closed the log. No transaction may run.
    public func giveUpWriting() {
        guard !isForked, let writer, writer.lock.isReady else { return }
        let tail = writer.tail
        tail.begin()
        defer { tail.endAppending() }
        guard !isClosed.load(ordering: .acquiring), writer.lock.isReady else { return }
        if writer.group.currentFailure == nil {
            // Where that fails, the failure stays in the group, and nobody here writes any more.
            try? writer.group.wait(for: writer.group.writtenVersion)
        }
        tail.leave()
        if writer.group.currentFailure == nil {
            page.writerProcess = 0
        } else {
            writer.group.awaitEndOfRounds()
        }
        writer.lock.release()
    }

    /// Lets the kernel's lock go that `awaitWriting` got, where reading on failed: the next one finds the page as this one did.
    public func dropWriting() {
        guard let writer, !isClosed.load(ordering: .acquiring), writer.lock.isLocked else { return }
        writer.lock.release()
    }

    // MARK: Reading on

    /// Whether another process has published something that this one has not read. Three loads.
    public var hasNews: Bool {
        guard let writer, !writer.group.hasFailed, !writer.lock.isReady else { return false }
        return page.published > writer.group.publishedVersion
    }

    /// Calls `body` with each commit that others have published and this process has not read, up to version `through`. Nothing is moved before `advance`.
    ///
    /// Cost: O(bytes of these commits).
    public func readPublished(
        through limit: UInt64 = .max, _ body: (inout CommitReader) throws -> Void
    ) throws -> Progress? {
        try checkOpen()
        let published = min(page.published, limit)
        guard let writer, writer.lock.isAway, published > writer.group.publishedVersion else { return nil }
        let (place, manifest) = try read(writer, through: published, body)
        return Progress(place: place, manifest: manifest)
    }

    /// As `readPublished`, but through the end of the log, by the one who has got the kernel's lock. If its holder died or failed, the log is recovered first: what was never acknowledged
    /// and is not whole is cut off, under a new epoch.
    public func readToEnd(_ body: (inout CommitReader) throws -> Void) throws -> Progress {
        let writer = try writable()
        precondition(writer.lock.isLocked, "who reads the rest of the log has got the writer's lock")
        if page.writerProcess == 0, !page.hasFailed, page.isValid {
            var (place, manifest) = try read(writer, through: page.published, body)
            if try writer.follower.readMarks(&place, manifest), place.time != 0 || place.version == 0 {
                return Progress(place: place, manifest: manifest)
            }
            // There is more than was published, or something that is no frame: its writer did not get to its end.
            return try recover(writer, from: place, body)
        }
        return try recover(writer, from: writer.tail.place, body)
    }

    private func read(
        _ writer: LogWriter, through version: UInt64, _ body: (inout CommitReader) throws -> Void
    ) throws -> (LogReadPosition, Manifest) {
        // The page's word is raised after the manifest was replaced; should it be late, the reading finds out.
        var manifest = writer.tail.manifest
        if page.generation != manifest.generation { manifest = try folder.readManifest() }
        try writer.follower.refresh()
        return try writer.follower.read(from: writer.tail.place, manifest, through: version, body)
    }

    /// Takes over from a process that died or failed.
    private func recover(
        _ writer: LogWriter, from start: LogReadPosition, _ body: (inout CommitReader) throws -> Void
    ) throws -> Progress {
        let manifest = try folder.readManifest()
        let mark = page.isValid(epoch: manifest.epoch) ? page.durableMark : 0
        var recovery = try Recovery.read(folder, manifest, pageMark: mark, verify: .directory)
        guard recovery.lastVersion >= start.version else {
            throw LogError(
                .damage, path: folder.path,
                detail: "version \(start.version) was published and has been read here, but the log ends with "
                    + "\(recovery.lastVersion) after its writer died")
        }
        // If this process dies behind a manifest that the page does not tell of, who gets the lock next recovers, too.
        page.writerProcess = UInt64(currentProcessID())
        try recovery.renewManifest(page)
        _ = try recovery.makeDurable(page)
        page.prepare(
            epoch: recovery.manifest.epoch, durable: recovery.lastVersion, published: recovery.lastVersion,
            generation: recovery.manifest.generation, fresh: false)
        try writer.follower.refresh()
        var (place, listed) = try writer.follower.read(
            from: start, recovery.manifest, through: recovery.lastVersion, body)
        guard try writer.follower.readMarks(&place, listed) else {
            throw LogError(
                .damage, path: folder.path, offset: place.offset, detail: "the log does not end where it was recovered")
        }
        place.time = max(place.time, recovery.scan.lastTime)
        return Progress(place: place, manifest: listed)
    }

    /// What was read has been applied: the log goes on there.
    public func advance(to progress: Progress) {
        guard let tail = writer?.tail else { return }
        tail.begin()
        tail.move(to: progress.place, progress.manifest)
        tail.endAppending()
    }

    /// After `readToEnd` and `advance`: this process writes from here on.
    public func beginWriting() throws(LogError) {
        let writer = try writable()
        let tail = writer.tail
        tail.begin()
        defer { tail.endAppending() }
        let path = folder.segment(tail.manifest.openSegment.segment)
        let file: any StorageFile
        if tail.file.path == path {
            file = tail.file
        } else {
            file = try stored { () throws(StorageError) in try folder.storage.open(path, .readWrite) }
        }
        let byteCount = try stored { () throws(StorageError) in try file.size() }
        try writer.group.lead { old throws(LogError) in
            if old !== file { old.close() }
            return file
        }
        tail.isReserveGone = !Log.makeReserve(folder, recovery.storeID, byteCount: options.reserveByteCount)
        tail.take(file, byteCount: byteCount)
        // Before anything is changed: if this process dies behind a manifest that the page does not tell of, who gets
        // the lock must not take the one that it knows for the one in force.
        page.writerProcess = UInt64(currentProcessID())
        // Without room it is due again with the next replacement; other failures stay in the group.
        try? tail.rememberRetention()
        writer.lock.becomeReady()
    }

    // MARK: Waiting

    /// What a thread needs that waits for news while nobody else keeps the log. There is news where another process has published, wants to write, or is done; where this
    /// one is idle, or has failed; and after `wakeAll`.
    public var publishWaiter: PublishWaiter { PublishWaiter(page: page, lock: writer?.lock) }

    /// The page's wake word, kept apart from the log, so that a thread can wait without keeping the log open.
    public struct PublishWaiter: Sendable {
        let page: SharedPage
        let lock: WriterLock?

        /// To be taken before the caller looks whether there is anything to do. The process that writes is not woken by its own commits.
        public var ticket: UInt32 { page.newsTicket(countsCommits: !(lock?.isReady ?? false)) }

        /// Waits until there is news since `ticket`. May return early.
        public func wait(_ ticket: UInt32) { page.waitForNews(ticket) }

        /// Wakes all who wait, here and in other processes.
        public func wakeAll() { page.wakeAll() }
    }

    // MARK: The other processes

    /// Whether nobody else has the store open.
    public var isAlone: Bool { (try? locks.isAlone()) ?? false }

    /// Says that this process is about to close the store, or to end. True where nobody stays who could do later what is due now.
    public func beginEnding() -> Bool { (try? locks.beginEnding()) ?? false }

    /// Whether nobody else may be reading the files of checkpoints, whoever has the store open or has closed it with a version still held.
    public var isOnlyReader: Bool { (try? !locks.isReadByOthers()) ?? false }

    /// The other openers of the store that live. Cost: a system call for each.
    public var otherProcesses: [OtherProcess] { page.others(locks, but: slot) }

    /// Segments with versions above this one must stay, as another process has not read them yet; nil where there is none.
    public var oldestVersionNeededByOthers: UInt64? { otherProcesses.map(\.version).min() }

    /// Tells the others what this process has read and holds. Four stores; to be called when a version is published or
    /// read, and when one is let go that is not the newest. One call at a time, and none when the log is closed, as the
    /// slot is another's then.
    @inline(__always)
    public func tellOthers(version: UInt64, oldest: UInt64, activeCount: Int, retainedByteCount: Int) {
        guard let slot, !isClosed.load(ordering: .relaxed) else { return }
        page.setSlot(
            slot, version: readsOn ? version : .max, oldest: oldest, activeCount: activeCount,
            retainedByteCount: retainedByteCount)
    }

    /// Whether this process may yet read what others write: not one that only reads, nor after a failure or
    /// `ceaseReading`.
    private var readsOn: Bool {
        guard let writer else { return false }
        return !writer.group.hasFailed && !hasCeasedReading.load(ordering: .relaxed)
    }

    /// Says that this process reads no further, so that the others need not keep the log for it. To be told with the
    /// next `tellOthers`.
    public func ceaseReading() { hasCeasedReading.store(true, ordering: .relaxed) }

    /// What the other processes hold. A load where the store never had another opener; else a system call for each who holds anything.
    public var heldByOthers: HeldByOthers { page.heldByOthers(locks, but: slot) }

    /// Asks the other processes to tell the bytes that they retain; without it they may tell 0.
    public func askForRetainedBytes() {
        withSlot { page.askForBytes($0) }
        page.wakeAll()
    }

    /// Whether another process has asked for the bytes that this one retains.
    public var isAskedForRetainedBytes: Bool { page.isAskedForBytes(but: slot) }

    // MARK: Retention

    /// Says what this process retains of the past, all that it ever asked for: to others at once, for as long as it has the store open; and in the manifest, where it stays until somebody asks for something
    /// else, with the next replacement or `rememberRetention`. Any thread may call it.
    public func retain(_ retentions: [HistoryRetention]) {
        let word = RetentionWord(retentions)
        withSlot { page.setRetention($0, word) }
        writer?.tail.retain(word)
    }

    /// Writes that down at once, where it is this process's turn to write. The caller holds the write lock of its own.
    /// Nothing where the log is closed, as the manifest is another's then.
    public func rememberRetention() {
        guard isWriting, let tail = writer?.tail else { return }
        tail.begin()
        defer { tail.endAppending() }
        guard !isClosed.load(ordering: .acquiring) else { return }
        // As in `beginWriting`.
        try? tail.rememberRetention()
    }

    /// What of the past the manifest and the other processes say is to be retained.
    public var retentionsOfOthers: [HistoryRetention] {
        get throws(LogError) {
            let stored = try manifest().retention
            // What is this process's own it knows more exactly.
            let isOwn = stored == writer?.tail.ownRetention
            return otherProcesses.reduce(isOwn ? [] : stored.retentions) { $0 + $1.retention.retentions }
        }
    }

    /// Runs `body` unless a compactor of this or another process runs; nil then. The lock goes with the process.
    ///
    /// - Throws: `LogError` where the lock can't be asked for; whatever `body` throws.
    public func withCompactorLock<Result>(_ body: () throws -> Result) throws -> Result? {
        guard !isCompacting.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
        defer { isCompacting.store(false, ordering: .releasing) }
        LockRank.expectNone("the compactor's lock is taken")
        guard try locks.tryLockCompactor() else { return nil }
        // It throws only where the lock file is closed, which frees the lock too.
        defer { try? locks.unlockCompactor() }
        return try body()
    }
}

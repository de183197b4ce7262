import FirnStorage

/// Reading what other processes write, and acquiring and releasing the writer lock. `WriterLock` describes the cycle.
/// Unless a comment says otherwise, the caller holds the write lock of its own process (as for `beginCommit`).
extension Log {
    /// The position that `readPublished` or `readToEnd` has reached.
    package struct Progress {
        let position: LogReadPosition
        let manifest: Manifest

        package var version: UInt64 { position.version }
    }

    // MARK: The writer lock

    /// Whether this process may write at this moment. While the caller holds the write lock, true stays true.
    @inline(__always)
    package var isWriting: Bool { writer?.lock.isReady ?? false }

    /// Whether this process has the kernel's lock, but must read what others wrote before it may write.
    package var isAboutToWrite: Bool { writer?.lock.isLocked ?? false }

    /// Whether the writer lock should be released: another process waits for it, or a write or sync failed. Two loads.
    @inline(__always)
    package var shouldReleaseWriting: Bool {
        guard let writer else { return false }
        return (page.isWriterWanted || writer.group.hasFailed) && writer.lock.isReady
    }

    /// Whether this process has written for long enough while others waited, or can't write any more.
    package var isTimeSliceOver: Bool {
        guard let writer else { return false }
        return writer.group.hasFailed || writer.lock.isTimeSliceOver
    }

    /// Whether the log has been idle for a while, so that the lock may be released. True once for each such time.
    package func takeIdleReleaseRequest() -> Bool { writer?.lock.takeIdleReleaseRequest() ?? false }

    /// Whether this process has the lock, has committed nothing since, and is to release it after a while.
    package var hasIdleTime: Bool { writer.map { $0.lock.idleTime != .max } ?? false }

    /// Postpones a request to release the lock that came while a transaction ran. The request is made again when the
    /// log has been idle for a while.
    package func postponeIdleRelease() { writer?.lock.beginIdleTime() }

    /// Acquires the kernel's writer lock, waiting as long as other processes write. The caller holds no lock.
    /// Returns at once if this process has the lock.
    ///
    /// - Parameters:
    ///   - deadline: a time of the monotonic clock, in nanoseconds. At that time `isWanted` is called again, even while
    ///     another thread of this process waits for the lock.
    ///   - isWanted: whether the caller continues to wait.
    /// - Throws: `.locked` if the log uses no threads and another process has the lock. `.closed` if the lock is no
    ///   longer wanted. The error that makes writing impossible, if there is one.
    package func awaitWriting(until deadline: Int64 = .max, while isWanted: () -> Bool = { true }) throws(LogError) {
        let writer = try writable()
        guard writer.lock.isAway else { return }
        try writer.lock.acquire(until: deadline) { () throws(LogError) in
            _ = try writable()
            if !isWanted() { throw LogError(.closed, path: folder.path) }
        }
    }

    /// Releases the writer lock, after making durable what is written. After a failure, the lock is released without
    /// that, and the process that gets it recovers the log.
    ///
    /// Does nothing if this process does not have the lock, or has closed the log. No transaction may run.
    package func releaseWriting() {
        guard !isForked, let writer, writer.lock.isReady else { return }
        let tail = writer.tail
        tail.begin()
        defer { tail.endAppending() }
        guard !isClosed.load(ordering: .acquiring), writer.lock.isReady else { return }
        if writer.group.currentFailure == nil {
            // If that fails, the group records the failure, and this process writes no more.
            try? writer.group.wait(for: writer.group.writtenVersion)
            writer.group.checkNamesNow()
        }
        tail.stopWriting()
        if writer.group.currentFailure == nil {
            page.writerProcess = 0
        } else {
            writer.group.waitForLastRound()
        }
        writer.lock.release()
    }

    /// Releases the kernel's lock that `awaitWriting` acquired, because reading failed: the next holder finds the
    /// page as this process did.
    package func abandonWriting() {
        guard let writer, !isClosed.load(ordering: .acquiring), writer.lock.isLocked else { return }
        writer.lock.release()
    }

    // MARK: Following

    /// Whether another process has published something that this one has not read. Three loads.
    package var hasUnreadVersions: Bool {
        guard let writer, !writer.group.hasFailed, !writer.lock.isReady else { return false }
        return page.published > writer.group.publishedVersion
    }

    /// Calls `body` with each commit that others have published and this process has not read, up to version `through`.
    /// Returns nil if there is none. The log's own position moves only with `advance`.
    ///
    /// Cost: O(bytes of these commits).
    package func readPublished(
        through limit: UInt64 = .max, _ body: (inout CommitReader) throws -> Void
    ) throws -> Progress? {
        try checkOpen()
        let published = min(page.published, limit)
        guard let writer, writer.lock.isAway, published > writer.group.publishedVersion else { return nil }
        let (position, manifest) = try read(writer, through: published, body)
        return Progress(position: position, manifest: manifest)
    }

    /// Like `readPublished`, but reads through the end of the log, for the process that has acquired the kernel's lock.
    /// If the former holder died or failed, the log is recovered first. What was never acknowledged and is not whole is
    /// cut off, under a new epoch.
    package func readToEnd(_ body: (inout CommitReader) throws -> Void) throws -> Progress {
        let writer = try writable()
        precondition(writer.lock.isLocked, "Firn: the process that reads the rest of the log holds the writer lock")
        if page.writerProcess == 0, !page.hasFailed, page.isValid {
            var (position, manifest) = try read(writer, through: page.published, body)
            if try writer.follower.readMarks(&position, manifest), position.time != 0 || position.version == 0 {
                return Progress(position: position, manifest: manifest)
            }
            // There is more than was published, or something that is not a frame: its writer did not finish.
            return try recover(writer, from: position, body)
        }
        return try recover(writer, from: writer.tail.position, body)
    }

    private func read(
        _ writer: LogWriter, through version: UInt64, _ body: (inout CommitReader) throws -> Void
    ) throws -> (LogReadPosition, Manifest) {
        // The page's generation is raised after the manifest was replaced. If the page is behind, reading notices that.
        var manifest = writer.tail.manifest
        if page.generation != manifest.generation { manifest = try readOwnManifest(writer) }
        try writer.follower.refresh()
        return try writer.follower.read(from: writer.tail.position, manifest, through: version, body)
    }

    /// The manifest in force, which must be one that followed the manifest that this process knows.
    private func readOwnManifest(_ writer: LogWriter) throws(LogError) -> Manifest {
        try writer.group.names?.checkFolders()
        let (manifest, known) = (try folder.readManifest(), writer.tail.manifest)
        guard manifest.storeID == known.storeID, manifest.generation >= known.generation else {
            throw .replaced(
                folder.path(of: folder.manifest), "another manifest is in force than those that follow ours")
        }
        return manifest
    }

    /// Takes over from a process that died or failed.
    private func recover(
        _ writer: LogWriter, from start: LogReadPosition, _ body: (inout CommitReader) throws -> Void
    ) throws -> Progress {
        let manifest = try readOwnManifest(writer)
        let mark = page.isValid(epoch: manifest.epoch) ? page.durableMark : 0
        var recovery = try Recovery.read(folder, manifest, pageMark: mark, verify: .directory)
        guard recovery.lastVersion >= start.version else {
            throw LogError(
                .damage, path: folder.path,
                detail:
                    "version \(start.version) was published and has been read by this process, but the log ends with "
                    + "\(recovery.lastVersion) after its writer died")
        }
        // If this process dies after a manifest change that the page does not show, the next holder recovers, too.
        page.writerProcess = UInt64(currentProcessID())
        try recovery.renewManifest(page, nil)
        _ = try recovery.makeDurable(page)
        page.prepare(
            epoch: recovery.manifest.epoch, durable: recovery.lastVersion, published: recovery.lastVersion,
            generation: recovery.manifest.generation, fresh: false)
        try writer.follower.refresh()
        var (position, listed) = try writer.follower.read(
            from: start, recovery.manifest, through: recovery.lastVersion, body)
        guard try writer.follower.readMarks(&position, listed) else {
            throw LogError(
                .damage, path: folder.path, offset: position.offset,
                detail: "the log does not end where recovery left it")
        }
        position.time = max(position.time, recovery.scan.lastTime)
        return Progress(position: position, manifest: listed)
    }

    /// Moves the log's position to `progress`, after the commits up to there have been applied.
    package func advance(to progress: Progress) {
        guard let tail = writer?.tail else { return }
        tail.begin()
        tail.move(to: progress.position, progress.manifest)
        tail.endAppending()
    }

    /// Called after `readToEnd` and `advance`: this process writes from here on.
    package func beginWriting() throws(LogError) {
        let writer = try writable()
        let tail = writer.tail
        tail.begin()
        defer { tail.endAppending() }
        let segment = folder.segment(tail.manifest.openSegment.segment)
        let file: any StorageFile
        if tail.file.path == folder.path(of: segment) {
            file = tail.file
        } else {
            file = try stored(folder.open(segment, .readWrite))
        }
        let byteCount = try stored(file.size())
        let cipher = try folder.cipher(of: file, tail.manifest)
        try writer.group.lead { old throws(LogError) in
            if old !== file { old.close() }
            return file
        }
        writer.noteReserve(isThere: writer.reserve.ensure(for: tail.storeByteCount))
        tail.startWriting(file, cipher: cipher, byteCount: byteCount)
        // Set before anything is changed, because this process may die after a manifest change that the page does not
        // show. Then the next holder must not take the manifest that it knows for the one in force.
        page.writerProcess = UInt64(currentProcessID())
        // If the disk is full, the next replacement of the manifest does it; other failures are recorded in the group.
        try? tail.rememberRetention()
        writer.lock.becomeReady()
    }

    // MARK: Waiting

    /// What a thread needs to wait for events without keeping the log open. The thread is woken if another process has
    /// published, wants to write or has finished writing. It is also woken if this process is idle or has failed, and
    /// after `wakeAll`.
    package var publishWaiter: PublishWaiter { PublishWaiter(page: page, lock: writer?.lock) }

    /// The page's wake word, separate from the log, so that a thread can wait without keeping the log open.
    package struct PublishWaiter: Sendable {
        let page: SharedPage
        let lock: WriterLock?

        /// Must be read before the caller checks whether there is anything to do. The process that writes is not
        /// woken by its own commits.
        package var ticket: UInt32 { page.wakeTicket(countsCommits: !(lock?.isReady ?? false)) }

        /// Waits until something has happened since `ticket`. May return early. If this process commits nothing after
        /// it got the writer lock, becoming idle is such an event, too.
        package func wait(_ ticket: UInt32) {
            guard let lock else { return page.waitForWake(ticket) }
            let idleTime = lock.idleTime
            if idleTime == .max { return page.waitForWake(ticket) }
            let remaining = idleTime - SystemClock.shared.monotonic()
            if remaining > 0 { return page.waitForWake(ticket, nanoseconds: remaining) }
            lock.requestIdleRelease()
        }

        /// Wakes all waiters, here and in other processes.
        package func wakeAll() { page.wakeAll() }
    }

    // MARK: The other processes

    /// Whether no other opener has the store open.
    package var isAlone: Bool { (try? locks.isAlone()) ?? false }

    /// Announces that this process is about to close the store, or to end. True if no other process stays that writes
    /// the checkpoint that is due.
    package func beginEnding() -> Bool { (try? locks.beginEnding()) ?? false }

    /// Whether no other opener can be reading checkpoint files: none has the store open, and none has closed it
    /// while it still holds a version.
    package var isOnlyReader: Bool { (try? !locks.isReadByOthers()) ?? false }

    /// The other living openers of the store. Costs one system call for each.
    package var otherProcesses: [OtherProcess] { page.others(locks, but: slot) }

    /// Segments with versions above this one must stay, because another process has not read them yet; nil if there
    /// is no other process.
    package var oldestVersionNeededByOthers: UInt64? { otherProcesses.map(\.version).min() }

    /// Writes to this process's slot what it has read and holds, for the others to see. Four stores. Must be called
    /// when a version is published or read, and when a version other than the newest is released. Calls must not
    /// overlap. Does nothing once the log is closed, because the slot may then be another opener's.
    @inline(__always)
    package func publishHoldings(version: UInt64, oldest: UInt64, activeCount: Int, retainedByteCount: Int) {
        guard let slot, !isClosed.load(ordering: .relaxed) else { return }
        page.setSlot(
            slot, version: readsOn ? version : .max, oldest: oldest, activeCount: activeCount,
            retainedByteCount: retainedByteCount)
    }

    /// Whether this process may still read what others write: false for a read-only log, and after a failure or
    /// `ceaseReading`.
    private var readsOn: Bool {
        guard let writer else { return false }
        return !writer.group.hasFailed && !hasCeasedReading.load(ordering: .relaxed)
    }

    /// Says that this process reads no further, so that the others need not keep the log for it. They see it with
    /// the next `publishHoldings`.
    package func ceaseReading() { hasCeasedReading.store(true, ordering: .relaxed) }

    /// What the other processes hold. Costs one load if the store never had another opener, otherwise a system call
    /// for each opener that holds anything.
    package var heldByOthers: HeldByOthers { page.heldByOthers(locks, but: slot) }

    /// Asks the other processes to publish the bytes that they retain; without this, their slots may say 0.
    package func askForRetainedBytes() {
        withSlot { page.setFlags($0, flags: .asksForBytes) }
        page.wakeAll()
    }

    /// Whether another process has asked for the bytes that this one retains. A process that was killed counts, too,
    /// which costs only the counting.
    package var isAskedForRetainedBytes: Bool { page.isAnySet(.asksForBytes, but: slot) }

    /// Says that this process writes out what it holds if another one asks for it.
    package func announceWritingOut() { withSlot { page.setFlags($0, flags: .writesOut) } }

    /// Asks the other processes to write out what they hold, until this is called with false. Processes that announced
    /// it (`OtherProcess.writesOut`) do so.
    package func askForWritingOut(_ asks: Bool) {
        withSlot { page.setFlags($0, flags: .asksForWritingOut, isSet: asks) }
        if asks { page.wakeAll() }
    }

    /// Whether another process asks this one to write out what it holds. Costs a system call if one does.
    package var isAskedForWritingOut: Bool { page.isAnySet(.asksForWritingOut, but: slot, locks) }

    // MARK: Retention

    /// Declares all history retentions that this process has ever asked for. The other processes see them at once, for
    /// as long as this process has the store open. The manifest gets them with its next replacement or with
    /// `rememberRetention`, and keeps them until some process asks for something else. Any thread may call this.
    package func retain(_ retentions: [HistoryRetention]) {
        let word = RetentionWord(retentions)
        withSlot { page.setRetention($0, word) }
        writer?.tail.retain(word)
    }

    /// Writes the retention to the manifest at once, if this process may write. The caller holds the process's
    /// write lock. Does nothing if the log is closed, because the manifest is another process's then.
    package func rememberRetention() {
        guard isWriting, let tail = writer?.tail else { return }
        tail.begin()
        defer { tail.endAppending() }
        guard !isClosed.load(ordering: .acquiring) else { return }
        // If the disk is full, the next replacement of the manifest writes the retention, as in `beginWriting`.
        try? tail.rememberRetention()
    }

    /// The history retentions in the manifest and of the other processes.
    package var retentionsOfOthers: [HistoryRetention] {
        get throws(LogError) {
            let stored = try manifest().retention
            // This process knows its own retention more exactly than the manifest does.
            let isOwn = stored == writer?.tail.ownRetention
            return otherProcesses.reduce(isOwn ? [] : stored.retentions) { $0 + $1.retention.retentions }
        }
    }

    /// Runs `body` with the compactor lock. Returns nil, without running it, if a compactor of this or another process
    /// runs. The kernel frees the lock if the process dies.
    ///
    /// - Throws: `LogError` if the lock can't be checked; whatever `body` throws.
    package func withCompactorLock<Result>(_ body: () throws -> Result) throws -> Result? {
        guard !isCompacting.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
        defer { isCompacting.store(false, ordering: .releasing) }
        LockRank.expectNone("the compactor lock is taken")
        guard try locks.tryLockCompactor() else { return nil }
        // It throws only if the lock file is closed, which frees the lock too.
        defer { try? locks.unlockCompactor() }
        return try body()
    }
}

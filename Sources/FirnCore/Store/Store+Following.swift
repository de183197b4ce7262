import FirnBytes
import FirnLog
import FirnStorage

/// Several processes on one store. `WriterLock` describes how they take turns. For the store's versions this means:
///
/// 1. While this process does not write, its tip is what it has read of the log, and is published. Commits of others
/// are applied to it as recovery does, forwards and without running any rule. All commits that are due at a time
/// become one version, with the number and time of the last of them. Observers get change summaries made from these
/// changes.
/// 2. A transaction begins when this process has the writer lock and has applied everything up to the end of the log
/// (`acquireWriteLock`). So its base is the newest version of all.
/// 3. When others wait, the thread that ends a transaction (`letOthersWrite`) or the follower's thread releases the
/// lock.
///
/// All of it happens under `queue`, the process's write lock. It guards what changes here: the tip, the log's position,
/// and whether this process may write. A thread waits for the kernel's lock without it.
extension Store {
    // MARK: Following

    /// Applies what other processes have published since the last call. The follower's thread does so on its own; this
    /// call makes sure that it has been done. Costs three loads if there is nothing.
    ///
    /// Cost: O(changes).
    ///
    /// - Throws: `.schemaChangedElsewhere`; an error of the files. Then the store stays at its version, and can be
    ///   read.
    package func catchUp() throws(StoreError) {
        guard let log, log.hasUnreadVersions, !log.isForked else { return }
        while log.hasUnreadVersions, !isClosed {
            if queue.tryAcquire() {
                defer { queue.release() }
                if !log.isAboutToWrite { return try follow(log) }
            }
            // Another thread is applying the versions, either before it writes or in a call like this one.
            sleepThread(nanoseconds: 50_000)
        }
    }

    /// Applies what was published, up to a version. The write lock is held.
    private func follow(_ log: Log, through limit: UInt64 = .max) throws(StoreError) {
        queue.assertHeld()
        try apply(log) { body in try log.readPublished(through: limit, body) }
    }

    /// Applies the commits that `read` reads, and advances the log. The write lock is held.
    private func apply(
        _ log: Log, _ read: (_ body: (inout CommitReader) throws -> Void) throws -> Log.Progress?
    ) throws(StoreError) {
        queue.assertHeld()
        if let refusedSchema { throw refusedSchema }
        let follower = FollowedCommits(self)
        let progress: Log.Progress?
        do {
            progress = try read { try follower.apply(&$0) }
            try follower.finish()
        } catch {
            let last = follower.version
            let error = follower.metDamage ?? error
            follower.cancel()
            guard let stop = error as? ForeignSchema else { throw replayError(error, after: last, log) }
            log.abandonWriting()
            // The versions that were published before that schema can still be shown.
            if stop.version > versions.tip.version + 1 { try follow(log, through: stop.version - 1) }
            let refusal = StoreError(
                .schemaChangedElsewhere,
                "another process has changed the schema of \(log.options.folder) in version \(stop.version): \(stop.difference). This process continues to read the version before, and "
                    + "can't write. Close the store here (release all its realms and objects) and open it again with classes that fit"
            )
            // This never changes, so the others need not keep later commits for this process.
            refusedSchema = refusal
            log.ceaseReading()
            publishHoldings()
            throw refusal
        }
        guard let progress else { return }
        // The versions are published before the log advances: a thread that then finds nothing unread finds them
        // published (`catchUp`).
        let published = versions.publish(through: progress.version)
        log.advance(to: progress)
        if let published { announce(published.version) }
    }

    // MARK: The write lock

    /// Waits until this process may write, and until the write lock is free within the process, and acquires it.
    /// Blocks.
    func acquireWriteLock() throws(StoreError) {
        guard let log else { return queue.acquire() }
        while true {
            if !log.isWriting { try logged(log.awaitWriting { !isClosed }) }
            queue.acquire()
            if try mayWrite(log) { return }
            queue.release()
        }
    }

    /// Like `acquireWriteLock`, for a checkpoint: if the process ends, it throws instead of waiting long for others.
    private func acquireWriteLockForCheckpoint() throws(StoreError) {
        guard let log, let timeout = compaction.thread.transactionTimeout else { return try acquireWriteLock() }
        let deadline = SystemClock.shared.monotonic() + timeout
        while true {
            if !log.isWriting {
                do throws(LogError) {
                    try log.awaitWriting(until: deadline) { !isClosed && SystemClock.shared.monotonic() < deadline }
                } catch {
                    throw error.code == .closed ? Store.endsBesideTransaction : StoreError(error)
                }
            }
            guard acquire(until: deadline) else {
                dropWritingWhenFree(log)
                throw Store.endsBesideTransaction
            }
            if try mayWrite(log) { return }
            queue.release()
        }
    }

    /// Releases the kernel's lock that this process has acquired and not used. Otherwise the process would keep it as
    /// long as it lives, and no other process would write.
    ///
    /// The release needs the write lock, whose holder may be about to write with the kernel's lock. So it happens when
    /// the write lock is free. It does not happen if another thread of this process has used the kernel's lock by then.
    private func dropWritingWhenFree(_ log: Log) {
        guard log.isAboutToWrite else { return }
        queue.request { [self] in
            if !isClosed { log.abandonWriting() }
            queue.release()
        }
    }

    /// Runs `body` with the write lock held, when this process may write. It is for changes of the log's files other
    /// than commits.
    func withWriteLock<Result>(_ body: () throws(LogError) -> Result) throws(StoreError) -> Result {
        try acquireWriteLockForCheckpoint()
        defer {
            endTransaction(wakesFollower: false)
            letOthersWriteIfAsked()
        }
        return try logged(body())
    }

    /// Whether this process may write now. The write lock is held; it is released if this throws.
    private func mayWrite(_ log: Log) throws(StoreError) -> Bool {
        queue.assertHeld()
        if log.isWriting {
            guard log.shouldReleaseWriting, log.isTimeSliceOver else { return true }
            log.releaseWriting()
            return false
        }
        guard log.isAboutToWrite else { return false }
        do throws(StoreError) {
            try apply(log) { body in try log.readToEnd(body) }
            try logged(log.beginWriting())
            return true
        } catch {
            log.abandonWriting()
            queue.release()
            throw error
        }
    }

    /// Called after a transaction: lets other processes write if they wait. While transactions of this process wait,
    /// too, it continues to write until its time slice is over.
    func letOthersWriteIfAsked() {
        guard let log, log.shouldReleaseWriting, log.isTimeSliceOver || !queue.hasWaiters else { return }
        letOthersWrite()
    }

    /// Lets other processes write. If a transaction runs, does nothing and returns false: its end does the same if
    /// others wait.
    @discardableResult
    func letOthersWrite() -> Bool {
        guard let log, log.isWriting else { return true }
        guard queue.tryAcquire() else { return false }
        log.releaseWriting()
        queue.release()
        return true
    }

    /// Called by the follower's thread whenever it was woken.
    package func handleOtherProcesses() {
        guard let log, !log.isForked, !isClosed else { return }
        if log.shouldReleaseWriting {
            letOthersWrite()
        } else if log.takeIdleReleaseRequest(), !letOthersWrite() {
            // The transaction that runs may be cancelled, after which nothing else would release the lock.
            log.postponeIdleRelease()
        }
        // An opener that asks for retained bytes may have come. After a failure, this process reads nothing more, and
        // the slot must show that.
        if log.isAskedForRetainedBytes || log.failure != nil { publishHoldings() }
        writeOutIfAsked()
        // An error is thrown again by the next refresh, opening or write, whose caller can handle it.
        ignoringError { () throws(StoreError) in try catchUp() }
        // The version that was the newest before may now be an older one that is held.
        writeOutIfAsked()
    }

    /// Makes the version table publish to the other processes what this one holds, from now on. Called before the
    /// store is shared.
    func reportHeld(to log: Log) {
        versions.report = { [log] table in
            // The slot belongs to the parent, whatever a forked child releases.
            if log.isForked { return }
            log.publishHoldings(
                version: table.publishedEntry.version, oldest: table.oldestVersion,
                activeCount: table.activeCount(without: nil),
                retainedByteCount: log.isAskedForRetainedBytes ? table.retainedByteCount(without: nil) : 0)
        }
        publishHoldings()
        if limit.byteCount < .max { log.askForRetainedBytes() }
        if spiller != nil { log.announceWritingOut() }
    }

    /// Shows the other processes what this one holds.
    func publishHoldings() { versions.withLock { $0.reportHoldings() } }

    /// The other processes that have the store open, and other openers in this process. Costs a system call for each.
    package var otherProcesses: [OtherProcess] { log?.otherProcesses ?? [] }
}

/// A schema that another process has set and that this one can't follow.
private struct ForeignSchema: Error {
    let version: UInt64
    let difference: String
}

/// Applies commits of other processes to a store: one transaction, begun with the first commit, for all that are read
/// at a time. The store's write lock is held all the time.
private final class FollowedCommits {
    private let store: Store
    private var transaction: WriteTransaction?
    private(set) var version: UInt64 = 0
    private var time: Int64 = 0

    init(_ store: Store) { self.store = store }

    func apply(_ commit: inout CommitReader) throws {
        let transaction = self.transaction ?? begin()
        version = commit.version
        time = commit.time
        let now = transaction.resolvedSchema.schema
        let version = commit.version
        try transaction.apply(&commit) { new in
            if let difference = new.breaks(now) { throw ForeignSchema(version: version, difference: difference) }
        }
    }

    private func begin() -> WriteTransaction {
        let base = store.versions.pinForStore(.tip)
        let begun = WriteTransaction(store.context, owner: store, base: base)
        begun.releasesWriteLock = false
        transaction = begun
        return begun
    }

    var metDamage: StoreError? { transaction?.metDamage }

    func cancel() { transaction?.cancel() }

    func finish() throws(StoreError) {
        guard let transaction else { return }
        try store.finishFollowing(transaction, version: version, time: time)
        self.transaction = nil
    }
}

extension StoreSchema {
    /// Describes the first change since `old` that a process which knows only `old` can't follow; nil if this schema
    /// only adds to `old`. Indexes and the version's number do not matter.
    package func breaks(_ old: StoreSchema) -> String? {
        guard tables.count >= old.tables.count else { return "it has fewer classes" }
        for (before, after) in zip(old.tables, tables) where before != after && !before.isRemoved {
            if after.isRemoved { return "the class \(before.name) was removed" }
            if before.name != after.name { return "the class \(before.name) is called \(after.name) now" }
            guard before.primaryKey == after.primaryKey, before.isEmbedded == after.isEmbedded else {
                return "the class \(before.name) has another primary key, or became embedded or not"
            }
            guard after.columns.count >= before.columns.count else { return "\(before.name) has fewer properties" }
            for (oldColumn, var newColumn) in zip(before.columns, after.columns) where !oldColumn.isRemoved {
                if newColumn.isRemoved { return "the property \(before.name).\(oldColumn.name) was removed" }
                newColumn.isIndexed = oldColumn.isIndexed
                if oldColumn != newColumn { return "the property \(before.name).\(oldColumn.name) was changed" }
            }
        }
        return nil
    }
}

import FirnBytes
import FirnLog
import FirnStorage

/// Several processes on one store. `WriterLock` tells how they take turns; here is what that means for the store's versions:
///
/// 1. While this process does not write, its tip is what it has read of the log, and is published. Commits of others are applied to it as recovery does, forwards and without running any
///    rule: those that are due at a time become one version, with the number and time of the last of them. Observers get notes made from the changes.
/// 2. A transaction begins when this process has the writer's lock and has applied everything up to the end of the log (`takeTurn`). So its base is the newest version of all.
/// 3. When others wait, the lock is given up by whoever ends a transaction (`letOthersWrite`), or by the follower's thread.
///
/// All of it happens under `queue`, the process's write lock, which guards what changes here: the tip, the log's place, and whether it is this process's turn. The kernel's lock
/// is waited for without it.
extension Store {
    // MARK: Reading on

    /// Applies what other processes have published since. The follower's thread does so by itself; who calls this has it now. Three loads where there is nothing.
    ///
    /// Cost: O(changes).
    ///
    /// - Throws: `.schemaChangedElsewhere`; what is wrong with the files. The store stays where it is then, and can be read.
    public func catchUp() throws(StoreError) {
        guard let log, log.hasNews, !log.isForked else { return }
        while log.hasNews, !isClosed {
            if queue.tryAcquire() {
                defer { queue.release() }
                if !log.isAboutToWrite { return try follow(log) }
            }
            // Somebody else applies it just now, before he writes or as this one would.
            restThread(nanoseconds: 50_000)
        }
    }

    /// The write lock is held.
    private func follow(_ log: Log, through limit: UInt64 = .max) throws(StoreError) {
        try apply(log) { body in try log.readPublished(through: limit, body) }
    }

    /// The write lock is held.
    private func apply(
        _ log: Log, _ read: (_ body: (inout CommitReader) throws -> Void) throws -> Log.Progress?
    ) throws(StoreError) {
        if let refusedSchema { throw refusedSchema }
        let follower = FollowedCommits(self)
        let progress: Log.Progress?
        do {
            progress = try read { try follower.apply(&$0) }
            try follower.finish()
        } catch {
            let last = follower.version
            let error = follower.fault ?? error
            follower.cancel()
            guard let stop = error as? ForeignSchema else { throw replayError(error, after: last, log) }
            log.dropWriting()
            // What was published before that schema can still be shown.
            if stop.version > versions.tip.version + 1 { try follow(log, through: stop.version - 1) }
            let refusal = StoreError(
                .schemaChangedElsewhere,
                "another process has changed the schema of \(log.options.folder) in version \(stop.version): \(stop.difference). This process goes on reading the version before, and "
                    + "can't write. Close the store here (let go of all its realms and objects) and open it again with classes that fit"
            )
            // It is the same from now on, so the others need not keep for this process what comes behind.
            refusedSchema = refusal
            log.ceaseReading()
            tellOthers()
            throw refusal
        }
        guard let progress else { return }
        log.advance(to: progress)
        publish(through: progress.version)
    }

    // MARK: Turns

    /// Takes the write lock when it is this process's turn to write and this transaction's among the process's own. Blocks.
    func takeTurn() throws(StoreError) {
        guard let log else { return queue.acquire() }
        while true {
            if !log.isWriting { do { try log.awaitWriting { !isClosed } } catch { throw StoreError(error) } }
            queue.acquire()
            if try isTurn(log) { return }
            queue.release()
        }
    }

    /// As `takeTurn`, for a checkpoint: where the process ends, it throws rather than wait long for others.
    private func takeTurnForCheckpoint() throws(StoreError) {
        guard let log, let patience = compactor.transactionPatience else { return try takeTurn() }
        let deadline = SystemClock.shared.monotonic() + patience
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
            if try isTurn(log) { return }
            queue.release()
        }
    }

    /// Drops the kernel's lock that this process got and made no use of: otherwise it would keep it as long as it
    /// lives, and no other process would write. That takes the write lock, whose holder may be about to write with the
    /// kernel's lock. So it happens when that is free, and not where somebody here has made use of it by then.
    private func dropWritingWhenFree(_ log: Log) {
        guard log.isAboutToWrite else { return }
        queue.request { [self] in
            if !isClosed { log.dropWriting() }
            queue.release()
        }
    }

    /// Runs `body` in this process's turn, with the write lock held: for what changes the log's files beside commits.
    func inTurn(_ body: () throws(LogError) -> Void) throws(StoreError) {
        try takeTurnForCheckpoint()
        defer {
            endTransaction(wakesFollower: false)
            letOthersWriteIfAsked()
        }
        do { try body() } catch { throw StoreError(error) }
    }

    /// Whether it is still this process's turn. The write lock is held; it is given up where this throws.
    private func isTurn(_ log: Log) throws(StoreError) -> Bool {
        if log.isWriting {
            guard log.shouldGiveUpWriting, log.isTurnOver else { return true }
            log.giveUpWriting()
            return false
        }
        guard log.isAboutToWrite else { return false }
        do throws(StoreError) {
            try apply(log) { body in try log.readToEnd(body) }
            do { try log.beginWriting() } catch { throw StoreError(error) }
            return true
        } catch {
            log.dropWriting()
            queue.release()
            throw error
        }
    }

    /// After a transaction: lets other processes write if they wait. One that is waited for by this process's own goes on for a turn.
    func letOthersWriteIfAsked() {
        guard let log, log.shouldGiveUpWriting, log.isTurnOver || !queue.hasWaiters else { return }
        letOthersWrite()
    }

    /// Lets other processes write, unless a transaction runs; that does so at its end.
    func letOthersWrite() {
        guard let log, log.isWriting, queue.tryAcquire() else { return }
        log.giveUpWriting()
        queue.release()
    }

    /// By the follower's thread, whenever there is news.
    package func attendToOthers() {
        guard let log, !log.isForked, !isClosed else { return }
        if log.shouldGiveUpWriting || log.takeWishForRest() { letOthersWrite() }
        // Somebody may have come who asks for more than was told; and after a failure nothing more is read here.
        if log.isAskedForRetainedBytes || log.failure != nil { tellOthers() }
        // What stands in the way is thrown again at the next refresh, opening or write, to somebody who can be told.
        _ = Result { () throws(StoreError) in try catchUp() }
    }

    /// From now on the other processes are told what this one holds. Before the store is shared.
    func reportHeld(to log: Log) {
        versions.report = { [log] table in
            // The slot stays the parent's, whatever a forked child lets go.
            if log.isForked { return }
            log.tellOthers(
                version: table.publishedEntry.version, oldest: table.oldestVersion,
                activeCount: table.activeCount(without: nil),
                retainedByteCount: log.isAskedForRetainedBytes ? table.retainedByteCount(without: nil) : 0)
        }
        tellOthers()
        if limit.byteCount < .max { log.askForRetainedBytes() }
    }

    /// Tells the other processes what this one holds.
    func tellOthers() { versions.withLock { table in table.report?(table) } }

    /// The other processes that have the store open (and other openers in this one). Cost: a system call for each.
    public var otherProcesses: [OtherProcess] { log?.otherProcesses ?? [] }
}

/// A schema that another process has set and that this one can't go on with.
private struct ForeignSchema: Error {
    let version: UInt64
    let difference: String
}

/// Commits of other processes on their way into a store: one transaction for all that are read at a time, begun with the first. The store's write lock is held all the while.
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
        let now = transaction.reference.schema
        let version = commit.version
        try transaction.apply(&commit) { new in
            if let difference = new.breaks(now) { throw ForeignSchema(version: version, difference: difference) }
        }
    }

    private func begin() -> WriteTransaction {
        let base = store.versions.pinForStore(.tip)
        let begun = WriteTransaction(store: store, base: base, stamp: store.nextStamp())
        begun.endsTurn = false
        transaction = begun
        return begun
    }

    var fault: StoreError? { transaction?.fault }

    func cancel() { transaction?.cancel() }

    func finish() throws(StoreError) {
        guard let transaction else { return }
        try transaction.finishFollowing(version: version, time: time)
        self.transaction = nil
    }
}

extension StoreSchema {
    /// What a process that knows `old` and not this schema can't go on with; nil where this only adds to it. Indexes and the version's number are no matter.
    public func breaks(_ old: StoreSchema) -> String? {
        guard tables.count >= old.tables.count else { return "it has fewer classes" }
        for (before, after) in zip(old.tables, tables) where before != after && !before.isRemoved {
            if after.isRemoved { return "the class \(before.name) was removed" }
            if before.name != after.name { return "the class \(before.name) is called \(after.name) now" }
            guard before.primaryKey == after.primaryKey, before.isEmbedded == after.isEmbedded else {
                return "the class \(before.name) has another primary key, or became embedded or not"
            }
            guard after.columns.count >= before.columns.count else { return "\(before.name) has fewer properties" }
            for (a, var b) in zip(before.columns, after.columns) where !a.isRemoved {
                if b.isRemoved { return "the property \(before.name).\(a.name) was removed" }
                b.isIndexed = a.isIndexed
                if a != b { return "the property \(before.name).\(a.name) was changed" }
            }
        }
        return nil
    }
}

import FirnStorage
import Synchronization

/// Makes written commits durable, many by one sync. No thread exists for it: if a thread needs durability and no sync
/// runs, that thread syncs for all.
///
/// The cycle:
/// 1. A commit's frames are written, then `noteWritten` raises *written*. The appender does that, so one commit at a
///    time.
/// 2. A thread that must wait calls `wait(for:)`. If *durable* has reached its version, it continues.
/// 3. Otherwise, if nobody is syncing, it becomes the leader: it reads *written* as the round's target, enters it in
///    `round`, and syncs. Every frame up to the target was written before the sync began, so the sync covers it. Then
///    it checks, at most once in 1 ms, that the file still has its name in the store (`HeldNames`). Whatever is synced
///    to a file that was removed is lost.
/// 4. The leader raises *durable* to the target, stores it in the shared page, raises *published*, and ends the round.
///    It wakes one of the waiters that this sync did not cover, to lead the next round, and then all waiters that it
///    did cover.
/// 5. If the sync fails, *failure* is set instead, and stays: nothing more is written or synced, and all waiters throw.
///    The sync is never tried again, because a second one may report success for pages that the first one lost. Then
///    the end of the round wakes all waiters in both wait queues. Nobody leads another round, so a thread that is left
///    asleep would sleep for ever. Such a thread may have checked for the failure just before it was set.
///
/// Waiters use two wait queues alternately: one for waiters that the running sync covers, one for waiters that need the
/// next sync. So the end of a round wakes nobody in vain, and wakes all of a queue with one system call. A thread that
/// was woken reads *durable* without a lock.
///
/// No code of the application runs while a thread leads. The state that changes:
/// - *written*, *durable*, *published*: atomics that only rise, which any thread may read. *written* is stored by the
///   appender. The other two are stored by the leader (*published* by the appender if the durability needs no sync).
///   While another process writes, `adopt` raises all three.
/// - `round`: atomic. Set from idle to syncing by the thread that becomes the leader, and back by the leader.
/// - `isCrowded`: atomic; stored by the leader.
/// - `file`: used by the leader. Only a leader replaces it (a roll to a new segment leads for as long as it takes).
/// - `failure`: guarded by `lock`. `failed` is atomic and says that there is one.
final class GroupCommit: @unchecked Sendable {
    private let written: Atomic<UInt64>
    private let durable: Atomic<UInt64>
    private let published: Atomic<UInt64>
    private let round: Atomic<UInt64>
    /// Whether the last round had commits of several threads to sync.
    private let isCrowded = Atomic<Bool>(false)
    private let failed = Atomic<Bool>(false)
    private let waitQueues: (EventCount, EventCount)
    private let lock = Lock(.innermost)
    private var failure: LogError?
    private var file: any StorageFile
    private let page: SharedPage?
    /// Checked after a sync. Nil in tests, whose files belong to no store.
    let names: HeldNames?
    /// Whether a commit is published as soon as it is written.
    private let publishesWhenWritten: Bool

    /// The content of `round`:
    /// ```
    /// bit 0      whether a sync runs
    /// bit 1      the wait queue of the threads that this round covers (while idle: will cover)
    /// bits 2–63  the target: the version up to which the last begun sync covers
    /// ```
    struct Round: Equatable {
        let word: UInt64

        init(word: UInt64) { self.word = word }

        init(target: UInt64, waitQueue: UInt64, isSyncing: Bool) {
            word = target << 2 | waitQueue << 1 | (isSyncing ? 1 : 0)
        }

        var isSyncing: Bool { word & 1 != 0 }
        var waitQueue: UInt64 { word >> 1 & 1 }
        var target: UInt64 { word >> 2 }
    }

    init(
        file: any StorageFile, version: UInt64, page: SharedPage?, publishesWhenWritten: Bool, names: HeldNames? = nil,
        waitQueues: (EventCount, EventCount) = (EventCount(), EventCount())
    ) {
        self.waitQueues = waitQueues
        self.file = file
        self.page = page
        self.names = names
        self.publishesWhenWritten = publishesWhenWritten
        written = Atomic(version)
        durable = Atomic(version)
        published = Atomic(version)
        round = Atomic(Round(target: version, waitQueue: 0, isSyncing: false).word)
    }

    var writtenVersion: UInt64 { written.load(ordering: .sequentiallyConsistent) }
    var durableVersion: UInt64 { durable.load(ordering: .sequentiallyConsistent) }
    var publishedVersion: UInt64 { published.load(ordering: .acquiring) }

    /// The failure after which nothing more is written; nil if there was none.
    var currentFailure: LogError? {
        failed.load(ordering: .sequentiallyConsistent) ? lock.withLock { failure } : nil
    }

    /// Raises *written* (step 1).
    func noteWritten(_ version: UInt64) {
        written.store(version, ordering: .sequentiallyConsistent)
        if publishesWhenWritten {
            published.store(version, ordering: .sequentiallyConsistent)
            page?.setPublished(version)
        }
    }

    /// Makes a version durable, or waits until it is (steps 2 to 5). Throws if a sync failed before the version was
    /// durable.
    func wait(for version: UInt64) throws(LogError) {
        var hasYielded = false
        while durableVersion < version {
            if let failure = currentFailure {
                // The version may have become durable before this failure.
                if durableVersion >= version { return }
                throw Self.unknown(version, failure)
            }
            let now = currentRound
            guard !now.isSyncing else {
                waitForRound(in: now.target >= version ? now.waitQueue : now.waitQueue ^ 1, during: now)
                continue
            }
            if !hasYielded, isCrowded.load(ordering: .relaxed) {
                // The threads that the last round woke may be waiting for this processor. If they run first, this sync
                // also covers what they write.
                hasYielded = true
                yieldThread()
                continue
            }
            syncRound(now)
        }
    }

    /// Leads the round that begins from `now`, unless another thread was quicker (steps 3 to 5).
    func syncRound(_ now: Round) {
        guard let led = beginRound(now) else { return }
        defer { endRound(led) }
        // Another round may have ended since the caller read `now`. Its failure is set before its end, so the next
        // leader sees the failure. If that round has synced everything, the log may be closed by now, and another
        // process may write. Then a further sync of this file would fail, and the failure would be treated as one of
        // that process.
        if hasFailed || led.target <= durableVersion { return }
        do throws(LogError) {
            try stored(file.sync())
            try checkNames(file)
            isCrowded.store(writtenVersion > durableVersion + 1, ordering: .relaxed)
            raise(to: led.target)
        } catch {
            fail(error)
        }
    }

    /// Syncs everything that is written, even if all commits are durable, because a mark may not be durable.
    func syncAll() throws(LogError) {
        try lead { file throws(LogError) in
            try synced(file.sync())
            return file
        }
    }

    /// Leads a round with `body`. It gets the file, syncs everything that was written to it, and returns the file to
    /// continue with. If `body` throws an error that is not transient (`isTransient`; a full disk is), nothing more is
    /// written.
    func lead(_ body: (any StorageFile) throws(LogError) -> any StorageFile) throws(LogError) {
        let led = beginNextRound()
        defer { endRound(led) }
        if let failure = currentFailure { throw Self.unknown(durableVersion + 1, failure) }
        do {
            file = try body(file)
            try checkNames(file)
        } catch {
            if error.isTransient { throw error }
            fail(error)
            throw Self.unknown(durableVersion + 1, error)
        }
        raise(to: led.target)
    }

    /// Throws if a name leads to another file, which ends the writing. A name that could not be looked up is looked up
    /// again after the next sync.
    private func checkNames(_ file: any StorageFile, always: Bool = false) throws(LogError) {
        do throws(LogError) {
            if always { try names?.check(file) } else { try names?.checkIfDue(file) }
        } catch {
            if !error.isTransient { throw error }
        }
    }

    /// Ends the writing if one of the names leads to another file. The appender calls this before it lets another
    /// process write, because after that nobody checks what this process has committed.
    func checkNamesNow() {
        do throws(LogError) { try checkNames(file, always: true) } catch { fail(error) }
    }

    /// After a failure, waits until no sync runs and none can begin. Only then may another process write. A sync that
    /// succeeds after a write has failed raises the marks of the page, which by then would belong to the other process.
    /// Called by the appender.
    func waitForLastRound() {
        precondition(hasFailed, "Firn: unless a write or sync has failed, another round may begin at any time")
        endRound(beginNextRound())
    }

    /// Takes over what another process has written and synced, while nothing is written here. Then all marks are
    /// equal, so that nobody syncs for them.
    ///
    /// The order of the stores follows from what each mark promises, from the last step of a commit to the first:
    /// - *published* before *durable*, as in `raise`: a thread that sees a version durable finds it published.
    /// - *durable* before *written*: a thread that sees a version written and not durable syncs. It is the log's thread
    ///   with relaxed durability, or a leader, whose target is *written*. It would sync another process's file, and its
    ///   `raise` would store that target as the durable mark of the shared page. But that mark is the other process's
    ///   to raise, and may be higher by then.
    ///
    /// Between the steps a reader may see a version published or durable that is not written. That does no harm. Three
    /// kinds of threads read *written*. The appender, which is the caller here, compares it with versions. Threads that
    /// look for something to sync compare it with *durable*, and find nothing. Threads that read the past also take
    /// what the page says is published (`Log.replay`).
    func adopt(_ version: UInt64) {
        published.store(version, ordering: .sequentiallyConsistent)
        durable.store(version, ordering: .sequentiallyConsistent)
        written.store(version, ordering: .sequentiallyConsistent)
    }

    var hasFailed: Bool { failed.load(ordering: .sequentiallyConsistent) }

    /// Ends the writing, because a write or sync failed, so that the file's content is unknown.
    func fail(_ error: LogError) {
        lock.lock()
        if failure == nil {
            failure = error
            failed.store(true, ordering: .sequentiallyConsistent)
            page?.setFailure(durable: durableVersion)
        }
        lock.unlock()
        waitQueues.0.broadcast()
        waitQueues.1.broadcast()
        // A process that waits for the writer lock must not wait for one that no longer writes.
        page?.wakeAll()
    }

    // MARK: Rounds

    /// Whether a leader is syncing, or is about to sync.
    var isSyncing: Bool { currentRound.isSyncing }

    var currentRound: Round { Round(word: round.load(ordering: .sequentiallyConsistent)) }

    private func waitQueue(_ number: UInt64) -> EventCount { number == 0 ? waitQueues.0 : waitQueues.1 }

    /// Makes the caller the leader. Returns nil if another thread was quicker.
    private func beginRound(_ now: Round) -> Round? {
        let begun = Round(target: writtenVersion, waitQueue: now.waitQueue, isSyncing: true)
        let (exchanged, _) = round.compareExchange(
            expected: now.word, desired: begun.word, ordering: .sequentiallyConsistent)
        return exchanged ? begun : nil
    }

    /// Makes the caller the leader, after waiting for the present one.
    private func beginNextRound() -> Round {
        while true {
            let now = currentRound
            if now.isSyncing {
                waitForRound(in: now.waitQueue, during: now)
            } else if let begun = beginRound(now) {
                return begun
            }
        }
    }

    private func endRound(_ led: Round) {
        let next = led.waitQueue ^ 1
        round.store(
            Round(target: led.target, waitQueue: next, isSyncing: false).word, ordering: .sequentiallyConsistent)
        // A waiter of the next queue leads the next round; after a failure nobody does.
        if hasFailed { waitQueue(next).broadcast() } else { waitQueue(next).signal() }
        waitQueue(led.waitQueue).broadcast()
    }

    /// Waits in a wait queue for the end of a round, or for a failure. Returns at once if the round is no longer `now`.
    private func waitForRound(in number: UInt64, during now: Round) {
        let waitQueue = waitQueue(number)
        let ticket = waitQueue.ticket()
        if currentRound == now { waitQueue.wait(ticket) }
    }

    /// Raises the marks. Called by the leader. *durable* comes last: a waiter continues as soon as it sees that, and
    /// must find its version published.
    private func raise(to target: UInt64) {
        guard target > durableVersion else { return }
        page?.setDurable(target)
        if !publishesWhenWritten {
            published.store(target, ordering: .sequentiallyConsistent)
            page?.setPublished(target)
        }
        durable.store(target, ordering: .sequentiallyConsistent)
    }

    private static func unknown(_ version: UInt64, _ failure: LogError) -> LogError {
        LogError(.unknownOutcome(version: version), path: failure.path, offset: failure.offset, detail: failure.detail)
    }
}

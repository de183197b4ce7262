import FirnStorage
import Synchronization

/// Makes written commits durable, many by one sync. There is no thread for it: who wants durability and finds nobody syncing does it for all.
///
/// The cycle:
/// 1. A commit's frames are written, then `noteWritten` raises *written*. That is the appender's, so one at a time.
/// 2. Whoever must wait calls `wait(for:)`. If *durable* has reached its version, it goes on.
/// 3. Else, if nobody is syncing, it becomes the leader: it reads *written* as the round's target, enters it into `round`, and syncs.
///    Every frame up to the target was written before the sync began, so the sync covers it.
/// 4. The leader raises *durable* to the target, stores it in the shared page, raises *published*, and ends the round. It wakes one of those
///    whom this sync did not cover, to lead the next round, then all whom it did.
/// 5. If the sync fails, *failure* is set instead, for good: nothing more is written or synced, and all that wait throw. It is never
///    tried again, since a second sync may report success for pages that the first one lost. The round's end then wakes both rooms whole:
///    nobody leads another round, so whoever is left asleep would sleep for ever, and one may have looked for the failure just before it was set.
///
/// Waiters stand in two rooms by turns: those whom the running sync covers, and those who need the next one. So a round's end wakes nobody in vain, and
/// all by one call of the system; who wakes looks at *durable* without a lock.
///
/// **Sectors.** Where a commit must not share a sector of the disk with synced ones (`LogOptions.sectorByteCount`), its appender asks
/// `join` before it writes. *covered* is the last version that a sync covers which has begun. If that is the last one written, or a leader is just
/// deciding it, the commit begins a new sector. If not, it joins the commits before it, and a leader that begins meanwhile waits until it is
/// written, and then decides what its sync covers: each of the two announces itself (`isJoined`; *covered* without bound) before it looks at
/// the other, so at least one sees the other. So all versions of a sector are covered by the same syncs.
///
/// A round's target is decided earlier than what its sync covers, as the waiters' rooms go by it: a commit that the leader waited for is covered, but
/// acknowledged only by the next round. That costs one sync, and no waiter sleeps in the wrong room.
///
/// No code of the user's runs while leading. What changes:
/// - *written*, *durable*, *published*: atomics that only rise. While another process writes, `adopt` raises all three. *written* is stored by the appender; the other two by the leader (and *published*
///   by the appender where the durability asks for no sync). Read by anybody.
/// - *covered*: atomic; stored by the leader, read by the appender. `undecided` while the leader waits for a commit that is being written.
/// - `round`: atomic. From idle to syncing by whoever becomes the leader, back by the leader.
/// - `isCrowded`: atomic; stored by the leader.
/// - `isJoined`: atomic; stored by the appender, read by the leader.
/// - `file`: the leader's. It is replaced only by who leads (a roll to a new segment leads for as long as it takes).
/// - `failure`: guarded by `lock`; `failed`, atomic, says that it is there.
final class GroupCommit: @unchecked Sendable {
    private let written: Atomic<UInt64>
    private let durable: Atomic<UInt64>
    private let published: Atomic<UInt64>
    private let covered: Atomic<UInt64>
    private let round: Atomic<UInt64>
    /// Whether others' commits came together with the last leader's.
    private let isCrowded = Atomic<Bool>(false)
    /// Whether a commit is being written to the sector that ends with commits which no sync covers yet.
    private let isJoined = Atomic<Bool>(false)
    private let failed = Atomic<Bool>(false)
    private let rooms: (EventCount, EventCount)
    private let lock = Lock(.innermost)
    private var failure: LogError?
    private var file: any StorageFile
    private let page: SharedPage?
    /// True where a commit counts as done when it is written.
    private let publishesWhenWritten: Bool

    /// *covered* while a leader decides it: no commit joins then.
    private static let undecided = UInt64.max

    /// What `round` holds:
    /// ```
    /// bit 0      a sync runs
    /// bit 1      the room of those whom this round covers (while idle: will cover)
    /// bits 2–63  the target: the version up to which the last begun sync covers
    /// ```
    private struct Round: Equatable {
        let word: UInt64

        init(word: UInt64) { self.word = word }

        init(target: UInt64, room: UInt64, isSyncing: Bool) {
            word = target << 2 | room << 1 | (isSyncing ? 1 : 0)
        }

        var isSyncing: Bool { word & 1 != 0 }
        var room: UInt64 { word >> 1 & 1 }
        var target: UInt64 { word >> 2 }
    }

    init(
        file: any StorageFile, version: UInt64, page: SharedPage?, publishesWhenWritten: Bool,
        rooms: (EventCount, EventCount) = (EventCount(), EventCount())
    ) {
        self.rooms = rooms
        self.file = file
        self.page = page
        self.publishesWhenWritten = publishesWhenWritten
        written = Atomic(version)
        durable = Atomic(version)
        published = Atomic(version)
        covered = Atomic(version)
        round = Atomic(Round(target: version, room: 0, isSyncing: false).word)
    }

    var writtenVersion: UInt64 { written.load(ordering: .sequentiallyConsistent) }
    var durableVersion: UInt64 { durable.load(ordering: .sequentiallyConsistent) }
    var publishedVersion: UInt64 { published.load(ordering: .acquiring) }

    /// The failure after which nothing more is written; nil while all is well.
    var currentFailure: LogError? {
        failed.load(ordering: .sequentiallyConsistent) ? lock.withLock { failure } : nil
    }

    /// Step 1.
    func noteWritten(_ version: UInt64) {
        written.store(version, ordering: .sequentiallyConsistent)
        if publishesWhenWritten {
            published.store(version, ordering: .sequentiallyConsistent)
            page?.setPublished(version)
        }
    }

    /// Whether what is written next may share a sector with what was written last. True binds the appender: it calls `endJoin` as soon
    /// as the commit is written, or cut off.
    func join() -> Bool {
        isJoined.store(true, ordering: .sequentiallyConsistent)
        if covered.load(ordering: .sequentiallyConsistent) < writtenVersion { return true }
        endJoin()
        return false
    }

    func endJoin() { isJoined.store(false, ordering: .sequentiallyConsistent) }

    /// Steps 2 to 5. Throws where a sync failed before the version was durable.
    func wait(for version: UInt64) throws(LogError) {
        var hasYielded = false
        while durableVersion < version {
            if let failure = currentFailure {
                // The version may have become durable before the failure that we see.
                if durableVersion >= version { return }
                throw Self.unknown(version, failure)
            }
            let now = currentRound
            guard !now.isSyncing else {
                stay(in: now.target >= version ? now.room : now.room ^ 1, during: now)
                continue
            }
            if !hasYielded, isCrowded.load(ordering: .relaxed) {
                // Those whom the last round has woken may be waiting for this processor: what they write now, this sync covers too.
                hasYielded = true
                yieldThread()
                continue
            }
            guard let led = beginRound(now) else { continue }
            // A round may have ended since the look above. Its failure came before its end, so the next leader sees it.
            // If it has synced all that there is, the log may be closed by now, and another process may write: a
            // further sync of this file would fail, and the failure would be taken for that process's.
            if hasFailed || led.target <= durableVersion {
                endRound(led)
                continue
            }
            do {
                try file.sync()
                isCrowded.store(writtenVersion > durableVersion + 1, ordering: .relaxed)
                raise(to: led.target)
            } catch {
                fail(LogError(error))
            }
            endRound(led)
        }
    }

    /// Syncs whatever is written, even if all commits are durable (a mark may not be).
    func syncAll() throws(LogError) {
        try lead { file throws(LogError) in
            try synced(file)
            return file
        }
    }

    /// Leads with `body`, which syncs all that is written to the file that it is given and returns the one to go on with. If it throws
    /// anything but what `isPassing`, as a full disk, that is a failure for good.
    func lead(_ body: (any StorageFile) throws(LogError) -> any StorageFile) throws(LogError) {
        let led = beginNextRound()
        defer { endRound(led) }
        if let failure = currentFailure { throw Self.unknown(durableVersion + 1, failure) }
        do {
            file = try body(file)
        } catch {
            if error.isPassing { throw error }
            fail(error)
            throw Self.unknown(durableVersion + 1, error)
        }
        raise(to: led.target)
    }

    /// Returns when no sync runs, nor begins, after a failure: only then may another process write. A sync that
    /// succeeds after a write has failed raises the marks of the page, which is the other's by then. By the appender.
    func awaitEndOfRounds() {
        precondition(hasFailed, "while all is well, the next round begins at any time")
        endRound(beginNextRound())
    }

    /// Takes over what another process has written and synced, while nothing is written here: all marks are equal then, so that nobody syncs for them.
    ///
    /// The order is that of what each mark promises, from the last step of a commit to the first:
    /// - *published* before *durable*, as in `raise`: who sees a version durable finds it published.
    /// - *durable* before *written*: who sees a version written and not durable syncs (the log's thread where the
    ///   durability is relaxed, or a leader, whose target is *written*). It would sync another process's file, and its
    ///   `raise` would put that target on the shared page, whose durable mark is the other process's to raise and may
    ///   be higher by then.
    /// - *covered* before *written*: what is adopted is synced, so no commit may join it in its sector.
    ///
    /// Between the steps a reader may see a version published or durable that is not written. Nobody takes offence:
    /// *written* is compared with versions by the appender, who is the caller here, and with *durable* by those who
    /// look for what is to be synced, who find nothing.
    func adopt(_ version: UInt64) {
        covered.store(version, ordering: .sequentiallyConsistent)
        published.store(version, ordering: .sequentiallyConsistent)
        durable.store(version, ordering: .sequentiallyConsistent)
        written.store(version, ordering: .sequentiallyConsistent)
    }

    var hasFailed: Bool { failed.load(ordering: .sequentiallyConsistent) }

    /// Ends the writing for good: a write or a sync failed, so that what the file holds is not known.
    func fail(_ error: LogError) {
        lock.lock()
        if failure == nil {
            failure = error
            failed.store(true, ordering: .sequentiallyConsistent)
            page?.setFailure(durable: durableVersion)
        }
        lock.unlock()
        rooms.0.broadcast()
        rooms.1.broadcast()
        // Who waits for the writer's lock shall not wait for a process that writes no more.
        page?.wakeAll()
    }

    // MARK: Rounds

    /// Whether a leader syncs, or is about to.
    var isSyncing: Bool { currentRound.isSyncing }

    private var currentRound: Round { Round(word: round.load(ordering: .sequentiallyConsistent)) }

    private func room(_ number: UInt64) -> EventCount { number == 0 ? rooms.0 : rooms.1 }

    /// Becomes the leader; nil where another was quicker.
    private func beginRound(_ now: Round) -> Round? {
        let begun = Round(target: writtenVersion, room: now.room, isSyncing: true)
        let (exchanged, _) = round.compareExchange(
            expected: now.word, desired: begun.word, ordering: .sequentiallyConsistent)
        guard exchanged else { return nil }
        covered.store(Self.undecided, ordering: .sequentiallyConsistent)
        // A write of one commit, which waits for nobody.
        while isJoined.load(ordering: .sequentiallyConsistent) { yieldThread() }
        covered.store(writtenVersion, ordering: .sequentiallyConsistent)
        return begun
    }

    /// Becomes the leader, after whoever is.
    private func beginNextRound() -> Round {
        while true {
            let now = currentRound
            if now.isSyncing {
                stay(in: now.room, during: now)
            } else if let begun = beginRound(now) {
                return begun
            }
        }
    }

    private func endRound(_ led: Round) {
        let next = led.room ^ 1
        round.store(Round(target: led.target, room: next, isSyncing: false).word, ordering: .sequentiallyConsistent)
        // One of the next room leads on; after a failure nobody does.
        if hasFailed { room(next).broadcast() } else { room(next).signal() }
        room(led.room).broadcast()
    }

    /// Waits in a room for the end of a round (or for a failure), unless things have moved on from `now`.
    private func stay(in number: UInt64, during now: Round) {
        let room = room(number)
        let ticket = room.ticket()
        if currentRound == now { room.wait(ticket) }
    }

    /// By the leader. *durable* comes last: who waits goes on as soon as it sees that, and must find its version published.
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

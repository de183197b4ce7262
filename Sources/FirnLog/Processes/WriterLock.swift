import FirnStorage
import Synchronization

/// The lock under which a process writes to the store: the kernel's lock of byte 0, which a process keeps across its transactions until another wants it.
///
/// The cycle, for processes A and B:
/// 1. A holds the lock and is *ready*: its transactions follow each other under its own write lock, and cost one load of the page's *wish* more than they would alone.
/// 2. B wants to write. It finds the kernel's lock taken, sets *wish*, wakes all who wait for news, and waits for news itself.
/// 3. A sees the wish when a transaction ends, or, if none runs, by its thread that waits for news. Under its write lock it makes its tip durable, stops filling room ahead, clears
///    *wish* and the page's writer, gives the kernel's lock up, and wakes all who wait (`Log.giveUpWriting`). Until then others of A's threads may go on for a `turn`.
/// 4. B gets the kernel's lock and counts a turn: it is *locked*. Under its own write lock it reads what was written since (`Log.readToEnd`), applies it, opens the segment,
///    sets the page's writer to itself, and is *ready* (`Log.beginWriting`).
/// 5. A comes back at 2. Having given the lock up for somebody, it lets that one have it first: it does not try before the count of turns has moved, or `courtesy` is over.
///
/// If A dies, the kernel frees the lock. B, which looks every `patience` too, gets it and finds A's number on the page: it recovers the log as an opener does,
/// and so does who finds a failure mark. A process whose write or sync failed gives the lock up as it stands, without clearing anything.
///
/// In the order of turns (`LockRank`), the kernel's lock comes before the process's write lock. So a thread waits for the kernel's lock without the process's write lock, and the process goes on reading
/// what others commit meanwhile.
///
/// What changes here:
/// - `state`: atomic. To *locked* by whoever is acquiring; to *ready* and to *away* by the holder of the process's write lock. So under that, *ready* stays.
/// - `isAcquiring`: guarded by `lock`; one thread at a time tries for all.
/// - `heldSince`, `yieldedAt`, `yieldedTurn`, `wantsRest`: atomic; hints that decide when, never whether.
final class WriterLock: @unchecked Sendable {
    private enum State: UInt8, AtomicRepresentable { case away, locked, ready }

    /// Nanoseconds for which a process that writes goes on although another waits: so the price of going over is paid once for many commits.
    private static let turn: Int64 = 2_000_000
    /// Nanoseconds for which a process that gave the lock up leaves it to the one that asked.
    private static let courtesy: Int64 = 2_000_000
    /// Nanoseconds after which one that waits looks whether the holder has died, and asks again.
    private static let patience: Int64 = 10_000_000

    private let locks: StoreLocks
    private let page: SharedPage
    private let mayWait: Bool
    /// The system's where threads wait; else the store's, so that a simulation decides whose turn it is.
    private let clock: any Clock
    private let state: Atomic<State>
    private let lock = Lock(.innermost)
    private let arrived = Condition()
    private var isAcquiring = false
    private let heldSince = Atomic<Int64>(0)
    private let yieldedAt = Atomic<Int64>(0)
    private let yieldedTurn = Atomic<UInt32>(0)
    private let wantsRest = Atomic<Bool>(false)

    init(locks: StoreLocks, page: SharedPage, isReady: Bool, mayWait: Bool, clock: any Clock) {
        self.clock = mayWait ? SystemClock.shared : clock
        self.locks = locks
        self.page = page
        self.mayWait = mayWait
        state = Atomic(isReady ? .ready : .away)
    }

    /// Whether this process may write.
    var isReady: Bool { state.load(ordering: .acquiring) == .ready }

    /// Whether it has the kernel's lock and may not have read yet what others wrote.
    var isLocked: Bool { state.load(ordering: .acquiring) == .locked }

    var isAway: Bool { state.load(ordering: .acquiring) == .away }

    /// Whether this process has written for as long as it may while others wait.
    var isTurnOver: Bool {
        clock.monotonic() - heldSince.load(ordering: .relaxed) > Self.turn
    }

    // MARK: Getting it

    /// Gets the kernel's lock, unless this process has it, waiting as long as others write. Who calls holds no other lock. `check` throws where waiting makes no more sense; at `deadline` that is asked
    /// although another thread tries for all.
    func acquire(until deadline: Int64 = .max, _ check: () throws(LogError) -> Void) throws(LogError) {
        LockRank.expectNone("a thread waits for the writer's lock")
        lock.lock()
        while isAway, isAcquiring {
            if deadline == .max {
                arrived.wait(lock)
            } else if !arrived.wait(lock, until: deadline) {
                lock.unlock()
                try check()
                lock.lock()
            }
        }
        guard isAway else { return lock.unlock() }
        isAcquiring = true
        lock.unlock()
        defer {
            lock.lock()
            isAcquiring = false
            arrived.broadcast()
            lock.unlock()
        }
        try acquireForAll(check)
    }

    private func acquireForAll(_ check: () throws(LogError) -> Void) throws(LogError) {
        var isUrgent = false
        while true {
            try check()
            let left = courtesyLeft
            if left <= 0, try tryLock(check) { return }
            if left <= 0 { page.wishForWriter(isUrgent: isUrgent) }
            guard mayWait else {
                throw LogError(.locked(processID: Int32(exactly: page.writerProcess)), path: locks.path)
            }
            let ticket = page.newsTicket(countsCommits: true)
            // Between the first look and the ticket it may have been given up.
            if left <= 0, try tryLock(check) { return }
            let since = clock.monotonic()
            let wait = left > 0 ? left : Self.patience
            page.waitForNews(ticket, nanoseconds: wait)
            isUrgent = clock.monotonic() - since >= wait
        }
    }

    private func tryLock(_ check: () throws(LogError) -> Void) throws(LogError) -> Bool {
        guard try locks.tryLockWriter() else { return false }
        // The log may have been closed since the look before; where versions are read on, the lock file stays open.
        do throws(LogError) { try check() } catch {
            try? locks.unlockWriter()
            throw error
        }
        page.countTurn()
        heldSince.store(clock.monotonic(), ordering: .relaxed)
        yieldedAt.store(0, ordering: .relaxed)
        wantsRest.store(false, ordering: .relaxed)
        state.store(.locked, ordering: .releasing)
        return true
    }

    /// Nanoseconds for which the lock is still left to the one that asked for it.
    private var courtesyLeft: Int64 {
        let yielded = yieldedAt.load(ordering: .relaxed)
        guard yielded != 0, page.turns == yieldedTurn.load(ordering: .relaxed) else { return 0 }
        return yielded + Self.courtesy - clock.monotonic()
    }

    /// By the holder of the write lock, once everything that others wrote was read.
    func becomeReady() { state.store(.ready, ordering: .releasing) }

    // MARK: Giving it up

    /// An idle process gives the lock up, so that its death troubles nobody.
    func requestIdleRelease() {
        wantsRest.store(true, ordering: .relaxed)
        page.wakeAll()
    }

    /// Whether an idle process wished to give the lock up; once.
    func takeWishForRest() -> Bool { isReady && wantsRest.exchange(false, ordering: .relaxed) }

    /// By the holder of the write lock, when nothing of this process touches the log any more.
    ///
    /// The kernel's lock goes before the state says so. It excludes no thread of this process, as all ask through the
    /// same open file: one that found *away* first would get the lock that is about to go, and write without it. A
    /// thread that finds the old state waits for the write lock, and looks again when it has it.
    func release() {
        if page.isWriterWanted {
            yieldedTurn.store(page.turns, ordering: .relaxed)
            yieldedAt.store(clock.monotonic(), ordering: .relaxed)
        }
        page.clearWish()
        // It throws only where the lock file is closed, which frees the lock too.
        try? locks.unlockWriter()
        state.store(.away, ordering: .releasing)
        page.wakeAll()
    }

    /// The log is closed, and the lock goes with its file, or by itself: from now on nobody takes this process for the
    /// one that writes. Nobody tries for the lock any more; who gets it just now gives it back.
    func close() { state.store(.away, ordering: .releasing) }
}

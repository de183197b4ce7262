import FirnStorage
import Synchronization

/// The lock under which a process writes to the store. It is the kernel's lock of byte 0 of the file `lock`. A process
/// keeps it across its transactions until another process wants it.
///
/// The cycle, for processes A and B:
/// 1. A holds the lock and is *ready*. Its transactions follow each other under its own write lock. The only cost of
///    other processes is that each transaction loads the page's word *wanted*.
/// 2. B wants to write. It finds the kernel's lock taken, sets *wanted*, wakes all waiters, and waits itself.
/// 3. A sees *wanted* when a transaction ends or, if none runs, in its thread that waits for events. Under its write
///    lock it makes its tip durable, stops the preallocation, and clears *wanted* and the page's writer. Then it
///    releases the kernel's lock, and wakes all waiters (`Log.releaseWriting`). Before all that, other threads of A may
///    continue to write for a `timeSlice`.
/// 4. B gets the kernel's lock and counts a handover: it is *locked*. Under its own write lock it reads what was
///    written since (`Log.readToEnd`), and applies it. Then it opens the segment, sets the page's writer to itself, and
///    is *ready* (`Log.beginWriting`).
/// 5. If A wants to write again, it is at step 2. Because it released the lock for another process, it lets that
///    process have it first. It does not try before the count of handovers has changed, or `handoffGrace` is over.
///
/// If A dies, the kernel frees the lock. B, which also tries again at each `pollInterval`, gets it and finds A's
/// process id in the page. So B recovers the log as an opener does. A process that finds a failure mark does so, too. A
/// process whose write or sync failed releases the lock without making anything durable, and leaves the page's writer
/// as it is.
///
/// In the order of locks (`LockRank`), the kernel's lock comes before the process's write lock. So a thread waits for
/// the kernel's lock without holding the process's write lock, and the process continues to read what others commit
/// meanwhile.
///
/// The mutable state:
/// - `state`: atomic. The thread that acquires the lock sets it to *locked*. The holder of the process's write lock
///   sets it to *ready* and to *away*, so *ready* does not change while that lock is held. `close()` sets it to *away*.
/// - `isAcquiring`: guarded by `lock`. Only one thread at a time tries to get the kernel's lock, for all of them.
/// - `heldSince`, `yieldedAt`, `yieldedHandover`, `wantsIdleRelease`, `unusedUntil`: atomic. They only influence when
///   the lock is passed on, never whether this process has it.
final class WriterLock: @unchecked Sendable {
    private enum State: UInt8, AtomicRepresentable { case away, locked, ready }

    /// The nanoseconds after acquiring the lock for which a process continues to write although another one waits. So
    /// the cost of passing on the lock is shared by many commits.
    private static let timeSlice: Int64 = 2_000_000
    /// The nanoseconds for which a process that released the lock leaves it to the process that asked for it.
    private static let handoffGrace: Int64 = 2_000_000
    /// The nanoseconds after which a waiter checks whether the holder has died, and asks again.
    private static let pollInterval: Int64 = 10_000_000

    private let locks: StoreLocks
    private let page: SharedPage
    private let mayWait: Bool
    /// The system's clock if threads wait; otherwise the store's, so that a simulation decides which process writes.
    private let clock: any Clock
    private let state: Atomic<State>
    private let lock = Lock(.innermost)
    private let arrived = Condition()
    private var isAcquiring = false
    private let heldSince = Atomic<Int64>(0)
    private let yieldedAt = Atomic<Int64>(0)
    private let yieldedHandover = Atomic<UInt32>(0)
    private let wantsIdleRelease = Atomic<Bool>(false)
    private let unusedUntil: Atomic<Int64>
    /// The nanoseconds without a commit after which this process is idle. Nil without threads, because none would
    /// notice.
    private let idle: Int64?

    init(locks: StoreLocks, page: SharedPage, isReady: Bool, _ options: LogOptions, _ clock: any Clock) {
        self.locks = locks
        self.page = page
        mayWait = options.usesThreads
        self.clock = mayWait ? SystemClock.shared : clock
        state = Atomic(isReady ? .ready : .away)
        idle = mayWait ? options.idleNanoseconds : nil
        unusedUntil = Atomic(isReady && mayWait ? self.clock.monotonic() + options.idleNanoseconds : .max)
    }

    /// Whether this process may write.
    var isReady: Bool { state.load(ordering: .acquiring) == .ready }

    /// Whether this process has the kernel's lock, but may not have read yet what others wrote.
    var isLocked: Bool { state.load(ordering: .acquiring) == .locked }

    var isAway: Bool { state.load(ordering: .acquiring) == .away }

    /// Stops a debug build if this process does not have the lock.
    @inline(__always) func assertHeld() { assert(!isAway, "Firn: what the writer lock guards is used without it.") }

    /// Whether this process has written for as long as it may while others wait.
    var isTimeSliceOver: Bool {
        clock.monotonic() - heldSince.load(ordering: .relaxed) > Self.timeSlice
    }

    // MARK: Acquiring the lock

    /// Acquires the kernel's lock, unless this process has it, waiting as long as others write. The caller holds no
    /// other lock. `check` throws if it no longer makes sense to wait. It is called at `deadline` even while another
    /// thread tries to get the lock for all.
    func acquire(until deadline: Int64 = .max, _ check: () throws(LogError) -> Void) throws(LogError) {
        LockRank.expectNone("a thread waits for the writer lock")
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
            let remaining = graceLeft
            if remaining <= 0, try tryLock(check) { return }
            if remaining <= 0 { page.requestWriter(isUrgent: isUrgent) }
            guard mayWait else {
                throw LogError(.locked(processID: Int32(exactly: page.writerProcess)), path: locks.path)
            }
            let ticket = page.wakeTicket(countsCommits: true)
            // The lock may have been released between the first try and the ticket.
            if remaining <= 0, try tryLock(check) { return }
            let since = clock.monotonic()
            let wait = remaining > 0 ? remaining : Self.pollInterval
            page.waitForWake(ticket, nanoseconds: wait)
            isUrgent = clock.monotonic() - since >= wait
        }
    }

    private func tryLock(_ check: () throws(LogError) -> Void) throws(LogError) -> Bool {
        guard try locks.tryLockWriter() else { return false }
        // The log may have been closed since the last check. The lock file may still be open, because versions are
        // still read.
        do throws(LogError) { try check() } catch {
            try? locks.unlockWriter()
            throw error
        }
        page.countHandover()
        heldSince.store(clock.monotonic(), ordering: .relaxed)
        yieldedAt.store(0, ordering: .relaxed)
        wantsIdleRelease.store(false, ordering: .relaxed)
        beginIdleTime()
        state.store(.locked, ordering: .releasing)
        return true
    }

    /// The nanoseconds for which the lock is still left to the process that asked for it.
    private var graceLeft: Int64 {
        let yielded = yieldedAt.load(ordering: .relaxed)
        guard yielded != 0, page.handovers == yieldedHandover.load(ordering: .relaxed) else { return 0 }
        return yielded + Self.handoffGrace - clock.monotonic()
    }

    /// Called by the holder of the write lock, once it has read everything that others wrote.
    func becomeReady() { state.store(.ready, ordering: .releasing) }

    // MARK: Releasing the lock

    /// Asks this idle process to release the lock, so that others need not recover the log if it dies.
    func requestIdleRelease() {
        unusedUntil.store(.max, ordering: .relaxed)
        wantsIdleRelease.store(true, ordering: .relaxed)
        page.wakeAll()
    }

    /// The monotonic time at which this process becomes idle if it has committed nothing since it got the lock. `.max`
    /// once it commits, because then the log's own thread decides (`LogMaintenanceThread`), and once it was asked to
    /// release the lock.
    var idleTime: Int64 { unusedUntil.load(ordering: .relaxed) }

    /// Called when this process gets the lock. Also called when it was asked to release the lock while a transaction
    /// ran, because that transaction may be cancelled.
    func beginIdleTime() {
        if let idle { unusedUntil.store(clock.monotonic() + idle, ordering: .relaxed) }
    }

    /// Called at each commit.
    func keepUntilIdle() { unusedUntil.store(.max, ordering: .relaxed) }

    /// Whether this process was asked to release the lock because it is idle. True once for each request.
    func takeIdleReleaseRequest() -> Bool { isReady && wantsIdleRelease.exchange(false, ordering: .relaxed) }

    /// Called by the holder of the write lock, when nothing in this process uses the log any more.
    ///
    /// The kernel's lock is released before the state changes. It does not exclude threads of this process, because all
    /// use the same open file. If a thread found *away* first, it would get the lock that is about to be released, and
    /// write without it. A thread that finds the old state waits for the write lock, and checks again when it has it.
    func release() {
        if page.isWriterWanted {
            yieldedHandover.store(page.handovers, ordering: .relaxed)
            yieldedAt.store(clock.monotonic(), ordering: .relaxed)
        }
        page.clearWriterRequest()
        // It throws only if the lock file is closed, which frees the lock too.
        try? locks.unlockWriter()
        state.store(.away, ordering: .releasing)
        page.wakeAll()
    }

    /// Called when the log is closed. The kernel's lock is not released here, but by closing the lock file or by
    /// `StoreLocks.leaveReading`. From now on no thread takes this process for the one that writes. No thread tries to
    /// get the lock any more; a thread that is just acquiring it releases it again.
    func close() { state.store(.away, ordering: .releasing) }
}

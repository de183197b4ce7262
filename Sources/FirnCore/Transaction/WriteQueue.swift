import CFirn
import FirnStorage
import Synchronization

/// The write lock: first come, first served, except for the time that waking takes.
///
/// It is owned by a transaction, not by a thread. A waiter is a thread or a callback, and the end of the transaction
/// releases the lock.
///
/// Waking a thread takes far longer than a short transaction (100 µs against 10, on a virtual machine whose processor
/// idles). If the lock had to go to the first waiter, one sleeper would hold up all waiters behind it. These would
/// fall asleep meanwhile, so every later transaction would cost a waking. Therefore, as in Go's `sync.Mutex`:
/// - A thread polls the lock for a while. Then it sleeps, in the order of arrival.
/// - A release frees the lock and wakes the first sleeper. Until that one is awake, others that are awake may acquire
///   the lock.
/// - A sleeper may wake and find the lock taken, although it arrived more than `overtakeLimit` ago. Then it claims the
///   lock: it gets it next, before all others.
///
/// So a waiter is overtaken for at most `overtakeLimit` and the time of one waking and one transaction. A callback
/// needs no waking: the lock is passed to it when it is first.
///
/// A callback is called on the thread that released the lock. So if a callback ends its transaction at once, the next
/// callback is called within it. At most `nesting` callbacks are on one stack. Beyond that, a new thread calls the next
/// one. So it waits neither for the others to return nor for anything that they wait for. Every step costs O(1),
/// however many wait.
///
/// `lock` guards all state, including the waiters' state. A callback is called outside of it.
final class WriteQueue: @unchecked Sendable {
    private final class Waiter: @unchecked Sendable {
        /// When a thread arrived. A callback never claims the lock, so it does not need this.
        let since: Int64
        let call = EventCount()
        /// Nil for a thread.
        let ready: (@Sendable () -> Void)?
        // Guarded by the queue's lock.
        var isCalled = false
        /// Whether the lock has been passed to this waiter.
        var hasLock = false
        // The neighbours in the order of arrival.
        var next: Waiter?
        unowned(unsafe) var previous: Waiter?

        init(since: Int64) {
            self.since = since
            ready = nil
        }

        init(_ ready: @escaping @Sendable () -> Void) {
            since = 0
            self.ready = ready
        }
    }

    /// Nanoseconds for which a thread polls the lock before it sleeps: the time of a few short transactions.
    private static let pollTime: Int64 = 40_000
    /// Nanoseconds after which a waiter is no longer overtaken.
    private static let overtakeLimit: Int64 = 1_000_000

    /// The greatest number of callbacks within callbacks on one thread.
    private static let nesting = 64

    private let lock = Lock(.innermost)
    /// Changed under `lock`; read without it.
    private let isTaken = Atomic<Bool>(false)
    /// The waiters, in the order of arrival.
    @exclusivity(unchecked) private var first: Waiter?
    @exclusivity(unchecked) private var last: Waiter?
    /// The waiter that has claimed the lock. There is one only while the lock is taken; the release passes the lock
    /// to it.
    @exclusivity(unchecked) private var claimant: Waiter?

    /// Acquires the lock: polls it for a while, then waits behind the threads and callbacks that came before.
    func acquire() {
        LockRank.expectNone("a thread acquires the write lock")
        if tryAcquire() { return }
        let since = SystemClock.shared.monotonic()
        if !poll(since: since) { sleep(since: since) }
    }

    /// Acquires the lock if it is free.
    func tryAcquire() -> Bool {
        lock.withLock {
            guard !isTaken.load(ordering: .relaxed) else { return false }
            isTaken.store(true, ordering: .relaxed)
            return true
        }
    }

    /// Whether somebody has the lock.
    var isHeld: Bool { isTaken.load(ordering: .relaxed) }

    /// Stops a debug build if nobody has the lock. Whether the caller's transaction has it is not checked, since the
    /// lock belongs to no thread.
    @inline(__always) func assertHeld() { assert(isHeld, "Firn: the tip is changed without the write lock.") }

    /// Whether threads sleep or callbacks wait for the lock.
    var hasWaiters: Bool { lock.withLock { first != nil } }

    /// Whether a waiter that was overtaken for too long has claimed the lock next.
    var isClaimed: Bool { lock.withLock { claimant != nil } }

    /// Polls the lock for a while. Returns true if it was acquired.
    private func poll(since: Int64) -> Bool {
        repeat {
            for _ in 0..<64 {
                if !isTaken.load(ordering: .relaxed), tryAcquire() { return true }
                firn_pause()
            }
            // The owner may be waiting for this processor.
            yieldThread()
        } while SystemClock.shared.monotonic() < since + Self.pollTime
        return false
    }

    private func sleep(since: Int64) {
        let waiter = Waiter(since: since)
        lock.lock()
        append(waiter)
        while !take(waiter) {
            let ticket = waiter.call.ticket()
            lock.unlock()
            waiter.call.wait(ticket)
            lock.lock()
        }
        lock.unlock()
    }

    /// Acquires the lock for a waiter that is awake. Returns false if it is taken: then the waiter continues to wait,
    /// or claims the lock. `lock` is held.
    private func take(_ waiter: Waiter) -> Bool {
        lock.assertHeld()
        waiter.isCalled = false
        if waiter.hasLock { return true }
        if !isTaken.load(ordering: .relaxed) {
            isTaken.store(true, ordering: .relaxed)
            remove(waiter)
            return true
        }
        if claimant == nil, SystemClock.shared.monotonic() - waiter.since > Self.overtakeLimit { claimant = waiter }
        return false
    }

    private func append(_ waiter: Waiter) {
        waiter.previous = last
        if let last { last.next = waiter } else { first = waiter }
        last = waiter
    }

    private func remove(_ waiter: Waiter) {
        if let previous = waiter.previous { previous.next = waiter.next } else { first = waiter.next }
        if let next = waiter.next { next.previous = waiter.previous } else { last = waiter.previous }
        waiter.next = nil
        waiter.previous = nil
        if claimant === waiter { claimant = nil }
    }

    /// Calls `ready` once the lock is acquired, which is at once if it is free. Otherwise the thread that releases the
    /// lock makes the call, or a new thread does.
    func request(_ ready: @escaping @Sendable () -> Void) {
        lock.lock()
        if isTaken.load(ordering: .relaxed) {
            append(Waiter(ready))
            lock.unlock()
        } else {
            isTaken.store(true, ordering: .relaxed)
            lock.unlock()
            call(ready)
        }
    }

    /// Calls the callback to which the lock was passed.
    private func call(_ ready: @escaping @Sendable () -> Void) {
        LockRank.expectNone("a write transaction is handed over")
        defer { _ = firn_callback_depth(-1) }
        if firn_callback_depth(1) > Self.nesting {
            do throws(StorageError) {
                try StorageThread.start(name: "firn-write", ready)
                return
            } catch {
                // The system can't make another thread. The stack may still have space.
            }
        }
        ready()
    }

    /// Releases the lock.
    func release() {
        lock.lock()
        let next = claimant ?? first
        var called: Waiter?
        if let next, next.ready != nil || next === claimant {
            next.hasLock = true
            remove(next)
            called = next
        } else {
            isTaken.store(false, ordering: .relaxed)
            if let next, !next.isCalled {
                next.isCalled = true
                called = next
            }
        }
        lock.unlock()
        if let ready = called?.ready { call(ready) } else { called?.call.signal() }
    }
}

import CFirn
import FirnStorage
import Synchronization

/// The write lock, first come first served up to the time that waking takes. It is owned by a transaction, not by a thread: who waits is a thread or a callback, and
/// whoever ends the transaction gives it up.
///
/// Waking a thread takes far longer than a short transaction (on a virtual machine whose processor idles, 100 µs against 10). If each turn had to go to the one who came
/// first, one sleeper would hold up all behind it, who would fall asleep over that, so that every later turn would cost a waking. Therefore, as in Go's
/// `sync.Mutex`:
/// - a thread looks for a free lock for a while; then it sleeps, in the order of coming;
/// - who gives the lock up frees it and calls the first sleeper. Until that is awake, others who are may take it;
/// - a sleeper who wakes to a taken lock though it came `fairness` ago claims the lock: it gets it next, before all others.
///
/// So a waiter is overtaken for `fairness` and the time of one waking and one transaction at most. A callback waits for no waking: it is passed the lock when it is first.
///
/// A callback is called on the thread that gave the lock up, so one that ends its transaction at once calls the next within itself. `nesting` of them at most lie on one stack;
/// then a thread is made for the next, so that it waits neither for those to return nor for what they wait for. Every step costs O(1), however many wait.
///
/// `lock` guards all state, the waiters' too. A callback is called outside of it.
final class WriteQueue: @unchecked Sendable {
    private final class Waiter: @unchecked Sendable {
        /// When a thread came. A callback never claims, so it has none.
        let since: Int64
        let call = EventCount()
        /// Nil for a thread.
        let ready: (@Sendable () -> Void)?
        // Guarded by the queue's lock.
        var isCalled = false
        /// The lock has been passed to it.
        var isOn = false
        // Its neighbours in the order of coming.
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

    /// Nanoseconds for which a thread looks for a free lock before it sleeps: a few short transactions.
    private static let patience: Int64 = 40_000
    /// Nanoseconds after which nobody is overtaken any more.
    private static let fairness: Int64 = 1_000_000

    /// Callbacks within callbacks on one thread.
    private static let nesting = 64

    private let lock = Lock(.innermost)
    /// Changed under the lock; looked at without it.
    private let isTaken = Atomic<Bool>(false)
    /// In the order of coming.
    @exclusivity(unchecked) private var first: Waiter?
    @exclusivity(unchecked) private var last: Waiter?
    /// There is one only while the lock is taken: it is passed the lock when that is given up.
    @exclusivity(unchecked) private var claimant: Waiter?

    /// Takes the lock, after waiting for those who came before.
    func acquire() {
        LockRank.expectNone("a thread takes its turn to write")
        if tryAcquire() { return }
        let since = SystemClock.shared.monotonic()
        if !look(since: since) { sleep(since: since) }
    }

    /// Takes the lock if it is free.
    func tryAcquire() -> Bool {
        lock.withLock {
            guard !isTaken.load(ordering: .relaxed) else { return false }
            isTaken.store(true, ordering: .relaxed)
            return true
        }
    }

    /// Whether somebody has the lock.
    var isHeld: Bool { isTaken.load(ordering: .relaxed) }

    /// Whether anybody sleeps until it is his turn.
    var hasWaiters: Bool { lock.withLock { first != nil } }

    /// Whether the next turn is somebody's already, who was overtaken for too long.
    var isClaimed: Bool { lock.withLock { claimant != nil } }

    /// True where the lock was found free in good time, and taken.
    private func look(since: Int64) -> Bool {
        repeat {
            for _ in 0..<64 {
                if !isTaken.load(ordering: .relaxed), tryAcquire() { return true }
                firn_pause()
            }
            // The owner may be waiting for this processor.
            yieldThread()
        } while SystemClock.shared.monotonic() < since + Self.patience
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

    /// Takes the lock for a waiter who is awake, if it may; else that goes on waiting, or claims it. The lock on the state is held.
    private func take(_ waiter: Waiter) -> Bool {
        waiter.isCalled = false
        if waiter.isOn { return true }
        if !isTaken.load(ordering: .relaxed) {
            isTaken.store(true, ordering: .relaxed)
            remove(waiter)
            return true
        }
        if claimant == nil, SystemClock.shared.monotonic() - waiter.since > Self.fairness { claimant = waiter }
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

    /// Calls `ready` once the lock is the caller's: at once where it is free, else on the thread that gives it up, or on one of its own.
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

    /// Calls what the lock was passed to.
    private func call(_ ready: @escaping @Sendable () -> Void) {
        LockRank.expectNone("a write transaction is handed over")
        defer { _ = firn_callback_depth(-1) }
        if firn_callback_depth(1) > Self.nesting {
            do throws(StorageError) {
                try StorageThread.start(name: "firn-write", ready)
                return
            } catch {
                // The system has no thread left; the stack may have room.
            }
        }
        ready()
    }

    /// Gives the lock up.
    func release() {
        lock.lock()
        let next = claimant ?? first
        var called: Waiter?
        if let next, next.ready != nil || next === claimant {
            next.isOn = true
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

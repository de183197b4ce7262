import CFirn
import FirnStorage
import Synchronization

/// The write lock: a queue of tickets, first come first served. A ticket is owned by a transaction, not by a thread: who waits is a thread or a callback, and
/// whoever ends the transaction passes the lock on.
///
/// A transaction is shorter than waking a thread: whoever is next in line therefore looks for its turn for a while before it sleeps, and a sleeper is woken as soon
/// as it is next. Without that, every thread of a group commit would wait for the one before it to be woken.
///
/// `lock` guards all state. A callback is called outside of it, on the thread that gave the lock up.
final class WriteQueue: @unchecked Sendable {
    private enum Waiter {
        case thread(ThreadWaiter)
        case callback(@Sendable () -> Void)
    }

    /// A thread that waits for its turn.
    private final class ThreadWaiter: @unchecked Sendable {
        let condition = Condition()
        // Set under the queue's lock.
        let isOn = Atomic<Bool>(false)
        // Guarded by the queue's lock: it sleeps; it should look for its turn instead, which comes soon.
        var isAsleep = false
        var isNext = false
    }

    /// Nanoseconds for which the next in line looks for its turn, awake: a few short transactions.
    private static let patience: Int64 = 30_000

    private let lock = Lock()
    private var isTaken = false
    private var waiters: [Waiter] = []

    /// Takes the lock, waiting for all who came before.
    func acquire() {
        lock.lock()
        guard isTaken else {
            isTaken = true
            lock.unlock()
            return
        }
        let waiter = ThreadWaiter()
        waiter.isNext = waiters.isEmpty
        waiters.append(.thread(waiter))
        while true {
            if waiter.isNext {
                lock.unlock()
                if Self.look(for: waiter) { return }
                lock.lock()
                waiter.isNext = false
            }
            if waiter.isOn.load(ordering: .relaxed) { break }
            waiter.isAsleep = true
            waiter.condition.wait(lock)
            waiter.isAsleep = false
        }
        lock.unlock()
    }

    /// True where the waiter's turn came while looking.
    private static func look(for waiter: ThreadWaiter) -> Bool {
        let end = SystemClock.shared.monotonic() + patience
        repeat {
            for _ in 0..<32 {
                if waiter.isOn.load(ordering: .acquiring) { return true }
                firn_pause()
            }
        } while SystemClock.shared.monotonic() < end
        return false
    }

    /// Takes the lock if nobody has it.
    func tryAcquire() -> Bool {
        lock.withLock {
            guard !isTaken else { return false }
            isTaken = true
            return true
        }
    }

    /// Calls `ready` once the lock is the caller's: at once where it is free, else on the thread that gives it up.
    func request(_ ready: @escaping @Sendable () -> Void) {
        lock.lock()
        if isTaken {
            waiters.append(.callback(ready))
            lock.unlock()
        } else {
            isTaken = true
            lock.unlock()
            ready()
        }
    }

    /// Passes the lock to the next in line.
    func release() {
        lock.lock()
        guard !waiters.isEmpty else {
            isTaken = false
            lock.unlock()
            return
        }
        switch waiters.removeFirst() {
        case .thread(let waiter):
            waiter.isOn.store(true, ordering: .releasing)
            if waiter.isAsleep { waiter.condition.signal() }
            if case .thread(let next)? = waiters.first {
                next.isNext = true
                if next.isAsleep { next.condition.signal() }
            }
            lock.unlock()
        case .callback(let ready):
            lock.unlock()
            ready()
        }
    }
}

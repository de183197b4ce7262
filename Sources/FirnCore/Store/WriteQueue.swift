import FirnStorage

/// The write lock: a queue of tickets, first come first served. A ticket is owned by a transaction, not by a thread: who waits is a thread or a callback, and
/// whoever ends the transaction passes the lock on.
///
/// `lock` guards all state. A callback is called outside of it, on the thread that gave the lock up.
final class WriteQueue: @unchecked Sendable {
    private enum Waiter {
        case thread(ThreadWaiter)
        case callback(@Sendable () -> Void)
    }

    /// A thread asleep until its turn.
    private final class ThreadWaiter: @unchecked Sendable {
        // Guarded by the queue's lock.
        let condition = Condition()
        var isOn = false
    }

    private let lock = Lock()
    private var isTaken = false
    private var waiters: [Waiter] = []

    /// Takes the lock, waiting for all who came before.
    func acquire() {
        lock.lock()
        defer { lock.unlock() }
        guard isTaken else {
            isTaken = true
            return
        }
        let waiter = ThreadWaiter()
        waiters.append(.thread(waiter))
        while !waiter.isOn { waiter.condition.wait(lock) }
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
            waiter.isOn = true
            waiter.condition.signal()
            lock.unlock()
        case .callback(let ready):
            lock.unlock()
            ready()
        }
    }
}

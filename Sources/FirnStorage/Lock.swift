import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A mutual exclusion lock.
///
/// It is a POSIX mutex, because that is cheapest when uncontended: 6 ns against 17 ns for `Synchronization.Mutex`. The
/// thread sanitizer understands POSIX mutexes, too.
///
/// It is not recursive: locking it twice on one thread blocks for ever. It guards a few fields for a few instructions.
/// While a thread holds one, it does not wait, make a system call that may block, or call the application. `LockRank`
/// has the order of the locks, and the exceptions.
public final class Lock: @unchecked Sendable {
    // The mutex at a fixed address, because the system identifies a mutex by its address.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    #if DEBUG
        let rank: LockRank
        // The number of the thread that holds the lock; 0 if none does. Guarded by the lock itself. A thread that reads
        // the number without the lock is one that `assertHeld` then stops.
        private var owner: UInt64 = 0
    #endif

    /// Makes a lock. For locks that live as long as the process, see `GlobalLock`.
    package init(_ rank: LockRank) {
        #if DEBUG
            self.rank = rank
        #endif
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let error = pthread_mutex_init(mutex, nil)
        if error != 0 { fatalError("Firn: a mutex could not be made (errno \(error)); the system is out of memory") }
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    #if DEBUG
        @usableFromInline func willLock() { rank.willLock() }
        @usableFromInline func didLock() { owner = firn_thread_number() }
        @usableFromInline func willUnlock() {
            owner = 0
            rank.willUnlock()
        }

        fileprivate func willWait() {
            LockRank.willWait(under: rank)
            owner = 0
        }
    #endif

    /// Stops a debug build if the calling thread does not hold the lock. Call it in a function whose caller must hold
    /// the lock.
    @inline(__always) package func assertHeld() {
        #if DEBUG
            if owner != firn_thread_number() {
                fatalError("Firn: what a lock of rank \(rank) guards is used by a thread that does not hold it.")
            }
        #endif
    }

    @inlinable public func lock() {
        #if DEBUG
            willLock()
        #endif
        pthread_mutex_lock(mutex)
        #if DEBUG
            didLock()
        #endif
    }

    @inlinable public func unlock() {
        #if DEBUG
            willUnlock()
        #endif
        pthread_mutex_unlock(mutex)
    }

    /// Locks without waiting. False if another thread holds the lock.
    @inlinable public func tryLock() -> Bool {
        guard pthread_mutex_trylock(mutex) == 0 else { return false }
        #if DEBUG
            willLock()
            didLock()
        #endif
        return true
    }

    /// Runs `body` while holding the lock.
    @inlinable public func withLock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// A condition variable, to wait for under a `Lock`. A wait may end without a signal, so the caller must check its
/// state in a loop.
public final class Condition: @unchecked Sendable {
    // At a fixed address, because the system identifies a condition by its address.
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    public init() {
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        let error = firn_condition_init(condition)
        if error != 0 {
            fatalError("Firn: a condition could not be made (errno \(error)); the system is out of memory")
        }
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
    }

    /// Waits for a signal. The caller holds `lock`, which is released during the wait and held again on return.
    public func wait(_ lock: Lock) {
        #if DEBUG
            lock.willWait()
            defer { lock.didLock() }
        #endif
        pthread_cond_wait(condition, lock.mutex)
    }

    /// Waits for a signal, at most until `deadline`, in nanoseconds of `SystemClock.monotonic()`. False if the deadline
    /// has passed; true may also come without a signal.
    public func wait(_ lock: Lock, until deadline: Int64) -> Bool {
        #if DEBUG
            lock.willWait()
            defer { lock.didLock() }
        #endif
        return firn_condition_wait_until(condition, lock.mutex, deadline) != ETIMEDOUT
    }

    /// Wakes one waiter.
    public func signal() {
        pthread_cond_signal(condition)
    }

    /// Wakes all waiters.
    public func broadcast() {
        pthread_cond_broadcast(condition)
    }
}

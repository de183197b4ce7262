import FirnLog
import FirnStorage
import Synchronization

/// Runs a compactor's work, one checkpoint at a time. The work runs on a thread of its own if a checkpoint is due by
/// the rule, or on the thread that calls `Store.compact`.
///
/// `lock` guards everything except the four atomics. `asked` is set from a call of `start` until its body has ended, so
/// that later commits do not start another one.
final class CompactorThread: @unchecked Sendable {
    private let lock = Lock(.innermost)
    private let changed = Condition()
    private var isRunning = false
    private var thread: StorageThread?
    private var failure: StoreError?
    private let stopping = Atomic<Bool>(false)
    private let hurrying = Atomic<Bool>(false)
    private let ending = Atomic<Bool>(false)
    private let asked = Atomic<Bool>(false)

    /// Writes checkpoints as fast as the disk allows from now on, because somebody waits for them.
    func hurry() {
        hurrying.store(true, ordering: .relaxed)
        lock.withLock { changed.broadcast() }
    }

    /// Notes that the process is ending: from now on no checkpoint waits long for a transaction, which may never end.
    func processEnds() {
        ending.store(true, ordering: .relaxed)
        hurry()
    }

    /// Nanoseconds for which a checkpoint waits for a transaction, each time that it needs the write lock; nil if it
    /// waits until the transaction ends.
    var transactionTimeout: Int64? { ending.load(ordering: .relaxed) ? Self.endingTimeout : nil }
    private static let endingTimeout: Int64 = 1_000_000_000

    /// Lets the thread that writes a checkpoint rest until `end`, in nanoseconds of the monotonic clock, unless
    /// somebody waits for the checkpoint.
    func rest(until end: Int64) {
        lock.withLock {
            while !hurrying.load(ordering: .relaxed), !isStopping, changed.wait(lock, until: end) {}
        }
    }

    /// Whether the store is being closed, so that the checkpoint that is being written is abandoned.
    private var isStopping: Bool { stopping.load(ordering: .relaxed) }

    /// Throws if the checkpoint that is being written must be abandoned.
    func checkNotStopped() throws(StoreError) {
        if isStopping { throw StoreError(.closed, "the store was closed while a checkpoint was being written") }
    }

    /// The error that kept the last automatic checkpoint from being written; nil if there was none.
    var lastFailure: StoreError? { lock.withLock { failure } }

    /// Runs `body` while no other checkpoint is written. Throws `.closed` once the store is being closed. Nothing
    /// begins after `stop`, because what an unfinished checkpoint leaves behind may belong to another process by then.
    func run<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        lock.lock()
        while isRunning { changed.wait(lock) }
        return try runAlone(body)
    }

    /// Runs `body` in the same way, but does nothing if another checkpoint is still being written at `deadline`. This
    /// is a time of the monotonic clock in nanoseconds.
    func run(until deadline: Int64, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        lock.lock()
        while isRunning {
            if changed.wait(lock, until: deadline) { continue }
            lock.unlock()
            return
        }
        try runAlone(body)
    }

    /// Runs `body` as the only checkpoint. The lock is held when it is called; the method unlocks it.
    private func runAlone<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        lock.assertHeld()
        // If this check does not see that `stop` was called, `stop` has yet to take the lock, and then waits for this
        // checkpoint.
        do throws(StoreError) { try checkNotStopped() } catch {
            lock.unlock()
            throw error
        }
        isRunning = true
        lock.unlock()
        defer {
            lock.lock()
            isRunning = false
            changed.broadcast()
            lock.unlock()
        }
        return try body()
    }

    /// The result of the work for which the thread was started.
    struct End: Sendable {
        /// The error that stopped the work; nil if there was none.
        var failure: StoreError?
        /// The next check for due work: its time, in nanoseconds of the monotonic clock, and the function that checks.
        /// Nil if only the next commit checks.
        var next: (time: Int64, look: @Sendable () -> Void)?
    }

    /// Starts `body` on a thread of its own, unless an earlier body has not ended. The check that `body` returns
    /// (`End.next`) is called on the same thread at its time, unless something is started before then.
    func start(_ body: @escaping @Sendable () -> End) {
        if asked.load(ordering: .relaxed) || asked.exchange(true, ordering: .acquiringAndReleasing) { return }
        lock.lock()
        defer { lock.unlock() }
        guard !isStopping else { return }
        let before = thread
        changed.broadcast()  // It may be waiting for the time of its next look.
        do throws(StorageError) {
            thread = try StorageThread.start(name: "firn-compact") { [self] in
                before?.join()
                let end = body()
                lock.withLock { failure = end.failure }
                asked.store(false, ordering: .releasing)
                if let next = end.next, awaitIdle(until: next.time) { next.look() }
            }
        } catch {
            failure = StoreError(error)
            asked.store(false, ordering: .releasing)
        }
    }

    /// Waits until `time`. Returns false as soon as something is started or the store is being closed.
    private func awaitIdle(until time: Int64) -> Bool {
        lock.withLock {
            while true {
                if isStopping || asked.load(ordering: .acquiring) { return false }
                if !changed.wait(lock, until: time) { return !isStopping && !asked.load(ordering: .acquiring) }
            }
        }
    }

    /// Abandons the checkpoint that is being written, and returns when none is being written.
    func stop() {
        stopping.store(true, ordering: .relaxed)
        lock.lock()
        changed.broadcast()
        let thread = self.thread
        self.thread = nil
        lock.unlock()
        thread?.join()
        lock.lock()
        while isRunning { changed.wait(lock) }
        lock.unlock()
    }
}

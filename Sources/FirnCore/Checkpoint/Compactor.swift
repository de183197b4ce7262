import FirnLog
import FirnStorage
import Synchronization

/// Writes checkpoints: one at a time, on a thread of its own where the rule asks for one, or on that of the caller of `Store.compact`.
///
/// `lock` guards everything but `isDue`, an atomic that keeps the commits after the one that asked from asking again.
final class Compactor: @unchecked Sendable {
    private let lock = Lock()
    private let changed = Condition()
    private var isRunning = false
    private var thread: StorageThread?
    private var failure: StoreError?
    private let stopping = Atomic<Bool>(false)
    private let asked = Atomic<Bool>(false)

    /// Whether the store is being closed: a checkpoint that is being written is given up.
    private var isStopping: Bool { stopping.load(ordering: .relaxed) }

    /// Throws where a checkpoint that is being written is to be given up.
    func checkGoingOn() throws(StoreError) {
        if isStopping { throw StoreError(.closed, "the store was closed while a checkpoint was being written") }
    }

    /// What kept the last automatic checkpoint from being written; nil where nothing did.
    var lastFailure: StoreError? { lock.withLock { failure } }

    /// Runs `body` while no other checkpoint is written.
    func run<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        lock.lock()
        while isRunning { changed.wait(lock) }
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

    /// Starts `body` on a thread of its own, unless it was started and has not ended.
    func start(_ body: @escaping @Sendable () throws(StoreError) -> Void) {
        if asked.load(ordering: .relaxed) || asked.exchange(true, ordering: .acquiringAndReleasing) { return }
        lock.lock()
        defer { lock.unlock() }
        guard !isStopping else { return }
        let before = thread
        do throws(StorageError) {
            thread = try StorageThread.start(name: "firn-compact") { [self] in
                before?.join()
                var failure: StoreError?
                do throws(StoreError) { try body() } catch { failure = error }
                lock.withLock { self.failure = failure }
                asked.store(false, ordering: .releasing)
            }
        } catch {
            failure = StoreError(LogError(error))
            asked.store(false, ordering: .releasing)
        }
    }

    /// Gives up what is being written, and returns when nothing is.
    func stop() {
        stopping.store(true, ordering: .relaxed)
        lock.lock()
        let thread = self.thread
        self.thread = nil
        lock.unlock()
        thread?.join()
        lock.lock()
        while isRunning { changed.wait(lock) }
        lock.unlock()
    }
}

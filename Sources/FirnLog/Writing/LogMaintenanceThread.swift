import FirnStorage
import Synchronization

/// The log's own thread, for work that no other thread waits for:
/// - preallocation;
/// - the reserve;
/// - syncs for asynchronous commits and for `relaxed`;
/// - the mark of an idle log.
///
/// **Relaxed.** The first commit after a quiet interval wakes the thread, which syncs one interval later. From then
/// on the thread checks once per interval. Commits that are not durable at that time were written since the check
/// before, and are synced at once. So no commit waits for longer than the interval and a sync, and a stream of
/// commits wakes nobody. When an interval has brought no commit, the next commit wakes the thread again.
///
/// **Started late.** A process that only reads never needs the thread, and starting one takes a fifth of the time in
/// which a store opens. So the first commit starts it, before anything of the commit is written.
///
/// `lock` guards the requests (`wantsPreallocation`, `callbacks`), `isStopping`, `thread` and `rounds`. `isStarted` is
/// atomic, because each commit reads it. `isAwake` is atomic, so that a commit on the fast path only reads that. While
/// it is true, the thread checks again by itself. The thread clears it before it checks whether something was written,
/// and a commit raises *written* before it reads `isAwake`, all sequentially consistent. So at least one of them sees
/// the other.
final class LogMaintenanceThread: @unchecked Sendable {
    typealias Callback = @Sendable (Result<Void, LogError>) -> Void

    private let tail: LogTail
    private let group: GroupCommit
    private let writerLock: WriterLock
    private let reserve: LogReserve
    private let lock = Lock(.innermost)
    private let wake = Condition()
    private let isAwake = Atomic<Bool>(false)
    private var wantsPreallocation = false
    private var callbacks: [(version: UInt64, done: Callback)] = []
    private var isStopping = false
    private var rounds = 0
    private let isStarted = Atomic<Bool>(false)
    private var thread: StorageThread?
    private let idle: Int64
    private let syncInterval: Int64?

    init(tail: LogTail, group: GroupCommit, writerLock: WriterLock, reserve: LogReserve) {
        self.writerLock = writerLock
        self.reserve = reserve
        self.tail = tail
        self.group = group
        idle = tail.options.idleNanoseconds
        if case .relaxed(let milliseconds) = tail.options.durability {
            syncInterval = .nanoseconds(milliseconds: max(milliseconds, 1))
        } else {
            syncInterval = nil
        }
    }

    /// Starts the thread, unless it runs or has been stopped. Must be called before a commit writes anything.
    @inline(__always)
    func startIfNeeded() throws(LogError) {
        if !isStarted.load(ordering: .acquiring) { try start() }
    }

    private func start() throws(LogError) {
        lock.lock()
        defer { lock.unlock() }
        guard thread == nil, !isStopping else { return }
        thread = try stored(StorageThread.start(name: "firn-log") { [self] in run() })
        isStarted.store(true, ordering: .releasing)
        // From now on the thread knows when the log is idle.
        writerLock.keepUntilIdle()
    }

    /// Ends the thread when it has handled all requests. No thread is started any more.
    func stop() {
        lock.lock()
        isStopping = true
        let thread = self.thread
        self.thread = nil
        wake.signal()
        lock.unlock()
        thread?.join()
    }

    /// Must be called after each commit, so that the thread marks it (and syncs it, if relaxed) after a while.
    @inline(__always)
    func noteCommit() {
        writerLock.keepUntilIdle()
        if !isAwake.load(ordering: .sequentiallyConsistent) { awaken() }
    }

    private func awaken() {
        lock.lock()
        isAwake.store(true, ordering: .sequentiallyConsistent)
        wake.signal()
        lock.unlock()
    }

    func requestPreallocation() {
        lock.lock()
        wantsPreallocation = true
        wake.signal()
        lock.unlock()
    }

    func whenDurable(_ version: UInt64, _ done: @escaping Callback) {
        lock.lock()
        if isStopping {
            lock.unlock()
            return done(.failure(LogError(.closed, path: tail.folder.path)))
        }
        callbacks.append((version, done))
        wake.signal()
        lock.unlock()
    }

    /// How often the thread has checked for something to do; for tests.
    var roundCount: Int { lock.withLock { rounds } }

    /// What the thread knows about the commits. Only the thread uses it.
    private struct Agenda {
        var seen: UInt64 = 0
        /// When `seen` was first seen. Nil while no mark is due for it.
        var quietSince: Int64?
        /// When the thread checks next what must be synced: an interval after the last check. Nil if a commit will
        /// wake it.
        var nextSync: Int64?
    }

    private func run() {
        var agenda = Agenda()
        lock.lock()
        while true {
            rounds += 1
            if wantsPreallocation {
                wantsPreallocation = false
                lock.unlock()
                tail.preallocate()
                growReserve()
                lock.lock()
                continue
            }
            if !callbacks.isEmpty {
                var due = callbacks
                callbacks = []
                lock.unlock()
                deliver(due)
                // What the callbacks capture is released before the lock is taken again.
                due = []
                lock.lock()
                continue
            }
            if isStopping { break }
            if group.hasFailed {
                // Nothing is synced or marked any more.
                isAwake.store(false, ordering: .sequentiallyConsistent)
                agenda = Agenda()
                wake.wait(lock)
                continue
            }
            if let next = handleCommits(&agenda) {
                if next == .max { wake.wait(lock) } else { _ = wake.wait(lock, until: next) }
            }
        }
        lock.unlock()
    }

    /// Does what is due for the commits that were written. The lock is held, but released while this syncs or writes
    /// a mark.
    ///
    /// - Returns: when the next check is due; `.max` if only a commit can make one necessary; nil if it is due at once.
    private func handleCommits(_ agenda: inout Agenda) -> Int64? {
        lock.assertHeld()
        let now = SystemClock.shared.monotonic()
        let written = group.writtenVersion
        // An earlier commit may have become durable, so that the mark is due now.
        let isAwake = isAwake.load(ordering: .sequentiallyConsistent)
        if written != agenda.seen || isAwake && agenda.quietSince == nil {
            agenda.seen = written
            agenda.quietSince = now
        }
        let isUnsynced = syncInterval != nil && written > group.durableVersion
        if let syncInterval {
            if let next = agenda.nextSync {
                if now >= next {
                    agenda.nextSync = isUnsynced ? now + syncInterval : nil
                    if isUnsynced {
                        lock.unlock()
                        try? group.wait(for: written)  // the group records a failure, which fails the next commit
                        lock.lock()
                    } else {
                        self.isAwake.store(false, ordering: .sequentiallyConsistent)
                    }
                    return nil
                }
            } else if isUnsynced || isAwake {
                self.isAwake.store(true, ordering: .sequentiallyConsistent)
                agenda.nextSync = now + syncInterval
            }
        }
        guard !isUnsynced, let quietSince = agenda.quietSince else { return agenda.nextSync ?? .max }
        guard now >= quietSince + idle else { return min(quietSince + idle, agenda.nextSync ?? .max) }
        // Commits from here on wake the thread.
        self.isAwake.store(false, ordering: .sequentiallyConsistent)
        lock.unlock()
        let isDone = markIfIdle()
        lock.lock()
        if isDone {
            agenda.quietSince = nil
            agenda.nextSync = nil
        } else {
            agenda.quietSince = now
        }
        return nil
    }

    /// Makes the reserve as long as the store's size requires. If a commit is being written, the next preallocation
    /// does it.
    private func growReserve() {
        guard tail.tryBegin() else { return }
        if tail.isWriter { reserve.grow(for: tail) }
        tail.endAppending()
    }

    /// For an idle log, writes the durable mark once more if no frame has it yet, and requests that the writer lock is
    /// released. Returns false if the tail has an appender, so that this must be tried again.
    private func markIfIdle() -> Bool {
        guard group.currentFailure == nil else { return true }
        guard tail.tryBegin() else { return false }
        try? tail.writeMark()
        tail.endAppending()
        if writerLock.isReady { writerLock.requestIdleRelease() }
        return true
    }

    private func deliver(_ due: [(version: UInt64, done: Callback)]) {
        var later: [(version: UInt64, done: Callback)] = []
        let newest = due.reduce(0) { max($0, $1.version) }
        var failure: LogError?
        do {
            try group.wait(for: newest)
        } catch {
            failure = error
        }
        for (version, done) in due {
            if group.publishedVersion >= version {
                done(.success(()))
            } else if let failure {
                done(.failure(LogError(.unknownOutcome(version: version), path: failure.path, detail: failure.detail)))
            } else {
                later.append((version, done))
            }
        }
        if !later.isEmpty { lock.withLock { callbacks.append(contentsOf: later) } }
    }
}

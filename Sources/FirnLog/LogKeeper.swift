import FirnStorage
import Synchronization

/// The log's one thread for work that nobody waits for on a thread of his own: filling room ahead, syncs for asynchronous commits and for
/// `relaxed`, the mark of an idle log.
///
/// Guarded by `lock`: the wishes (`wantsRoom`, `callbacks`), `isStopping`. `isAwake` is atomic, so that a commit on the fast path asks only that: the
/// thread clears it before it looks whether there is still something to do, so no wish is missed.
final class LogKeeper: @unchecked Sendable {
    typealias Callback = @Sendable (Result<Void, LogError>) -> Void

    private let tail: LogTail
    private let group: GroupCommit
    private let writerLock: WriterLock
    private let lock = Lock(.innermost)
    private let wake = Condition()
    private let isAwake = Atomic<Bool>(false)
    private var wantsRoom = false
    private var callbacks: [(version: UInt64, done: Callback)] = []
    private var isStopping = false
    private var thread: StorageThread?
    private let idle: Int64
    private let syncInterval: Int64?

    init(tail: LogTail, group: GroupCommit, writerLock: WriterLock) {
        self.writerLock = writerLock
        self.tail = tail
        self.group = group
        idle = .nanoseconds(milliseconds: max(tail.options.idleMilliseconds, 1))
        if case .relaxed(let milliseconds) = tail.options.durability {
            syncInterval = .nanoseconds(milliseconds: max(milliseconds, 1))
        } else {
            syncInterval = nil
        }
    }

    func start() throws(LogError) {
        thread = try stored { () throws(StorageError) in
            try StorageThread.start(name: "firn-log") { [self] in run() }
        }
    }

    /// Ends the thread when it has done what was asked of it.
    func stop() {
        lock.lock()
        isStopping = true
        let thread = self.thread
        self.thread = nil
        wake.signal()
        lock.unlock()
        thread?.join()
    }

    /// After each commit: something is to be marked (and, if relaxed, synced) in a while.
    @inline(__always)
    func noteCommit() {
        if !isAwake.load(ordering: .sequentiallyConsistent) { awaken() }
    }

    private func awaken() {
        lock.lock()
        isAwake.store(true, ordering: .sequentiallyConsistent)
        wake.signal()
        lock.unlock()
    }

    func wishForRoom() {
        lock.lock()
        wantsRoom = true
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

    private func run() {
        var lastSeen: UInt64 = 0
        var quietSince: Int64 = 0
        var unsyncedSince: Int64?
        lock.lock()
        while true {
            if wantsRoom {
                wantsRoom = false
                lock.unlock()
                tail.fill()
                lock.lock()
                continue
            }
            if !callbacks.isEmpty {
                let due = callbacks
                callbacks = []
                lock.unlock()
                deliver(due)
                lock.lock()
                continue
            }
            if isStopping { break }
            guard isAwake.load(ordering: .sequentiallyConsistent) else {
                wake.wait(lock)
                continue
            }
            if group.hasFailed {
                // Nothing is synced or marked any more.
                isAwake.store(false, ordering: .sequentiallyConsistent)
                continue
            }
            // Awake: there were commits. Look again until they are synced (if relaxed) and marked.
            let now = SystemClock.shared.monotonic()
            let written = group.writtenVersion
            if written != lastSeen {
                lastSeen = written
                quietSince = now
            }
            if syncInterval != nil, unsyncedSince == nil, written > group.durableVersion { unsyncedSince = now }
            if let since = unsyncedSince, let syncInterval, now >= since + syncInterval {
                unsyncedSince = nil
                lock.unlock()
                try? group.wait(for: written)  // a failure stays in the group and fails the next commit
                lock.lock()
                continue
            }
            if now >= quietSince + idle, unsyncedSince == nil {
                isAwake.store(false, ordering: .sequentiallyConsistent)
                lock.unlock()
                let done = markIfIdle()
                lock.lock()
                if !done || group.writtenVersion != lastSeen {
                    isAwake.store(true, ordering: .sequentiallyConsistent)
                    quietSince = now
                }
                continue
            }
            let next = min(quietSince + idle, unsyncedSince.map { $0 + (syncInterval ?? 0) } ?? .max)
            _ = wake.wait(lock, until: max(next, now + 1_000_000))
        }
        lock.unlock()
    }

    /// An idle log writes the durable mark once more, and lets other processes write: if no frame bears it yet and nobody is writing. False where it should be tried again.
    private func markIfIdle() -> Bool {
        guard group.currentFailure == nil else { return true }
        guard tail.tryBegin() else { return false }
        try? tail.writeMark()
        tail.endAppending()
        if writerLock.isReady { writerLock.wishForRest() }
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

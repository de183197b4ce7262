import FirnStorage
import Synchronization

/// Makes written commits durable, many by one sync. There is no thread for it: who wants durability and finds nobody syncing does it for all.
///
/// The cycle:
/// 1. A commit's frames are written, then `noteWritten` raises *written*. That is the appender's, so one at a time.
/// 2. Whoever must wait calls `wait(for:)`. If *durable* has reached its version, it goes on.
/// 3. Else, if nobody is syncing, it becomes the leader: it sets `isSyncing`, reads *written* as its target, gives up the lock, and syncs.
///    Every frame up to the target was written before the sync began, so the sync covers it.
/// 4. The leader takes the lock, raises *durable* to the target, stores it in the shared page, raises *published*, clears `isSyncing` and wakes
///    all that wait.
/// 5. Those that find their version durable go on; of the rest the first becomes the next leader: its sync covers all that was written
///    during the one before.
/// 6. If the sync fails, *failure* is set instead, for good: nothing more is written or synced, and all that wait throw. It is never
///    tried again, since a second sync may report success for pages that the first one lost.
///
/// No code of the user's runs while leading. What changes:
/// - *written*, *durable*, *published*: atomics that only rise. *written* is stored by the appender; the other two by the leader under `lock` (and *published*
///   by the appender where the durability asks for no sync). Read by anybody, without the lock.
/// - `file`, `isSyncing`, `failure`, `waiting`: guarded by `lock`, which is held for a few instructions, never over a system call. `file` is
///   replaced only by who leads (a roll to a new segment leads for as long as it takes).
final class GroupCommit: @unchecked Sendable {
    private let written: Atomic<UInt64>
    private let durable: Atomic<UInt64>
    private let published: Atomic<UInt64>
    private let failed = Atomic<Bool>(false)
    private let lock = Lock()
    private let changed = Condition()
    private var file: any StorageFile
    private var isSyncing = false
    private var waiting = 0
    private var failure: LogError?
    private let page: SharedPage?
    /// True where a commit counts as done when it is written.
    private let publishesWhenWritten: Bool

    init(file: any StorageFile, version: UInt64, page: SharedPage?, publishesWhenWritten: Bool) {
        self.file = file
        self.page = page
        self.publishesWhenWritten = publishesWhenWritten
        written = Atomic(version)
        durable = Atomic(version)
        published = Atomic(version)
    }

    var writtenVersion: UInt64 { written.load(ordering: .acquiring) }
    var durableVersion: UInt64 { durable.load(ordering: .acquiring) }
    var publishedVersion: UInt64 { published.load(ordering: .acquiring) }

    /// The failure after which nothing more is written; nil while all is well.
    var currentFailure: LogError? {
        failed.load(ordering: .acquiring) ? lock.withLock { failure } : nil
    }

    /// Step 1.
    func noteWritten(_ version: UInt64) {
        written.store(version, ordering: .releasing)
        if publishesWhenWritten {
            published.store(version, ordering: .sequentiallyConsistent)
            page?.setPublished(version)
        }
    }

    /// Steps 2 to 6. Throws where a sync failed before the version was durable.
    func wait(for version: UInt64) throws(LogError) {
        if durableVersion >= version { return }
        lock.lock()
        while true {
            if durableVersion >= version {
                lock.unlock()
                return
            }
            if let failure {
                lock.unlock()
                throw Self.unknown(version, failure)
            }
            if isSyncing {
                waiting += 1
                changed.wait(lock)
                waiting -= 1
            } else {
                isSyncing = true
                let file = self.file
                let target = writtenVersion
                lock.unlock()
                do {
                    try file.sync()
                    lock.lock()
                    raise(to: target)
                    isSyncing = false
                    if waiting > 0 { changed.broadcast() }
                } catch {
                    fail(LogError(error), endsSync: true)
                    lock.lock()
                }
            }
        }
    }

    /// Syncs whatever is written, even if all commits are durable (a mark may not be).
    func syncAll() throws(LogError) {
        try lead { file throws(LogError) in
            try synced(file)
            return file
        }
    }

    /// Leads with `body`, which syncs all that is written to the file that it is given and returns the one to go on with. If it throws
    /// anything but `.diskFull`, that is a failure for good.
    func lead(_ body: (any StorageFile) throws(LogError) -> any StorageFile) throws(LogError) {
        lock.lock()
        while isSyncing {
            waiting += 1
            changed.wait(lock)
            waiting -= 1
        }
        if let failure {
            lock.unlock()
            throw Self.unknown(durableVersion + 1, failure)
        }
        isSyncing = true
        let file = self.file
        lock.unlock()
        let target = writtenVersion
        let next: any StorageFile
        do {
            next = try body(file)
        } catch {
            if error.code == .diskFull {
                lock.lock()
                isSyncing = false
                if waiting > 0 { changed.broadcast() }
                lock.unlock()
                throw error
            }
            fail(error, endsSync: true)
            throw Self.unknown(durableVersion + 1, error)
        }
        lock.lock()
        self.file = next
        raise(to: target)
        isSyncing = false
        if waiting > 0 { changed.broadcast() }
        lock.unlock()
    }

    /// Ends the writing for good: a write failed, so that what the file holds is not known.
    func fail(_ error: LogError) { fail(error, endsSync: false) }

    private func fail(_ error: LogError, endsSync: Bool) {
        lock.lock()
        if failure == nil {
            failure = error
            failed.store(true, ordering: .releasing)
            page?.setFailure(durable: durableVersion)
        }
        if endsSync { isSyncing = false }
        changed.broadcast()
        lock.unlock()
    }

    /// Step 4, under the lock.
    private func raise(to target: UInt64) {
        guard target > durableVersion else { return }
        durable.store(target, ordering: .sequentiallyConsistent)
        page?.setDurable(target)
        if !publishesWhenWritten {
            published.store(target, ordering: .sequentiallyConsistent)
            page?.setPublished(target)
        }
    }

    private static func unknown(_ version: UInt64, _ failure: LogError) -> LogError {
        LogError(.unknownOutcome(version: version), path: failure.path, offset: failure.offset, detail: failure.detail)
    }
}

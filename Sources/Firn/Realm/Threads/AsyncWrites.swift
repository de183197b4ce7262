import Dispatch
import FirnCore
import FirnStorage
import Synchronization

/// The asynchronous writes of a realm. Some wait for their turn, first come, first served, and the commits of others
/// are on their way to the disk.
///
/// Belongs to the realm's thread, queue or actor. The steps of a write:
/// 1. It is listed, and the realm requests the write lock (`WriteRequest`), once for all listed writes.
/// 2. When the lock arrives, a turn of the realm calls observers with what is due, and runs the first write. A task's
///    write is not run there: its task is woken, and takes the lock when it runs.
/// 3. Then the realm requests the lock again, if more writes are listed.
///
/// A synchronous write of the same realm, or of another realm on its thread, goes first. It withdraws the request,
/// which its thread could not serve meanwhile, and the realm requests the lock again afterwards.
///
/// While there is anything to do, this keeps the realm alive.
final class AsyncWrites {
    enum Write {
        /// The block commits by itself, or its changes are undone.
        case block(() -> Void)
        /// The changes are committed after the block.
        case committing(() -> Void, ((Error?) -> Void)?)
        case task(Wakeup)
    }
    private unowned let realm: _RealmInstance
    /// The realm, as long as it has to be kept.
    private var kept: _RealmInstance?
    private var lastID: AsyncTransactionId = 0
    private var waiting: [AsyncTransactionId: (write: Write, callSite: CallSite)] = [:]
    /// No write with a lower identifier is waiting.
    private var first: AsyncTransactionId = 1
    /// The closures to call when commits are durable, by the commits' identifiers. A commit without a closure has an
    /// entry, too.
    private var completions: [AsyncTransactionId: ((Error?) -> Void)?] = [:]
    /// No commit with a lower identifier is in `completions`.
    private var firstCommit: AsyncTransactionId = 1
    /// Commits whose end was noted before the end of an earlier commit. They were refused, or they were durable at once
    /// while the log's thread had yet to report the earlier commits.
    private var early: [AsyncTransactionId: EndedCommit] = [:]
    private var request: WriteRequest?
    /// The nanoseconds for which the next grant is left to this realm: see `GrantWatch`.
    private var patience = GrantWatch.leastPatience
    private var isRunning = false
    /// The last write that could not begin because too many versions were active. It is tried once more.
    private var refused: AsyncTransactionId?
    /// The commits that have ended, in any order. A lock, because they end on the log's thread. The order is not kept,
    /// because an actor may run the turns that take them in another order.
    private let ended = Guarded<[EndedCommit]>(.innermost, [])

    private struct EndedCommit: Sendable {
        let id: AsyncTransactionId
        /// Nil if nothing was written.
        let version: UInt64?
        let result: Result<Void, StoreError>
    }

    // Atomic: orders the last use on an actor before `end` on `endQueue`, once the actor is gone.
    private let uses = Atomic<Int>(0)

    init(_ realm: _RealmInstance) { self.realm = realm }

    private func used() { uses.wrappingAdd(1, ordering: .releasing) }

    /// Whether a write waits or runs, or a commit is not durable yet.
    var isBusy: Bool { !waiting.isEmpty || isRunning || !completions.isEmpty }

    // MARK: Listing

    func append(_ write: Write, at callSite: CallSite) -> AsyncTransactionId {
        defer { used() }
        let id = nextID()
        waiting[id] = (write, callSite)
        kept = realm
        askForLock()
        return id
    }

    private func nextID() -> AsyncTransactionId {
        lastID += 1
        return lastID
    }

    /// Drops a waiting write, or the closure of a commit.
    func cancel(_ id: AsyncTransactionId) {
        // If the realm's actor is gone, what is left belongs to `endQueue`.
        if realm.scheduler?.isGone ?? true { return }
        defer { used() }
        // The application's closure is released last, because that may run code of the application.
        let write = waiting.removeValue(forKey: id)
        let completion = completions.removeValue(forKey: id)
        if completion != nil { completions[id] = .some(nil) }
        withExtendedLifetime((write, completion)) {}
        if next == nil { withdraw() }
        releaseIfDone()
    }

    /// Whether the write with this identifier is waiting.
    func isWaiting(_ id: AsyncTransactionId) -> Bool { waiting[id] != nil }

    private var next: AsyncTransactionId? {
        while first <= lastID, waiting[first] == nil { first += 1 }
        return first <= lastID ? first : nil
    }

    // MARK: The write lock

    /// Requests the write lock, if a write is waiting and no other request, write or transaction has to end before.
    func askForLock() {
        defer { used() }
        if request?.isOver ?? false {
            request = nil
            patience = min(2 * patience, GrantWatch.mostPatience)
        }
        guard request == nil, !isRunning, !realm.isInTransaction, let id = next, let callSite = waiting[id]?.callSite
        else { return }
        let reference = realm.reference
        guard let scheduler = realm.scheduler else { return }
        let requests = realm.shared.writeRequests
        request = WriteRequest(store: realm.store, requests: requests, at: callSite, patience: patience) {
            let isScheduled = scheduler.schedule(for: reference) { $0.asyncWrites?.runNext() }
            if !isScheduled { AsyncWrites.end(reference) }
            return isScheduled
        }
    }

    /// Ends the writes of a realm whose actor is gone, so that nobody uses it any more. That is done on a separate
    /// queue, because it may close the store, and the caller may be one of the store's threads. The queue is serial,
    /// because several callers may come.
    private static func end(_ reference: WeakReference<_RealmInstance>) {
        endQueue.async {
            guard let writes = reference.object?.asyncWrites else { return }
            _ = writes.uses.load(ordering: .acquiring)
            writes.end()
        }
    }
    private static let endQueue = DispatchQueue(label: "firn-ends")

    /// Runs `body` at a turn of the realm.
    private func atTurn(_ body: @escaping @Sendable (AsyncWrites) -> Void) {
        realm.scheduler?.schedule(for: realm.reference) { $0.asyncWrites.map(body) }
    }

    private func withdraw() {
        let old = request
        request = nil
        old?.withdraw()
    }

    /// Withdraws the request for a synchronous write on the realm's thread, and requests the lock again at a later
    /// turn.
    func makeWay() {
        defer { used() }
        guard request != nil else { return }
        withdraw()
        atTurn { $0.askForLock() }
    }

    /// A turn of the realm after the lock has arrived.
    private func runNext() {
        defer { used() }
        guard let request, !realm.isInTransaction, !isRunning else { return }
        if request.isOver { return askForLock() }
        guard let first = next, let (write, callSite) = waiting[first] else {
            withdraw()
            return releaseIfDone()
        }
        if case .task(let wakeup) = write { return wakeup.call() }
        guard let result = takeTransaction(of: first, at: callSite) else {
            // An observer may have cancelled the write. Then the next write takes the lock.
            if next != first { runNext() }
            return
        }
        switch result {
        case .success(let transaction): run(write, in: transaction)
        case .failure(let error): fail(write, Realm.Error(error, realm.configuration.fileURL), at: callSite)
        }
        writeEnded()
    }

    private func run(_ write: Write, in transaction: WriteTransaction) {
        realm.enter(transaction)
        LockRank.expectNone("an asynchronous write is called")
        switch write {
        case .block(let block):
            block()
            if realm.isInTransaction { realm.cancelWrite() }
        case .committing(let block, let onComplete):
            block()
            if realm.isInTransaction { _ = commit(onComplete) }
        case .task: preconditionFailure("Firn: a task's write runs in its task")
        }
    }

    private func fail(_ write: Write, _ error: Realm.Error, at callSite: CallSite) {
        switch write {
        case .block:
            stopProgram(
                "beginAsyncWrite() failed: \(error) Use writeAsync(_:onComplete:) or asyncWrite(_:) to handle this.",
                at: callSite)
        case .committing(_, let onComplete): onComplete?(error)
        case .task: preconditionFailure("Firn: a task's write fails in its task")
        }
    }

    /// Calls observers with what is due, and takes the transaction for a write. Nil if the write has to wait again,
    /// because it is not the first, or because an observer has written or has cancelled it.
    func takeTransaction(of id: AsyncTransactionId, at callSite: CallSite) -> Result<WriteTransaction, StoreError>? {
        defer { used() }
        guard next == id, !isRunning, let request, !realm.isInTransaction else { return nil }
        realm.showBeforeWrite(at: callSite)
        guard self.request === request, !realm.isInTransaction, !isRunning, next == id else { return nil }
        guard let result = request.take() else {
            // The grant was withdrawn, or has not come yet.
            askForLock()
            return nil
        }
        self.request = nil
        patience = GrantWatch.leastPatience
        if case .failure(let error) = result, error.code == .tooManyActiveVersions, refused != id {
            // The version that the realm showed before counted against the limit. The realm has advanced by now.
            refused = id
            askForLock()
            return nil
        }
        waiting[id] = nil
        isRunning = true
        return result
    }

    /// Ends the running write.
    func writeEnded() {
        defer { used() }
        isRunning = false
        askForLock()
        releaseIfDone()
    }

    /// Removes the write of a task that has been cancelled.
    func leave(_ id: AsyncTransactionId) {
        defer { used() }
        waiting[id] = nil
        // The lock may have been granted for this write. The next write takes it.
        if request != nil { atTurn { $0.runNext() } }
        releaseIfDone()
    }

    // MARK: Commits

    /// Commits the running transaction. `onComplete` is called on the realm's thread, queue or actor when the commit is
    /// durable, or has failed.
    func commit(_ onComplete: ((Error?) -> Void)?) -> AsyncTransactionId {
        defer { used() }
        let id = nextID()
        completions[id] = .some(onComplete)
        kept = realm
        let reference = realm.reference
        let scheduler = realm.scheduler
        let ended = ended
        @Sendable func finish(_ version: UInt64?, _ result: Result<Void, StoreError>) {
            ended.withLock { $0.append(EndedCommit(id: id, version: version, result: result)) }
            let isScheduled = scheduler?.schedule(for: reference) { $0.asyncWrites?.completeEnded() }
            if isScheduled != true { AsyncWrites.end(reference) }
        }
        do throws(StoreError) {
            let (version, start) = try realm.commitWithoutWaiting()
            let monitor = realm.shared.monitor
            realm.store.whenPublished(version) { result in
                if case .success = result { monitor.published(since: start) }
                finish(version, result)
            }
        } catch {
            finish(nil, .failure(error))
        }
        return id
    }

    /// A turn of the realm after commits have ended.
    private func completeEnded() {
        defer { used() }
        for commit in ended.exchange([]) { early[commit.id] = commit }
        while let commit = nextEnded() {
            if let version = commit.version { realm.commitEnded(version, commit.result) }
            let onComplete = completions.removeValue(forKey: commit.id) ?? nil
            switch commit.result {
            case .success: onComplete?(nil)
            case .failure(let error): onComplete?(Realm.Error(error, realm.configuration.fileURL))
            }
        }
        releaseIfDone()
    }

    /// The first commit whose end has not been reported yet, if it has ended.
    private func nextEnded() -> EndedCommit? {
        while firstCommit <= lastID, completions[firstCommit] == nil { firstCommit += 1 }
        return early.removeValue(forKey: firstCommit)
    }

    // MARK: The end

    private func releaseIfDone() {
        guard !isBusy, request == nil else { return }
        // This may be the last reference to the realm, and so to this.
        let kept = kept
        self.kept = nil
        withExtendedLifetime(kept) {}
    }

    /// Called when the realm's thread has ended, or its actor is gone: nothing is run any more.
    func end() {
        withdraw()
        let (writes, ends) = (waiting, completions)
        waiting = [:]
        completions = [:]
        early = [:]
        for case (_, (.task(let wakeup), _)) in writes { wakeup.call() }
        withExtendedLifetime((writes, ends)) {}
        let kept = kept
        self.kept = nil
        withExtendedLifetime(kept) {}
    }
}

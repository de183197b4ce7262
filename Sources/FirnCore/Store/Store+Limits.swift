import FirnLog
import FirnStorage
import Synchronization

/// The limits on what may be held when a transaction begins.
///
/// 1. A transaction checks the limit when it has the write lock, in the step that pins its base. Only commits make
/// versions, and they come one after the other. So transactions in the queue can't all pass by the same check: each
/// of them is checked after the commit before it.
/// 2. A transaction that is refused releases the write lock **before** it waits. The holder of an old version may
/// have to write before it releases the version, and releasing a pin never takes the write lock. When enough was
/// released, the transaction joins the queue again, behind the transactions that came meanwhile.
/// 3. A thread waits on the version table's condition, which releases the table's lock meanwhile. Transactions with a
/// callback wait in `PostponedWrites`.
/// 4. With `.spill` the oldest versions stop counting instead, until the others are within the limit, and are written
/// out beside the transaction (`VersionSpiller`).
/// 5. What other processes hold counts, too, as the shared page shows it: each process writes there what it holds as
/// soon as that changes. They wake nobody here, so a transaction that waits for them checks again every 10 ms.
/// 6. A transaction that waits asks the other processes to write out what they hold. Processes with `.spill` do so, and
/// what they hold no longer counts. So a transaction with `.spill` waits, too, but only for such processes, and not for
/// long.
extension Store {
    /// Pins the base of the next transaction. Returns nil if more is held than the limit allows. The write lock is
    /// held.
    func pinBase(replacing own: OwnPin, at callSite: CallSite) -> Pin? {
        let others = limit.isSet ? log?.heldByOthers ?? HeldByOthers() : HeldByOthers()
        while true {
            if let pin = versions.pinTip(within: limit, and: others, replacing: own, at: callSite) { return pin }
            guard spillOldest(sparing: own.pin) else { return nil }
        }
    }

    /// Begins to write out the oldest version that counts. Returns false if there is none, or if this store writes none
    /// out.
    private func spillOldest(sparing own: Pin?) -> Bool {
        guard let spiller, let oldest = versions.beginSpill(sparing: own) else { return false }
        spiller.add(oldest)
        return true
    }

    /// Writes out everything that is held, if another process asks for it and this one can.
    func writeOutIfAsked() {
        guard spiller != nil, let log, log.isAskedForWritingOut else { return }
        while spillOldest(sparing: nil) {}
    }

    /// The bytes of memory that held versions of this process retain beyond what the newest version needs.
    package var heldByteCount: Int { versions.withLock { $0.retainedByteCount(without: nil) } }

    /// Waits until what is held is within the limit, and then returns nil. At `deadline`, returns what exceeds the
    /// limit. If `deadline` is nil, checks once.
    func excess(without own: Pin?, until deadline: Int64?) -> VersionExcess? {
        guard let deadline else { return currentExcess(without: own, until: nil) }
        return askForWritingOut {
            guard spiller != nil else { return currentExcess(without: own, until: deadline) }
            while true {
                // What this process has come to hold meanwhile can be written out, too.
                while isOver(without: own), spillOldest(sparing: own) {}
                let end = min(deadline, SystemClock.shared.monotonic() + Store.spillInterval)
                let excess = currentExcess(without: own, until: end)
                if excess == nil || end == deadline { return excess }
            }
        }
    }

    private func currentExcess(without own: Pin?, until end: Int64?) -> VersionExcess? {
        versions.excess(over: limit, without: own, until: end) {
            (log?.otherProcesses ?? []).filter(\.holdsAnything)
        }
    }

    private func isOver(without own: Pin?) -> Bool {
        let others = log?.heldByOthers ?? HeldByOthers()
        return versions.withLock { $0.isOver(limit, and: others, without: own) }
    }

    /// Asks the other processes to write out what they hold, as long as transactions here wait for holders.
    private func askForWritingOut(_ body: () -> VersionExcess?) -> VersionExcess? {
        guard let log else { return body() }
        waitingForHolders.wrappingAdd(1, ordering: .sequentiallyConsistent)
        log.askForWritingOut(true)
        defer {
            if waitingForHolders.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue == 0 {
                log.askForWritingOut(false)
                // Another transaction may have begun to wait, and asked, just before that.
                if waitingForHolders.load(ordering: .sequentiallyConsistent) > 0 { log.askForWritingOut(true) }
            }
        }
        return body()
    }

    /// The nanoseconds after which a transaction that waits for other processes writes out what is held here by then.
    private static let spillInterval: Int64 = 50_000_000
    /// The nanoseconds for which a transaction with `.spill` waits for other processes to write out what they hold.
    /// Held versions stop counting before they are written, so only a process that is stopped takes as long.
    private static let spillPatience: Int64 = 5_000_000_000

    /// How long a transaction waits for holders; nil if waiting can't help it, or if it is not to wait.
    private var patience: Int64? {
        if policy.waits { return policy.nanoseconds }
        guard spiller != nil, log?.options.usesThreads ?? false,
            otherProcesses.contains(where: { $0.writesOut && $0.holdsAnything })
        else { return nil }
        return Store.spillPatience
    }

    /// Waits until what is held is within the limit, if the policy waits. The write lock is not held.
    ///
    /// - Parameter deadline: when waiting ends. A transaction's first wait sets it.
    func waitForHolders(replacing own: Pin?, _ deadline: inout Int64?) throws(StoreError) {
        if deadline == nil, let patience { deadline = SystemClock.shared.monotonic() + patience }
        if let excess = excess(without: own, until: deadline) {
            throw excess.error(policy: policy, now: clock.now())
        }
    }

    /// Keeps a transaction that was refused until it may be tried again. Without a policy that waits, checks once.
    /// The write lock is not held.
    func postpone(_ request: PostponedWrites.Request) throws(StoreError) {
        var request = request
        guard request.deadline != nil || patience != nil else {
            try waitForHolders(replacing: nil, &request.deadline)
            return self.request(request)
        }
        if request.deadline == nil, let patience { request.deadline = SystemClock.shared.monotonic() + patience }
        try postponed.add(request, self)
    }
}

extension OtherProcess {
    /// Whether it holds versions besides its newest, or retains memory.
    fileprivate var holdsAnything: Bool { heldVersionCount > 0 || retainedByteCount > 0 }
}

/// Transactions with a callback that wait until less is held.
///
/// One thread waits for all of them, and exists only while there are any: the threads on which callbacks are
/// requested must not block.
///
/// `lock` guards all state. Callbacks are called outside of it.
final class PostponedWrites: @unchecked Sendable {
    struct Request: Sendable {
        let callSite: CallSite
        let ready: @Sendable (Result<WriteTransaction, StoreError>) -> Void
        /// A time of the system's monotonic clock; nil before the first wait.
        var deadline: Int64?
    }

    private let lock = Lock(.innermost)
    /// In the order of their deadlines. The elements before `first` have been taken and are nil, so that what their
    /// callbacks capture is never released under the lock.
    private var requests: [Request?] = []
    private var first = 0
    private var hasThread = false

    func add(_ request: Request, _ store: Store) throws(StoreError) {
        lock.lock()
        // Searched from the end, because nearly all requests arrive in the order of their deadlines.
        let last = requests[first...].lastIndex { $0?.deadline ?? 0 <= request.deadline ?? 0 }
        requests.insert(request, at: last.map { $0 + 1 } ?? first)
        let needsThread = !hasThread
        hasThread = true
        lock.unlock()
        guard needsThread else { return }
        do throws(StorageError) { try StorageThread.start(name: "firn-waiting") { [self] in run(store) } } catch {
            // The list holds only this request and later ones, which would all wait for this thread.
            let remaining = lock.withLock {
                hasThread = false
                defer {
                    requests = []
                    first = 0
                }
                return requests[first...].compactMap(\.self)
            }
            let failure = StoreError(.tooManyActiveVersions, "no thread could be started to wait for holders: \(error)")
            for request in remaining { request.ready(.failure(failure)) }
        }
    }

    private func run(_ store: Store) {
        while let first = next() {
            let excess = store.excess(without: nil, until: first.deadline)
            // A request with an earlier deadline may have arrived. Then that one is handled, and this one stays.
            guard let request = takeFirst() else { continue }
            if let excess {
                request.ready(.failure(excess.error(policy: store.policy, now: store.clock.now())))
            } else {
                store.request(request)
            }
        }
    }

    private func next() -> Request? {
        lock.withLock {
            guard first < requests.count else {
                hasThread = false
                return nil
            }
            return requests[first]
        }
    }

    private func takeFirst() -> Request? {
        lock.withLock {
            guard first < requests.count else { return nil }
            defer {
                requests[first] = nil
                first += 1
                // Moving the rest costs no more than taking the elements before it did.
                if first * 2 >= requests.count {
                    requests.removeFirst(first)
                    first = 0
                }
            }
            return requests[first]
        }
    }
}

/// Transactions with a callback that wait until this process may write. One thread waits for all of them, and exists
/// only while there are any.
///
/// `lock` guards all state.
final class WaitingRequests: @unchecked Sendable {
    private let lock = Lock(.innermost)
    private var requests: [PostponedWrites.Request] = []
    private var hasThread = false

    /// Adds a request. Returns true if the caller must make the thread.
    func add(_ request: PostponedWrites.Request) -> Bool {
        lock.withLock {
            requests.append(request)
            defer { hasThread = true }
            return !hasThread
        }
    }

    /// Returns the requests that arrived since the last call. Returns nil if there are none; then the thread must end.
    func takeAll() -> [PostponedWrites.Request]? {
        lock.withLock {
            if requests.isEmpty {
                hasThread = false
                return nil
            }
            defer { requests = [] }
            return requests
        }
    }
}

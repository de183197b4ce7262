import FirnLog
import FirnStorage

/// What may be held while a transaction begins.
///
/// 1. A transaction looks at the limit when it has the write lock, in the step that pins its base. Only commits make versions, and they come one after the other, so as many
///    transactions as stand in the queue can't pass the same look.
/// 2. One that is refused gives the write lock up **before** it waits: whoever holds an old version may have to write before it lets go, and letting a pin go never
///    takes the write lock. It queues anew when enough was let go, behind those who came meanwhile.
/// 3. A thread waits on the version table's condition, which gives the table's lock up. A callback's transaction is `PostponedWrites`'.
/// 4. With `.spill` the oldest versions stop counting instead, until those left are within the limit, and are written out beside the transaction (`VersionSpiller`).
/// 5. What other processes hold counts, too, as far as the shared page tells: a process notes there what it holds as soon as that changes. They wake nobody here, so who waits for them looks again
///    every 10 ms; nothing can be written out for them.
extension Store {
    /// The base of the next transaction; nil where more is held than the limit allows. The write lock is held.
    func pinBase(replacing own: Pin?, at place: CallSite) -> Pin? {
        let others = limit.isSet ? log?.heldByOthers ?? HeldByOthers() : HeldByOthers()
        while true {
            if let pin = versions.pinTip(within: limit, and: others, replacing: own, at: place) { return pin }
            guard let spiller, let oldest = versions.beginSpill(sparing: own) else { return nil }
            spiller.add(oldest)
        }
    }

    /// What is held beyond the limit at `deadline`; nil as soon as nothing is.
    func excess(without own: Pin?, until deadline: Int64?) -> VersionExcess? {
        versions.excess(over: limit, without: own, until: deadline) {
            (log?.otherProcesses ?? []).filter { $0.heldVersionCount > 0 || $0.retainedByteCount > 0 }
        }
    }

    /// Waits, as the policy has it, until what is held is within the limit. The write lock is not held.
    ///
    /// - Parameter deadline: when waiting ends; set by the first of a transaction's waits.
    func waitForHolders(replacing own: Pin?, _ deadline: inout Int64?) throws(StoreError) {
        if deadline == nil, policy.waits { deadline = SystemClock.shared.monotonic() + policy.nanoseconds }
        if let excess = excess(without: own, until: deadline) {
            throw excess.error(policy: policy, now: clock.now())
        }
    }

    /// Keeps a transaction that was refused until it may be tried again. The write lock is not held.
    func postpone(_ request: PostponedWrites.Request) throws(StoreError) {
        var request = request
        guard policy.waits else {
            try waitForHolders(replacing: nil, &request.deadline)
            return self.request(request)
        }
        if request.deadline == nil { request.deadline = SystemClock.shared.monotonic() + policy.nanoseconds }
        try postponed.add(request, self)
    }
}

/// Transactions with a callback that wait until less is held. One thread waits for all of them, and only while there are any: the threads that callbacks come from must not
/// block.
///
/// `lock` guards all state; callbacks are called outside of it.
final class PostponedWrites: @unchecked Sendable {
    struct Request: Sendable {
        let place: CallSite
        let ready: @Sendable (Result<WriteTransaction, StoreError>) -> Void
        /// Of the system's monotonic clock; nil before the first wait.
        var deadline: Int64?
    }

    private let lock = Lock(.innermost)
    /// The one whose time is up first comes first. Those before `first` have been taken and are nil, so that what their
    /// callbacks capture is never released under the lock.
    private var requests: [Request?] = []
    private var first = 0
    private var hasThread = false

    func add(_ request: Request, _ store: Store) throws(StoreError) {
        lock.lock()
        // From the end, as nearly all come in the order of their deadlines.
        let last = requests[first...].lastIndex { $0?.deadline ?? 0 <= request.deadline ?? 0 }
        requests.insert(request, at: last.map { $0 + 1 } ?? first)
        let needsThread = !hasThread
        hasThread = true
        lock.unlock()
        guard needsThread else { return }
        do throws(StorageError) { try StorageThread.start(name: "firn-waiting") { [self] in serve(store) } } catch {
            // Nobody else waits yet but who came since, and they would wait for this thread.
            let left = lock.withLock {
                hasThread = false
                defer {
                    requests = []
                    first = 0
                }
                return requests[first...].compactMap(\.self)
            }
            let failure = StoreError(.tooManyActiveVersions, "no thread could be started to wait for holders: \(error)")
            for request in left { request.ready(.failure(failure)) }
        }
    }

    private func serve(_ store: Store) {
        while let first = next() {
            let excess = store.excess(without: nil, until: first.deadline)
            // Another may have come whose time is up earlier; then that is served, and this one stays.
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
                // Moving the rest costs as much as has been taken.
                if first * 2 >= requests.count {
                    requests.removeFirst(first)
                    first = 0
                }
            }
            return requests[first]
        }
    }
}

/// Transactions with a callback that wait until it is this process's turn to write. One thread waits for all of them, and only while there are any.
///
/// `lock` guards all state.
final class RequestsForTurn: @unchecked Sendable {
    private let lock = Lock(.innermost)
    private var requests: [PostponedWrites.Request] = []
    private var hasThread = false

    /// True where the caller is to make the thread.
    func add(_ request: PostponedWrites.Request) -> Bool {
        lock.withLock {
            requests.append(request)
            defer { hasThread = true }
            return !hasThread
        }
    }

    /// What has come since the last call; nil where there is nothing, and the thread ends.
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

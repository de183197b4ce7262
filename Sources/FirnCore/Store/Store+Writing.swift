import FirnLog
import FirnStorage

extension Store {
    /// Begins a transaction from the newest version that was written, after waiting for earlier transactions.
    ///
    /// - Throws: among others `.tooManyActiveVersions`, at once or after waiting, depending on the policy.
    package func beginWrite(file: StaticString = #fileID, line: UInt = #line) throws(StoreError) -> WriteTransaction {
        try beginWrite(replacing: .none, at: CallSite(file, line))
    }

    /// - Parameter own: a pin that the caller will release once it has the transaction, so it doesn't count against
    ///   the limit. It may become the transaction's own.
    package func beginWrite(replacing own: OwnPin, at callSite: CallSite) throws(StoreError) -> WriteTransaction {
        var deadline: Int64?
        while true {
            try checkWritable()
            if let log { try compactor.freeOverfullHeap(log) }
            try acquireWriteLock()
            if let transaction = try makeTransaction(replacing: own, at: callSite) { return transaction }
            try waitForHolders(replacing: own.pin, &deadline)
        }
    }

    /// Calls `ready` with a transaction once it has the write lock.
    ///
    /// `ready` is called on an arbitrary thread: within this call, on a thread that ends another transaction, or on a
    /// thread of the store. Any number of callers may wait; each costs O(1).
    package func requestWrite(
        file: StaticString = #fileID, line: UInt = #line,
        _ ready: @escaping @Sendable (Result<WriteTransaction, StoreError>) -> Void
    ) {
        requestWrite(at: CallSite(file, line), ready)
    }

    package func requestWrite(
        at callSite: CallSite, _ ready: @escaping @Sendable (Result<WriteTransaction, StoreError>) -> Void
    ) {
        request(PostponedWrites.Request(callSite: callSite, ready: ready))
    }

    func request(_ request: PostponedWrites.Request) {
        do { try checkWritable() } catch { return request.ready(.failure(error)) }
        if let log, !log.isWriting || compactor.isHeapOverfull(log) { return beginOnThread(request) }
        queue.request { [self] in
            // By now another process may write.
            if let log, !log.isWriting || log.shouldReleaseWriting && log.isTimeSliceOver {
                queue.release()
                return beginOnThread(request)
            }
            do throws(StoreError) {
                if let made = try makeTransaction(replacing: .none, at: request.callSite) {
                    nonisolated(unsafe) let transaction = made
                    request.ready(.success(transaction))
                } else {
                    try postpone(request)
                }
            } catch {
                request.ready(.failure(error))
            }
        }
    }

    /// Makes a thread that waits for other processes. The thread handles all requests that arrive meanwhile.
    private func beginOnThread(_ request: PostponedWrites.Request) {
        guard waitingRequests.add(request) else { return }
        do throws(StorageError) {
            try StorageThread.start(name: "firn-write") { [self] in
                while let requests = waitingRequests.takeAll() { begin(requests[...]) }
            }
        } catch {
            let failure = StoreError(lasting: error)
            while let requests = waitingRequests.takeAll() {
                for request in requests { request.ready(.failure(failure)) }
            }
        }
    }

    /// Waits until this process may write, begins the first request, and then queues the others.
    private func begin(_ requests: ArraySlice<PostponedWrites.Request>) {
        var requests = requests
        while let request = requests.popFirst() {
            do throws(StoreError) {
                nonisolated(unsafe) let transaction = try beginWrite(replacing: .none, at: request.callSite)
                for other in requests { self.request(other) }
                return request.ready(.success(transaction))
            } catch {
                request.ready(.failure(error))
            }
        }
    }

    /// Makes a transaction. The caller holds the write lock. It is released if this throws, or returns nil because
    /// more is held than the limit allows.
    private func makeTransaction(replacing own: OwnPin, at callSite: CallSite) throws(StoreError) -> WriteTransaction? {
        queue.assertHeld()
        do { try checkWritable() } catch {
            queue.release()
            throw error
        }
        guard let pin = pinBase(replacing: own, at: callSite) else {
            // Other processes may wait for the right to write, which this transaction does not use.
            endTransaction()
            return nil
        }
        return WriteTransaction(context, owner: self, base: pin)
    }

    /// Releases the write lock. If other processes wait to write, the follower's thread lets them, unless the caller
    /// does so itself (`letOthersWriteIfAsked`).
    func endTransaction(wakesFollower: Bool = true) {
        queue.release()
        // After a cancelled transaction, the follower must also start to wait for the idle time. Then it releases a
        // lock that no commit has used.
        if wakesFollower, let log, log.shouldReleaseWriting || log.hasIdleTime { log.publishWaiter.wakeAll() }
    }
}

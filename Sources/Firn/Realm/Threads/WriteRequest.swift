import FirnCore
import FirnStorage
import Synchronization

/// A realm's request for the write lock. The store answers with a transaction on any thread. The realm takes the
/// transaction on its own thread, or withdraws the request.
///
/// A transaction that nobody takes any more is cancelled, so that the lock goes to the next writer.
final class WriteRequest: @unchecked Sendable {
    private enum State {
        case waiting
        case granted(Result<WriteTransaction, StoreError>)
        /// Taken or withdrawn.
        case over
    }
    // A lock, because the store's answer comes on any thread. The old state is released outside of it.
    private let state = Guarded<State>(.innermost, .waiting)
    // The `SharedStore` is not retained, because its release closes the store. The last reference to this request may
    // be released on one of the store's own threads.
    private let store: Store
    private let requests: WriteRequests

    /// Requests the lock. `arrived` is called on any thread once the request is granted or has failed, unless it was
    /// withdrawn before. If `arrived` returns false, nobody will take the transaction, and it is cancelled.
    ///
    /// - Parameter patience: the nanoseconds for which the lock is left to the realm while others wait.
    init(
        store: Store, requests: WriteRequests, at callSite: CallSite, patience: Int64,
        _ arrived: @escaping @Sendable () -> Bool
    ) {
        self.store = store
        self.requests = requests
        requests.count.wrappingAdd(1, ordering: .relaxed)
        store.requestWrite(at: callSite) { [self] result in
            nonisolated(unsafe) let result = result
            let isWanted = state.withLock { state in
                guard case .waiting = state else { return false }
                state = .granted(result)
                return true
            }
            guard isWanted else { return WriteRequest.cancel(result) }
            requests.watch.granted(self, patience: patience)
            if !arrived() { withdraw() }
        }
    }

    /// Whether the request is granted, and its transaction was not taken.
    var isUnused: Bool {
        state.withLock { if case .granted(.success) = $0 { true } else { false } }
    }

    /// Whether another writer waits for the lock.
    var isAwaited: Bool { store.isWriteAwaited }

    /// Whether the request was taken or withdrawn.
    var isOver: Bool { state.withLock { if case .over = $0 { true } else { false } } }

    /// The transaction, or why there is none; nil if the store has not answered yet, or if the request is over.
    func take() -> Result<WriteTransaction, StoreError>? {
        end { if case .granted = $0 { true } else { false } }
    }

    /// Releases the lock, or stops waiting for it. May be called on any thread.
    func withdraw() {
        if let result = end({ _ in true }) { WriteRequest.cancel(result) }
    }

    /// Ends the request if a condition holds. Returns the store's answer, if there was one.
    private func end(_ isDue: (State) -> Bool) -> Result<WriteTransaction, StoreError>? {
        let old = state.withLock { state -> State in
            guard isDue(state) else { return .over }
            defer { state = .over }
            return state
        }
        if case .over = old { return nil }
        requests.count.wrappingSubtract(1, ordering: .relaxed)
        if case .granted(let result) = old { return result }
        return nil
    }

    private static func cancel(_ result: Result<WriteTransaction, StoreError>) {
        if case .success(let transaction) = result { transaction.cancel() }
    }
}

/// The requests of a store's realms.
final class WriteRequests: Sendable {
    /// The number of requests. Atomic, because they end on any thread. A synchronous write looks for the requests of
    /// its own thread only if this is not 0.
    let count = Atomic<Int>(0)
    let watch = GrantWatch()
}

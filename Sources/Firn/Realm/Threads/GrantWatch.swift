import Dispatch
import FirnStorage

/// Takes the write lock back from a realm that does not come to use it, while others wait for it.
///
/// A request is granted on any thread, and the realm uses the lock at its next turn. That may be late. The main thread
/// may be busy. The threads on which actors run may all be blocked by synchronous writes, which wait for this very
/// lock. So a grant that is not used within the realm's patience is withdrawn, if another writer waits. The realm
/// requests the lock again at its turn, with twice the patience, so that it is served in the end.
final class GrantWatch: Sendable {
    /// The nanoseconds for which a realm may leave its first grant unused, and the most for a later grant.
    static let (leastPatience, mostPatience): (Int64, Int64) = (20_000_000, 2_000_000_000)

    private struct State {
        /// The request that was granted last: there is one write lock.
        weak var request: WriteRequest?
        var deadline: Int64 = 0
        /// The number of grants, by which `look` notices that another grant has come meanwhile.
        var grants = 0
        var isScheduled = false
    }
    /// A serial queue of its own, which always gets a thread. The threads of the global queues may all be blocked by
    /// writes that wait for the lock.
    private static let queue = DispatchQueue(label: "firn-grants")
    // A lock, because requests are granted on any thread. A weak reference releases nothing under it.
    private let state = Guarded(.innermost, State())

    /// Watches a request that has just been granted.
    func granted(_ request: WriteRequest, patience: Int64) {
        let isScheduled = state.withLock { state in
            state.request = request
            state.deadline = SystemClock.shared.monotonic() + patience
            state.grants += 1
            defer { state.isScheduled = true }
            return state.isScheduled
        }
        if !isScheduled { schedule() }
    }

    private func schedule() {
        GrantWatch.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(GrantWatch.leastPatience))) { [weak self] in
            self?.look()
        }
    }

    private func look() {
        let (request, deadline, seen) = state.withLock { ($0.request, $0.deadline, $0.grants) }
        let remaining = deadline - SystemClock.shared.monotonic()
        let isUnused = request?.isUnused ?? false
        if isUnused, remaining <= 0, let request, request.isAwaited { request.withdraw() }
        let goesOn = state.withLock { state in
            if isUnused || state.grants != seen { return true }
            state.isScheduled = false
            return false
        }
        if goesOn { schedule() }
    }
}

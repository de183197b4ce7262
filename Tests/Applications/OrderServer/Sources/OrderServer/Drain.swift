import Synchronization

/// Ends what waits for clients when the server shuts down. What is answering a client is left to finish.
final class Drain: Sendable {
    private struct State {
        var isDraining = false
        var last = 0
        var waiting: [Int: @Sendable () -> Void] = [:]
    }
    // A lock, because connections are served on any thread.
    private let state = Mutex(State())

    /// Ends all that wait, now and later.
    func begin() {
        let waiting = state.withLock { state in
            state.isDraining = true
            return state.waiting.values.map { $0 }
        }
        for end in waiting { end() }
    }

    /// Notes that a connection begins to wait for its client, and how to end that: `end` is called at once if the
    /// server is shutting down.
    func wait(_ end: @escaping @Sendable () -> Void) -> Int {
        let (ticket, isDraining) = state.withLock { state in
            state.last += 1
            state.waiting[state.last] = end
            return (state.last, state.isDraining)
        }
        if isDraining { end() }
        return ticket
    }

    /// Notes that a connection does not wait any more. Returns false if the server is shutting down.
    @discardableResult
    func proceed(_ ticket: Int) -> Bool {
        state.withLock { state in
            state.waiting[ticket] = nil
            return !state.isDraining
        }
    }

    var isDraining: Bool { state.withLock { $0.isDraining } }
}

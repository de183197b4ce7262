import FirnStorage

/// A signal that a task waits for. One call ends one wait. A call that comes before the wait is remembered.
final class Wakeup: Sendable {
    private enum State {
        case idle
        case called
        case waiting(CheckedContinuation<Void, Never>)
    }
    // A lock, because the call may come from any thread.
    private let state = Guarded<State>(.innermost, .idle)

    /// May be called on any thread.
    func call() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let waiting) = state else {
                state = .called
                return nil
            }
            state = .idle
            return waiting
        }
        waiting?.resume()
    }

    /// Waits for a call, or until the task is cancelled.
    func wait(_ isolation: isolated (any Actor)?) async {
        await withTaskCancellationHandler(
            operation: {
                await withCheckedContinuation(isolation: isolation) { waiting in
                    let isCalled = state.withLock { state in
                        guard case .called = state else {
                            state = .waiting(waiting)
                            return false
                        }
                        state = .idle
                        return true
                    }
                    if isCalled { waiting.resume() }
                }
            }, onCancel: { call() }, isolation: isolation)
    }
}

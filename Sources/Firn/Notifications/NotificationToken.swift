import Foundation
import FirnStorage

/// Keeps an observer: hold it as long as its block is to be called.
///
/// Letting it go, or `invalidate()`, ends the calls; it may be done on any thread.
public final class NotificationToken: @unchecked Sendable {
    // Unchecked because the observer belongs to its realm's thread; here it is only held, under the guard.
    private struct State {
        var isInvalidated = false
        var observer: Subscription?
    }
    private let state = Guarded(.innermost, State())

    init() {}

    deinit { invalidate() }

    /// Ends the calls. Returns false where they had ended.
    @discardableResult
    public func invalidate() -> Bool {
        // The observer is let go outside of the guard, as it may be the last to hold its realm.
        let (wasActive, gone) = state.withLock { state -> (Bool, Subscription?) in
            let result = (!state.isInvalidated, state.observer)
            state = State(isInvalidated: true, observer: nil)
            return result
        }
        gone?.end()
        return wasActive
    }

    var isInvalidated: Bool { state.withLock { $0.isInvalidated } }

    var observer: Subscription? { state.withLock { $0.observer } }

    /// From now on the token keeps the observer, unless it ended before that was made.
    func keep(_ observer: Subscription) -> Bool {
        state.withLock { state in
            guard !state.isInvalidated else { return false }
            state.observer = observer
            return true
        }
    }
}

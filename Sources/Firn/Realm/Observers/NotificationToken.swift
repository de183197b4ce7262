import Foundation
import FirnStorage

/// Keeps an observer active: hold it as long as the block is to be called.
///
/// ```swift
/// final class DogView {
///     private var token: NotificationToken?
///     func appear(_ dog: Dog) { token = dog.observe { (_: ObjectChange<Dog>) in … } }
///     func disappear() { token = nil }
/// }
/// ```
///
/// Releasing it, or `invalidate()`, ends the calls. Either may be done on any thread. The observer then holds no
/// version any more.
///
/// A token that a program makes itself keeps nothing active; a test may use it in place of an observer's token. A
/// subclass may override `invalidate()`; observers return tokens of this class itself.
open class NotificationToken: @unchecked Sendable {
    // Unchecked because the observer belongs to its realm's thread. The token only holds it, under the lock.
    private struct State {
        var isInvalidated = false
        var observer: Subscription?
    }
    private let state = Guarded(.innermost, State())

    /// A token without an observer, for tests. `invalidate()` returns true the first time.
    public init() {}

    // `invalidate()` is not called here, because a subclass may override it, and the subclass's properties are gone by
    // now.
    deinit { end() }

    /// Ends the calls, and releases the version that the observer holds. Returns false if they had already ended. O(1).
    /// May be called on any thread, and more than once.
    ///
    /// A call that is running on another thread at that moment is not waited for. On the observer's own thread, queue
    /// or actor no call follows.
    @discardableResult
    open func invalidate() -> Bool { end() }

    /// The work of `invalidate()`, which a subclass can't override.
    @discardableResult
    private func end() -> Bool {
        // The observer is released outside of the lock, because it may hold the last reference to its realm.
        let (wasActive, gone) = state.withLock { state -> (Bool, Subscription?) in
            let result = (!state.isInvalidated, state.observer)
            state = State(isInvalidated: true, observer: nil)
            return result
        }
        gone?.end()
        return wasActive
    }

    final var isInvalidated: Bool { state.withLock { $0.isInvalidated } }

    final var observer: Subscription? { state.withLock { $0.observer } }

    /// Makes the token keep the observer. Returns false if the token was invalidated before the observer was made.
    final func keep(_ observer: Subscription) -> Bool {
        state.withLock { state in
            guard !state.isInvalidated else { return false }
            state.observer = observer
            return true
        }
    }
}

extension NotificationToken: Hashable {
    /// Whether both are the same token.
    public static func == (a: NotificationToken, b: NotificationToken) -> Bool { a === b }
    /// Hashes the token's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

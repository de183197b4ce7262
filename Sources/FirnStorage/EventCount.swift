import CFirn

/// Lets threads of this process wait for a condition that others make true without any lock: an event count, as Dmitry Vyukov and
/// Facebook's Folly have it. With nobody waiting, an event costs one addition and one load.
///
/// Who waits takes a ticket *before* it looks at the condition, and waits with it if the condition does not hold; who makes the condition true
/// does so *before* it signals. So a signal between the look and the wait is not lost:
/// ```swift
/// while !condition {
///     let ticket = event.ticket()
///     if condition { break }
///     event.wait(ticket)
/// }
/// ```
/// Everything here is sequentially consistent. The words lie at a fixed address, as the system knows a waiter by it.
///
/// Not final, so that a test can put one in its place that shows who waits and decides when a call goes on.
public class EventCount: @unchecked Sendable {
    // Two words: the count of events, and how many threads wait or are about to. Changed by atomic operations only.
    private let words: UnsafeMutablePointer<UInt32>

    public init() {
        words = .allocate(capacity: 2)
        words.initialize(repeating: 0, count: 2)
    }

    deinit { words.deallocate() }

    /// What `wait` asks for: the count of events so far.
    public func ticket() -> UInt32 { firn_atomic_load_32(words) }

    /// Waits for an event after `ticket` was taken. It may return early: look at the condition again.
    public func wait(_ ticket: UInt32) {
        LockRank.expectNone("a thread waits for an event")
        firn_atomic_add_32(words + 1, 1)
        _ = firn_word_wait(words, ticket, -1, false)
        firn_atomic_add_32(words + 1, .max)
    }

    /// Wakes one of the threads that wait.
    public func signal() {
        firn_atomic_add_32(words, 1)
        if firn_atomic_load_32(words + 1) != 0 { firn_word_wake(words, 1, false) }
    }

    /// Wakes all threads that wait.
    public func broadcast() {
        firn_atomic_add_32(words, 1)
        if firn_atomic_load_32(words + 1) != 0 { firn_word_wake(words, .max, false) }
    }
}

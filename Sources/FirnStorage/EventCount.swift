import CFirn

/// An event count: lets threads of this process wait for a condition that others make true without any lock.
///
/// The technique is Dmitry Vyukov's, in the form that Facebook's Folly uses.
///
/// If nobody waits, an event costs one addition and one load.
///
/// A waiter takes a ticket *before* it checks the condition, and waits with the ticket if the condition is false. A
/// thread makes the condition true *before* it signals. So a signal between the check and the wait is not lost:
/// ```swift
/// while !condition {
///     let ticket = event.ticket()
///     if condition { break }
///     event.wait(ticket)
/// }
/// ```
/// Everything here is sequentially consistent. The words have a fixed address, because the system identifies the word
/// that a thread waits on by its address.
///
/// The class is not final, so that a test can subclass it to see who waits and to decide when a call continues.
public class EventCount: @unchecked Sendable {
    // Two words: the number of events, and the number of threads that wait or are about to wait. Changed by atomic
    // operations only.
    private let words: UnsafeMutablePointer<UInt32>

    public init() {
        words = .allocate(capacity: 2)
        words.initialize(repeating: 0, count: 2)
    }

    deinit { words.deallocate() }

    /// The count of events so far, for `wait`.
    public func ticket() -> UInt32 { firn_atomic_load_32(words) }

    /// Waits for an event after `ticket` was taken. It may return early, so check the condition again.
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

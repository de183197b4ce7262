import Dispatch
import FirnStorage
import Foundation

/// The work to be done for the realms of the main thread, queue and actor, at their next turns.
///
/// The work is put on the main queue. A block of that queue may run the run loop and wait for work that was put there.
/// A test on the main actor does so when it waits for an expectation. But the queue runs no block within another one.
/// So if work waits for long, a timer of the main run loop does it.
enum MainTurns {
    private struct State {
        var works: [@Sendable () -> Void] = []
        /// How many works have ever been taken.
        var taken = 0
        /// Whether a check is scheduled (`watch`), or a timer was added that has not fired. On a main thread whose run
        /// loop never runs, the timer never fires.
        var isWatched = false
        /// A queue of its own for the checks, because all the queues that programs share may wait for the main thread.
        let queue = DispatchQueue(label: "firn-main-turns")
        let mark = ForkMark()
        /// The object that was kept last outside of turns.
        var kept: (any AnyObject & Sendable)?
        /// The parent's works, in a forked child. They are neither done nor released, because they belong to another
        /// process.
        var foreign: [@Sendable () -> Void] = []

        /// Begins anew in a forked child.
        mutating func renewIfForked() {
            guard mark.isForked else { return }
            var new = State()
            new.foreign = works + foreign
            if let kept { new.foreign.append { withExtendedLifetime(kept) {} } }
            self = new
        }
    }
    // Works come from any thread, and are done by the main one.
    private static var state: GlobalGuarded<State> { GlobalGuarded(.mainTurns) { State() } }

    /// How long works wait before a timer is added.
    private static var patience: DispatchTimeInterval { .milliseconds(10) }

    /// Does `work` at a turn of the main queue or of the main run loop. May be called on any thread.
    static func add(_ work: @escaping @Sendable () -> Void) {
        let mustWatch = state.withLock { state in
            state.renewIfForked()
            state.works.append(work)
            defer { state.isWatched = true }
            return !state.isWatched
        }
        DispatchQueue.main.async { turn() }
        if mustWatch { watch(taken: nil) }
    }

    /// Keeps an object that is released on the main thread outside of turns, until the next such object or a turn
    /// comes. In a program that has no turns, such as one that runs tests, only one object is kept.
    static func keep(_ object: any AnyObject & Sendable) {
        let old = state.withLock { state in
            state.renewIfForked()
            defer { state.kept = object }
            return state.kept
        }
        withExtendedLifetime(old) {}
    }

    /// Does the next work, if a timer has not done it already.
    private static func turn() {
        let (work, kept) = state.withLock { state -> ((@Sendable () -> Void)?, AnyObject?) in
            defer { state.kept = nil }
            guard !state.works.isEmpty else { return (nil, state.kept) }
            state.taken += 1
            return (state.works.removeFirst(), state.kept)
        }
        withExtendedLifetime(kept) {}
        work?()
    }

    /// Checks after a while whether works are done.
    ///
    /// - Parameter taken: how many had been taken at the last check; nil at the first one.
    private static func watch(taken: Int?) {
        let queue = state.withLock { $0.queue }
        queue.asyncAfter(deadline: .now() + patience) {
            let (next, mustAdd) = state.withLock { state -> (Int?, Bool) in
                guard !state.works.isEmpty else {
                    state.isWatched = false
                    return (nil, false)
                }
                // If no work was taken since, a timer does the works. While the main thread is blocked, no further
                // check is needed until that timer fires.
                return taken == state.taken ? (nil, true) : (state.taken, false)
            }
            if mustAdd { addTimer() }
            if let next { watch(taken: next) }
        }
    }

    private static func addTimer() {
        let timer = Timer(timeInterval: 0, repeats: false) { timer in
            timer.invalidate()
            // Only the works that are listed now: works that they add wait for their own turn.
            let count = state.withLock { $0.works.count }
            for _ in 0..<count { turn() }
            watch(taken: nil)
        }
        RunLoop.main.add(timer, forMode: .default)
    }
}

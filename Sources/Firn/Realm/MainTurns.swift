import Dispatch
import FirnStorage
import Foundation

/// What is to be done for the realms of the main thread, queue and actor, at their next turns.
///
/// It is put on the main queue. A block of that queue may run the run loop and wait for what is put there. A test on
/// the main actor that waits for an expectation does so. But the queue itself runs no block within another one. So if
/// something waits for long, a timer of the main run loop does it.
enum MainTurns {
    private struct State {
        var works: [@Sendable () -> Void] = []
        /// How many works have ever been taken.
        var taken = 0
        /// Whether somebody looks after a while whether the works are done, or a timer was added that has not fired.
        /// On a main thread whose run loop never runs, it never does.
        var isWatched = false
        /// Its own, because all the queues that programs share may wait for the main thread.
        let queue = DispatchQueue(label: "firn-main-turns")
        let mark = ForkMark()
        /// What was kept last outside of turns.
        var kept: (any AnyObject & Sendable)?
        /// In a forked child, the parent's: nobody does them, and nobody may release what belongs to another process.
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

    /// Does something at a turn of the main queue or of the main run loop. May be called on any thread.
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

    /// Keeps something that goes on the main thread outside of turns, until the next such thing or a turn comes. In a
    /// program that has no turns, such as one that runs tests, only one is kept.
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

    /// Looks after a while whether works are done.
    ///
    /// - Parameter taken: how many had been taken at the last look; nil at the first one.
    private static func watch(taken: Int?) {
        let queue = state.withLock { $0.queue }
        queue.asyncAfter(deadline: .now() + patience) {
            let (next, mustAdd) = state.withLock { state -> (Int?, Bool) in
                guard !state.works.isEmpty else {
                    state.isWatched = false
                    return (nil, false)
                }
                // If none was taken, the timer looks after them: on a main thread that is blocked nothing else is to
                // be done until it runs.
                return taken == state.taken ? (nil, true) : (state.taken, false)
            }
            if mustAdd { addTimer() }
            if let next { watch(taken: next) }
        }
    }

    private static func addTimer() {
        let timer = Timer(timeInterval: 0, repeats: false) { timer in
            timer.invalidate()
            // Only the works that are listed now: what they add waits for its own turn.
            let count = state.withLock { $0.works.count }
            for _ in 0..<count { turn() }
            watch(taken: nil)
        }
        RunLoop.main.add(timer, forMode: .default)
    }
}

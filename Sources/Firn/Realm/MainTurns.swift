import Dispatch
import FirnStorage
import Foundation

/// What is to be done for the realms of the main thread, queue and actor, at their next turns.
///
/// It is put on the main queue. A block of that queue may run the run loop and wait for what is put there, as a test on
/// the main actor does that waits for an expectation; the queue itself runs no block within another one. So if
/// something waits for long, a timer of the main run loop does it.
final class MainTurns: Sendable {
    static let shared = MainTurns()

    private struct State {
        var works: [@Sendable () -> Void] = []
        /// How many works have ever been taken.
        var taken = 0
        /// Whether somebody looks after a while whether the works are done.
        var isWatched = false
        /// Whether a timer was added that has not fired. On a main thread whose run loop never runs, it never does.
        var hasTimer = false
    }
    // Works come from any thread, and are done by the main one.
    private let state = Guarded(.innermost, State())

    /// How long works wait before a timer is added.
    private static var patience: DispatchTimeInterval { .milliseconds(10) }

    /// Does something at a turn of the main queue or of the main run loop. May be called on any thread.
    func add(_ work: @escaping @Sendable () -> Void) {
        let mustWatch = state.withLock { state in
            state.works.append(work)
            defer { state.isWatched = true }
            return !state.isWatched
        }
        DispatchQueue.main.async { self.turn() }
        if mustWatch { watch(taken: nil) }
    }

    /// Does the next work, if a timer has not done it already.
    private func turn() {
        let work = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.works.isEmpty else { return nil }
            state.taken += 1
            return state.works.removeFirst()
        }
        work?()
    }

    /// Looks after a while whether works are done.
    ///
    /// - Parameter taken: how many had been taken at the last look; nil at the first one.
    private func watch(taken: Int?) {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) {
            let (next, mustAdd) = self.state.withLock { state -> (Int?, Bool) in
                guard !state.works.isEmpty else {
                    state.isWatched = false
                    return (nil, false)
                }
                let isStuck = taken == state.taken && !state.hasTimer
                if isStuck { state.hasTimer = true }
                return (state.taken, isStuck)
            }
            if mustAdd { self.addTimer() }
            if let next { self.watch(taken: next) }
        }
    }

    private func addTimer() {
        let timer = Timer(timeInterval: 0, repeats: false) { timer in
            timer.invalidate()
            // Only the works that are listed now: what they add waits for its own turn.
            let count = self.state.withLock { state in
                state.hasTimer = false
                return state.works.count
            }
            for _ in 0..<count { self.turn() }
        }
        RunLoop.main.add(timer, forMode: .default)
    }
}

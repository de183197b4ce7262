import FirnStorage
import Foundation

/// A thread's run loop, and the work that the thread's realms have to do at its next turns.
///
/// There is one for each thread, which keeps it. When the thread ends, all work is dropped, even if other threads still
/// refer to this. A timer added later would never fire, and would keep what it holds for ever.
///
/// Nothing that a run loop keeps may refer to the run loop. Such a cycle would keep the run loop and its descriptors
/// after the thread's end. So the blocks of timers hold this weakly, and each work gets its realm only when it runs.
///
/// A run loop that has never run gets no timer. When it runs for the first time, it calls a block that `init` has left
/// there.
final class OwnRunLoop: @unchecked Sendable {
    // Unchecked because of `RunLoop` and `Timer`: any thread adds a timer, and all else is done on the run loop's own
    // thread.

    typealias Work = @Sendable (_RealmInstance) -> Void

    private struct State {
        /// Nil once the thread has ended.
        var runLoop: RunLoop?
        /// Whether the run loop is known to have run.
        var hasRun = false
        /// The timer that will do the next work; nil if there is no work, or if the run loop has never run.
        var timer: Timer?
        var works: [(realm: WeakReference<_RealmInstance>, work: Work)] = []
    }
    // A lock, because work comes from any thread. A timer is added under it, so that the thread's end misses none.
    private let state: Guarded<State>
    /// Timers that have fired. Used only on the run loop's thread, as is `depth`.
    private var spent: [Timer] = []
    /// How many turns are running, one within another.
    private var depth = 0
    private let forkMark = ForkMark()

    /// The calling thread's run loop.
    static var current: OwnRunLoop {
        // In a forked child, a thread that exists only in the parent may hold the lock of the parent's object.
        if let own = ThreadEnd.kept(OwnRunLoop.self), !own.forkMark.isForked { return own }
        let own = OwnRunLoop(.current)
        ThreadEnd.keep(own) { $0.threadEnds() }
        return own
    }

    private init(_ runLoop: RunLoop) {
        let isRunning = runLoop.currentMode != nil
        state = Guarded(.innermost, State(runLoop: runLoop, hasRun: isRunning))
        if !isRunning { runLoop.perform { [weak self] in self?.runs() } }
    }

    /// Whether the calling thread's run loop is running.
    static var isRunning: Bool { RunLoop.current.currentMode != nil }

    /// How many works wait for their turns.
    var count: Int { state.withLock { $0.works.count } }

    // MARK: Work

    /// Runs `work` at a turn of the run loop, unless the realm is gone by then. May be called on any thread. Returns
    /// false if the thread has ended.
    func schedule(for realm: WeakReference<_RealmInstance>, _ work: @escaping Work) -> Bool {
        state.withLock { state in
            guard state.runLoop != nil else { return false }
            state.works.append((realm, work))
            setTimer(&state)
            return true
        }
    }

    /// Drops the scheduled work of a realm that is being freed. May be called on any thread.
    func forget(_ realm: WeakReference<_RealmInstance>) {
        let forgotten = state.withLock { state in
            let forgotten = state.works.filter { $0.realm === realm }
            if !forgotten.isEmpty { state.works.removeAll { $0.realm === realm } }
            return forgotten
        }
        withExtendedLifetime(forgotten) {}
    }

    private func setTimer(_ state: inout State) {
        if state.hasRun, state.timer == nil, !state.works.isEmpty { addTimer(&state) }
    }

    private func addTimer(_ state: inout State) {
        guard let runLoop = state.runLoop else { return }
        // `perform` does not wake a run loop on Linux; a timer does.
        let timer = Timer(timeInterval: 0, repeats: false) { [weak self] in self?.turn($0) }
        state.timer = timer
        runLoop.add(timer, forMode: .default)
    }

    /// Called when the run loop runs for the first time.
    private func runs() {
        state.withLock { state in
            state.hasRun = true
            // The timer is needed even if there is no work. When a timer has fired, a run loop that has nothing left
            // returns; after this block alone it would go on waiting.
            addTimer(&state)
        }
    }

    /// Does one work for each timer. The application may run the run loop within a work, and the next ones are done
    /// there.
    private func turn(_ timer: Timer) {
        let next = state.withLock { state in
            state.timer = nil
            let next = state.works.isEmpty ? nil : state.works.removeFirst()
            setTimer(&state)
            return next
        }
        if depth == 0 { releaseSpent() }
        spent.append(timer)
        depth += 1
        defer { depth -= 1 }
        guard let next, let realm = next.realm.object else { return }
        next.work(realm)
    }

    // MARK: The end

    private func threadEnds() {
        // Released outside the lock.
        var old = state.exchange(State())
        if let timer = old.timer {
            old.timer = nil
            spent.append(timer)
        }
        releaseSpent()
    }

    private func releaseSpent() {
        while var timer = spent.popLast() {
            timer.invalidate()
            #if !canImport(Darwin)
                // Here a timer retains itself from the beginning and is never released: 500 bytes for each turn. A
                // timer that is off its run loop, and whose block has returned, has no other owner.
                if !isKnownUniquelyReferenced(&timer) { Unmanaged.passUnretained(timer).release() }
            #endif
        }
    }
}

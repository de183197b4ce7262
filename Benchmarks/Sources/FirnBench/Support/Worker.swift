import Dispatch
import Foundation

/// A thread with a state that is made on it and used only there: a connection, a live realm.
///
/// `@unchecked Sendable`: only the worker's thread uses the state. The two semaphores order accesses to `task`,
/// `failure` and `stopped`, since one owner calls `start` and `wait` in turn.
final class Worker<State>: @unchecked Sendable {
    private let begin = DispatchSemaphore(value: 0)
    private let done = DispatchSemaphore(value: 0)
    private var task: ((State) throws -> Void)?
    private var failure: (any Error)?
    private var stopped = false

    /// Starts the thread and waits until its state has been made.
    init(_ makeState: @escaping @Sendable () throws -> State) throws {
        let thread = Thread { [self] in
            do {
                let state = try makeState()
                done.signal()
                runTasks(state)
            } catch {
                failure = error
            }
            done.signal()
        }
        thread.stackSize = 1 << 20
        thread.start()
        try wait()
    }

    private func runTasks(_ state: State) {
        while true {
            begin.wait()
            if stopped { return }
            do { try task!(state) } catch { failure = error }
            task = nil
            done.signal()
        }
    }

    /// Lets the thread run `body`. Call `wait()` afterwards.
    func start(_ body: @escaping @Sendable (State) throws -> Void) {
        task = body
        begin.signal()
    }

    /// Waits for the task that `start` passed, and throws what it threw.
    func wait() throws {
        done.wait()
        if let error = failure {
            failure = nil
            throw error
        }
    }

    func run(_ body: @escaping @Sendable (State) throws -> Void) throws {
        start(body)
        try wait()
    }

    /// Ends the thread and waits for that. The thread releases its state.
    func stop() {
        stopped = true
        begin.signal()
        done.wait()
    }
}

/// A result that a worker returns.
///
/// `@unchecked Sendable`: written by the worker in its task, read by the owner after `wait()`.
final class Box<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

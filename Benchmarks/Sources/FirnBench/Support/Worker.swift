import Dispatch
import Foundation

/// A thread with a state of its own, made on it and used only there: a connection, a live realm.
///
/// `@unchecked Sendable`: the state is touched by the worker's thread alone; `task`, `failure` and `stopped` are handed
/// over by the two semaphores, since `start` and `wait` are called in turn by one owner.
final class Worker<State>: @unchecked Sendable {
    private let begin = DispatchSemaphore(value: 0)
    private let done = DispatchSemaphore(value: 0)
    private var task: ((State) throws -> Void)?
    private var failure: (any Error)?
    private var stopped = false

    /// Starts the thread and waits until its state stands.
    init(_ makeState: @escaping @Sendable () throws -> State) throws {
        let thread = Thread { [self] in
            do {
                let state = try makeState()
                done.signal()
                serve(state)
            } catch {
                failure = error
            }
            done.signal()
        }
        thread.stackSize = 1 << 20
        thread.start()
        try wait()
    }

    private func serve(_ state: State) {
        while true {
            begin.wait()
            if stopped { return }
            do { try task!(state) } catch { failure = error }
            task = nil
            done.signal()
        }
    }

    /// Lets the thread run `body`; follow it by `wait()`.
    func start(_ body: @escaping @Sendable (State) throws -> Void) {
        task = body
        begin.signal()
    }

    /// Waits for the task that `start` gave, and throws what it threw.
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

    /// Ends the thread and waits for it; its state is released there.
    func stop() {
        stopped = true
        begin.signal()
        done.wait()
    }
}

/// A result that a worker hands back.
///
/// `@unchecked Sendable`: written by the worker in its task, read by the owner after `wait()`.
final class Box<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

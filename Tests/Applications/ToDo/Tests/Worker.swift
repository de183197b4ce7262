#if os(Linux)
    import FirnTestSupport
    import Foundation
    import Synchronization
    import ToDoTestSupport

    /// A second process that edits a store until it is killed, and the commits that it has acknowledged.
    ///
    /// A thread reads what it prints, so that it never waits for a reader, and the main actor is free to be notified.
    final class Worker: Sendable {
        private struct State {
            var process: pid_t?
            var firstStep: Int?
            var lastStep = 0
            var end: ProcessEnd?
            var failure: String?
        }
        /// The state, which the reading thread shares with the worker, and does not keep the worker by it.
        private final class Progress: Sendable {
            let state = Mutex(State())

            func note(_ line: String) {
                state.withLock { state in
                    guard let step = Int(line), state.firstStep == nil || step == state.lastStep + 1 else {
                        state.failure = "\"\(line)\" came after \(state.lastStep)"
                        return
                    }
                    state.firstStep = state.firstStep ?? step
                    state.lastStep = step
                }
            }
        }

        /// What a test does not expect of a worker.
        struct Failure: Error { let text: String }

        let seed: UInt64
        private let progress = Progress()
        private var state: State { progress.state.withLock { $0 } }

        /// Starts `firn-todo work`.
        init(_ url: URL, seed: UInt64) {
            self.seed = seed
            Thread.detachNewThread { [progress] in
                do {
                    let child = try ChildProcess(program: "firn-todo", ["work", url.path, "\(seed)", "3000"])
                    progress.state.withLock { $0.process = child.identifier }
                    while let line = try child.readLine() { progress.note(line) }
                    // From here on the number may become another process's.
                    progress.state.withLock { $0.process = nil }
                    let end = child.wait()
                    progress.state.withLock { $0.end = end }
                } catch {
                    progress.state.withLock { $0.failure = "\(error)" }
                }
            }
        }

        /// A test that fails leaves no process behind.
        deinit { kill() }

        /// Returns when this process has acknowledged so many more commits.
        @MainActor
        func makes(_ commits: Int) async throws {
            let wanted = state.lastStep + commits
            try await waits("makes \(wanted) steps") { $0.lastStep >= wanted }
        }

        /// Kills the process with SIGKILL, and returns the number of the last step that it has acknowledged.
        @MainActor
        func killed() async throws -> Int {
            try await waits("starts") { $0.process != nil }
            kill()
            try await waits("ends") { $0.end != nil }
            guard state.end == .killed else { throw Failure(text: "the worker ended by itself: \(state)") }
            return state.lastStep
        }

        private func kill() {
            progress.state.withLock { state in
                if let process = state.process { Glibc.kill(process, SIGKILL) }
            }
        }

        @MainActor
        private func waits(_ what: String, for isDone: (State) -> Bool) async throws {
            _ = await TestTimeout.suspends {
                let state = self.state
                return state.failure != nil || state.end != nil || isDone(state)
            }
            let state = self.state
            if let failure = state.failure { throw Failure(text: failure) }
            guard isDone(state) else { throw Failure(text: "waited in vain until the worker \(what): \(state)") }
        }
    }
#endif

import Foundation

/// A running `order-server`.
final class ServerProcess: Sendable {
    /// How a process has ended.
    enum End: Equatable {
        case exited(Int32)
        case killed(by: Int32)
    }

    let port: Int
    private let process: Process
    private let ends: AsyncStream<End>

    /// Starts a server of a store, and returns when clients can connect.
    init(_ store: URL) async throws {
        let (process, output) = (Process(), Pipe())
        let (ends, end) = AsyncStream.makeStream(of: End.self)
        // The program is in the folder of the tests' executable.
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: runner).deletingLastPathComponent().appending(path: "order-server")
        process.arguments = [store.path]
        process.standardOutput = output
        process.terminationHandler = { process in
            let status = process.terminationStatus
            end.yield(process.terminationReason == .exit ? .exited(status) : .killed(by: status))
            end.finish()
        }
        try process.run()
        let line = try await Deadline.run("order-server starts") {
            await withTaskCancellationHandler {
                await withCheckedContinuation { waiting in
                    Thread.detachNewThread { waiting.resume(returning: Self.readLine(output.fileHandleForReading)) }
                }
            } onCancel: {
                kill(process.processIdentifier, SIGKILL)
            }
        }
        guard let port = line.split(separator: " ").last.flatMap({ Int($0) }) else {
            throw Failure("order-server has not started, but said \"\(line)\"")
        }
        (self.port, self.process, self.ends) = (port, process, ends)
    }

    /// A test that fails leaves no process behind.
    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits until the process has ended. To be called once.
    func end() async throws -> End {
        try await Deadline.run("order-server ends") { [ends] in
            for await end in ends { return end }
            throw Failure("the end of order-server was asked for twice")
        }
    }

    private static func readLine(_ handle: FileHandle) -> String {
        var line = Data()
        while line.last != 10 {
            let more = handle.availableData
            if more.isEmpty { break }
            line += more
        }
        return String(decoding: line.dropLast(), as: UTF8.self)
    }
}

/// What a test did not expect.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// How long tests wait for what must happen. Long, because a machine may stall for minutes: what takes longer hangs.
enum Deadline {
    static let seconds = 600

    /// Runs `body`, and throws if it does not return in time.
    static func run<Result: Sendable>(
        _ what: String, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask(operation: body)
            group.addTask {
                try await Task.sleep(for: .seconds(seconds))
                throw Failure("waited for \(seconds) seconds in vain until \(what)")
            }
            defer { group.cancelAll() }
            return try await group.next()!
        }
    }

    /// Returns when a condition holds; throws if it does not in time.
    static func wait(until what: String, _ condition: @escaping @Sendable () async throws -> Bool) async throws {
        try await run(what) { while try await !condition() { try await Task.sleep(for: .milliseconds(5)) } }
    }
}

/// A folder that is removed with its last reference.
final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "firn-server-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }

    var store: URL { url.appending(path: "orders.firn") }
}

import Foundation
import Synchronization

/// One run of tests with a mutant on.
struct Run {
    enum Verdict: Equatable {
        case passed
        case failed(String)
    }

    let tree: Tree
    /// The limit of a run's memory: more than any test needs. A mutant that fills memory then does no other harm.
    private static let memoryKibibytes = 8 << 20
    /// Tests that map more than this limit, and so would fail with any mutant.
    private static let needsAllMemory = "ReservedMemoryTests"

    private var program: String { tree.build + "/debug/FirnPackageTests.xctest" }

    /// How many seconds the tests may print nothing (a test waits for others for at most 120), and how many a run may
    /// take. They are so long that slow tests on a busy machine do not count as hanging.
    private static let limits = (silence: 240.0, all: 2400.0)

    /// Runs the tests until the first one fails, or all have passed, or they hang.
    func run(_ mutant: Int, filter: String?) throws -> Verdict {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        // The tests have a process group of their own, so that children that a crash leaves behind are ended, too.
        let words =
            ["--testing-library", "swift-testing", "--skip", Self.needsAllMemory]
            + (filter.map { ["--filter", $0] } ?? [])
        process.arguments =
            [
                "-c",
                // The number of the group is printed before any output of the tests, so that its line is complete.
                "set -m; ulimit -d \(Self.memoryKibibytes); ulimit -c 0; (echo group $BASHPID; exec \"$@\") & wait $!",
                "bash", program,
            ] + words
        process.currentDirectoryURL = URL(fileURLWithPath: tree.path)
        var environment = ProcessInfo.processInfo.environment
        environment["FIRN_MUTANT"] = String(mutant)
        process.environment = environment
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        let output = Output()
        try process.run()
        try? pipe.fileHandleForWriting.close()
        let start = Date()
        let reader = Thread {
            // This returns what has arrived. Reading up to a count would wait until that many bytes have arrived.
            while case let piece = pipe.fileHandleForReading.availableData, !piece.isEmpty { output.add(piece) }
            output.end()
        }
        reader.start()
        while !output.hasEnded, output.failure == nil, -output.lastTime.timeIntervalSinceNow < Self.limits.silence,
            -start.timeIntervalSinceNow < Self.limits.all
        {
            Thread.sleep(forTimeInterval: 0.05)
        }
        let hasEnded = output.hasEnded
        if let group = output.group { kill(-group, SIGKILL) }
        process.waitUntilExit()
        if let failure = output.failure { return .failed(failure) }
        if !hasEnded { return .failed("hangs: \(output.unfinished)") }
        guard process.terminationStatus == 0, process.terminationReason == .exit else {
            return .failed("crashes: \(output.lastWords)")
        }
        return output.count > 0 ? .passed : .failed("no test matches \(filter ?? "")")
    }
}

/// The output of a run of tests so far.
private final class Output: Sendable {
    private struct State {
        var rest = Data()
        var failure: String?
        var group: Int32?
        var begun: Set<String> = []
        var count = 0
        var last: [String] = []
        var hasEnded = false
        var lastTime = Date()
    }

    private let state = Mutex(State())

    var failure: String? { state.withLock { $0.failure } }
    var group: Int32? { state.withLock { $0.group } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    var count: Int { state.withLock { $0.count } }
    var lastTime: Date { state.withLock { $0.lastTime } }
    var unfinished: String { state.withLock { $0.begun.sorted().prefix(3).joined(separator: ", ") } }
    var lastWords: String {
        state.withLock { state in
            state.last.last { $0.contains("Fatal error") || $0.contains("recondition") || $0.contains("error:") }
                ?? state.last.last ?? ""
        }
    }

    func end() { state.withLock { $0.hasEnded = true } }

    func add(_ piece: Data) {
        state.withLock { state in
            state.lastTime = Date()
            state.rest.append(piece)
            while let end = state.rest.firstIndex(of: 10) {
                let line = String(decoding: state.rest[state.rest.startIndex..<end], as: UTF8.self)
                state.rest = Data(state.rest[(end + 1)...])
                Self.note(line, &state)
            }
        }
    }

    private static func note(_ line: String, _ state: inout State) {
        if line.hasPrefix("group ") { state.group = Int32(line.dropFirst(6)) }
        if line.contains("✘"), state.failure == nil {
            state.failure = String(line.drop { $0 != "✘" }.dropFirst().prefix(200))
        }
        if let name = name(line, before: " started.") { state.begun.insert(name) }
        for end in [" passed after ", " failed after ", " skipped"] {
            if let name = name(line, before: end) {
                state.begun.remove(name)
                state.count += 1
            }
        }
        state.last = state.last.suffix(40) + [line]
    }

    private static func name(_ line: String, before end: String) -> String? {
        guard let start = line.range(of: " Test "), let stop = line.range(of: end), start.upperBound <= stop.lowerBound,
            !line.contains(" Test run ")
        else { return nil }
        return String(line[start.upperBound..<stop.lowerBound])
    }
}

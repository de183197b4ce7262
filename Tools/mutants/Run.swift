import Foundation
import Synchronization

/// One run of tests with a mutant on.
struct Run {
    enum Verdict: Equatable {
        case passed
        case failed(String)
    }

    let tree: Tree
    /// More than any test needs, so that a mutant that fills memory harms nobody else.
    private static let memoryKibibytes = 8 << 20
    /// What maps more than that, and so fails with any mutant.
    private static let needsAllMemory = "ReservedMemoryTests"

    private var program: String { tree.build + "/debug/FirnPackageTests.xctest" }

    /// Seconds without a word of the tests, each of which waits for others no longer than 120; and for all of a run. So
    /// a machine that is busy makes no hang of tests that are slow.
    private static let limits = (silence: 240.0, all: 2400.0)

    /// Runs the tests until the first one fails, or all have passed, or they hang.
    func run(_ mutant: Int, filter: String?) throws -> Verdict {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        // A group of processes of its own, so that children which a crash leaves end too.
        let words =
            ["--testing-library", "swift-testing", "--skip", Self.needsAllMemory]
            + (filter.map { ["--filter", $0] } ?? [])
        process.arguments =
            [
                "-c",
                // It says its number before the tests say anything, so that the line is whole.
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
            // What is there, at once: to read up to a count waits for all of that.
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

/// What a run of tests has said so far.
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

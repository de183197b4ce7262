import Dispatch
import Firn
import Foundation

#if canImport(Glibc)
    import Glibc
#endif

extension Workload {
    private static let whole = "commit begun to callback, p50, µs"
    private static let beyond = "commit returned to callback, p50, µs"
    private static let beyondLate = "commit returned to callback, p99, µs"
    private static let commit = "the commit, p50, µs"

    static let otherProcess = Workload(
        id: "W21", title: "commit in one process to the callback in another",
        details:
            "1,000 people; another process observes one of them on a serial queue. Its age is set 500 times, each in a "
            + "durable transaction that begins 2 ms after the other process has reported the one before. Both read one "
            + "monotonic clock. A callback may come before the commit returns: 0 then.",
        metrics: [
            Metric(beyond, .lower), Metric(beyondLate, .lower), Metric(whole, .lower), Metric(commit, .neither),
        ],
        targets: [.peers(beyond, .typed, 1_000)]
    ) { run in
        guard run.engineName == .typed else { throw Unsupported() }
        let (engine, people) = try run.openLoaded(1_000)
        let watched = people.records[people.count / 2].id
        let rounds = run.quick ? 100 : 500
        let watcher = try Watcher(run.storeFolder, person: watched)
        let writer = try engine.makeWriter()
        var times: (whole: [Double], beyond: [Double], commit: [Double]) = ([], [], [])
        run.beginMemory()
        for round in 1...rounds {
            usleep(2_000)
            let start = now()
            try writer.setAge(round, ofPerson: watched)
            let end = now()
            let seen = try watcher.next(age: round)
            times.commit.append(Double(end - start) / 1e3)
            times.whole.append(Double(seen - start) / 1e3)
            times.beyond.append(seen > end ? Double(seen - end) / 1e3 : 0)
        }
        run.endMemory()
        try watcher.end()
        run.record(beyond, times.beyond.percentile(0.5))
        run.record(beyondLate, times.beyond.percentile(0.99))
        run.record(whole, times.whole.percentile(0.5))
        run.record(commit, times.commit.percentile(0.5))
        try engine.close()
    }
}

/// The observing process, as the committing one sees it. It writes a line "age time" for each callback, and ends when
/// its input does.
private final class Watcher {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var rest = Data()

    /// Returns once the observer is registered.
    init(_ folder: String, person: Int) throws {
        process.executableURL = Bundle.main.executableURL
        process.arguments = ["watch", "--dir", folder, "--objects", "\(person)"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        guard try line() == "ready" else { throw BenchError("the observing process did not get ready") }
    }

    /// When the callback with an age came, in nanoseconds of the monotonic clock.
    func next(age: Int) throws -> UInt64 {
        let words = try line().split(separator: " ")
        guard words.count == 2, Int(words[0]) == age, let time = UInt64(words[1]) else {
            throw BenchError("the observing process reported \(words), not the age \(age)")
        }
        return time
    }

    func end() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    private func line() throws -> String {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest = Data(rest[(end + 1)...])
                return line
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw BenchError("the observing process has ended") }
            rest.append(more)
        }
    }
}

extension FirnBench {
    /// The other process of W21.
    static func watch(folder: String, person: Int) throws {
        let queue = DispatchQueue(label: "watch")
        let configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: folder + "/people.firn"), objectTypes: [Person.self])
        let token = try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            guard let object = realm.object(ofType: Person.self, forPrimaryKey: person) else {
                throw BenchError("no person \(person)")
            }
            return object.observe { (change: ObjectChange<Person>) in
                let time = now()
                guard case .change(let object, _) = change else { return }
                FileHandle.standardOutput.write(Data("\(object.age) \(time)\n".utf8))
            }
        }
        FileHandle.standardOutput.write(Data("ready\n".utf8))
        _ = FileHandle.standardInput.readDataToEndOfFile()
        token.invalidate()
    }
}

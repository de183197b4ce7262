import FirnBytes
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// A run of commits against some storage, which may stop at any call.
final class LogScript {
    enum Step {
        /// Commits the next version, with parts of these lengths.
        case commit([Int])
        /// Waits until everything that was written is durable.
        case wait
        case mark
        case abort([Int])
        case close
        case open
    }

    let steps: [Step]
    var options: LogOptions
    /// The lengths of each version's parts.
    var lengths: [UInt64: [Int]] = [:]
    /// The last attempt at each version. Whatever the log has of a version comes from that attempt, and not from an
    /// earlier one that was abandoned or lost.
    var attempts: [UInt64: Int] = [:]
    /// The last version whose wait has returned.
    var acknowledged: UInt64 = 0
    /// The last version whose commit was begun.
    var begun: UInt64 = 0

    init(_ steps: [Step], _ change: (inout LogOptions) -> Void = { _ in }) {
        self.steps = steps
        options = LogOptions(folder: "/store", verify: .everything)
        options.usesThreads = false
        options.reserveByteCount = 1024
        options.segmentByteCount = 32 << 10
        change(&options)
    }

    static func commit(
        _ log: Log, version: UInt64, _ lengths: [Int], attempt: Int = 0, abort: Bool = false
    ) throws {
        var appender = try log.beginCommit(version: version)
        for (part, length) in lengths.enumerated() {
            var writer = log.takeBuffer()
            writer.append(Payload.bytes(version: version, part: part, count: length, attempt: attempt))
            try appender.add(.changes, writer)
        }
        if abort { appender.abort() } else { _ = try appender.seal() }
    }

    /// Runs the script until it ends or the storage stops; returns what it stopped with.
    @discardableResult
    func run(on storage: any Storage) -> (any Error)? {
        var current: Log?
        do {
            for step in [.open] + steps {
                switch step {
                case .open:
                    current = try Log.open(
                        options, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
                case .commit(let parts):
                    let log = try #require(current)
                    let version = log.writtenVersion + 1
                    begun = max(begun, version)
                    lengths[version] = parts
                    try Self.commit(log, version: version, parts, attempt: nextAttempt(at: version))
                case .abort(let parts):
                    let log = try #require(current)
                    let version = log.writtenVersion + 1
                    try Self.commit(log, version: version, parts, attempt: nextAttempt(at: version), abort: true)
                case .wait:
                    let log = try #require(current)
                    let version = log.writtenVersion
                    try log.waitUntilDurable(version)
                    acknowledged = max(acknowledged, version)
                case .mark:
                    try #require(current).writeMark()
                case .close:
                    try #require(current).close()
                    current = nil
                }
            }
            return nil
        } catch {
            return error
        }
    }

    func nextAttempt(at version: UInt64) -> Int {
        attempts[version, default: 0] += 1
        return attempts[version]!
    }

    /// Checks that every version up to the log's last is what was committed, and that no acknowledged one is missing.
    func check(_ log: Log, _ context: String) throws {
        let last = log.recovery.lastVersion
        #expect(
            last >= acknowledged, "version \(acknowledged) was acknowledged, but the log ends with \(last); \(context)")
        #expect(last <= begun, "version \(last) was never begun; \(context)")
        var next: UInt64 = 1
        try log.replay(after: 0, through: last) { commit in
            #expect(commit.version == next, "\(context)")
            for (part, length) in (lengths[next] ?? []).enumerated() {
                let bytes = try commit.next()?.bytes
                #expect(
                    bytes.map {
                        Payload.isEqual($0, version: next, part: part, count: length, attempt: attempts[next] ?? 0)
                    } == true,
                    "part \(part) of version \(next) is not what was committed; \(context)")
            }
            #expect(try commit.next() == nil, "\(context)")
            next += 1
        }
        #expect(next == last + 1, "\(context)")
    }
}

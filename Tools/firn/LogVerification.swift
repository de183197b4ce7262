import FirnStorage
import Synchronization

/// One run over all bytes of a store's log, and what it found.
struct LogVerification: Sendable {
    /// The first findings, up to `Verification.findingMax`.
    private(set) var findings: [Finding] = []
    /// How many of all findings are damage.
    private(set) var damageCount = 0
    private(set) var frames = 0
    private(set) var blocks = 0
    private(set) var versions = 0
    private(set) var summary = LogWalk.Summary()

    private mutating func add(_ finding: Finding) {
        if finding.kind == .damage { damageCount += 1 }
        if findings.count < Verification.findingMax { findings.append(finding) }
    }

    /// - Parameters:
    ///   - isDeep: whether values are decoded, too.
    ///   - read: called with the number of bytes read since the last call.
    mutating func run(
        _ store: OpenedStore, isDeep: Bool, checkpointCounts: ObjectCounts.CheckpointCounts?,
        _ read: (Int) -> Void
    ) throws {
        var commits = CommitReader()
        var counts = ObjectCounts(firstVersion: store.manifest.firstVersion, checkpoint: checkpointCounts)
        var commit = CommitCounts(countsUpdates: false)
        var this = self
        this.summary = try LogWalk(store: store, continuesAfterDamage: true).run { event in
            switch event {
            case .segment: break
            case .frame(let frame, let payload, let path):
                this.frames += 1
                read(frame.frameByteCount)
                guard isDeep else { break }
                if frame.kind.isPart, frame.part == 0 { commit = CommitCounts(countsUpdates: false) }
                let finding = try commits.take(frame, payload: payload, path: path) { block in
                    this.blocks += 1
                    commit.add(block)
                }
                if let finding {
                    this.add(finding)
                    counts.forget()
                }
            case .commit(let frame, let path):
                this.versions += 1
                if isDeep, let problem = counts.add(commit, version: frame.version, commits.schema) {
                    this.add(
                        Finding(
                            kind: .damage, file: path, offset: Int(frame.offset),
                            text: "version \(frame.version): \(problem)"))
                }
            case .resumed:
                commits.forgetSchema()
                counts.forget()
            case .finding(let finding): this.add(finding)
            }
            return true
        }
        self = this
    }

    /// A run on a thread of its own.
    final class Run: Sendable {
        private let done = Atomic<Int>(0)
        private let result = Guarded<Result<LogVerification, any Error>?>(.innermost, nil)

        /// Begins at once. If the system allows no more threads, the run ends on the calling thread before this
        /// returns.
        init(_ store: OpenedStore, isDeep: Bool, _ checkpointCounts: ObjectCounts.CheckpointCounts?) {
            let work: @Sendable () -> Void = { [self] in
                let found = Result {
                    var log = LogVerification()
                    try log.run(store, isDeep: isDeep, checkpointCounts: checkpointCounts) { count in
                        done.add(count, ordering: .relaxed)
                    }
                    return log
                }
                result.withLock { $0 = found }
            }
            do throws(StorageError) { try StorageThread.start(name: "firn verify", work) } catch { work() }
        }

        /// How many bytes have been read.
        var byteCount: Int { done.load(ordering: .relaxed) }

        /// Waits for the end, and returns what was found.
        ///
        /// - Parameter progress: called repeatedly until then, with the number of bytes read.
        func end(_ progress: (Int) -> Void) throws -> LogVerification {
            while true {
                if let found = result.withLock({ $0 }) { return try found.get() }
                progress(byteCount)
                sleepThread(nanoseconds: 1_000_000)
            }
        }
    }
}

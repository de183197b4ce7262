/// Which way a figure is good.
enum Better: Sendable {
    case higher, lower
    /// A figure to read others by, without a verdict or a ratio.
    case neither
}

/// A figure that a workload gives.
struct Metric: Sendable {
    let name: String
    let better: Better

    init(_ name: String, _ better: Better) {
        self.name = name
        self.better = better
    }

    /// A quotient of two figures of one engine says nothing when divided by a rival's.
    var isQuotient: Bool { name.contains("÷") }
}

/// What one of Firn's engines must reach in a metric: a figure, or a multiple of what a rival reaches in the same run
/// (2 means twice as good, whichever way is good).
struct Target: Sendable {
    let metric: String
    let engine: EngineName
    let limit: Double
    let rival: EngineName?
    let source: String
    /// What SQLite reached where PEERS.md was measured: machines differ, so the target is also judged as a multiple of
    /// SQLite's figure in the same run.
    var sqliteThen: Double?

    static func peers(
        _ metric: String, _ engine: EngineName, _ limit: Double, sqlite: Double? = nil
    ) -> Target {
        Target(metric: metric, engine: engine, limit: limit, rival: nil, source: "PEERS", sqliteThen: sqlite)
    }

    static func firstSlice(
        _ metric: String, _ engine: EngineName, _ limit: Double, times rival: EngineName? = nil
    ) -> Target {
        Target(metric: metric, engine: engine, limit: limit, rival: rival, source: "issue 2")
    }
}

extension [Target] {
    /// The targets of `metric`, to hold for its form after compacting and reopening too.
    func reopened(_ metric: String) -> [Target] {
        filter { $0.metric == metric }.map {
            Target(
                metric: metric.reopened, engine: $0.engine, limit: $0.limit, rival: $0.rival, source: $0.source,
                sqliteThen: $0.sqliteThen)
        }
    }
}

extension String {
    /// The same metric after the compactor has run and the store was closed and opened.
    var reopened: String { self + ", compacted and reopened" }
}

/// Makes, in a process of its own that runs before that of the sample, what the sample finds.
struct Preparation: Sendable {
    /// Whether that process kills itself at the end, so that nothing is closed.
    var endsKilled = false
    let body: @Sendable (SampleRun) throws -> Void
}

/// One row of PEERS.md. `body` runs in a process of its own, once for each sample.
struct Workload: Sendable {
    /// The row's name in PEERS.md.
    let id: String
    let title: String
    /// The operation, the keys, the properties read and the durability.
    let details: String
    let metrics: [Metric]
    let targets: [Target]
    var preparation: Preparation?
    let body: @Sendable (SampleRun) throws -> Void

    static let all: [Workload] =
        bulkInserts + singleCommits + [commitsBesideCompactions, groupCommit] + pointReads + scans + snapshots
        + [filesWhileHeld] + openings + fileSizes + [
            writtenBytes, residentMemory, otherProcess, pastVersions, commitsWhileHeld, propertyAccess,
        ]

    static func named(_ id: String) -> Workload? { all.first { $0.id.lowercased() == id.lowercased() } }
}

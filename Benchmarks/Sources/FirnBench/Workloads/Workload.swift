/// Whether a higher or a lower figure is better.
enum Better: Sendable {
    case higher, lower
    /// A figure that helps to read others. It has no verdict and no ratio.
    case neither
}

/// A figure that a workload measures.
struct Metric: Sendable {
    let name: String
    let better: Better

    init(_ name: String, _ better: Better) {
        self.name = name
        self.better = better
    }

    /// Whether the figure is a quotient of two figures of one engine. Divided by a rival's quotient, it says nothing.
    var isQuotient: Bool { name.contains("÷") }
}

/// What one of Firn's engines must reach in a metric: a figure, or a multiple of what a rival reaches in the same run
/// (2 means twice as good, whether higher or lower is better).
struct Target: Sendable {
    let metric: String
    let engine: EngineName
    let limit: Double
    let rival: EngineName?
    /// The list that the target is from: "PEERS", the figures that Firn must reach to compare well with its peers, or
    /// "first slice", the lower ones that its first version had to reach.
    let source: String
    /// What SQLite reached on the machine on which the aims were set. Machines differ, so the target is also judged
    /// as a multiple of SQLite's figure in the same run.
    var sqliteThen: Double?

    static func peers(
        _ metric: String, _ engine: EngineName, _ limit: Double, sqlite: Double? = nil
    ) -> Target {
        Target(metric: metric, engine: engine, limit: limit, rival: nil, source: "PEERS", sqliteThen: sqlite)
    }

    static func firstSlice(
        _ metric: String, _ engine: EngineName, _ limit: Double, times rival: EngineName? = nil
    ) -> Target {
        Target(metric: metric, engine: engine, limit: limit, rival: rival, source: "first slice")
    }
}

extension [Target] {
    /// The targets of `metric`, applied to the metric after compacting and reopening.
    func reopened(_ metric: String) -> [Target] {
        filter { $0.metric == metric }.map {
            Target(
                metric: metric.reopened, engine: $0.engine, limit: $0.limit, rival: $0.rival, source: $0.source,
                sqliteThen: $0.sqliteThen)
        }
    }
}

extension String {
    /// The same metric after the compactor has run and the store has been closed and opened.
    var reopened: String { self + ", compacted and reopened" }
}

/// Makes what a sample needs, in a process of its own that runs before the sample's.
struct Preparation: Sendable {
    /// Whether that process kills itself at the end, so that it closes nothing.
    var endsKilled = false
    let body: @Sendable (SampleRun) throws -> Void
}

/// One workload, with its rows in the report. `body` runs in a process of its own, once for each sample.
struct Workload: Sendable {
    /// The workload's name, as `--only` takes it.
    let id: String
    let title: String
    /// The operation, the keys, the properties read and the durability.
    let details: String
    let metrics: [Metric]
    let targets: [Target]
    var preparation: Preparation?
    let body: @Sendable (SampleRun) throws -> Void

    static let all: [Workload] =
        bulkInserts + singleCommits + observedResults + queries + [commitsBesideCompactions, groupCommit] + pointReads
        + scans
        + updates + snapshots
        + [filesWhileHeld] + openings + fileSizes + [
            writtenBytes, residentMemory, otherProcess, pastVersions, commitsWhileHeld, propertyAccess, valuesInObjects,
            migrations,
        ]

    static func named(_ id: String) -> Workload? { all.first { $0.id.lowercased() == id.lowercased() } }
}

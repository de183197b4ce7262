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

    static func peers(_ metric: String, _ engine: EngineName, _ limit: Double) -> Target {
        Target(metric: metric, engine: engine, limit: limit, rival: nil, source: "PEERS")
    }

    static func firstSlice(
        _ metric: String, _ engine: EngineName, _ limit: Double, times rival: EngineName? = nil
    ) -> Target {
        Target(metric: metric, engine: engine, limit: limit, rival: rival, source: "issue 2")
    }
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
    let body: @Sendable (SampleRun) throws -> Void

    static let all: [Workload] =
        bulkInserts + singleCommits + [groupCommit] + pointReads + scans + snapshots

    static func named(_ id: String) -> Workload? { all.first { $0.id.lowercased() == id.lowercased() } }
}

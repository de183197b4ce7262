import Foundation

extension Workload {
    private static let alone = "alone"
    private static let looped = "compacting all the time"
    private static let byRule = "while the rule compacts"
    private static let percentiles = [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")]
    private static let loopedRatio = "p99, compacting all the time ÷ alone"
    private static let byRuleRatio = "p99, while the rule compacts ÷ alone"

    static let commitsBesideCompactions = Workload(
        id: "W2p", title: "one-object durable commits while the compactor runs",
        details:
            "Set the age of one random person among N; one durable transaction each. Alone: half of these commits come "
            + "before the rest and half after it. All the time: another thread calls the compactor again and again "
            + "(SQLite: wal_checkpoint(PASSIVE); its automatic checkpoints are part of alone). By the rule: bios are "
            + "changed by the thousand, unmeasured, until the store begins a checkpoint by itself; then one-object "
            + "commits are measured until it has ended; repeated.",
        metrics: [alone, looped, byRule].flatMap { phase in
            percentiles.map { Metric("\($0.1), \(phase), µs", .lower) }
        } + [
            Metric(loopedRatio, .lower), Metric(byRuleRatio, .lower), Metric("commits/s, \(alone)", .higher),
            Metric("commits/s, \(looped)", .higher), Metric("commits/s, \(byRule)", .higher),
            Metric("compactions, \(looped)", .neither), Metric("compactions, \(byRule)", .neither),
        ],
        targets: [.peers(loopedRatio, .typed, 3), .peers(byRuleRatio, .typed, 3)]
    ) { run in
        let (engine, people) = try run.openLoaded(run.objects)
        try engine.compact()
        let count = run.quick ? 2_000 : 10_000
        run.beginMemory()
        do {
            let writer = try engine.makeWriter()
            var commits = Commits(writer, people)
            try commits.run(200)
            var base = try commits.run(count / 2)
            if let loop = try CompactionLoop.start(engine) {
                let beside = try commits.run(count)
                run.record("compactions, \(looped)", Double(try loop.stop()))
                record(run, looped, beside)
                if run.engineName.isFirn { try measureByRule(run, &commits, count) }
            }
            base += try commits.run(count / 2)
            record(run, alone, base)
            for (phase, ratio) in [(looped, loopedRatio), (byRule, byRuleRatio)] {
                if let beside = run.metrics["p99, \(phase), µs"] {
                    run.record(ratio, beside / (base.percentile(0.99) / 1e3))
                }
            }
        }
        run.endMemory()
        try engine.close()
    }

    private static func record(_ run: SampleRun, _ phase: String, _ times: [Double]) {
        for (share, name) in percentiles { run.record("\(name), \(phase), µs", times.percentile(share) / 1e3) }
        run.record("commits/s, \(phase)", Double(times.count) / times.reduce(0, +) * 1e9)
    }

    /// Finds out from the store's folders when a checkpoint begins (there is a new file) and ends (the log before it
    /// is removed).
    private static func measureByRule(_ run: SampleRun, _ commits: inout Commits, _ count: Int) throws {
        let store = run.storeFolder + "/people.firn"
        func names(_ folder: String) -> Set<String> {
            Set((try? FileManager.default.contentsOfDirectory(atPath: store + "/" + folder)) ?? [])
        }
        var times: [Double] = []
        var compactions = 0
        while times.count < count {
            let checkpoints = names("checkpoint")
            // Ten times as many rounds as any rule waits for.
            var left = 10 * run.objects / 1_000 + 1_000
            while names("checkpoint").subtracting(checkpoints).isEmpty {
                try commits.changeBios(1_000)
                left -= 1
                if left == 0 { throw BenchError("the store compacts nothing by itself") }
            }
            let log = names("log")
            while times.count < 10 * count, names("log").isSuperset(of: log) { times += try commits.run(25) }
            compactions += 1
        }
        record(run, byRule, times)
        run.record("compactions, \(byRule)", Double(compactions))
    }
}

/// One-object commits of random people, timed one by one.
private struct Commits {
    let writer: any Writer
    let people: People
    var random = SplitMix64(seed: 22)

    init(_ writer: any Writer, _ people: People) {
        self.writer = writer
        self.people = people
    }

    @discardableResult
    mutating func run(_ count: Int) throws -> [Double] {
        var times: [Double] = []
        times.reserveCapacity(count)
        for index in 0..<count {
            let id = people.records[random.below(people.count)].id
            times.append(try nanoseconds { try writer.setAge(index % 100, ofPerson: id) })
        }
        return times
    }

    mutating func changeBios(_ count: Int) throws {
        let changes = (0..<count).map { _ in
            Change.setBio(
                of: random.below(people.count), person: people.records[random.below(people.count)].id)
        }
        try writer.apply(changes, of: people)
    }
}

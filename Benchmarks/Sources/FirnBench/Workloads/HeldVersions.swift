#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Workload {
    private static let heldVersions = 1_000

    private static let before = "files before, MiB"
    private static let growth = "files with all held ÷ before"
    private static let most = "maximum meanwhile ÷ before"
    private static let released = "files with none held ÷ before"
    private static let looped = "files with all held ÷ before, compacting all the time"

    static let filesWhileHeld = Workload(
        id: "W9b", title: "files while every version is held",
        details:
            "N/10 people, compacted; then 1,000 one-object durable commits, each version pinned, while the compactor "
            + "runs by its own rule (SQLite: automatic checkpoints; each version held by a connection of its own). "
            + "Allocated blocks, including unlinked files that are open or mapped. None held: after a last compaction. "
            + "Then the same once more while another thread calls the compactor again and again.",
        metrics: [
            Metric(growth, .lower), Metric(most, .lower), Metric(released, .lower), Metric(looped, .lower),
            Metric(before, .neither), Metric("compactions, all the time", .neither),
        ],
        targets: [.peers(growth, .typed, 1.05)]
    ) { run in
        raiseFileLimit()
        let (engine, people) = try run.openLoaded(run.tenthOfObjects)
        try engine.compact()
        let start = Double(allocatedBytes(under: run.storeFolder))
        run.record(before, start / 1_048_576)
        run.beginMemory()
        var random = SplitMix64(seed: 9)
        var largest = 0
        /// Makes commits and holds each version. Returns how much the files take then.
        func commitAndHold(_ loop: CompactionLoop?) throws -> Int {
            let writer = try engine.makeWriter()
            var held: [Any] = []
            for index in 0..<heldVersions {
                try writer.setAge(index % 100, ofPerson: people.records[random.below(people.count)].id)
                held.append(try engine.hold())
                if index % 50 == 49 { largest = max(largest, allocatedBytes(under: run.storeFolder)) }
            }
            if let rounds = try loop?.stop() { run.record("compactions, all the time", Double(rounds)) }
            let all = allocatedBytes(under: run.storeFolder)
            withExtendedLifetime(held) {}
            return all
        }
        let all = try commitAndHold(nil)
        run.record(growth, Double(all) / start)
        run.record(most, Double(max(all, largest)) / start)
        try engine.compact()
        run.record(released, Double(allocatedBytes(under: run.storeFolder)) / start)
        if let loop = try CompactionLoop.start(engine) {
            run.record(looped, Double(try commitAndHold(loop)) / start)
        }
        run.endMemory()
        try engine.close()
    }

    private static let free = "commits/s, none held"
    private static let held = "commits/s, 1,000 held"
    private static let share = "held ÷ none"
    private static let memory = "memory of 1,000 versions, KiB"
    private static let account = "retained as the store counts it, KiB"

    static let commitsWhileHeld = Workload(
        id: "W24", title: "commits with 1,000 versions held",
        details:
            "One-object commits without sync in a store of N/10 people, compacted at first: in alternating blocks with "
            + "no version held and with 1,000, each pinned after a commit of its own. Memory: what is resident after "
            + "the first 1,000, minus what was before.",
        metrics: [
            Metric(share, .higher), Metric(held, .higher), Metric(free, .higher), Metric(memory, .lower),
            Metric(account, .neither),
        ],
        targets: [.peers(share, .typed, 0.9)]
    ) { run in
        raiseFileLimit()
        let (engine, people) = try run.openLoaded(run.tenthOfObjects, .none)
        try engine.compact()
        let perBlock = run.quick ? 4_000 : 20_000
        let rounds = run.quick ? 3 : 5
        var random = SplitMix64(seed: 24)
        var times = (free: 0.0, held: 0.0)
        run.beginMemory()
        do {
            let writer = try engine.makeWriter()
            func commits(_ count: Int) throws -> Double {
                try nanoseconds {
                    for index in 0..<count {
                        try writer.setAge(index % 100, ofPerson: people.records[random.below(people.count)].id)
                    }
                }
            }
            _ = try commits(perBlock / 4)
            for round in 0..<rounds {
                times.free += try commits(perBlock)
                let resident = ProcessFigures.residentBytes
                var versions: [Any] = []
                for index in 0..<heldVersions {
                    try writer.setAge(index % 100, ofPerson: people.records[random.below(people.count)].id)
                    versions.append(try engine.hold())
                }
                if round == 0 {
                    run.record(memory, Double(max(ProcessFigures.residentBytes - resident, 0)) / 1_024)
                    if let retained = engine.retainedBytes { run.record(account, Double(retained) / 1_024) }
                }
                times.held += try commits(perBlock)
                withExtendedLifetime(versions) {}
            }
        }
        run.endMemory()
        let count = Double(rounds * perBlock)
        run.record(free, count / times.free * 1e9)
        run.record(held, count / times.held * 1e9)
        run.record(share, times.free / times.held)
        try engine.close()
    }

    /// A thousand SQLite connections have more files open than a shell allows by default.
    private static func raiseFileLimit() {
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, 16_384)
        _ = setrlimit(resource, &limit)
    }
}

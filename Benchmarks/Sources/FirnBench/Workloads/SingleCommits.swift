import Foundation

extension Workload {
    static let singleCommits: [Workload] = [
        againstFloor(
            id: "W2", title: "one-object durable commits, one writer",
            details:
                "Set the age of one random person, found by primary key, among N/10; one durable transaction each."
        ) { writer, _, index, random in
            try writer.setAge(index % 100, ofPerson: random)
        },
        againstFloor(
            id: "W25", title: "inserts of one object, one durable transaction each",
            details: "Add one person (all nine properties) to N/10; one durable transaction each."
        ) { writer, added, index, _ in
            try writer.insert(added, at: index)
        },
        commitCost, withoutSync,
    ]

    private static let p50 = "p50, µs"
    private static let p99 = "p99, µs"
    private static let p50Ratio = "p50 ÷ floor's"
    private static let p99Ratio = "p99 ÷ floor's"

    /// Alternates blocks of commits and of the floor's writes, so that the disk's drift affects both alike.
    private static func againstFloor(
        id: String, title: String, details: String,
        commit: @escaping @Sendable (any Writer, People, Int, Int) throws -> Void
    ) -> Workload {
        Workload(
            id: id, title: title,
            details: details
                + " The floor: pwrite of a frame of the same size and fdatasync on a preallocated, "
                + "zero-written file, in the same process in alternating blocks of 25. Frame: what the engine "
                + "says it writes, or else the median of bytes written in a commit (kernel's count).",
            metrics: [
                Metric(p50, .lower), Metric(p99, .lower), Metric("commits/s", .higher),
                Metric("floor p50, µs", .neither),
                Metric("floor p99, µs", .neither), Metric("floor, writes/s", .neither), Metric(p50Ratio, .lower),
                Metric(p99Ratio, .lower), Metric("frame, bytes", .neither),
            ],
            targets: [
                .peers(p50Ratio, .typed, 1.05), .peers(p99Ratio, .typed, 1.2), .firstSlice(p50Ratio, .typed, 1.1),
            ]
        ) { run in
            let loaded = run.tenthOfObjects
            let blocks = run.quick ? 40 : 160
            let perBlock = 25
            let warmUp = 200
            // The people to add come after those in the store: more of the same generator's output.
            let all = run.people(loaded + warmUp + blocks * perBlock)
            let engine = try run.open()
            try engine.load(all.prefix(loaded), batch: loaded)
            try measureAgainstFloor(run, engine, blocks: blocks, perBlock: perBlock, warmUp: warmUp) {
                var random = SplitMix64(seed: 2)
                var next = loaded
                let writer = try engine.makeWriter()
                return {
                    try commit(writer, all, next, all.records[random.below(loaded)].id)
                    next += 1
                }
            }
            try engine.close()
        }
    }

    private static func measureAgainstFloor(
        _ run: SampleRun, _ engine: any Engine, blocks: Int, perBlock: Int, warmUp: Int,
        _ makeCommit: () throws -> () throws -> Void
    ) throws {
        let commitOne = try makeCommit()
        run.beginMemory()
        let frame = try frameBytes(of: engine, warmUp: warmUp, commitOne)
        let floor = try RawFloor(
            path: run.folder + "/floor", frameBytes: frame, capacity: run.quick ? 16 << 20 : 64 << 20)
        var commits: [Double] = []
        var writes: [Double] = []
        for block in 0..<blocks * 2 {
            // Which of the two goes first alternates from pair to pair.
            let isFloor = (block % 2 == 0) == (block % 4 < 2)
            for _ in 0..<perBlock {
                if isFloor {
                    writes.append(try nanoseconds { try floor.commit() })
                } else {
                    commits.append(try nanoseconds { try commitOne() })
                }
            }
        }
        run.endMemory()
        run.record(p50, commits.median / 1e3)
        run.record(p99, commits.percentile(0.99) / 1e3)
        run.record("commits/s", Double(commits.count) / commits.reduce(0, +) * 1e9)
        run.record("floor p50, µs", writes.median / 1e3)
        run.record("floor p99, µs", writes.percentile(0.99) / 1e3)
        run.record("floor, writes/s", Double(writes.count) / writes.reduce(0, +) * 1e9)
        run.record(p50Ratio, commits.median / writes.median)
        run.record(p99Ratio, commits.percentile(0.99) / writes.percentile(0.99))
        run.record("frame, bytes", Double(frame))
    }

    /// Warms up, and returns how many bytes one commit writes.
    static func frameBytes(of engine: any Engine, warmUp: Int, _ commit: () throws -> Void) throws -> Int {
        var sizes: [Double] = []
        for _ in 0..<warmUp {
            let before = ProcessFigures.bytesWritten
            try commit()
            if let before, let after = ProcessFigures.bytesWritten { sizes.append(Double(after - before)) }
        }
        if let bytes = engine.frameBytes { return bytes }
        return sizes.isEmpty ? 256 : max(Int(sizes.median), 1)
    }

    /// W2c: without a device beneath, what remains is the commit's own work.
    private static let commitCost = Workload(
        id: "W2c", title: "the commit's own cost",
        details:
            "W2 on a file system in memory (/dev/shm; not on macOS): the sync costs nothing there, so the "
            + "time is the engine's.",
        metrics: [Metric(p50, .lower), Metric(p99, .lower), Metric("floor p50, µs", .neither)],
        targets: [.peers(p50, .typed, 4, sqlite: 6.0)]
    ) { run in
        // Tools/bench passes a folder that it removes in any case.
        let memory = ProcessInfo.processInfo.environment["FIRN_BENCH_MEMORY"] ?? "/dev/shm"
        guard FileManager.default.isWritableFile(atPath: memory) else { throw Unsupported() }
        let folder = memory + "/w2c-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let people = run.people(run.tenthOfObjects)
        let engine = try run.open(in: folder)
        try engine.load(people, batch: people.count)
        var random = SplitMix64(seed: 3)
        var commits: [Double] = []
        var writes: [Double] = []
        do {
            let writer = try engine.makeWriter()
            let frame = try frameBytes(of: engine, warmUp: 200) {
                try writer.setAge(1, ofPerson: people.records[random.below(people.count)].id)
            }
            let floor = try RawFloor(path: folder + "/floor", frameBytes: frame, capacity: 16 << 20)
            for _ in 0..<5_000 { writes.append(try nanoseconds { try floor.commit() }) }
            run.beginMemory()
            for index in 0..<(run.quick ? 5_000 : 30_000) {
                let id = people.records[random.below(people.count)].id
                commits.append(try nanoseconds { try writer.setAge(index % 100, ofPerson: id) })
            }
            run.endMemory()
        }
        let overhead = clockOverhead()
        run.record(p50, (commits.median - overhead) / 1e3)
        run.record(p99, (commits.percentile(0.99) - overhead) / 1e3)
        run.record("floor p50, µs", (writes.median - overhead) / 1e3)
        try engine.close()
    }

    private static let withoutSync = Workload(
        id: "W2n", title: "one-object commits without sync",
        details:
            "W2 with durability none, back to back. Flat: the rate of the last tenth divided by "
            + "that of the first. The floor: pwrite of a frame of the same size, no sync, in alternating tenths.",
        metrics: [
            Metric("commits/s", .higher), Metric("last tenth ÷ first", .higher), Metric("floor, writes/s", .neither),
        ],
        targets: [.peers("commits/s", .typed, 300_000, sqlite: 148_000), .peers("last tenth ÷ first", .typed, 0.9)]
    ) { run in
        let (engine, people) = try run.openLoaded(run.tenthOfObjects, .none)
        var random = SplitMix64(seed: 4)
        let commits = run.quick ? 20_000 : 200_000
        let ids = (0..<commits).map { _ in people.records[random.below(people.count)].id }
        var tenths: [Double] = []
        var writes = 0.0
        do {
            let writer = try engine.makeWriter()
            var next = 0
            let frame = try frameBytes(of: engine, warmUp: 1_000) {
                try writer.setAge(1, ofPerson: ids[next])
                next += 1
            }
            let floor = try RawFloor(
                path: run.folder + "/floor", frameBytes: frame, capacity: run.quick ? 16 << 20 : 64 << 20)
            run.beginMemory()
            for tenth in 0..<10 {
                tenths.append(
                    try nanoseconds {
                        for index in tenth * commits / 10..<(tenth + 1) * commits / 10 {
                            try writer.setAge(index % 100, ofPerson: ids[index])
                        }
                    })
                writes += try nanoseconds { for _ in 0..<commits / 10 { try floor.append() } }
            }
            run.endMemory()
        }
        run.record("floor, writes/s", Double(commits) / writes * 1e9)
        run.record("commits/s", Double(commits) / tenths.reduce(0, +) * 1e9)
        run.record("last tenth ÷ first", tenths[0] / tenths[9])
        try engine.close()
    }
}

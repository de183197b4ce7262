extension Workload {
    private static let bulk = "bulk ÷ changed"
    private static let bulkCompacted = "bulk, compacted ÷ changed"
    private static let perCommit = "one-object commit, bytes"
    private static let overFrame = "one-object commit ÷ frame"
    private static let day = "day's mix ÷ changed"

    static let writtenBytes = Workload(
        id: "W16", title: "bytes written for each byte changed",
        details:
            "Bytes passed to write calls, including zeros that prepare the log; what a mapping writes is not counted "
            + "(the kernel's count of what goes to the device is of no use: it takes whole folios). Without sync, "
            + "which changes no count. Bulk: N people in one transaction, divided by the bytes of their values; then "
            + "with the compaction. One-object commits: the age of random people, N/10 of them (rivals: N/100); the "
            + "frame is the median of what one commit writes. Day's mix: on those N, compacted, N changes (rivals: "
            + "N/10) in transactions of 100: bios (half), ages (a fifth), people added and deleted, four of five among "
            + "the newest tenth; changed are the bytes of the new values, 8 for a deletion; what the store compacts "
            + "by itself meanwhile counts.",
        metrics: [
            Metric(bulk, .lower), Metric(bulkCompacted, .lower), Metric(perCommit, .lower),
            Metric(overFrame, .lower), Metric(day, .lower),
        ],
        targets: [.peers(bulk, .typed, 1), .peers(overFrame, .typed, 1), .peers(day, .typed, 3)]
    ) { run in
        guard let atStart = ProcessFigures.bytesWritten else { throw Unsupported() }
        func written(since before: Int) -> Double { Double((ProcessFigures.bytesWritten ?? 0) - before) }
        let operations = run.engineName.isFirn ? run.objects : run.tenthOfObjects
        // A mix adds fewer than a fifth of its changes.
        let people = run.people(run.objects + operations / 5)
        let loaded = people.prefix(run.objects)
        let engine = try run.open(.none)
        run.beginMemory()
        try engine.load(loaded, batch: loaded.count)
        let changed = Double(loaded.records.reduce(0) { $0 + $1.byteCount })
        run.record(bulk, written(since: atStart) / changed)
        try engine.compact()
        run.record(bulkCompacted, written(since: atStart) / changed)

        let writer = try engine.makeWriter()
        try measureCommits(run, engine, writer, loaded, count: max(operations / 10, 1))
        try engine.compact()

        var mix = DayMix(people, loaded: loaded.count)
        var bytes = 0
        let before = ProcessFigures.bytesWritten ?? 0
        for _ in 0..<operations / 100 {
            let changes = mix.transaction(100)
            bytes += changes.reduce(0) { $0 + $1.byteCount(people) }
            try writer.apply(changes, of: people)
        }
        run.record(day, written(since: before) / Double(bytes))
        run.endMemory()
        try engine.close()
    }

    private static func measureCommits(
        _ run: SampleRun, _ engine: any Engine, _ writer: any Writer, _ people: People, count: Int
    ) throws {
        var random = SplitMix64(seed: 17)
        func commit() throws {
            try writer.setAge(random.below(100), ofPerson: people.records[random.below(people.count)].id)
        }
        let frame = Double(try frameBytes(of: engine, warmUp: 500, commit))
        let before = ProcessFigures.bytesWritten ?? 0
        for _ in 0..<count { try commit() }
        let each = Double((ProcessFigures.bytesWritten ?? 0) - before) / Double(count)
        run.record(perCommit, each)
        run.record(overFrame, each / frame)
    }
}

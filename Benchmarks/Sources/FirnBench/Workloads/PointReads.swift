extension Workload {
    static let pointReads: [Workload] = [
        pointRead(
            id: "W3", title: "point reads by primary key, N/10 objects", keys: "dense", order: .ascending,
            count: { $0.tenthOfObjects },
            targets: [
                .peers(rate, .store, 4_000_000, sqlite: 1_537_000), .peers(rate, .typed, 3_000_000, sqlite: 1_537_000),
                .peers(scaling, .store, 1.5),
                .peers(scaling, .typed, 1.5),
            ]),
        pointRead(
            id: "W3b", title: "point reads by primary key, N objects", keys: "dense", order: .ascending,
            count: { $0.objects },
            targets: [
                .peers(rate, .store, 2_000_000, sqlite: 957_000), .peers(rate, .typed, 1_400_000, sqlite: 957_000),
            ]),
        pointRead(
            id: "W3s", title: "point reads by sparse primary keys, N objects (W3b, sparse)",
            keys: "sparse (gaps of 1–2,000)", order: .sparse, count: { $0.objects },
            targets: [.peers(rate, .typed, 1_250_000)]),
    ]

    private static let rate = "reads/s"
    private static let firstRate = "reads/s, first reads, compacted and reopened"
    private static let rateTwo = "reads/s, 2 threads"
    private static let scaling = "2 threads ÷ 1"

    private static func pointRead(
        id: String, title: String, keys: String, order: KeyOrder, count: @escaping @Sendable (SampleRun) -> Int,
        targets: [Target]
    ) -> Workload {
        Workload(
            id: id, title: title,
            details:
                "Look up random primary keys and read name and age of each. Keys: \(keys). Warm; once as "
                + "just written, once after compacting and reopening. First reads: N/10 of them, right after reopening.",
            metrics: [
                Metric(rate, .higher), Metric(rateTwo, .higher), Metric(scaling, .higher),
                Metric(rate.reopened, .higher), Metric(firstRate, .higher),
            ],
            targets: targets + targets.reopened(rate)
        ) { run in
            let people = run.people(count(run), keyOrder: order)
            let reads = run.quick ? 400_000 : 2_000_000
            let ids = [UInt64(5), 6].map { seed in
                var random = SplitMix64(seed: seed)
                return (0..<reads).map { _ in people.records[random.below(people.count)].id }
            }
            func measure(_ reader: any Reader) throws -> Double {
                let warmUp = Array(ids[0].prefix(min(reads / 4, people.count)))
                let each = try nanoseconds { escape(try reader.pointReads(warmUp)) } / Double(warmUp.count)
                // If reads are slow, as many as five seconds allow.
                let some = Array(ids[0].suffix(min(reads, max(Int(5e9 / each), 1))))
                return Double(some.count) / (try nanoseconds { escape(try reader.pointReads(some)) }) * 1e9
            }
            // The readers are made right after the load, before the store has compacted anything.
            let engine = try run.open()
            try engine.load(people, batch: people.count)
            run.beginMemory()
            try measureWritten(run, engine, ids, first: people.records[0].id, measure)
            run.endMemory()
            let again = try engine.compactAndReopen(folder: run.storeFolder)
            let reader = try again.makeReader()
            let first = Array(ids[1].prefix(people.count / 10))
            let time = try nanoseconds { escape(try reader.pointReads(first)) }
            run.record(firstRate, Double(first.count) / time * 1e9)
            run.record(rate.reopened, try measure(reader))
            try again.close()
        }
    }

    /// Measures reads of what was just written. All readers pin it before the store compacts it by itself, and are
    /// gone afterwards.
    private static func measureWritten(
        _ run: SampleRun, _ engine: any Engine, _ ids: [[Int]], first: Int, _ measure: (any Reader) throws -> Double
    ) throws {
        let reader = try engine.makeReader()
        escape(try reader.pointReads([first]))
        let workers = try (0..<2).map { _ in
            try Worker {
                let reader = try engine.makeReader()
                escape(try reader.pointReads([first]))
                return reader
            }
        }
        defer { for worker in workers { worker.stop() } }
        try engine.waitUntilIdle()
        let one = try measure(reader)
        run.record(rate, one)

        let sums = (0..<2).map { _ in Box(UInt64(0)) }
        func both() throws {
            for number in 0..<2 {
                let mine = ids[number]
                let sum = sums[number]
                workers[number].start { sum.value = try $0.pointReads(mine) }
            }
            for worker in workers { try worker.wait() }
        }
        try both()
        let two = Double(2 * ids[0].count) / (try nanoseconds { try both() }) * 1e9
        for sum in sums { escape(sum.value) }
        run.record(rateTwo, two)
        run.record(scaling, two / one)
    }
}

extension Workload {
    static let updates: [Workload] = [
        update(
            id: "W7", title: "update one property of random objects in one transaction",
            details: "Set the age of N/10 random people, each looked up by primary key, in one durable transaction.",
            targets: [.peers(cost, .typed, 800, sqlite: 8_800)]
        ) { run, people, writer in
            var random = SplitMix64(seed: 7)
            return { round in
                let changes = (0..<run.tenthOfObjects).map { _ in
                    Change.setAge(round, person: people.records[random.below(people.count)].id)
                }
                let time = try nanoseconds { try writer.apply(changes, of: people) }
                return time / Double(changes.count)
            }
        },
        update(
            id: "W7b", title: "update one property of every object in one transaction",
            details: "Set the age of all N people in one durable transaction (Firn: a loop of the application).",
            targets: [.peers(cost, .store, 60, sqlite: 687), .peers(cost, .typed, 120, sqlite: 687)]
        ) { _, people, writer in
            { round in try nanoseconds { try writer.setAgeOfEveryone(round) } / Double(people.count) }
        },
    ]

    private static let cost = "ns/object"

    /// `prepare` returns a transaction, which takes its number and returns the nanoseconds that it took per object.
    private static func update(
        id: String, title: String, details: String, targets: [Target],
        _ prepare: @escaping @Sendable (SampleRun, People, any Writer) -> (Int) throws -> Double
    ) -> Workload {
        Workload(
            id: id, title: title,
            details: details + " Median of 5 transactions after one that is not counted; what compacts is awaited.",
            metrics: [Metric(cost, .lower), .peak], targets: targets
        ) { run in
            let (engine, people) = try run.openLoaded(run.objects)
            run.beginMemory()
            do {
                let transaction = prepare(run, people, try engine.makeWriter())
                var times: [Double] = []
                for round in 0..<6 {
                    try engine.waitUntilIdle()
                    let time = try transaction(round)
                    if round > 0 { times.append(time) }
                }
                run.record(cost, times.median)
            }
            run.endMemory()
            try engine.close()
        }
    }
}

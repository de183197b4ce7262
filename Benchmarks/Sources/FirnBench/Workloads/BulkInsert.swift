extension Workload {
    static let bulkInserts: [Workload] = [
        bulkInsert(
            id: "W1", title: "bulk insert in one transaction", order: .ascending, batch: nil,
            details:
                "Insert N people with ascending primary keys (all nine properties) in one durable "
                + "transaction. Peak memory is W1m: what the process took beyond the generated people.",
            targets: [
                .peers(rate, .typed, 1_000_000, sqlite: 773_000), .peers(rate, .store, 2_000_000, sqlite: 773_000),
                .firstSlice(rate, .typed, 1, times: .sqlite), .firstSlice(rate, .store, 1, times: .lmdb),
                .peers(Metric.peak.name, .typed, 250),
            ]),
        bulkInsert(
            id: "W1b", title: "bulk insert in batches", order: .ascending, batch: 1_000,
            details: "Insert N people with ascending primary keys, 1,000 in each durable transaction.",
            targets: [.peers(rate, .typed, 800_000, sqlite: 634_000)]),
        bulkInsert(
            id: "W1c", title: "bulk insert of shuffled keys", order: .shuffled, batch: nil,
            details: "Insert N people with shuffled primary keys in one durable transaction.",
            targets: [.peers(rate, .typed, 500_000, sqlite: 200_000)]),
    ]

    private static let rate = "objects/s"

    private static func bulkInsert(
        id: String, title: String, order: KeyOrder, batch: Int?, details: String, targets: [Target]
    ) -> Workload {
        Workload(
            id: id, title: title, details: details,
            metrics: [Metric(rate, .higher), .peak], targets: targets
        ) { run in
            let people = run.people(run.objects, keyOrder: order)
            let engine = try run.open()
            run.beginMemory()
            let elapsed = try nanoseconds { try engine.load(people, batch: batch ?? people.count) }
            run.endMemory()
            run.record(rate, Double(people.count) / elapsed * 1e9)
            try engine.close()
        }
    }
}

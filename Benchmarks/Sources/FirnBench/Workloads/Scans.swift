extension Workload {
    static let scans: [Workload] = [
        scan(
            id: "W4", title: "sum of a property", details: "sum(age) over N people; reads age.",
            targets: [.peers(cost, .typed, 0.5, sqlite: 57), .firstSlice(cost, .typed, 1.1)]
        ) { UInt64(try $0.sumOfAges()) },
        scan(
            id: "W4b", title: "count by a condition", details: "count(age > 50) over N people, no index; reads age.",
            targets: [.peers(cost, .typed, 0.5, sqlite: 61)]
        ) { UInt64(try $0.count(olderThan: 50)) },
        scan(
            id: "W4c", title: "a loop of the application over all objects",
            details: "Visit all N people in a loop of the application and read name and age of each.",
            targets: [.peers(cost, .store, 20, sqlite: 116), .peers(cost, .typed, 80, sqlite: 116)]
        ) { try $0.readEveryone() },
    ]

    private static let cost = "ns/object"
    private static let firstCost = "ns/object, first scan, compacted and reopened"

    private static func scan(
        id: String, title: String, details: String, targets: [Target],
        _ body: @escaping @Sendable (any Reader) throws -> UInt64
    ) -> Workload {
        Workload(
            id: id, title: title,
            details: details
                + " One thread, warm, median of repeated scans; once as just written, once after compacting "
                + "and reopening. First scan: of the process in the store that it has reopened.",
            metrics: [Metric(cost, .lower), Metric(cost.reopened, .lower), Metric(firstCost, .lower)],
            targets: targets + targets.reopened(cost)
        ) { run in
            let (engine, people) = try run.openLoaded(run.objects)
            func measure(_ reader: any Reader) throws -> Double {
                escape(try body(reader))
                var times: [Double] = []
                let limit = now() + (run.quick ? 200_000_000 : 700_000_000)
                while times.count < 5 || (now() < limit && times.count < 500) {
                    times.append(try nanoseconds { escape(try body(reader)) })
                }
                return times.median / Double(people.count)
            }
            run.beginMemory()
            do {
                // The reader pins what was just written, before the store compacts that by itself.
                let reader = try engine.makeReader()
                escape(try reader.pointReads([people.records[0].id]))
                try engine.waitUntilIdle()
                run.record(cost, try measure(reader))
            }
            run.endMemory()
            let again = try engine.compactAndReopen(folder: run.storeFolder)
            let reader = try again.makeReader()
            run.record(firstCost, try nanoseconds { escape(try body(reader)) } / Double(people.count))
            run.record(cost.reopened, try measure(reader))
            try again.close()
        }
    }
}

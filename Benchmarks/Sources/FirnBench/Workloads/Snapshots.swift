extension Workload {
    static let snapshots: [Workload] = [
        Workload(
            id: "W9", title: "open and close a read snapshot",
            details:
                "In a store of N/10 people, nothing read (SQLite: one row, since that is what takes its "
                + "snapshot). Mean of a loop.",
            metrics: [Metric("ns", .lower)], targets: [.peers("ns", .typed, 60, sqlite: 1_759)]
        ) { run in
            let (engine, _) = try run.openLoaded(run.tenthOfObjects)
            let count = run.quick ? 50_000 : 300_000
            do {
                let reader = try engine.makeReader()
                try reader.openSnapshots(count / 10)
                run.beginMemory()
                run.record("ns", try nanoseconds { try reader.openSnapshots(count) } / Double(count))
                run.endMemory()
            }
            try engine.close()
        },
        freezeAndRefresh,
    ]

    private static let freeze = "freeze, ns"
    private static let refresh = "refresh to a new version, ns"

    private static let freezeAndRefresh = Workload(
        id: "W14", title: "freeze, and refresh to a new version",
        details:
            "In a store of N/10 people. freeze: freeze the newest version and release it; mean of a loop. "
            + "refresh: another thread commits one changed property (without sync), then the reader moves on "
            + "to it; timed one by one, median, minus the clock's cost. SQLite: COMMIT, BEGIN and one "
            + "row; LMDB: reset and renew.",
        metrics: [Metric(freeze, .lower), Metric(refresh, .lower)],
        targets: [.peers(freeze, .typed, 100), .firstSlice(freeze, .typed, 200), .peers(refresh, .typed, 500)]
    ) { run in
        let (engine, people) = try run.openLoaded(run.tenthOfObjects, .none)
        try measureFreezeAndRefresh(run, engine, people)
        try engine.close()
    }

    private static func measureFreezeAndRefresh(_ run: SampleRun, _ engine: any Engine, _ people: People) throws {
        let reader = try engine.makeReader()
        let count = run.quick ? 50_000 : 300_000
        run.beginMemory()
        do {
            try reader.freeze(count / 10)
            run.record(freeze, try nanoseconds { try reader.freeze(count) } / Double(count))
        } catch is Unsupported {
            // Rivals have no freeze: a dash in the report.
        }
        let writer = try Worker { try engine.makeWriter() }
        defer { writer.stop() }
        var times: [Double] = []
        try reader.refresh()
        for index in 0..<(run.quick ? 1_000 : 5_000) {
            let id = people.records[index * 7 % people.count].id
            try writer.run { try $0.setAge(index % 100, ofPerson: id) }
            times.append(try nanoseconds { try reader.refresh() })
        }
        run.record(refresh, max(times.median - clockOverhead(), 0))
        run.endMemory()
    }
}

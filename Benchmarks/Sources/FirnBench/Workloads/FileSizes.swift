extension Workload {
    static let fileSizes: [Workload] = [
        fileSize(
            id: "W11", title: "files after a bulk insert", limit: 110,
            details: "Insert N people in one durable transaction."
        ) { _ in },
        fileSize(
            id: "W11b", title: "files after updating one property of every object ten times", limit: 160,
            details: "Insert N people, then set the age of everyone in each of ten durable transactions."
        ) { engine in
            let writer = try engine.makeWriter()
            for round in 0..<10 { try writer.setAgeOfEveryone(10 + round) }
        },
    ]

    private static func fileSize(
        id: String, title: String, limit: Double, details: String,
        _ change: @escaping @Sendable (any Engine) throws -> Void
    ) -> Workload {
        Workload(
            id: id, title: title,
            details: details
                + " While open: right after the last commit, with whatever the store has done by itself until then. "
                + "Compacted: after the compactor (SQLite: VACUUM and a checkpoint; LMDB has no such thing).",
            metrics: [.diskOpen, .diskCompacted], targets: [.peers(Metric.diskCompacted.name, .typed, limit)]
        ) { run in
            let (engine, _) = try run.openLoaded(run.objects)
            run.beginMemory()
            try change(engine)
            run.recordDisk(.diskOpen)
            try engine.compact()
            run.recordDisk(.diskCompacted)
            run.endMemory()
            try engine.close()
        }
    }
}

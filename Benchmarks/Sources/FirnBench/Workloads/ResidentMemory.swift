extension Workload {
    private static let resident = "resident, bytes/object"
    private static let anonymous = "of it anonymous, bytes/object"
    private static let stored = "files, bytes/object"
    private static let quotient = "resident ÷ files"

    static let residentMemory = Workload(
        id: "W17", title: "resident memory after reopening and one full scan",
        details:
            "A process opens a store of N people that another has filled, compacted and closed, and reads all nine "
            + "properties of everyone once. What is resident then, minus what was before opening; mapped pages of "
            + "files count.",
        metrics: [
            Metric(resident, .lower), Metric(anonymous, .lower), Metric(stored, .neither), Metric(quotient, .lower),
        ],
        targets: [.peers(quotient, .typed, 1.2)],
        preparation: Preparation { run in
            let (engine, _) = try run.openLoaded(run.objects)
            try engine.compact()
            try engine.close()
        }
    ) { run in
        run.beginMemory()
        let count = Double(run.objects)
        let before = (all: ProcessFigures.residentBytes, anonymous: ProcessFigures.anonymousBytes)
        let engine = try run.open()
        do {
            let reader = try engine.makeReader()
            escape(try reader.readEverything())
            let all = Double(ProcessFigures.residentBytes - before.all)
            run.record(resident, all / count)
            if let was = before.anonymous, let now = ProcessFigures.anonymousBytes {
                run.record(anonymous, Double(now - was) / count)
            }
            let files = Double(allocatedBytes(under: run.storeFolder))
            run.record(stored, files / count)
            run.record(quotient, all / files)
        }
        run.endMemory()
        try engine.close()
    }
}

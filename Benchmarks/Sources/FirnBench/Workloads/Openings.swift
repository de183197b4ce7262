#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
import FirnCore

extension Workload {
    static let openings: [Workload] = [
        opening(id: "W10", title: "open and read one object, N objects") { $0.objects },
        opening(id: "W10b", title: "the same, N/10 objects") { $0.tenthOfObjects },
        afterKill,
    ]

    private static let first = "first in the process, µs"
    private static let again = "again, µs"

    private static func opening(id: String, title: String, count: @escaping @Sendable (SampleRun) -> Int) -> Workload {
        Workload(
            id: id, title: title,
            details:
                "A process opens a store that another has filled, compacted and closed, and reads name and age "
                + "of one person by primary key. Firn: the class is given. The files are in the system's cache. "
                + "Again: median of 20, each after closing.",
            metrics: [Metric(first, .lower), Metric(again, .lower)],
            targets: [.peers(first, .typed, 400, sqlite: 401), .peers(again, .typed, 120, sqlite: 154)],
            preparation: Preparation { run in
                let (engine, _) = try run.openLoaded(count(run))
                try engine.compact()
                try engine.close()
            }
        ) { run in
            run.beginMemory()
            run.record(first, try openAndRead(run, count(run) / 2) / 1e3)
            var times: [Double] = []
            for index in 0..<20 { times.append(try openAndRead(run, count(run) * index / 20)) }
            run.record(again, times.median / 1e3)
            run.endMemory()
        }
    }

    /// The nanoseconds from the call that opens until the object has been read. Closing comes after that.
    private static func openAndRead(_ run: SampleRun, _ id: Int, in folder: String? = nil) throws -> Double {
        let start = now()
        let engine = try run.open(in: folder)
        escape(try engine.makeReader().pointReads([id]))
        let time = Double(now() - start)
        try engine.close()
        return time
    }

    private static let single = "log of one-object commits, ms"
    private static let batches = "log of commits of 1,000 objects, ms"

    private static let afterKill = Workload(
        id: "W10c", title: "reopen after a kill with the longest log that the compactor's rule allows",
        details:
            "N people, compacted; then ages of random people are set without sync until the log has "
            + "\(CompactionRule().logByteCount.most >> 20) MiB (quick: \(CompactionRule().logByteCount.least >> 20)), which "
            + "the rule allows if there is at least four times as much live data; then SIGKILL. Another process opens the "
            + "store and reads one person. Once with one change in each transaction, once with 1,000. For rivals: 350,000 "
            + "and 350 such transactions, quick an eighth; they make checkpoints by their own rules.",
        metrics: [Metric(single, .lower), Metric(batches, .lower)],
        targets: [.peers(single, .typed, 1_000), .peers(batches, .typed, 1_000)],
        preparation: Preparation(endsKilled: true) { run in
            let engines = try [("single", 1), ("batches", 1_000)].map { name, size in
                try fillLog(run, run.folder + "/" + name, size)
            }
            // Still open.
            withExtendedLifetime(engines) { _ = kill(getpid(), SIGKILL) }
        }
    ) { run in
        run.beginMemory()
        run.record(single, try openAndRead(run, run.objects / 2, in: run.folder + "/single") / 1e6)
        run.record(batches, try openAndRead(run, run.objects / 2, in: run.folder + "/batches") / 1e6)
        run.endMemory()
    }

    private static func fillLog(_ run: SampleRun, _ folder: String, _ size: Int) throws -> any Engine {
        let people = run.people(run.objects)
        let loading = try run.open(.none, in: folder)
        try loading.load(people, batch: people.count)
        try loading.compact()
        try loading.close()
        var random = SplitMix64(seed: 10)
        func written(_ engine: any Engine, while isShort: (Int) -> Bool) throws -> any Engine {
            let writer = try engine.makeWriter()
            var commits = 0
            while isShort(commits) {
                let changes = (0..<size).map { _ in
                    Change.setAge(random.below(100), person: people.records[random.below(people.count)].id)
                }
                try writer.apply(changes, of: people)
                commits += 1
            }
            return engine
        }
        guard run.engineName.isFirn else {
            let enough = (run.quick ? 43_750 : 350_000) / size
            return try written(try run.open(.none, in: folder)) { $0 < enough }
        }
        // Both of Firn's engines have the same files, and only the lower one can keep the compactor from running.
        let rule = CompactionRule().logByteCount
        let limit = run.quick ? rule.least : rule.most
        let log = folder + "/people.firn/log"
        return try written(try StoreEngine(folder: folder, durability: .none, compactsByItself: false)) { commits in
            // Looking at the files takes longer than a commit, so it is done for every 4,000 changes.
            commits * size % 4_000 != 0 || byteCount(ofFilesIn: log) < limit
        }
    }
}

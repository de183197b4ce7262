extension Workload {
    private static let overFloor = "group ÷ floor"
    private static let overSingle = "group ÷ one writer"

    static let groupCommit = Workload(
        id: "W2g", title: "one-object durable commits, 16 writers",
        details:
            "Set the age of one random person among N/10; one durable transaction each; 16 threads of one "
            + "process, each with a writer of its own. In alternating blocks with them: one writer alone, and "
            + "the floor of W2 on one thread.",
        metrics: [
            Metric("commits/s, 16 threads", .higher), Metric("commits/s, one writer", .higher),
            Metric("floor, writes/s", .neither), Metric(overFloor, .higher), Metric(overSingle, .higher),
            Metric("frame, bytes", .neither),
        ],
        targets: [.peers(overFloor, .typed, 8), .firstSlice(overSingle, .typed, 6)]
    ) { run in
        let threads = 16
        let (engine, people) = try run.openLoaded(run.tenthOfObjects)
        let workers = try (0..<threads).map { number in
            try Worker { WriterState(writer: try engine.makeWriter(), random: SplitMix64(seed: UInt64(100 + number))) }
        }
        let size = Box(0)
        try workers[0].run { state in
            size.value = try frameBytes(of: engine, warmUp: 200) { try state.commit(1, people) }
        }
        let frame = size.value
        let floor = try RawFloor(
            path: run.folder + "/floor", frameBytes: frame, capacity: run.quick ? 16 << 20 : 64 << 20)
        let blocks = run.quick ? 8 : 30
        let perThread = 40
        let alone = 100
        var group = 0.0
        var single = 0.0
        var raw = 0.0
        run.beginMemory()
        // The first round warms up every thread, and is not counted.
        for round in 0...blocks {
            let grouped = try nanoseconds {
                for worker in workers { worker.start { try $0.commit(perThread, people) } }
                for worker in workers { try worker.wait() }
            }
            let one = try nanoseconds { try workers[round % threads].run { try $0.commit(alone, people) } }
            let written = try nanoseconds { for _ in 0..<alone { try floor.commit() } }
            if round == 0 { continue }
            group += grouped
            single += one
            raw += written
        }
        run.endMemory()
        for worker in workers { worker.stop() }
        let groupRate = Double(blocks * perThread * threads) / group * 1e9
        let singleRate = Double(blocks * alone) / single * 1e9
        let rawRate = Double(blocks * alone) / raw * 1e9
        run.record("commits/s, 16 threads", groupRate)
        run.record("commits/s, one writer", singleRate)
        run.record("floor, writes/s", rawRate)
        run.record(overFloor, groupRate / rawRate)
        run.record(overSingle, groupRate / singleRate)
        run.record("frame, bytes", Double(frame))
        try engine.close()
    }
}

/// A writer and its random keys. It belongs to one worker's thread.
private final class WriterState {
    let writer: any Writer
    var random: SplitMix64

    init(writer: any Writer, random: SplitMix64) {
        self.writer = writer
        self.random = random
    }

    func commit(_ count: Int, _ people: People) throws {
        for _ in 0..<count {
            let id = people.records[random.below(people.count)].id
            try writer.setAge(random.below(100), ofPerson: id)
        }
    }
}

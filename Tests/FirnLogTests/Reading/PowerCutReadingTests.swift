import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("Reading only, after a power cut", .timeLimit(.minutes(20))) struct PowerCutReadingTests {
    /// If commits need no sync, the disk may have a newer state of the shared page than of the log.
    @Test(
        "what the disk has is shown, whatever the shared page says",
        arguments: [Durability.full, .relaxed(milliseconds: 1000), .none])
    func stalePage(_ durability: Durability) throws {
        var (fewer, followed) = (0, 0)
        for seed in 0..<60 as Range<UInt64> {
            let bench = Bench(seed: seed) { $0.durability = durability }
            let log = try bench.open()
            var lengths: [UInt64: [Int]] = [:]
            var chance = SeededRandom(seed: seed)
            var synced: UInt64 = 0
            for version in 1...12 as ClosedRange<UInt64> {
                lengths[version] = [chance.below(3000)]
                try bench.commit(log, lengths[version]!)
                if chance.below(4) == 0 {
                    try log.sync()
                    synced = version
                }
            }
            var after = bench.afterPowerCut(keeping: 0.5, seed: seed)
            after.options.access = .readOnly
            // Without a page the reader always sees the store as it was when it was opened.
            let hasPage = try after.storage.status("/store/shared")?.byteCount == SharedPage.byteCount
            let reader = try after.open()
            let last = reader.publishedVersion
            #expect(last == reader.recovery.lastVersion && last >= synced && reader.durableVersion <= last)
            if last < 12 { fewer += 1 }
            let script = LogScript([])
            script.lengths = lengths
            script.acknowledged = synced
            script.begun = 12
            try script.check(reader, "seed \(seed)")
            #expect(try reader.waitForVersion(after: last, milliseconds: 0) == last)

            // A writer that opens the store corrects the page, and the reader sees what is published from then on.
            var writing = after.another()
            writing.options.access = .readWrite(waitMilliseconds: 0)
            let writer = try writing.open()
            #expect(writer.recovery.lastVersion >= last)
            let next = try writing.commit(writer, [100])
            try writer.waitUntilDurable(next)
            guard hasPage else {
                #expect(reader.publishedVersion == last)
                continue
            }
            followed += 1
            #expect(reader.publishedVersion == next && reader.durableVersion >= last)
            #expect(try reader.waitForVersion(after: last, milliseconds: 10_000) == next)
            var seen = 0
            try reader.replay(after: 0, through: next) { _ in seen += 1 }
            #expect(seen == Int(next))
        }
        #expect(fewer > 10 && followed > 10)
    }

    /// The last commit was acknowledged, but no mark on the disk covers it yet.
    @Test(
        "a reader that can't find out whether the log's end is on the disk gets an error, not an older state",
        arguments: [.io, .noSpace, .readOnlyFileSystem, .input("")] as [StorageError.Code])
    func syncThatFails(code: StorageError.Code) throws {
        let bench = Bench()
        let log = try bench.open()
        for _ in 1...2 { try log.waitUntilDurable(try bench.commit(log)) }
        var after = bench.afterPowerCut(keeping: 1)
        try after.storage.remove("/store/shared")
        after.options.access = .readOnly
        after.storage.inject(SimulatedFault(code, residue: .nothing) { $0.operation == .sync })
        if code != .input("") {
            let error = #expect(throws: LogError.self) { try after.open() }
            #expect("\(String(describing: error))".contains("open it again"))
        }
        #expect(try after.open().publishedVersion == 2)
    }

    /// The next reader shows no older version than the one before, if no sync of the log has failed.
    @Test("an opener that could not sync the manifest's name takes nothing from readers") func unsyncedName()
        throws
    {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        try bench.commit(log)
        bench.storage.disk.kill(bench.storage)
        var reading = bench.another()
        reading.options.access = .readOnly
        #expect(try reading.open().publishedVersion == 2)
        let opener = bench.another()
        opener.storage.inject(
            SimulatedFault(.io, residue: .nothing) { $0.operation == .syncFolder && $0.path == "/store" })
        #expect(throws: LogError.self) { try opener.open() }
        bench.storage.disk.kill(opener.storage)
        #expect(try reading.open().publishedVersion == 2)
        withExtendedLifetime(log) {}
    }

    /// The version shown is also in the log of the manifest before: nobody knows which of the two manifests the disk
    /// has.
    @Test(
        "what is shown after an interrupted recovery survives a power cut",
        arguments: 0..<2, [false, true])
    func interruptedRecovery(step: Int, hasSyncFailed: Bool) throws {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        let second = try bench.commit(log)
        if hasSyncFailed {
            bench.storage.inject(SimulatedFault(.io, residue: .nothing) { $0.operation == .sync })
            #expect(throws: LogError.self) { try log.waitUntilDurable(second) }
        }
        bench.storage.disk.kill(bench.storage)
        let opener = bench.another()
        let countdown = Countdown(step)
        opener.storage.inject(
            SimulatedFault(.io, residue: .nothing) {
                $0.operation == .syncFolder && $0.path == "/store" && countdown.isOver()
            })
        #expect(throws: LogError.self) { try opener.open() }
        bench.storage.disk.kill(opener.storage)
        var reading = bench.another()
        reading.options.access = .readOnly
        let shown = try reading.open().publishedVersion
        #expect(shown == (hasSyncFailed ? 1 : 2))
        for names in [0, 0.5, 1] {
            let disk = bench.storage.disk.afterPowerCut(seed: 1, .probability(data: 0, names: names))
            #expect(try Bench(disk.newProcess()).open().recovery.lastVersion >= shown, "with \(names) of the names")
        }
        withExtendedLifetime(log) {}
    }
}

import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("Recovery", .timeLimit(.minutes(20))) struct RecoveryTests {
    @Test("opens if the first of two unsynced frames is torn and the second intact, and cuts both off")
    func firstTorn() throws {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        let second = log.writer!.tail.end
        try bench.commit(log)
        try bench.commit(log)
        let end = log.writer!.tail.end
        let after = bench.afterPowerCut(keeping: 1)
        try after.flip(Bench.segment, at: second + 100)
        let again = try after.open()
        guard case .tornTail(let torn) = again.recovery.outcome else {
            Issue.record("\(again.recovery)")
            return
        }
        #expect(again.recovery.lastVersion == 1)
        #expect(torn.offset == second && torn.version == 2 && torn.wholeFrames == 1 && torn.wholeCommits == 1)
        // Only written bytes count, not the preallocated space behind them.
        #expect(try bench.storage.status(Bench.segment)!.byteCount > end)
        #expect(torn.byteCount == end - second)
        #expect(again.recovery.epoch == 2)
        // The version numbers are used again.
        #expect(try after.commit(again, [50]) == 2)
        try again.close()
        #expect(try after.open().recovery.outcome == .clean)
    }

    @Test("refuses the same flipped bytes once a later frame has the mark") func flippedAfterMark() throws {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        let second = log.writer!.tail.end
        try bench.commit(log)
        try log.waitUntilDurable(try bench.commit(log))
        try bench.commit(log)
        let after = bench.afterPowerCut(keeping: 1)
        try after.storage.remove("/store/shared")
        try after.flip(Bench.segment, at: second + 100)
        let error = try #require(throws: LogError.self) { try after.open() }
        #expect(error.code == .damage && error.offset == second && error.path == Bench.segment)
        #expect("\(error)".contains("firn verify"))
    }

    @Test("refuses a flip in the last commit of a store that was idle or closed", arguments: [true, false])
    func lastCommitProtected(closing: Bool) throws {
        let bench = Bench()
        let log = try bench.open()
        let start = log.writer!.tail.end
        try log.waitUntilDurable(try bench.commit(log))
        if closing { try log.close() } else { try log.writeMark() }
        let after = bench.afterPowerCut(keeping: 0)
        try? after.storage.remove("/store/shared")
        try after.flip(Bench.segment, at: start + 90)
        #expect(throws: LogError.self) { try after.open() }
    }

    @Test(
        "believes the shared page: a durable commit that no frame's mark covers is refused when it is damaged or cut off"
    )
    func sharedPage() throws {
        let bench = Bench()
        let log = try bench.open()
        let start = log.writer!.tail.end
        try log.waitUntilDurable(try bench.commit(log))
        bench.storage.disk.newProcess().crashAt = 0
        let after = bench.afterPowerCut(keeping: 1)
        try after.flip(Bench.segment, at: start + 90)
        #expect(throws: LogError.self) { try after.open() }
        try after.flip(Bench.segment, at: start + 90)
        #expect(try after.open().recovery.lastVersion == 1)
    }

    @Test("ignores a shared page of zeros, of another epoch, or torn") func badPages() throws {
        for damage in 0..<4 {
            let bench = Bench()
            let log = try bench.open()
            try log.waitUntilDurable(try bench.commit(log))
            let after = bench.afterPowerCut(keeping: 1)
            let page = try after.storage.open("/store/shared", .readWrite)
            func put(_ value: UInt64, _ offset: Int) throws {
                try withUnsafeBytes(of: value) { try page.write($0, at: offset) }
            }
            switch damage {
            case 0: for offset in stride(from: 0, to: 4096, by: 8) { try put(0, offset) }
            case 1: try put(1 | 7 << 32, 8)
            case 2: try put(1000, 32)  // a mark without its check
            default: try put(0, 24)
            }
            #expect(try after.open().recovery.lastVersion == 1, "case \(damage)")
        }
    }

    /// A recovery had written the page, and a power cut lost its manifest: the page refers to commits of that epoch.
    @Test("ignores the shared page of a recovery that a power cut undid", arguments: [true, false])
    func pageOfAnotherEpoch(isReader: Bool) throws {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        var after = bench.afterPowerCut(keeping: 1)
        let folder = try StoreFolder(path: "/store", storage: after.storage)
        let manifest = try folder.readManifest()
        try SharedPage(folder, manifest.storeID, mayCreate: true)
            .prepare(
                epoch: manifest.epoch + 1, durable: 2, published: 2, generation: manifest.generation + 1, fresh: true)
        if isReader { after.options.access = .readOnly }
        #expect(try after.open().recovery.lastVersion == 1)
    }

    @Test("after a failed sync with clean pages, reopening and a power cut, nothing acknowledged is lost")
    func failedSync() throws {
        for residue in [SimulatedFault.Residue.nothing, .some, .all] {
            let bench = Bench()
            let log = try bench.open()
            try log.waitUntilDurable(try bench.commit(log))
            bench.storage.inject(
                SimulatedFault(.io, residue: residue) { $0.operation == .sync && $0.path.hasSuffix("segment") })
            try bench.commit(log)
            try bench.commit(log)
            let failure = #expect(throws: LogError.self) { try log.waitUntilDurable(2) }
            #expect(failure?.code == .unknownOutcome(version: 2))
            #expect(throws: LogError.self) { try log.waitUntilDurable(3) }
            #expect(log.failure != nil && log.publishedVersion == 1 && log.durableVersion == 1)
            #expect(throws: LogError.self) { try bench.commit(log) }
            try log.close()

            // A reader beside it shows only what is certain.
            var reading = bench.another()
            reading.options.access = .readOnly
            #expect(try reading.open().recovery.lastVersion == 1)

            // Pages that were never written look clean: what is acknowledged from here on must not depend on them.
            let reopened = bench.another()
            let again = try reopened.open()
            #expect(
                again.recovery.lastVersion == 3 && again.recovery.rewrittenCommits == 2 && again.recovery.epoch == 2)
            let script = LogScript([])
            for version in 1...4 as ClosedRange<UInt64> { script.lengths[version] = [200] }
            try again.waitUntilDurable(try reopened.commit(again))
            script.acknowledged = 4
            script.begun = 4
            for seed in 0..<8 as Range<UInt64> {
                let after = reopened.afterPowerCut(keeping: seed % 2 == 0 ? 0 : 0.5, seed: seed)
                try script.check(try after.open(), "residue \(residue), seed \(seed)")
            }
        }
    }

    @Test("copies what no mark covers once, and not again at the next opening") func rewrittenOnce() throws {
        let bench = Bench()
        let log = try bench.open()
        try bench.commit(log, [4000, 4000])
        try bench.commit(log)
        let other = bench.afterPowerCut(keeping: 1)
        let again = try other.open()
        #expect(again.recovery.outcome == .clean && again.recovery.rewrittenCommits == 2)
        try again.close()
        let third = try other.open()
        #expect(third.recovery.rewrittenCommits == 0 && third.recovery.epoch == 2)
    }

    @Test("reports a bit set in preallocated space, and cuts it off") func flipInPreallocatedSpace() throws {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        try log.writeMark()
        let size = try bench.storage.status(Bench.segment)!.byteCount
        #expect(size > log.writer!.tail.end + 128, "no space was preallocated")
        let after = bench.afterPowerCut(keeping: 0)
        try after.flip(Bench.segment, at: size - 1, bit: 7)
        let again = try after.open()
        #expect(again.recovery.lastVersion == 1)
        guard case .tornTail(let torn) = again.recovery.outcome else {
            Issue.record("\(again.recovery)")
            return
        }
        #expect(torn.wholeFrames == 0)
        #expect(torn.byteCount == size - log.writer!.tail.end)
    }

    @Test("counts a torn commit from its first frame to the last bytes that were written") func cutBytesAreCounted()
        throws
    {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        let start = log.writer!.tail.end
        try bench.commit(log, [4090])
        let end = log.writer!.tail.end
        for (cut, expected) in [(64, end - start - 64), (1024, end - start - 1024), (0, end - start)] {
            let after = bench.afterPowerCut(keeping: 1)
            let file = try after.storage.open(Bench.segment, .readWrite)
            if cut > 0 {
                let zeros = [UInt8](repeating: 0, count: cut)
                try zeros.withUnsafeBytes { try file.write($0, at: end - cut) }
            } else {
                try after.flip(Bench.segment, at: start + 100)
            }
            guard case .tornTail(let torn) = try after.open().recovery.outcome else {
                Issue.record("the tail is whole")
                continue
            }
            #expect(torn.offset == start && torn.byteCount == expected && torn.wholeFrames == 0)
        }
    }

    @Test("says what is wrong with a sealed segment that ends before the manifest says") func sealedTooLong() throws {
        let bench = Bench()
        let log = try bench.open()
        try bench.commit(log)
        try log.sealSegment()
        try bench.commit(log)
        try log.close()
        let folder = try StoreFolder(path: "/store", storage: bench.storage)
        let manifest = try folder.readManifest()
        var longer = manifest
        let end = Int(manifest.segments[0].byteCount)
        longer.generation += 1
        longer.segments[0].byteCount += 64
        try folder.replaceManifest(manifest, with: longer)
        let file = try bench.storage.open(Bench.segment, .readWrite)
        try file.truncate(to: max(try file.size(), end + 64))
        let error = try #require(throws: LogError.self) { try bench.open() }
        #expect(error.code == .damage && error.path == Bench.segment && error.offset == end)
        #expect(error.detail == "the segment ends here, but the manifest says that it has \(end + 64) bytes")
    }

    @Test("time does not go back after a segment without frames, either") func timeAcrossSegments() throws {
        let storage = MemoryStorage()
        let clock = ManualClock()
        var options = LogOptions(folder: "/store")
        options.segmentByteCount = 4096
        options.usesThreads = false
        let log = try Log.open(options, storage: storage, clock: clock)
        try LogScript.commit(log, version: 1, [4090, 4090])
        // Begins the new segment, and leaves it empty.
        try LogScript.commit(log, version: 2, [10], abort: true)
        try log.close()
        let before = clock.now()
        clock.set(now: before - 1_000_000_000)
        let again = try Log.open(options, storage: storage, clock: clock)
        #expect(again.writer!.tail.snapshot().manifest.segments.count == 2)
        #expect(again.recovery.lastTime == before)
        let appender = try again.beginCommit(version: 2)
        #expect(appender.time >= before)
    }

    @Test("time never goes back, whatever the clock does") func time() throws {
        let storage = MemoryStorage()
        let clock = ManualClock()
        var options = LogOptions(folder: "/store")
        options.usesThreads = false
        var times: [Int64] = []
        for _ in 0..<2 {
            let log = try Log.open(options, storage: storage, clock: clock)
            for _ in 0..<3 {
                clock.set(now: clock.now() - 1_000_000)
                times.append(
                    try log.commit(
                        version: log.writtenVersion + 1, .changes, UnsafeRawBufferPointer(start: nil, count: 0)
                    ).time)
            }
            try log.close()
        }
        #expect(times == times.sorted())
        var read: [Int64] = []
        try Log.open(options, storage: storage).replay(after: 0, through: 6) { read.append($0.time) }
        #expect(read == times)
    }
}

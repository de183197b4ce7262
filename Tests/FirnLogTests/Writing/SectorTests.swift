import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// A disk may destroy the whole sector that it writes when the power fails.
@Suite("With a sector size, a power cut loses no acknowledged commit", .timeLimit(.minutes(20))) struct SectorTests {
    /// Spoils what a disk may spoil that was writing when its power failed: some of the sectors of `sector` bytes in
    /// which a byte of a segment was written, or its end was cut, since the segment's last sync.
    private func spoil(_ disk: SimulatedDisk, _ trace: [SimulatedCall], sector: Int, seed: UInt64) throws {
        var atRisk: [String: Set<Int>] = [:]
        for call in trace where call.path.hasSuffix(".segment") && call.error == nil {
            switch call.operation {
            case .write:
                let sectors = call.offset / sector...(call.offset + call.length - 1) / sector
                atRisk[call.path, default: []].formUnion(sectors)
            case .truncate where call.offset % sector != 0:
                atRisk[call.path, default: []].insert(call.offset / sector)
            case .sync: atRisk[call.path] = []
            default: break
            }
        }
        let random = SeededRandomness(seed: seed)
        let process = disk.newProcess()
        for (path, sectors) in atRisk.sorted(by: { $0.key < $1.key }) {
            guard let file = try? process.open(path, .readWrite) else { continue }
            let size = try file.size()
            for number in sectors.sorted() where number * sector < size && random.next(below: 2) == 0 {
                let range = number * sector..<min((number + 1) * sector, size)
                let garbage = range.map { _ in UInt8(truncatingIfNeeded: random.next()) }
                try garbage.withUnsafeBytes { try file.write($0, at: range.lowerBound) }
            }
            try file.sync()
        }
    }

    private static let steps: [LogScript.Step] = [
        .commit([200]), .wait, .commit([70]), .commit([5]), .wait, .mark, .commit([900]), .wait, .abort([3000, 3000]),
        .commit([5000, 5000, 20]), .commit([10]), .wait, .abort([40]), .commit([6000]), .wait, .commit([10]), .wait,
        .close,
        .open, .commit([30]), .wait, .commit([9000]), .commit([8]), .wait, .commit([8]), .wait,
    ]

    private func script(_ sector: Int) -> LogScript {
        LogScript(Self.steps) {
            $0.sectorByteCount = sector
            $0.segmentByteCount = 24 << 10
        }
    }

    /// Stops the script at each call, cuts the power, spoils sectors and opens the log. Returns how often
    /// acknowledged commits were missing.
    private func losses(written sector: Int, spoiled: Int, stride step: Int = 1) throws -> (losses: Int, cuts: Int) {
        let trial = SimulatedStorage(seed: 1)
        #expect(script(sector).run(on: trial) == nil)
        var (losses, cuts) = (0, 0)
        for stop in stride(from: 0, to: trial.callCount, by: step) {
            let storage = SimulatedStorage(seed: UInt64(stop))
            storage.crashAt = stop
            let script = script(sector)
            script.run(on: storage)
            for seed in 0..<4 as Range<UInt64> {
                let disk = storage.disk.afterPowerCut(seed: seed)
                try spoil(disk, storage.disk.ioTrace, sector: spoiled, seed: seed &* 7919 &+ UInt64(stop))
                cuts += 1
                do {
                    let log = try Log.open(
                        script.options, storage: disk.newProcess(), clock: ManualClock(),
                        randomness: SeededRandomness(seed: 2))
                    if log.recovery.lastVersion < script.acknowledged {
                        losses += 1
                    } else {
                        try script.check(log, "stopped at call \(stop), seed \(seed)")
                    }
                } catch {
                    losses += 1
                    if sector >= spoiled { throw error }
                }
            }
        }
        return (losses, cuts)
    }

    @Test("whichever call is the last one", arguments: [512, 4096]) func cuts(sector: Int) throws {
        let found = try losses(written: sector, spoiled: sector)
        #expect(found.losses == 0 && found.cuts > 400)
    }

    @Test("without sectors such a disk does lose commits, so the test can fail") func without() throws {
        #expect(try losses(written: 0, spoiled: 512).losses > 0)
        #expect(try losses(written: 512, spoiled: 4096).losses > 0)
    }

    /// The frames of a store, in order, and the sectors of their segments.
    private func frames(
        of path: String = "/store", _ storage: any Storage
    ) throws -> [(frame: FrameHeader, sector: Int)] {
        let folder = try StoreFolder(path: path, storage: storage)
        let manifest = try folder.readManifest()
        var frames: [(FrameHeader, Int)] = []
        for entry in manifest.segments {
            let reader = try SegmentReader(folder, entry, storeID: manifest.storeID)
            var offset = SegmentHeader.byteCount
            while case .frame(let frame, _) = try reader.item(at: offset) {
                frames.append((frame, Int(reader.header.sector)))
                offset = frame.end
            }
        }
        return frames
    }

    @Test("commits of one sync follow each other without a gap, those of the next one begin a sector") func groups()
        throws
    {
        let bench = Bench { $0.sectorByteCount = 512 }
        let log = try bench.open()
        for _ in 0..<3 { try bench.commit(log) }
        try log.waitUntilDurable(3)
        try bench.commit(log)
        try log.waitUntilDurable(4)
        try bench.commit(log, [4000, 100])
        try bench.commit(log)
        let frames = try frames(bench.storage).map(\.frame)
        #expect(frames.map(\.version) == [1, 2, 3, 4, 5, 5, 6])
        #expect(frames[0].offset == 512)
        #expect(Int(frames[1].offset) == frames[0].end && Int(frames[2].offset) == frames[1].end)
        #expect(frames[3].offset % 512 == 0)
        #expect(frames[4].offset % 512 == 0 && Int(frames[5].offset) == frames[4].end)
        #expect(Int(frames[6].offset) == frames[5].end)
    }

    @Test("the option can be changed for an existing store, and every kind of reader reads it")
    func changed() throws {
        var bench = Bench()
        for sector in [0, 4096, 0, 512, 4096] {
            bench.options.sectorByteCount = sector
            let log = try bench.open()
            for _ in 0..<3 {
                let version = try bench.commit(log)
                try log.waitUntilDurable(version)
            }
            var reader = bench.another()
            reader.options.access = .readOnly
            let other = try reader.open()
            var versions: [UInt64] = []
            try other.replay(after: 0, through: other.publishedVersion) { versions.append($0.version) }
            #expect(versions == Array(1...log.writtenVersion))
            try log.close()
        }
        let sectors = try frames(bench.storage).filter { $0.frame.kind == .changes }.map(\.sector)
        #expect(sectors == [0, 0, 0] + Array(repeating: 4096, count: 6) + [512, 512, 512, 4096, 4096, 4096])
    }

    @Test("a process without the option keeps to the sectors of one that has it") func mixed() throws {
        let bench = Bench { $0.sectorByteCount = 4096 }
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        var other = bench.another()
        other.options.sectorByteCount = 0
        let second = try other.open()
        log.releaseWriting()
        try second.awaitWriting()
        second.advance(to: try second.readToEnd { _ in })
        try second.beginWriting()
        try second.waitUntilDurable(try other.commit(second))
        try second.waitUntilDurable(try other.commit(second))
        let offsets = try frames(bench.storage).map(\.frame.offset)
        #expect(offsets.count == 3 && offsets.allSatisfy { $0 % 4096 == 0 })
    }

    @Test("with many threads no frame shares a sector with a version that was durable when it was written")
    func threads() throws {
        let folder = TemporaryFolder()
        var options = LogOptions(folder: folder.path + "/store")
        options.sectorByteCount = 512
        options.segmentByteCount = 256 << 10
        let log = try Log.open(options, storage: PosixStorage.shared)
        let turn = Lock(.unranked)
        let threads = try (0..<6).map { _ in
            try StorageThread.start(name: "commits") {
                for _ in 0..<150 {
                    let version = turn.withLock { () -> UInt64 in
                        let version = log.writtenVersion + 1
                        do { try LogScript.commit(log, version: version, [100]) } catch { Issue.record("\(error)") }
                        return version
                    }
                    do { try log.waitUntilDurable(version) } catch { Issue.record("\(error)") }
                }
            }
        }
        for thread in threads { thread.join() }
        try log.close()
        let found = try frames(of: options.folder, PosixStorage.shared).map(\.frame)
        #expect(found.filter { $0.kind == .changes }.count == 900)
        expectUnsynced(found, sector: 512)
    }

    /// Expects that no frame shares a sector with a version that was durable when the frame was written.
    private func expectUnsynced(_ frames: [FrameHeader], sector: Int) {
        for (index, frame) in frames.enumerated() {
            for before in frames[..<index].reversed() {
                guard before.segment == frame.segment, (before.end - 1) / sector == Int(frame.offset) / sector else {
                    break
                }
                #expect(before.version > frame.mark, "\(before) and \(frame)")
            }
        }
    }

    @Test("a sync that waited for a commit covers it: the next one begins a sector") func waited() throws {
        let bench = Bench { $0.sectorByteCount = 4096 }
        let log = try bench.open()
        try bench.commit(log)
        let begun = Gate()
        let leader = Guarded<StorageThread?>(.unranked, nil)
        bench.storage.beforeEachCall { call in
            // Version 2 is being written, to the sector of version 1, for which a sync begins now.
            guard call.operation == .write, call.path.hasSuffix(".segment"), !begun.isOpen else { return }
            begun.open()
            do {
                let thread = try StorageThread.start(name: "leader") {
                    do { try log.waitUntilDurable(1) } catch { Issue.record("\(error)") }
                }
                leader.withLock { $0 = thread }
            } catch { Issue.record("\(error)") }
            if !TestTimeout.awaits({ log.writer!.group.isSyncing }) { Issue.record("nobody syncs") }
        }
        try bench.commit(log)
        leader.withLock { $0 }?.join()
        bench.storage.beforeEachCall(nil)
        #expect(log.durableVersion >= 1)
        try bench.commit(log)
        try bench.commit(log)
        let found = try frames(bench.storage).map(\.frame)
        #expect(found.map(\.version) == [1, 2, 3, 4])
        #expect(Int(found[1].offset) == found[0].end)
        #expect(found[2].offset % 4096 == 0 && Int(found[3].offset) == found[2].end)
        expectUnsynced(found, sector: 4096)
    }

    @Test("commits that are written while a sync runs follow each other without a gap") func whileSyncing() throws {
        let bench = Bench { $0.sectorByteCount = 4096 }
        let log = try bench.open()
        try bench.commit(log)
        let begun = Gate()
        bench.storage.beforeEachCall { call in
            guard call.operation == .sync, call.path.hasSuffix(".segment"), !begun.isOpen else { return }
            begun.open()
            do { for _ in 0..<3 { try bench.commit(log) } } catch { Issue.record("\(error)") }
        }
        try log.waitUntilDurable(1)
        bench.storage.beforeEachCall(nil)
        #expect(begun.isOpen && log.durableVersion == 1 && log.writtenVersion == 4)
        let found = try frames(bench.storage).map(\.frame)
        #expect(found[1].offset % 4096 == 0)
        #expect(Int(found[2].offset) == found[1].end && Int(found[3].offset) == found[2].end)
    }
}

import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// A manifest must not refer to more than the synced log holds.
@Suite("A checkpoint is published only once its version is durable", .timeLimit(.minutes(20)))
struct CheckpointDurabilityTests {
    private func writeCheckpoint(_ log: Log, of version: UInt64) throws -> Checkpoint {
        let file = try log.beginCheckpoint(start: 0)
        try [UInt8](repeating: 7, count: 64).withUnsafeBytes { try file.append($0) }
        return try file.finish(version: version, time: 0, earlier: [], state: [])
    }

    @Test("commits that no sync covers are synced before the manifest refers to them", arguments: [0, 1])
    func unsynced(_ part: Int) throws {
        for durability in [Durability.none, .relaxed(milliseconds: 1_000_000), .full] {
            let bench = Bench { $0.durability = durability }
            let log = try bench.open()
            try bench.commit(log)
            try log.sealSegment()
            // Another thread commits between the seal and the choice of the checkpoint's version.
            try bench.commit(log)
            try log.publish(try writeCheckpoint(log, of: 2), keepingVersionsAfter: 2)
            let after = bench.afterPowerCut(keeping: Double(part))
            let again = try after.open()
            #expect(again.recovery.outcome == .clean && again.recovery.missingFromLog == nil)
            #expect(again.checkpoint?.version == 2)
            #expect(again.recovery.lastVersion == 2)
            #expect(try after.commit(again) == 3)
            try again.close()
        }
    }

    /// Opening has just read these commits and found them whole.
    @Test(
        "the replay that opens a store does not read again what the checkpoint covers",
        arguments: [true, false], [true, false])
    func replayBehindTheCheckpoint(isOpening: Bool, joinsAnother: Bool) throws {
        let bench = Bench { _ in }
        let log = try bench.open()
        for _ in 1...5 { try bench.commit(log) }
        try log.waitUntilDurable(5)
        try log.publish(try writeCheckpoint(log, of: 3), keepingVersionsAfter: 0)
        if !joinsAnother { try log.close() }
        let again = try joinsAnother ? bench.another().open() : bench.open()
        #expect(again.isWriting != joinsAnother)
        #expect(again.checkpoint?.version == 3)
        // The first commit's header is damaged once the log is open.
        let file = try bench.storage.open("/store/log/0000000001.segment", .readWrite)
        let start = SegmentHeader.byteCount
        try [UInt8](repeating: 0xEE, count: FrameHeader.byteCount).withUnsafeBytes { try file.write($0, at: start) }
        var versions: [UInt64] = []
        let read = Result {
            try again.replay(after: 3, through: 5, isOpening: isOpening) { versions.append($0.version) }
        }
        if isOpening {
            _ = try read.get()
            #expect(versions == [4, 5])
        } else {
            #expect(throws: LogError.self) { try read.get() }
        }
        try again.close()
        if joinsAnother { try log.close() }
    }

    @Test("if that sync fails, nothing is published")
    func failedSync() throws {
        let bench = Bench { $0.durability = .none }
        let log = try bench.open()
        try bench.commit(log)
        try log.sealSegment()
        try bench.commit(log)
        let checkpoint = try writeCheckpoint(log, of: 2)
        bench.storage.inject(
            SimulatedFault(.io) { $0.operation == .sync && $0.path.hasSuffix(".segment") })
        #expect { try log.publish(checkpoint, keepingVersionsAfter: 2) } throws: { error in
            (error as? LogError)?.code == .unknownOutcome(version: 2)
        }
        #expect(log.failure != nil)
        let again = try bench.afterPowerCut(keeping: 0).open()
        #expect(again.checkpoint == nil && again.recovery.lastVersion == 1)
    }

    /// Makes what a disk leaves that lost a synced segment's end, or a release that published ahead of the log.
    private func withCheckpointAhead(_ bench: Bench) throws {
        let log = try bench.open()
        try bench.commit(log)
        try log.sealSegment()
        let path = "/store/log/0000000002.segment"
        let before = try bytes(of: path, bench.storage)
        try bench.commit(log)
        try bench.commit(log)
        try log.publish(try writeCheckpoint(log, of: 3), keepingVersionsAfter: 0)
        try log.close()
        let file = try bench.storage.open(path, .readWrite)
        try file.truncate(to: 0)
        try before.withUnsafeBytes { try file.write($0, at: 0) }
        try file.sync()
        try bench.storage.remove("/store/shared")
        try bench.storage.syncFolder("/store")
    }

    private func bytes(of path: String, _ storage: any Storage) throws -> [UInt8] {
        let file = try storage.open(path, .read)
        var bytes = [UInt8](repeating: 0, count: try file.size())
        _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        return bytes
    }

    @Test("after a checkpoint beyond the log's end a new segment follows, and the report says what the log lacks")
    func ahead() throws {
        let bench = Bench()
        try withCheckpointAhead(bench)
        let log = try bench.open()
        #expect(log.recovery.lastVersion == 3 && log.recovery.missingFromLog == 2...3)
        #expect(log.recovery.epoch == 2)
        #expect(try bench.commit(log) == 4)
        try log.waitUntilDurable(4)
        // The log was not closed.
        let again = try bench.afterPowerCut(keeping: 0).open()
        #expect(again.recovery.lastVersion == 4 && again.recovery.missingFromLog == nil)
        #expect(try again.firstVersion == 4)
        var versions: [UInt64] = []
        try again.replay(after: 3, through: 4) { versions.append($0.version) }
        #expect(versions == [4])
    }

    @Test("a reader of such a store shows the checkpoint and changes nothing")
    func aheadReadOnly() throws {
        let bench = Bench()
        try withCheckpointAhead(bench)
        var reader = bench
        reader.options.access = .readOnly
        let log = try reader.open()
        #expect(log.recovery.lastVersion == 3 && log.recovery.missingFromLog == 2...3)
        #expect(log.recovery.epoch == 1)
    }

    @Test("a crash at any call of that recovery leads to the same result")
    func aheadCrash() throws {
        let trial = Bench()
        try withCheckpointAhead(trial)
        let start = trial.storage.callCount
        _ = try trial.open()
        let calls = trial.storage.callCount - start
        for stop in 0..<calls {
            let bench = Bench()
            try withCheckpointAhead(bench)
            bench.storage.crashAt = bench.storage.callCount + stop
            _ = try? bench.open()
            for seed in 0..<4 as Range<UInt64> {
                let process = bench.storage.disk.afterPowerCut(seed: seed).newProcess()
                var other = Bench(process)
                other.options = bench.options
                let log = try other.open()
                #expect(log.recovery.lastVersion == 3 && log.checkpoint?.version == 3)
                #expect(try other.commit(log) == 4)
            }
        }
    }
}

import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// The numbers of checkpoint files end at `LogLimits.number`; a greater number could not be read from a manifest
/// again.
@Suite("The numbers of checkpoints", .timeLimit(.minutes(20))) struct CheckpointNumberTests {
    @Test("when they are used up no more checkpoints are written, and the store continues")
    func end() throws {
        let bench = Bench()
        let log = try bench.open()
        try bench.commit(log)
        log.checkpoints.withLock { $0.nextID = LogLimits.number - 1 }
        try bench.publishCheckpoint(log)
        try log.close()
        let again = try bench.another().open()
        #expect(again.checkpoint?.id == LogLimits.number - 1)
        try bench.commit(again)
        let error = #expect(throws: LogError.self) { try bench.publishCheckpoint(again) }
        #expect(error?.code == .damage && error?.path == "/store/checkpoint")
        #expect(again.failure == nil)
        try bench.commit(again)
        try again.close()
        let last = try bench.another().open()
        #expect(last.recovery.lastVersion == 3)
        try last.close()
    }

    @Test("a manifest that could not be read again is not written")
    func manifest() throws {
        let bench = Bench()
        let log = try bench.open()
        try bench.commit(log)
        try bench.publishCheckpoint(log)
        let folder = log.folder
        let manifest = try folder.readManifest()
        var next = manifest
        next.generation += 1
        next.checkpoint?.id = LogLimits.number + 1
        #expect(throws: LogError.self) { try folder.replaceManifest(manifest, with: next) }
        #expect(try folder.readManifest() == manifest)
    }

    @Test("foreign files with the last numbers do not use them up", arguments: [0, 1, 2, 3] as [UInt64])
    func stray(_ before: UInt64) throws {
        let bench = Bench()
        let log = try bench.open()
        try bench.commit(log)
        let stray = log.folder.checkpoint(LogLimits.number - before)
        try log.folder.open(stray, .create).close()
        for round in 1...3 as ClosedRange<UInt64> {
            try log.adoptCheckpoint()
            try bench.publishCheckpoint(log)
            #expect(log.checkpoint?.id == round)
            try bench.commit(log)
        }
        #expect(try log.folder.status(stray) != nil)
        try log.close()
        try bench.another().open().close()
    }

    @Test("a number that a file already has is skipped") func taken() throws {
        let bench = Bench()
        let log = try bench.open()
        try bench.commit(log)
        for id in [1, 2, 4] as [UInt64] { try log.folder.open(log.folder.checkpoint(id), .create).close() }
        for id in [3, 5] as [UInt64] {
            try log.adoptCheckpoint()
            try bench.publishCheckpoint(log)
            #expect(log.checkpoint?.id == id)
            try bench.commit(log)
        }
    }

    /// A manifest with more segments could be written, but not read again.
    @Test func aManifestListsNoMoreThanCanBeRead() throws {
        let log = try Bench().open()
        var manifest = try log.folder.readManifest()
        manifest.segments = Array(repeating: manifest.openSegment, count: LogLimits.segmentCount)
        try log.folder.checkNumbers(of: manifest)
        manifest.segments.append(manifest.openSegment)
        #expect(throws: LogError.self) { try log.folder.checkNumbers(of: manifest) }
    }
}

import FirnLog
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import FirnCore

/// What a store reports besides results.
@Suite(.timeLimit(.minutes(20))) struct StoreEventTests {
    private final class Events: Sendable {
        let all = Guarded<[StoreEvent]>(.unranked, [])
        var count: Int { all.withLock { $0.count } }
    }

    private let folder = TemporaryFolder()
    private let events = Events()

    private func open(_ storage: any Storage = PosixStorage.shared) throws -> Store {
        var options = StoreOptions(
            log: LogOptions(folder: storage is PosixStorage ? folder.path + "/store" : "/store"))
        options.compaction.logByteCount = (least: 4 << 10, most: 4 << 10)
        options.compaction.bytesPerSecond = 0
        options.onEvent = { [events] event in
            LockRank.expectNone("an event is reported")
            events.all.withLock { $0.append(event) }
        }
        return try Store(options, storage: storage)
    }

    @Test func anAutomaticCheckpointIsReported() throws {
        let store = try open()
        try People.fill(store, 2000)
        #expect(TestTimeout.awaits { events.count > 0 })
        guard case .compacted(let report, let nanoseconds)? = events.all.withLock({ $0.first }) else {
            Issue.record("\(events.all.withLock { $0 })")
            return
        }
        #expect(report.version > 0 && report.byteCount > 0 && nanoseconds > 0)
        // So is one that was asked for; one that has nothing to write is not.
        try store.close()
        let again = try open()
        let before = events.count
        try again.compact(garbageShare: -1)
        #expect(events.count == before + 1)
    }

    @Test func aCheckpointThatCannotBeWrittenIsReported() throws {
        let storage = SimulatedStorage(seed: 1)
        let store = try open(storage)
        storage.inject(
            SimulatedFault(.permissionDenied, number: 13) {
                $0.operation == .create && $0.path.hasSuffix(".checkpoint")
            })
        try People.fill(store, 2000)
        #expect(TestTimeout.awaits { events.count > 0 })
        guard case .compactionFailed(let error)? = events.all.withLock({ $0.first }) else {
            Issue.record("\(events.all.withLock { $0 })")
            return
        }
        #expect("\(error)".contains("/store/checkpoint/"))
        // Commits go on.
        let version = store.publishedVersion
        try store.beginWrite().commit()
        #expect(store.publishedVersion == version + 1)
    }
}

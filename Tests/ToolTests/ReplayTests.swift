import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// `firn replay` against what each version held: 60 of 300 versions, or all of as many as `FIRN_REPLAYS` says.
@Suite("Every version is replayed", .timeLimit(.minutes(TestEnvironment.minutes))) struct ReplayTests {
    @Test("a replayed store holds what the version held", arguments: [false, true]) func everyVersion(
        compacts: Bool
    ) throws {
        let all = TestEnvironment.value("FIRN_REPLAYS").flatMap { Int($0) }
        let versions = all ?? 300
        // With checkpoints, but the complete log.
        let edited = try EditedStore(
            seed: 6, versions: versions, people: 10,
            compactsAt: compacts ? [versions / 3, versions / 2] : [], isIncremental: true, retainsHistory: true,
            segmentByteCount: 8192)
        let storage = edited.sample.storage
        #expect(try Run.replay(storage, to: 0).status == .usage)
        for version in stride(from: versions, to: 0, by: all == nil ? -5 : -1) {
            let run = try Run.replay(storage, to: UInt64(version))
            try #require(run.status == .fine, "\(run)")
            #expect(try EditedStore.state(of: storage, "/new") == edited.states[version], "version \(version)")
            if version % 50 == 0 { #expect(try Run.verify(storage, path: "/new").status == .fine) }
            // Version 1 has the schema, and no object.
            if version > 1 {
                let shown = try RoundTripTests.export(
                    storage, path: SampleStore.path, format: .csv,
                    choice: .init(types: ["Person"], version: .number(UInt64(version))))
                let replayed = try RoundTripTests.export(
                    storage, path: "/new", format: .csv, choice: .init(types: ["Person"]))
                #expect(shown.status == .fine && shown.out == replayed.out, "version \(version): \(shown.error)")
            }
            StoreFiles(named: "/new", storage: storage).removeAll()
            try #require(try storage.status("/new") == nil)
        }
    }
}

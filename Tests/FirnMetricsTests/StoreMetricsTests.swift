#if Metrics
    import FirnMetrics
    import FirnTestSupport
    import Foundation
    import MetricsTestKit
    import Testing

    @testable import Firn

    /// What is passed to swift-metrics.
    @Suite(.serialized, .timeLimit(.minutes(20))) struct StoreMetricsTests {
        private final class Measured: Object {
            @Persisted var number = 0
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }

        @Test func commitsVersionsAndCompactionsAreMeasured() async throws {
            let metrics = TestMetrics()
            // Other tests open stores meanwhile: their metrics have other dimensions.
            StoreMetrics.start(prefix: "shop", factory: metrics)
            let folder = TemporaryFolder()
            let url = URL(fileURLWithPath: folder.path).appendingPathComponent("measured.firn")
            let realm = try Realm(
                configuration: .init(fileURL: url, objectTypes: [Measured.self]), queue: nil)
            let store = [("store", realm.instance.shared.monitor.name)]
            #expect(store[0].1.hasSuffix("measured.firn"))
            let commits = try metrics.expectTimer("shop.commit", store)
            let before = commits.values.count
            for number in 0..<5 { try realm.write { realm.create(Measured.self, value: [number]) } }
            #expect(commits.values.count == before + 5)
            #expect(commits.values.allSatisfy { $0 > 0 })
            // A transaction that was undone is no commit.
            struct Undo: Error {}
            #expect(throws: Undo.self) { try realm.write { throw Undo() } }
            #expect(commits.values.count == before + 5)

            let frozen = realm.freeze()
            try realm.write { realm.create(Measured.self, value: [6]) }
            realm.instance.shared.monitor.look(at: realm.instance.store, now: 1)
            #expect(try metrics.expectGauge("shop.versions.active", store).lastValue == 2)
            let retained = try metrics.expectGauge("shop.versions.retained_bytes", store)
            #expect(try #require(retained.lastValue) > 0)
            #expect(try #require(metrics.expectGauge("shop.stored_bytes", store).lastValue) > 0)
            withExtendedLifetime(frozen) {}

            #expect(try metrics.expectTimer("shop.compaction", store).values.isEmpty)
            try realm.compact()
            #expect(try metrics.expectTimer("shop.compaction", store).values.count == 1)
            #expect(try metrics.expectCounter("shop.compaction.bytes", store).totalValue > 0)
        }

        @MainActor @Test func anAsynchronousCommitIsMeasuredOnceItIsDurable() async throws {
            let metrics = TestMetrics()
            StoreMetrics.start(prefix: "async", factory: metrics)
            let realm = try await Realm(
                configuration: .init(
                    inMemoryIdentifier: UUID().uuidString, objectTypes: [Measured.self]))
            let commits = try metrics.expectTimer("async.commit", [("store", realm.instance.shared.monitor.name)])
            let before = commits.values.count
            try await realm.asyncWrite { realm.create(Measured.self) }
            #expect(commits.values.count == before + 1)
            await withCheckedContinuation { done in
                realm.writeAsync({ realm.create(Measured.self) }, onComplete: { _ in done.resume() })
            }
            #expect(commits.values.count == before + 2)
        }
    }
#endif

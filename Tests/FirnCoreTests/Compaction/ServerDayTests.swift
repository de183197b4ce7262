import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// 24 simulated hours of a server. `FIRN_SERVER_SCALE` multiplies its data and its commits. A scale of 60 makes
/// 345,600 commits a day on 240,000 objects, with the released rule and every commit durable; it runs for a second
/// day, because the rule then asks for few checkpoints.
@Suite(.timeLimit(.minutes(TestEnvironment.minutes))) struct ServerDayTests {
    /// Writers that mostly change new objects, and writers that change any object.
    @Test(arguments: [2, 100]) func filesMemoryAndVersionsDoNotGrowOverADayOfAServer(spread: Int) throws {
        let scale = Int(TestEnvironment.value("FIRN_SERVER_SCALE") ?? "") ?? 1
        var plan = ServerDay.Plan(seed: UInt64(spread), spread: spread)
        plan.objectCount *= scale
        plan.commitsPerMinute *= scale
        if scale < 60 {
            plan.rule.logByteCount = (least: 128 << 10, most: 512 << 10)
        } else {
            plan.durability = .full
        }
        let day = try ServerDay(plan)
        for hour in 0..<(scale < 60 ? 24 : 48) {
            try day.run(minutes: 60)
            if scale > 1 {
                print(
                    "spread \(spread), hour \(hour + 1): \(day.use); \(StoreUse.residentByteCount >> 20) MiB resident")
            }
        }
        let use = day.use
        #expect(use.needed.max()! < 1.5 && use.all.max()! < 1.5)
        #expect(StoreUse.isFlat(use.heap) && StoreUse.isFlat(use.nodes) && StoreUse.isFlat(use.versions))
        #expect(use.checkpointCount > 5 && day.readerCount > 1000)
        #expect(day.store.compactionFailure == nil)

        day.end()
        let store = day.store
        #expect(store.activeVersions.map(\.holders) == [0] && !store.keepsChangeSummaries)
        #expect(store.heap.nodeCount == store.reachedNodeCount([]))
        try store.compact()
        try store.compact()
        let files = try #require(store.log?.checkpoint).files.map(\.id)
        let found = try PosixStorage.shared.list(day.folder.path + "/store/checkpoint")
        #expect(found.map { UInt64($0.prefix(10)) ?? 0 }.sorted() == files)
        store._checkInvariants()
        try store.close()
    }
}

extension StoreUse: CustomStringConvertible {
    var description: String {
        func rounded(_ figure: Double) -> String { "\(Double(Int(figure * 100)) / 100)" }
        func tenths(_ figures: [Double]) -> String {
            "\(rounded(figures.max() ?? 0)) at most, \(rounded(figures.reduce(0, +) / Double(max(figures.count, 1)))) on average"
        }
        return "files less the log's allowance, x live: \(tenths(needed)); with those of held versions \(tenths(all)), "
            + "\(rounded(peak)) at any moment; in KiB, log \(worst.log >> 10), checkpoint \(worst.checkpoint >> 10), held \(worst.held >> 10), other \(worst.other >> 10) at worst; \(checkpointCount) checkpoints, \(nodes.max() ?? 0) nodes and "
            + "\(scratch >> 20) MiB of scratch files and \((heap.max() ?? 0) >> 10) KiB of heap at most, \(versions.max() ?? 0) versions"
    }
}

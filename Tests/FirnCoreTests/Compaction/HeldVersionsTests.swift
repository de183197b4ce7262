import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnCore

/// Holds a thousand versions at once while one compaction follows another. Each version is verified against the
/// oracle beside the compactor and after it, and costs exactly what it alone needs.
@Suite(.timeLimit(.minutes(20))) struct HeldVersionsTests {
    @Test func aThousandHeldVersionsDoNotChangeWhileTheCompactorRunsOrAfterwards() throws {
        let wanted = 1000
        let folder = TemporaryFolder()
        let run = try ModelRun(seed: 61, rowGoal: 100, storage: PosixStorage.shared, folder: folder.path + "/store") {
            $0.log?.usesThreads = true
            $0.log?.durability = .none
            $0.compaction.logByteCount = (least: 48 << 10, most: 48 << 10)
            $0.compaction.bytesPerSecond = 0
        }
        let store = run.store
        let versions = Guarded<[Held]>(.unranked, [])
        let isWritten = Atomic<Bool>(false)
        let isVerified = Atomic<Bool>(false)
        // The version up to which the writer goes. It never waits for a compaction to end, but it stays close to the
        // next one that is asked for. So on a busy machine, too, at least a dozen are asked for: every third of them
        // writes everything.
        let writtenUpTo = Atomic<UInt64>(20)

        nonisolated(unsafe) let writing = run
        let writer = try StorageThread.start(name: "writer") {
            recordingIssues {
                while versions.withLock({ $0.count }) < wanted {
                    let before = store.publishedVersion
                    guard before < writtenUpTo.load(ordering: .acquiring) else {
                        sleepThread(nanoseconds: 500_000)
                        continue
                    }
                    try writing.transaction(operations: 1 + writing.random.below(6))
                    guard store.publishedVersion > before else { continue }
                    let held = Held(pin: store.pin(), oracle: writing.oracle)
                    versions.withLock { $0.append(held) }
                }
            }
            isWritten.store(true, ordering: .releasing)
        }
        // Verifies each version as it comes, and old ones between them.
        let verifier = try StorageThread.start(name: "verifier") {
            var random = SeededRandom(seed: 62)
            var next = 0
            recordingIssues {
                while true {
                    let isLast = isWritten.load(ordering: .acquiring)
                    let count = versions.withLock { $0.count }
                    while next < count {
                        try versions.withLock { $0[next] }.verify("beside the compactor")
                        if next % 4 == 3 {
                            let old = random.below(next)
                            try versions.withLock { $0[old] }.verify("beside the compactor again")
                        }
                        next += 1
                    }
                    if isLast { break }
                    sleepThread(nanoseconds: 500_000)
                }
            }
            isVerified.store(true, ordering: .releasing)
        }
        // The rule's compactions run on the store's own thread; between them, compactions that are asked for run
        // here.
        var random = SeededRandom(seed: 63)
        var reports: [CompactionReport] = []
        var asked = 0
        var due: UInt64 = 0
        defer { writtenUpTo.store(.max, ordering: .releasing) }
        while !isVerified.load(ordering: .acquiring) {
            guard store.publishedVersion >= due else {
                sleepThread(nanoseconds: 500_000)
                continue
            }
            asked += 1
            if let report = try store.compact(garbageShare: asked % 3 == 0 ? -1 : 10) { reports.append(report) }
            due = store.publishedVersion + UInt64(5 + random.below(30))
            writtenUpTo.store(due + 20, ordering: .releasing)
        }
        writer.join()
        verifier.join()
        try store.compact(garbageShare: -1)
        try store.compaction.thread.run { () throws(StoreError) in }
        #expect(store.compactionFailure == nil)
        let fileCount = try #require(store.log?.checkpoint).id
        #expect(reports.count { $0.isWhole } > 3 && reports.count { !$0.isWhole } > 3)
        #expect(Int(fileCount) > reports.count + 4, "the rule asked for \(Int(fileCount) - reports.count) more")
        #expect(store.activeVersions.count >= wanted)

        var held = versions.withLock { versions in
            defer { versions = [] }
            return versions
        }
        for version in held { try version.verify("after the last compaction") }
        store._checkInvariants()
        try release(&held, store: store, seed: run.seed, folder: folder.path + "/store/checkpoint")
        try run.verify(store.pin(), expected: run.oracle, label: "the newest, after all others")
        store._checkInvariants()
    }

    /// Releases the versions in random order. At each step the heap has exactly the nodes that the remaining versions
    /// reach. After a compaction the folder has exactly the files that they and the newest version need.
    private func release(_ held: inout [Held], store: Store, seed: UInt64, folder: String) throws {
        var random = SeededRandom(seed: seed)
        var users = NodeUsers()
        var newest = users.add(store.versions.tip.snapshot)
        for index in held.indices { held[index].nodes = users.add(held[index].pin.snapshot) }
        var fileCounts: [Int] = []
        while true {
            guard store.heap.nodeCount == users.count else {
                Issue.record("\(held.count) left: \(store.heap.nodeCount) nodes are alive, \(users.count) reached")
                return
            }
            if held.count % 200 == 0 {
                users.remove(newest)
                let report = try store.compact()
                newest = users.add(store.versions.tip.snapshot)
                #expect(store.heap.nodeCount == users.count, "\(held.count) left, compacted")
                var files = Set(try #require(store.log?.checkpoint).files.map(\.id))
                for version in held { files.formUnion(version.pin.mapping?.files.map(\.id) ?? []) }
                let found = try PosixStorage.shared.list(folder).map { UInt64($0.prefix(10)) ?? 0 }
                #expect(
                    found.sorted() == files.sorted(), "\(held.count) versions left, \(String(describing: report))")
                fileCounts.append(files.count)
                store.versions.checkCounts()
            }
            if held.isEmpty { break }
            let index = random.below(held.count)
            users.remove(held[index].nodes)
            held.remove(at: index)
        }
        #expect(fileCounts.first! > fileCounts.last! && fileCounts.last! == store.log?.checkpoint?.files.count)
        #expect(store.activeVersions.count == 1 && store.activeVersions[0].holders == 0)
    }
}

/// A held version, and what it holds.
private struct Held {
    let pin: Pin
    let oracle: Oracle
    /// The version's nodes on the heap.
    var nodes: Set<UInt64> = []

    func verify(_ label: String) throws {
        if let fault = oracle.check(pin.snapshot, "version \(pin.version), \(label)") {
            throw ModelRun.Failure(description: fault)
        }
    }
}

/// Runs the body of a thread, which can't throw, and records what it throws.
private func recordingIssues(_ body: () throws -> Void) {
    do { try body() } catch { Issue.record("\(error)") }
}

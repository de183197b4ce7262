import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

/// Writers, the compactor, the log's maintenance thread, readers and waiters at once, under power cuts and faults.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ThreadedSimulationTests {
    /// Opens the store that a power cut left, checks it, commits once more, and opens it again after another power cut.
    private func reopen(_ cut: ThreadedRun.Cut, _ durability: Durability, isFull: Bool) throws {
        func open(_ disk: SimulatedDisk) throws -> Store {
            var options = ThreadedRun.options(durability)
            options.log?.usesThreads = false
            return try Store(options, storage: disk.newProcess())
        }
        let store = try open(cut.disk)
        let found = store.publishedVersion
        let context = "cut with seed \(cut.seed) after version \(cut.acknowledged) was acknowledged\n\(cut.disk)"
        if isFull { #expect(found >= cut.acknowledged, "\(context)") }
        try ThreadedRun.check(store.pin())
        let log = try #require(store.log)
        // No checkpoint is ahead of the log, so the next commit follows both.
        try #require(log.writtenVersion == found, "\(context)")
        guard found > 0 else { return try store.close() }
        let transaction = try store.beginWrite()
        var row = transaction.beginRow(TableID(0))
        transaction.fill(&row, column: 0, value: .int(Int64(found) + 1))
        try transaction.endRow(row)
        try transaction.commit()
        try log.sync()
        let again = try open(cut.disk.afterPowerCut(seed: cut.seed &+ 1))
        #expect(again.publishedVersion == found + 1, "\(context)")
        try ThreadedRun.check(again.pin())
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func aPowerCutLosesNothingThatWasAcknowledged(seed: UInt64) throws {
        let run = try ThreadedRun(seed: seed, .full)
        try #require(try run.run(count: 40), "a thread hangs; seed \(seed)")
        #expect(run.allFailures.isEmpty, "\(run.allFailures)")
        let cuts = run.allCuts
        #expect(cuts.count > 5)
        for cut in cuts { try reopen(cut, .full, isFull: true) }
        try run.store.close()
    }

    @Test(
        arguments: zip(
            [1, 2, 3, 4] as [UInt64],
            [Durability.none, .none, .relaxed(milliseconds: 2), .relaxed(milliseconds: 20)]))
    func aPowerCutLeavesAPrefixOfWholeCommits(seed: UInt64, durability: Durability) throws {
        let run = try ThreadedRun(seed: seed, durability)
        try #require(try run.run(count: 80, cutEvery: 20), "a thread hangs; seed \(seed)")
        #expect(run.allFailures.isEmpty, "\(run.allFailures)")
        let cuts = run.allCuts
        #expect(cuts.count > 5)
        for cut in cuts { try reopen(cut, durability, isFull: false) }
        try run.store.close()
    }

    /// If a sync fails, every thread that waits for it gets an error, however many wait.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func commitsThatWaitOnAFailedSyncFail(seed: UInt64) throws {
        let run = try ThreadedRun(seed: seed, .full)
        try #require(try run.run(count: 10_000, cutEvery: 0, .failedSync), "a thread hangs; seed \(seed)")
        // Counts the writers. The compactor may instead get the error of its sync of the manifest.
        var unknownOutcomeCount = 0
        for failure in run.allFailures {
            switch (failure as? StoreError)?.code {
            case .log(let error):
                switch error.code {
                case .unknownOutcome: unknownOutcomeCount += 1
                case .storage: break
                default: Issue.record("\(failure)")
                }
            default: Issue.record("\(failure)")
            }
        }
        #expect(unknownOutcomeCount >= ThreadedRun.writerCount, "\(run.allFailures)")
        try? run.store.close()  // it throws the same error again
        let next = try Store(ThreadedRun.options(.full), storage: run.storage.disk.newProcess())
        #expect(next.publishedVersion >= run.commitCount)
        try ThreadedRun.check(next.pin())
        try next.close()
    }

    /// A full disk fails only the commit that meets it: nothing else is lost, and the store keeps working.
    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func aFullDiskFailsOneCommitAndNothingElse(seed: UInt64) throws {
        let run = try ThreadedRun(seed: seed, .full)
        try #require(try run.run(count: 60, cutEvery: 30, .fullDisk), "a thread hangs; seed \(seed)")
        for cut in run.allCuts { try reopen(cut, .full, isFull: true) }
        try ThreadedRun.check(run.store.pin())
        try? run.store.close()  // the disk may still be full
        let next = try Store(ThreadedRun.options(.full), storage: run.storage.disk.newProcess())
        #expect(next.publishedVersion > run.commitCount)
        try ThreadedRun.check(next.pin())
    }
}

import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// After a crash at any call of the storage, the store opens with one complete version: the last acknowledged one or
/// a later one that was begun.
@Suite(.timeLimit(.minutes(20))) struct StoreCrashTests {
    /// Runs the script once to count its calls, then stops it at each (`ways` times, with more or less of a write
    /// done), cuts the power with several seeds, and opens what is left. The last time only the process dies.
    private func crashEverywhere(
        seeds: Int = 4, ways: Int = 1, from first: Int = 0, _ make: () -> StoreScript
    ) throws {
        let trial = SimulatedStorage(seed: 1)
        let trialScript = make()
        let thrown = trialScript.run(on: trial)
        #expect(thrown == nil, "the script does not run to its end: \(thrown.map { "\($0)" } ?? "")")
        #expect(trialScript.acknowledged == trialScript.begun && trialScript.begun > 2)
        var seen: Set<UInt64> = []
        for (stop, way) in (first..<trial.callCount).flatMap({ stop in (0..<ways).map { (stop, $0) } }) {
            let storage = SimulatedStorage(seed: UInt64(stop) &* 31 &+ 7 &+ UInt64(way) &* 1013)
            storage.crashAt = stop
            let script = make()
            #expect(script.run(on: storage) != nil)
            for seed in 0..<seeds {
                let disk =
                    seed + 1 < seeds ? storage.disk.afterPowerCut(seed: UInt64(seed &* 977 &+ stop)) : storage.disk
                seen.insert(
                    try reopen(
                        disk, script: script, context: "stopped at call \(stop) of \(trial.callCount), seed \(seed)"))
            }
        }
        // Every version must have been found.
        if first == 0 { #expect(seen == Set(0...trialScript.begun)) }
    }

    /// Opens what is left, checks it, commits once more, cuts the power again, and opens the result.
    private func reopen(_ disk: SimulatedDisk, script: StoreScript, context: String) throws -> UInt64 {
        let process = disk.newProcess()
        do {
            let store = try StoreScript.open(script.options, process)
            try script.check(store, context)
            let found = store.publishedVersion
            let transaction = try store.beginWrite()
            try transaction.changeSchema(to: StoreSchema(version: 9, tables: transaction.resolvedSchema.schema.tables))
            try transaction.commit()
            let again = try StoreScript.open(script.options, disk.afterPowerCut(seed: 5).newProcess())
            #expect(again.publishedVersion == found + 1 && again.schema.version == 9, "\(context)")
            if let expected = script.versions[found] {
                let fault = expected.check(again.pin().snapshot, "once more")
                #expect(fault == nil, "\(context)")
            }
            return found
        } catch {
            Issue.record("\(error)\n\(context)\n\(process)")
            throw error
        }
    }

    @Test func oneWriterWithRollsAndASchemaChange() throws {
        try crashEverywhere {
            StoreScript([
                .commit(StoreScript.schema), .commit(StoreScript.create(0, 6)), .commit(StoreScript.create(1, 2)),
                .commit(StoreScript.editLists), .cancel(StoreScript.create(0, 3)), .commit(StoreScript.set(0, 3)),
                .commit(StoreScript.blob(5000)),
                .commit(StoreScript.delete(0, 2)), .commit(StoreScript.wider), .commit(StoreScript.set(0, 9)),
                .commit(StoreScript.create(0, 4)),
                .reopen, .commit(StoreScript.delete(0, 3)), .commit(StoreScript.set(0, 13)),
            ])
        }
    }

    @Test func fourTransactionsInOneGroup() throws {
        try crashEverywhere(ways: 3) {
            StoreScript([
                .commit(StoreScript.schema), .write(StoreScript.create(0, 4)), .write(StoreScript.editLists),
                .write(StoreScript.delete(0, 1)),
                .write(StoreScript.set(0, 4)), .wait, .write(StoreScript.create(1, 2)), .write(StoreScript.set(0, 2)),
                .wait,
            ]) { $0.segmentByteCount = 32 << 10 }
        }
    }

    /// A crash leaves either nothing or all of a checkpoint and of the manifest that lists it.
    @Test func checkpoints() throws {
        try crashEverywhere(seeds: 3) {
            StoreScript([
                .commit(StoreScript.schema), .commit(StoreScript.create(0, 6)), .compact(whole: true),
                .commit(StoreScript.create(1, 2)), .commit(StoreScript.editLists), .compact(whole: false),
                .commit(StoreScript.blob(5000)), .commit(StoreScript.delete(0, 2)), .compact(whole: true),
                .commit(StoreScript.set(0, 3)), .reopen, .commit(StoreScript.set(0, 9)), .compact(whole: false),
            ]) { $0.segmentByteCount = 32 << 10 }
        }
    }

    /// The same, while transactions are committed and versions are held during each step of a compaction.
    @Test(arguments: [false, true]) func checkpointsBesideAWriterAndReaders(isWhole: Bool) throws {
        try crashEverywhere(seeds: 3) {
            StoreScript([
                .commit(StoreScript.schema), .commit(StoreScript.create(0, 6)), .compact(whole: true),
                .commit(StoreScript.editLists), .compactBeside(whole: isWhole, StoreScript.create(1, 2)),
                .commit(StoreScript.delete(0, 2)), .compactBeside(whole: isWhole, StoreScript.set(0, 3)), .reopen,
                .commit(StoreScript.set(0, 9)),
            ]) { $0.segmentByteCount = 32 << 10 }
        }
    }

    @Test func aCommitOfManyParts() throws {
        // The other tests cover the calls before the long commit.
        try crashEverywhere(seeds: 3, from: 25) {
            StoreScript([
                .commit(StoreScript.schema), .commit(StoreScript.create(0, 1)), .commit(StoreScript.blob(2_300_000)),
                .commit(StoreScript.delete(0, 1)),
            ]) {
                $0.segmentByteCount = 1 << 20
            }
        }
    }
}

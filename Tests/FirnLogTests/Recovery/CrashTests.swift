import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("A crash after any call of the storage loses nothing that was acknowledged", .timeLimit(.minutes(20)))
struct CrashTests {
    /// Runs the script once to count its calls, then stops it at each call, cuts the power with several seeds, and
    /// opens what is left.
    func crashEverywhere(_ make: () -> LogScript, seeds: Int = 16) throws {
        let trialScript = make()
        let trial = SimulatedStorage(seed: 1)
        let thrown = trialScript.run(on: trial)
        #expect(thrown == nil, "the script does not run to its end: \(thrown.map { "\($0)" } ?? "")")
        let calls = trial.callCount
        for stop in 0..<calls {
            let storage = SimulatedStorage(seed: UInt64(stop) &* 31 &+ 7)
            storage.crashAt = stop
            let script = make()
            script.run(on: storage)
            for seed in 0..<UInt64(seeds) {
                // For all seeds but the last, the power fails. For the last, only the process dies, and the page cache
                // stays.
                let disk =
                    seed + 1 < UInt64(seeds)
                    ? storage.disk.afterPowerCut(seed: seed &* 977 &+ UInt64(stop)) : storage.disk
                try reopen(disk, script: script, context: "stopped at call \(stop) of \(calls), seed \(seed)\n")
            }
        }
    }

    /// Opens the store, checks it, commits once more, closes, and opens again.
    func reopen(_ disk: SimulatedDisk, script: LogScript, context: String) throws {
        let process = disk.newProcess()
        do {
            let log = try Log.open(
                script.options, storage: process, clock: ManualClock(), randomness: SeededRandomness(seed: 2))
            try script.check(log, context)
            let next = log.writtenVersion + 1
            let goingOn = LogScript([])
            goingOn.lengths = script.lengths
            goingOn.lengths[next] = [300]
            goingOn.attempts = script.attempts
            try LogScript.commit(log, version: next, [300], attempt: goingOn.nextAttempt(at: next))
            try log.waitUntilDurable(next)
            goingOn.acknowledged = next
            goingOn.begun = next
            // The power fails once more, without a close. For odd seeds everything is lost that no process made
            // durable, not even the crashed one.
            let survival = disk.seed % 2 == 0 ? SimulatedDisk.Survival.seeded : .nothing
            let later = disk.afterPowerCut(seed: 5, survival).newProcess()
            let again = try Log.open(
                script.options, storage: later, clock: ManualClock(), randomness: SeededRandomness(seed: 3))
            try goingOn.check(again, "after one more commit; \(survival); " + context)
            try again.close()
            try log.close()
        } catch {
            Issue.record("\(error)\n\(context)\(process.description)")
            throw error
        }
    }

    @Test("with one writer") func oneWriter() throws {
        try crashEverywhere {
            LogScript([
                .commit([200]), .wait, .commit([70]), .wait, .commit([5]), .wait, .mark, .commit([900]), .wait, .close,
            ])
        }
    }

    @Test("with four commits in one group") func group() throws {
        try crashEverywhere {
            LogScript([
                .commit([200]), .wait, .commit([200]), .commit([900]), .commit([20]), .commit([200]), .wait,
                .commit([10]), .commit([10]), .close,
            ])
        }
    }

    @Test("with a commit of many parts, and one that is abandoned") func parts() throws {
        try crashEverywhere {
            LogScript([
                .commit([100]), .wait, .commit([4000, 4000, 4000, 100]), .wait, .abort([3000, 3000, 3000]),
                .commit([50, 4000]), .wait, .close,
            ])
        }
    }

    @Test("with rolls to new segments, and a reopening") func rolls() throws {
        try crashEverywhere {
            LogScript([
                .commit([3000]), .wait, .commit([3000]), .wait, .commit([100]), .wait, .close, .open, .commit([5000]),
                .commit([10]), .wait, .commit([10]), .wait, .close,
            ]) { $0.segmentByteCount = 4096 }
        }
    }

    @Test("while it recovers from another crash") func duringRecovery() throws {
        func make() -> LogScript {
            LogScript([
                .commit([300]), .wait, .commit([3000, 200]), .wait, .commit([900]), .commit([500, 4000]), .commit([10]),
                .wait,
            ]) {
                $0.segmentByteCount = 4096
            }
        }
        let trial = SimulatedStorage(seed: 1)
        make().run(on: trial)
        var recoveries = 0
        for first in stride(from: trial.callCount - 24, to: trial.callCount - 8, by: 2) {
            let storage = SimulatedStorage(seed: UInt64(first))
            storage.crashAt = first
            let script = make()
            script.run(on: storage)
            for seed in 0..<3 as Range<UInt64> {
                // For the last seed, only the process dies, so the page cache survives.
                func left() -> SimulatedDisk {
                    storage.disk.afterPowerCut(seed: seed, seed == 2 ? .probability(data: 1, names: 1) : .seeded)
                }
                let uninterrupted = left().newProcess()
                let log = try Log.open(script.options, storage: uninterrupted)
                if log.recovery.epoch > 1 { recoveries += 1 }
                for stop in 0..<uninterrupted.callCount {
                    let process = left().newProcess()
                    process.crashAt = stop
                    _ = try? Log.open(script.options, storage: process)
                    for again in 0..<4 as Range<UInt64> {
                        let disk = process.disk.afterPowerCut(seed: again)
                        try reopen(
                            disk, script: script,
                            context:
                                "crash at \(first), seed \(seed), again at call \(stop) of the opening, seed \(again)\n"
                        )
                    }
                }
            }
        }
        #expect(recoveries > 3, "the script makes no recovery")
    }
}

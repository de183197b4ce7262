import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// A process ends, the next one that opens the store ends while it opens it, and then the power fails. What the second
/// one removes, and what it writes, must not depend on names that the first one, or it itself, has not synced.
///
/// `FIRN_TWO_STOPS` sets how many power cuts follow each pair of stops, and lets the first process stop at each of
/// its calls instead of its last ones.
@Suite("Two processes end one after the other, and the power fails", .timeLimit(.minutes(20)))
struct TwoStopsTests {
    private static let powerCuts = TestEnvironment.value("FIRN_TWO_STOPS").flatMap { Int($0) }

    /// The operations of the first process on its own store.
    enum Life: CaseIterable {
        /// It writes checkpoints, after each of which segments and the checkpoint before can be removed.
        case compacts
        /// It leaves commits that no mark covers, so that the next opener rewrites them under a new epoch.
        case leavesCommitsUnsynced
        /// It ends in the middle of a write, so that the next opener cuts off what it left, and the one after that
        /// has nothing to do.
        case leavesTornTail
        /// It continues in new segments.
        case rolls

        /// Returns the last version that was reported to it as durable when it ends or its storage stops.
        func run(_ bench: Bench) -> UInt64 {
            var acknowledged: UInt64 = 0
            // Its storage stops it somewhere.
            try? run(bench, &acknowledged)
            bench.storage.disk.kill(bench.storage)
            return acknowledged
        }

        private func run(_ bench: Bench, _ acknowledged: inout UInt64) throws {
            let log = try bench.open()
            func commit() throws {
                try bench.commit(log)
                try log.waitUntilDurable(log.writtenVersion)
                acknowledged = log.writtenVersion
            }
            switch self {
            case .compacts:
                for _ in 1...3 {
                    try commit()
                    try bench.publishCheckpoint(log)
                    try log.removeUnneeded(held: [])
                }
            case .leavesCommitsUnsynced:
                try commit()
                try bench.commit(log)
                try bench.commit(log)
            case .leavesTornTail:
                try commit()
                let half = [UInt8](repeating: 0xA5, count: 700)
                let file = try bench.storage.open(Bench.segment, .readWrite)
                try half.withUnsafeBytes { try file.write($0, at: log.writer!.tail.end) }
            case .rolls:
                for _ in 1...2 {
                    try commit()
                    try log.sealSegment()
                }
            }
            // It does not close the store.
            bench.storage.disk.kill(bench.storage)
        }

        /// How many of its last calls matter: one complete round of its work.
        var lastCallCount: Int { self == .compacts ? 18 : self == .rolls ? 12 : 1 }
    }

    @Test("no acknowledged commit is lost, and the store opens", arguments: Life.allCases)
    func stops(_ life: Life) {
        let trial = Bench()
        _ = life.run(trial)
        let end = trial.storage.callCount
        let first = Self.powerCuts == nil ? end - life.lastCallCount : 1
        var failures: [String] = []
        for stop in first...end {
            var second = 0
            while stopBoth(life, first: stop, second: second, fault: nil, failures: &failures) { second += 1 }
        }
        #expect(failures.isEmpty, "\(failures.count) failures: \(failures.prefix(3).joined(separator: "\n"))")
    }

    @Test("nothing is lost if the disk is full, or fails, at a call of the second one", arguments: Life.allCases)
    func stopsOnAFullDisk(_ life: Life) {
        let trial = Bench()
        _ = life.run(trial)
        let end = trial.storage.callCount
        // The calls of the second process that change the disk.
        let opener = trial.another()
        _ = try? opener.open()
        let calls = trial.storage.disk.ioTrace.filter {
            $0.process == 2 && $0.operation.changesDisk && $0.operation != .lockFile && $0.operation != .sharedMemory
        }
        var failures: [String] = []
        for code in [StorageError.Code.noSpace, .io] {
            for call in calls.map(\.index) {
                let fault = SimulatedFault(code, number: 28, residue: .all, atCall: call)
                // Before that call it is as if there were no fault.
                var second = call + 1
                while stopBoth(life, first: end, second: second, fault: fault, failures: &failures) { second += 1 }
            }
        }
        #expect(failures.isEmpty, "\(failures.count) failures: \(failures.prefix(3).joined(separator: "\n"))")
    }

    /// The next sync of the folder succeeds, but the name that the failed one was for is lost all the same. The
    /// second process may be killed before it reports its failure.
    @Test(
        "nothing is lost if a call of the second one fails, and a third continues", arguments: Life.allCases,
        [true, false])
    func continuesAfterAFailure(_ life: Life, tells: Bool) throws {
        let trial = Bench()
        _ = life.run(trial)
        let opener = trial.another()
        _ = try opener.open()
        var failures: [String] = []
        for call in trial.storage.disk.ioTrace where call.process == 2 {
            let bench = Bench()
            _ = life.run(bench)
            let disk = bench.storage.disk
            let second = bench.another()
            second.storage.inject(SimulatedFault(.io, residue: .nothing, atCall: call.index))
            _ = try? second.open()
            disk.kill(second.storage)
            if !tells {
                let folder = try StoreFolder(path: "/store", storage: disk.newProcess())
                try SharedPage(folder, folder.readManifest().storeID, mayCreate: true).store(0, 72)
            }
            let third = bench.another()
            let log = try third.open()
            let acknowledged = try third.commit(log)
            try log.waitUntilDurable(acknowledged)
            disk.kill(third.storage)
            for seed in 0..<UInt64(Self.powerCuts ?? 3) {
                let names = Double(seed % 3) / 2
                check(
                    disk.afterPowerCut(seed: seed, .probability(data: 0, names: names)), options: bench.options,
                    acknowledged: acknowledged,
                    context: "\(call.operation) failed, \(names) of the names stay, seed \(seed)", failures: &failures)
            }
        }
        #expect(failures.isEmpty, "\(failures.count) failures: \(failures.prefix(3).joined(separator: "\n"))")
    }

    /// One pair of stops, and the power cuts after it. Returns false if the second process came to its end before it
    /// was stopped.
    private func stopBoth(
        _ life: Life, first: Int, second: Int, fault: SimulatedFault?, failures: inout [String]
    ) -> Bool {
        let bench = Bench(seed: UInt64(first))
        bench.storage.crashAt = first
        let acknowledged = life.run(bench)
        let other = bench.another()
        if let fault { other.storage.inject(fault) }
        other.storage.crashAt = second
        // If it opens the store, it closes it, too.
        _ = try? other.open()
        let wasStopped = other.storage.isStopped
        let disk = bench.storage.disk
        disk.kill(other.storage)
        let context = "the first stopped before call \(first), the second before its call \(second)"
        // A stop before a call that changes nothing equals a stop before the next call that does.
        if wasStopped, let last = disk.ioTrace.last, !last.operation.changesDisk { return true }
        for seed in 0..<UInt64(Self.powerCuts ?? 5) {
            let survival = seed % 3 == 2 ? SimulatedDisk.Survival.seeded : .probability(data: 1, names: 0.5)
            check(
                disk.afterPowerCut(seed: seed &* 7919 &+ UInt64(second), survival), options: bench.options,
                acknowledged: acknowledged,
                context: "\(context), seed \(seed)", failures: &failures)
        }
        check(
            disk, options: bench.options, acknowledged: acknowledged, context: "\(context), and the power stayed",
            failures: &failures)
        return wasStopped
    }

    private func check(
        _ disk: SimulatedDisk, options: LogOptions, acknowledged: UInt64, context: @autoclosure () -> String,
        failures: inout [String]
    ) {
        do {
            var after = Bench(disk.newProcess())
            after.options = options
            let log = try after.open()
            let last = log.recovery.lastVersion
            if last < acknowledged { failures.append("\(last) of \(acknowledged) versions are there: \(context())") }
            var next = try log.firstVersion
            try log.replay(after: next - 1, through: last) { commit in
                let bytes = try commit.next()?.bytes
                if commit.version != next
                    || bytes.map({ Payload.isEqual($0, version: next, part: 0, count: 200) }) != true
                {
                    failures.append("version \(next) is not what it was: \(context())")
                }
                next += 1
            }
            try after.commit(log)
            try log.close()
        } catch {
            failures.append("\(error): \(context())")
        }
    }

    /// Two processes have the store open. One replaces the manifest and ends before it has synced the folder; the
    /// other still reads, and so knows that manifest.
    @Test("a file that another process no longer lists is not removed before its manifest is durable")
    func removalBesideAWriterThatEnds() throws {
        let bench = Bench()
        let log = try bench.open()
        try bench.commit(log)
        try log.waitUntilDurable(1)
        let other = bench.another()
        let follower = try other.open()
        func follow() throws {
            if let progress = try follower.readPublished({ commit in while try commit.next() != nil {} }) {
                follower.advance(to: progress)
            }
        }
        try bench.commit(log)
        try log.waitUntilDurable(2)
        try follow()
        // The page says that there is a newer manifest than the other process knows; what it then reads may be newer
        // still.
        try log.sealSegment()
        try bench.commit(log)
        try log.waitUntilDurable(3)
        let storage = bench.storage
        let syncs = Countdown(1)
        storage.beforeEachCall { call in
            // The folder is synced for the segment that the checkpoint covers, and then for the checkpoint.
            if call.operation == .syncFolder, call.path == "/store", syncs.isOver() { storage.disk.kill(storage) }
        }
        _ = try? bench.publishCheckpoint(log, keepingVersionsAfter: 2)
        #expect(bench.storage.isStopped)
        try follow()
        #expect(follower.writer?.tail.snapshot().manifest.checkpoint != nil, "it has not read the new manifest")
        try follower.removeUnneeded(held: [])

        // The manifest's new name is lost, and everything else is kept.
        var lost = 0
        for seed in 0..<16 as Range<UInt64> {
            let disk = bench.storage.disk.afterPowerCut(seed: seed, .probability(data: 1, names: 0.5))
            var after = Bench(disk.newProcess())
            after.options = bench.options
            let again = try after.open()
            if again.checkpoint == nil { lost += 1 }
            #expect(again.recovery.lastVersion == 3)
        }
        #expect(lost > 0, "the manifest survived each power cut")
    }
}

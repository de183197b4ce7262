import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("Faults of the storage", .timeLimit(.minutes(20))) struct FaultTests {
    func isSegmentWrite(_ call: SimulatedCall) -> Bool { call.operation == .write && call.path.hasSuffix("segment") }

    @Test(
        "a disk that fills in mid-commit fails that commit alone",
        arguments: [[200], [4000, 4000, 4000, 4000], [9000, 100]])
    func diskFull(_ lengths: [Int]) throws {
        for residue in [SimulatedFault.Residue.nothing, .some, .all] {
            for skipped in 0..<min(lengths.count, 3) {
                let bench = Bench()
                let log = try bench.open()
                try log.waitUntilDurable(try bench.commit(log))
                let left = Countdown(skipped)
                bench.storage.inject(
                    SimulatedFault(.noSpace, number: 28, residue: residue) { self.isSegmentWrite($0) && left.isOver() })
                let error = #expect(throws: LogError.self) { try bench.commit(log, lengths) }
                #expect(error?.code == .diskFull)
                #expect(log.failure == nil && log.writtenVersion == 1)
                // The log continues with the same version.
                #expect(try bench.commit(log, [300]) == 2)
                try log.waitUntilDurable(2)
                let script = LogScript([])
                script.lengths = [1: [200], 2: [300]]
                script.acknowledged = 2
                script.begun = 2
                let after = bench.afterPowerCut(keeping: 0)
                let again = try after.open()
                try script.check(again, "\(residue) after \(skipped) writes")
                #expect(again.recovery.outcome == .clean)
            }
        }
    }

    /// The new manifest may already be in force, with everything that was to be rewritten: that is not begun again.
    @Test("a disk that is full at one call of a recovery is never mistaken for damage")
    func fullDuringRecovery() throws {
        func dead(_ seed: UInt64) -> (script: LogScript, storage: SimulatedStorage) {
            let script = LogScript([
                .commit([200]), .wait, .commit([900]), .wait, .commit([300]), .commit([2000]), .commit([40]),
            ])
            let storage = SimulatedStorage(seed: seed)
            // The last sync, with which the log would be closed.
            let left = Countdown(3)
            storage.crash { $0.operation == .sync && $0.path.hasSuffix(".segment") && left.isOver() }
            script.run(on: storage)
            storage.disk.kill(storage)
            return (script, storage)
        }
        func open(_ script: LogScript, _ storage: SimulatedStorage) throws(LogError) -> Log {
            try Log.open(
                script.options, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 2))
        }
        let trial = dead(1)
        let opener = trial.storage.disk.newProcess()
        #expect(try open(trial.script, opener).recovery.rewrittenCommits > 1)
        #expect(opener.callCount > 30)
        for call in 0..<opener.callCount {
            let (script, storage) = dead(1)
            let other = storage.disk.newProcess()
            other.inject(SimulatedFault(.noSpace, number: 28, residue: .nothing, atCall: call))
            var opened: Log?
            do throws(LogError) { opened = try open(script, other) } catch {
                #expect(error.code != .damage, "full at call \(call): \(error)")
            }
            other.removeFaults()
            if let opened { try script.check(opened, "full at call \(call)") }
            storage.disk.kill(other)
            let last = try open(script, storage.disk.newProcess())
            try script.check(last, "opened again after call \(call)")
            #expect(last.recovery.lastVersion == script.begun)
        }
    }

    /// The failing write has written everything.
    @Test(
        "a commit that a full disk refuses is not there later; if it can't be undone, its outcome is unknown",
        arguments: [nil, .truncate, .sync] as [SimulatedCall.Operation?], [[200], [200, 300, 100]])
    func refused(fails: SimulatedCall.Operation?, lengths: [Int]) throws {
        for seed in 0..<8 as Range<UInt64> {
            let bench = Bench(seed: seed)
            let log = try bench.open()
            try log.waitUntilDurable(try bench.commit(log))
            bench.storage.inject(
                SimulatedFault(.noSpace, number: 28, residue: .all, times: lengths.count) { $0.operation == .write })
            if let fails {
                bench.storage.inject(SimulatedFault(.noSpace, number: 28, residue: .nothing) { $0.operation == fails })
            }
            let error = #expect(throws: LogError.self) { try bench.commit(log, lengths) }
            #expect(
                error?.code == (fails == nil ? .diskFull : .unknownOutcome(version: 2)), "\(String(describing: error))")
            bench.storage.removeFaults()
            let found = try bench.afterPowerCut(keeping: Double(seed % 3) / 2, seed: seed).open().recovery.lastVersion
            #expect(found == 1 || fails != nil)
            if fails == nil {
                #expect(try bench.commit(log) == 2)
                try log.waitUntilDurable(2)
            } else {
                #expect(throws: LogError.self) { try bench.commit(log) }
            }
        }
    }

    /// The dead process's data has to be made durable without space for another manifest.
    @Test("a full disk without a reserve can be opened after a process has died there") func fullWithoutReserve() throws
    {
        let bench = Bench(capacity: 1 << 20) { $0.reserveByteCount = 0 }
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        let disk = bench.storage.disk
        disk.kill(bench.storage)
        disk.capacity = disk.usedByteCount
        for _ in 1...2 {
            let other = bench.another()
            let file = try other.storage.open("/store/more", .create)
            #expect(throws: StorageError.self) { try withUnsafeBytes(of: 1) { try file.write($0, at: 0) } }
            try other.storage.remove("/store/more")
            let next = try other.open()
            #expect(next.recovery.lastVersion == 1)
            disk.kill(other.storage)
        }
        let after = disk.afterPowerCut(seed: 1, .probability(data: 0, names: 0))
        after.capacity = nil
        #expect(try Bench(after.newProcess()).open().recovery.lastVersion == 1)
    }

    /// The next sync of the folder succeeds, but proves nothing about the name that the failed sync was for.
    @Test(
        "a full disk can't be opened if the opener before could not sync the manifest's name",
        arguments: [StorageError.Code.io, .noSpace], [false, true])
    func fullAfterAFailedSync(code: StorageError.Code, wasFull: Bool) throws {
        let bench = Bench(capacity: 1 << 20) { $0.reserveByteCount = 0 }
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        let disk = bench.storage.disk
        disk.kill(bench.storage)
        let first = bench.another()
        if wasFull { disk.capacity = disk.usedByteCount }
        first.storage.inject(
            SimulatedFault(code, residue: .nothing) { $0.operation == .syncFolder && $0.path == "/store" })
        let failure = #expect(throws: LogError.self) { try first.open() }
        guard case .storage(let cause) = failure?.code, cause.code == code else {
            Issue.record("\(failure as Any)")
            return
        }
        disk.kill(first.storage)
        disk.capacity = disk.usedByteCount
        for _ in 1...2 {
            let second = bench.another()
            let error = #expect(throws: LogError.self) { try second.open() }
            #expect(error?.code == .diskFull)
            disk.kill(second.storage)
        }
        disk.capacity = nil
        let third = bench.another()
        let again = try third.open()
        try again.waitUntilDurable(try third.commit(again))
        disk.kill(third.storage)
        for names in [0, 0.5, 1] {
            let after = disk.afterPowerCut(seed: 1, .probability(data: 0, names: names)).newProcess()
            #expect(try Bench(after).open().recovery.lastVersion == 2)
        }
        withExtendedLifetime(again) {}
    }

    @Test("a full disk still accepts a commit that may use the reserve, and refuses others while it is full")
    func reserve() throws {
        let bench = Bench(capacity: 40_000) {
            $0.reserveByteCount = 8192
            $0.durability = .none  // no log space is preallocated
        }
        let log = try bench.open()
        var error: LogError?
        while error == nil, log.writtenVersion < 100 { error = catchLast(bench, log) }
        #expect(error?.code == .diskFull)
        let last = log.writtenVersion
        var appender = try log.beginCommit(version: last + 1, mayUseReserve: true)
        var part = log.takeBuffer()
        part.append(Payload.bytes(version: 9, part: 0, count: 2500))
        try appender.add(.changes, part)
        _ = try appender.seal()
        #expect(try bench.storage.status("/store/reserve") == nil)
        let refused = #expect(throws: LogError.self) { try bench.commit(log, [10]) }
        #expect(refused?.code == .diskFull)
        #expect(log.writtenVersion == last + 1)
    }

    private func catchLast(_ bench: Bench, _ log: Log) -> LogError? {
        do {
            try bench.commit(log, [2000])
            return nil
        } catch {
            return error as? LogError
        }
    }

    private func isRename(_ call: SimulatedCall) -> Bool { call.operation == .rename }

    @Test(
        "a program with too many open files at a new segment or a checkpoint continues once it has closed some",
        arguments: ["segment", "manifest.new", "log"])
    func tooManyOpenFiles(path: String) throws {
        let bench = Bench { $0.segmentByteCount = 4096 }
        let log = try bench.open()
        while log.writer?.tail.wantsRoll == false { try bench.commit(log) }
        let fault = SimulatedFault(.tooManyOpenFiles, number: 24, residue: .nothing) {
            [.create, .syncFolder].contains($0.operation) && $0.path.hasSuffix(path)
        }
        bench.storage.inject(fault)
        let last = log.writtenVersion
        let error = #expect(throws: LogError.self) { try bench.commit(log) }
        var cause: StorageError?
        if case .storage(let error) = error?.code { cause = error }
        #expect(cause?.code == .tooManyOpenFiles, "\(error as Any)")
        #expect(log.failure == nil && log.writtenVersion == last)
        #expect(try bench.commit(log) == last + 1)
        if path == "manifest.new" {
            bench.storage.inject(fault)
            #expect(throws: LogError.self) { try bench.publishCheckpoint(log) }
            #expect(log.failure == nil && log.checkpoint == nil)
            try bench.publishCheckpoint(log)
            #expect(log.checkpoint?.version == last + 1)
        }
        try log.waitUntilDurable(try bench.commit(log))
        let again = try bench.afterPowerCut(keeping: 0).open()
        #expect(again.recovery.lastVersion == last + 2 && again.recovery.outcome == .clean)
    }

    @Test("with too many open files when the manifest's name is synced, it is unknown which manifest counts")
    func tooManyOpenFilesAfterRename() throws {
        let bench = Bench { $0.segmentByteCount = 4096 }
        let log = try bench.open()
        while log.writer?.tail.wantsRoll == false { try bench.commit(log) }
        bench.storage.inject(
            SimulatedFault(.tooManyOpenFiles, number: 24, residue: .nothing) {
                $0.operation == .syncFolder && $0.path == "/store"
            })
        #expect(throws: LogError.self) { try bench.commit(log) }
        #expect(log.failure != nil)
    }

    @Test(
        "a disk that is full at the rename of a manifest is reported as full, and the reserve helps",
        arguments: [SimulatedFault.Residue.nothing, .all])
    func fullAtRename(_ residue: SimulatedFault.Residue) throws {
        let bench = Bench { $0.segmentByteCount = 4096 }
        let log = try bench.open()
        while log.writer?.tail.wantsRoll == false { try bench.commit(log) }
        bench.storage.inject(SimulatedFault(.noSpace, number: 28, residue: residue, when: isRename))
        let last = log.writtenVersion
        if residue == .nothing {
            let error = #expect(throws: LogError.self) { try bench.commit(log) }
            #expect(error?.code == .diskFull)
            bench.storage.inject(SimulatedFault(.noSpace, number: 28, residue: residue, when: isRename))
        }
        var appender = try log.beginCommit(version: last + 1, mayUseReserve: true)
        var part = log.takeBuffer()
        part.append(Payload.bytes(version: last + 1, part: 0, count: 10))
        try appender.add(.changes, part)
        _ = try appender.seal()
        #expect(try (bench.storage.status("/store/reserve") == nil) == (residue == .nothing))
        #expect(log.failure == nil && log.writtenVersion == last + 1)
        try log.waitUntilDurable(last + 1)
        let again = try bench.afterPowerCut(keeping: 0).open()
        #expect(again.recovery.lastVersion == last + 1 && again.recovery.outcome == .clean)
    }

    @Test(
        "a process that opens a store on a full disk uses the space of the reserve",
        arguments: [SimulatedFault.Residue.nothing, .all], [SimulatedCall.Operation.rename, .syncFolder])
    func fullAtOpening(_ residue: SimulatedFault.Residue, _ operation: SimulatedCall.Operation) throws {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        // A commit that no mark covers is rewritten under a new epoch.
        try bench.commit(log)
        bench.storage.disk.kill(bench.storage)
        let full = bench.another()
        let state = Guarded(.unranked, (isRenamed: false, isFull: true))
        full.storage.inject(
            SimulatedFault(.noSpace, number: 28, residue: residue, times: .max) { call in
                state.withLock { state in
                    if call.operation == .rename { state.isRenamed = true }
                    if call.operation == .remove, call.path == "/store/reserve" { state.isFull = false }
                    return state.isFull && state.isRenamed && call.operation == operation
                }
            })
        var opened = try? full.open()
        if operation == .syncFolder {
            // The next opening finds out which manifest is in force.
            #expect(opened == nil)
            full.storage.disk.kill(full.storage)
            opened = try full.another().open()
        }
        let again = try #require(opened)
        #expect(again.recovery.lastVersion == 2)
        try again.close()
    }

    @Test("a manifest whose numbers would pass their limit is refused, and the log continues") func lastGeneration()
        throws
    {
        let bench = Bench()
        var log = try bench.open()
        try bench.commit(log)
        try log.close()
        var before = try log.folder.readManifest()
        before.generation = LogLimits.number - 1
        var last = before
        last.generation = LogLimits.number
        try log.folder.removeIfPresent(log.folder.manifest)
        try log.folder.create(log.folder.manifest).write(last.encode() + before.encode(), at: 0)
        log = try bench.another().open()
        for change in [{ try log.sealSegment() }, { try bench.publishCheckpoint(log) }] {
            let error = #expect(throws: LogError.self) { try change() }
            #expect(error?.code == .damage && error?.path == "/store/manifest")
            #expect(log.failure == nil)
            try log.waitUntilDurable(try bench.commit(log))
        }
        let file = try log.beginCheckpoint(start: 0)
        try [UInt8](repeating: 7, count: 64).withUnsafeBytes { try file.append($0) }
        let checkpoint = try file.finish(version: log.writtenVersion, time: 0, earlier: [], state: [])
        let error = #expect(throws: LogError.self) { try log.publish(checkpoint, keepingVersionsAfter: 0) }
        #expect(error?.code == .damage && log.failure == nil)
        try bench.commit(log)
        try log.close()
    }

    @Test("any other write failure ends writing; reopening shows what is there") func failedWrite() throws {
        for residue in [SimulatedFault.Residue.nothing, .some, .all] {
            let bench = Bench()
            let log = try bench.open()
            try log.waitUntilDurable(try bench.commit(log))
            bench.storage.inject(SimulatedFault(.io, residue: residue, when: isSegmentWrite))
            let error = #expect(throws: LogError.self) { try bench.commit(log) }
            #expect(error?.code == .unknownOutcome(version: 2))
            #expect(throws: LogError.self) { try bench.commit(log) }
            // Readers continue.
            var seen: [UInt64] = []
            try log.replay(after: 0, through: 1) { seen.append($0.version) }
            #expect(seen == [1])
            try log.close()
            let again = try bench.another().open()
            #expect(again.recovery.lastVersion == (residue == .all ? 2 : 1))
        }
    }

    @Test("whichever single call fails in the life of a store, acknowledged commits are kept")
    func everyCallFails() throws {
        func make() -> LogScript {
            LogScript([.commit([3000]), .wait, .commit([3000]), .wait, .commit([10]), .commit([20]), .wait, .close]) {
                $0.segmentByteCount = 4096
            }
        }
        let trial = SimulatedStorage(seed: 1)
        make().run(on: trial)
        for index in 0..<trial.callCount {
            for code in [StorageError.Code.io, .noSpace] {
                let storage = SimulatedStorage(seed: UInt64(index))
                storage.inject(SimulatedFault(code, atCall: index))
                let script = make()
                script.run(on: storage)
                for seed in 0..<6 as Range<UInt64> {
                    let disk = seed == 5 ? storage.disk : storage.disk.afterPowerCut(seed: seed)
                    if seed == 5 { storage.crashAt = 0; _ = try? storage.status("/") }
                    let process = disk.newProcess()
                    let log: Log
                    do {
                        log = try Log.open(script.options, storage: process)
                    } catch {
                        Issue.record("call \(index) failed with \(code), seed \(seed): \(error)\n\(disk)")
                        throw error
                    }
                    try script.check(log, "call \(index) failed with \(code), seed \(seed)")
                }
            }
        }
    }
}

/// Answers no a number of times, then yes.
final class Countdown: @unchecked Sendable {
    // Guarded by `lock`.
    private var left: Int
    private let lock = Lock(.unranked)
    init(_ left: Int) { self.left = left }
    func isOver() -> Bool {
        lock.withLock {
            left -= 1
            return left < 0
        }
    }
}

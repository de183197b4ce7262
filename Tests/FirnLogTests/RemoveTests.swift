import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite(.timeLimit(.minutes(20))) struct RemoveTests {
    private func make(_ storage: any Storage) throws {
        let script = LogScript([])
        let log = try Log.open(
            script.options, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
        for version in 1...5 as ClosedRange<UInt64> {
            try LogScript.commit(log, version: version, [300])
            try log.waitUntilDurable(version)
        }
        try log.close()
    }
    private var folder: String { LogScript([]).options.folder }

    /// After a crash in the midst of it there is a store that is whole, or something that can be deleted.
    @Test func deletingCanBeTakenUpAgainAfterACrashAtAnyCall() throws {
        let trial = SimulatedStorage(seed: 1)
        try make(trial)
        let before = trial.callCount
        #expect(try Log.remove(folder, storage: trial) == StoreRemoval(wasThere: true, left: []))
        #expect(try trial.status(folder) == nil)
        #expect(try Log.remove(folder, storage: trial) == StoreRemoval(wasThere: false, left: []))
        for stop in before..<trial.callCount {
            let storage = SimulatedStorage(seed: UInt64(stop))
            try make(storage)
            storage.crashAt = stop
            _ = try? Log.remove(folder, storage: storage)
            for seed in 0..<12 as Range<UInt64> {
                let disk = seed == 0 ? storage.disk : storage.disk.afterPowerCut(seed: seed &* 31 &+ UInt64(stop))
                let process = disk.newProcess()
                // Never a store with less in it than it had.
                if let log = try? Log.open(
                    LogScript([]).options, storage: disk.afterPowerCut(seed: 1).newProcess(), clock: ManualClock(),
                    randomness: SeededRandomness(seed: 2))
                {
                    #expect(log.writtenVersion == 5 || log.recovery.outcome == .created)
                    try log.close()
                }
                do {
                    _ = try Log.remove(folder, storage: process)
                    let left = try process.status(folder) == nil ? [] : try process.list(folder)
                    #expect(left.isEmpty, "stopped at call \(stop), seed \(seed)")
                } catch { Issue.record("\(error)\nstopped at call \(stop), seed \(seed)\n\(process)") }
            }
        }
    }

    @Test func nothingIsDeletedOfAStoreThatSomebodyHasOpen() throws {
        let storage = MemoryStorage()
        try make(storage)
        func isRefused() -> Bool {
            do {
                _ = try Log.remove(folder, storage: storage)
                return false
            } catch {
                if case .locked = error.code { return true }
                Issue.record(error)
                return false
            }
        }
        for access in [.readOnly, .readWrite(waitMilliseconds: 0)] as [LogOptions.Access] {
            var options = LogScript([]).options
            options.access = access
            let log = try Log.open(options, storage: storage)
            #expect(isRefused())
            #expect(try storage.status(folder + "/manifest") != nil)
            // It goes on reading checkpoints after it has closed.
            try log.close(isRead: true)
            #expect(isRefused())
            withExtendedLifetime(log) {}
        }
        #expect(try Log.remove(folder, storage: storage).wasThere)
    }

    /// Who opened the lock file before it was deleted would hold locks that nobody knows of.
    @Test func whoMeetsADeletedStoreWhileOpeningItIsTold() throws {
        let storage = MemoryStorage()
        try make(storage)
        let locks = try StoreLocks(StoreFolder(path: folder, storage: storage))
        #expect(try Log.remove(folder, storage: storage).wasThere)
        let error = #expect(throws: LogError.self) { try locks.enter() }
        #expect(error?.code == .locked(processID: nil))
    }
}

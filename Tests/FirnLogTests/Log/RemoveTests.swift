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

    /// After a crash during deletion there is an intact store, or something that can be deleted.
    @Test func deletingCanBeRepeatedAfterACrashAtAnyCall() throws {
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
                // There is never a store with less in it than before.
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

    @Test func aStoreThatIsOpenIsNotDeleted() throws {
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
            // It may still read checkpoints after it is closed.
            try log.close(isRead: true)
            #expect(isRefused())
            withExtendedLifetime(log) {}
        }
        #expect(try Log.remove(folder, storage: storage).wasThere)
    }

    /// Whoever has closed a store in order to delete it means that one, whatever stands at its path by then.
    @Test func anotherStoreThatWasPutAtThePathStays() throws {
        let storage = MemoryStorage()
        let meant = try see(storage)
        try storage.rename(folder, to: "/away")
        // It has as many versions, and was opened as often.
        _ = try see(storage)
        #expect(try Log.remove(folder, ifStill: meant, storage: storage) == StoreRemoval(wasThere: false, left: []))
        #expect(try Log.exists(at: folder, storage: storage))
        #expect(try Log.remove("/away", ifStill: meant, storage: storage).wasThere)
    }

    /// What a store was deleted for may not be true any more once somebody else has written to it.
    @Test(arguments: [false, true]) func aStoreToWhichSomebodyElseHasWrittenStays(isOpenMeanwhile: Bool) throws {
        let storage = MemoryStorage()
        try make(storage)
        let first = try open(.readWrite(waitMilliseconds: 0), storage)
        var other: Log?
        if isOpenMeanwhile {
            first.releaseWriting()
            other = try open(.readWrite(waitMilliseconds: 0), storage)
        }
        let meant = try #require(first.seenStore)
        try first.close()
        let second = try other ?? open(.readWrite(waitMilliseconds: 0), storage)
        try LogScript.commit(second, version: 6, [300])
        try second.waitUntilDurable(6)
        try second.close()
        #expect(try Log.remove(folder, ifStill: meant, storage: storage) == StoreRemoval(wasThere: false, left: []))
        #expect(try open(.readOnly, storage).recovery.lastVersion == 6)
    }

    private func see(_ storage: any Storage) throws -> SeenStore {
        try make(storage)
        let log = try open(.readWrite(waitMilliseconds: 0), storage)
        defer { try? log.close() }
        return try #require(log.seenStore)
    }

    /// A process that opened the lock file before it was deleted would hold locks that no other process sees.
    @Test func openingAStoreThatWasJustDeletedThrows() throws {
        let storage = MemoryStorage()
        try make(storage)
        let locks = try StoreLocks(StoreFolder(path: folder, storage: storage))
        #expect(try Log.remove(folder, storage: storage).wasThere)
        let error = #expect(throws: LogError.self) { try locks.registerOpen() }
        #expect(error?.code == .locked(processID: nil))
    }

    @Test func foreignFilesAreNotDeleted() throws {
        let storage = MemoryStorage()
        try make(storage)
        let names = [
            "scratch.txt", "scratch.1", "scratch.1.2.3", "scratch.1.G", "scratch..2", "log/.DS_Store", "notes.txt",
            "log/+000000009.segment", "log/-000000009.segment",
        ]
        for name in names + ["scratch.1f.ffffffffffffffff"] { try storage.open(folder + "/" + name, .create).close() }
        let removal = try Log.remove(folder, storage: storage)
        #expect(removal == StoreRemoval(wasThere: true, left: names.sorted()))
    }

    /// The path can be used again once that file is gone.
    @Test func creatingAStoreNamesAForeignFileThatIsLeft() throws {
        let storage = MemoryStorage()
        try make(storage)
        try storage.open(folder + "/log/.DS_Store", .create).close()
        #expect(try Log.remove(folder, storage: storage).left == ["log/.DS_Store"])
        let error = #expect(throws: LogError.self) { try make(storage) }
        #expect(error?.code == .foreignFolder && error?.detail == "log/.DS_Store")
        try storage.remove(folder + "/log/.DS_Store")
        try make(storage)
        #expect(try Log.remove(folder, storage: storage).left.isEmpty)
    }

    private func open(_ access: LogOptions.Access, _ storage: any Storage) throws -> Log {
        var options = LogScript([]).options
        options.access = access
        return try Log.open(options, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
    }

    @Test func aRefusedDeletionKeepsNobodyFromOpening() throws {
        for access in [LogOptions.Access.readOnly, .readWrite(waitMilliseconds: 0)] {
            let storage = SimulatedStorage(seed: 1)
            try make(storage)
            // The holder has closed the store, and still holds a version of it.
            let holder = try open(.readOnly, storage)
            try holder.close(isRead: true)
            let deleter = storage.disk.newProcess()
            let locks = try StoreLocks(StoreFolder(path: folder, storage: deleter))
            let opened = Counter()
            deleter.beforeEachCall { call in
                do {
                    try open(access, storage.disk.newProcess()).close()
                    opened.add()
                } catch { Issue.record("before \(call): \(error)") }
            }
            #expect(try !locks.claimAll())
            deleter.beforeEachCall(nil)
            #expect(opened.count > 0)
            withExtendedLifetime(holder) {}
        }
    }

    /// Another process locks a byte after the deletion has checked it. The deletion then holds other bytes for a
    /// moment, and is refused.
    @Test func aReaderWaitsForADeletionThatIsEventuallyRefused() throws {
        let storage = SimulatedStorage(seed: 1)
        try make(storage)
        let deleter = try StoreLocks(StoreFolder(path: folder, storage: storage.disk.newProcess()))
        #expect(try deleter.claimAll())
        let reader = storage.disk.newProcess()
        let tries = Counter()
        let hasTriedTwice = Gate()
        reader.beforeEachCall { call in
            guard call.operation == .tryLock, call.offset == 1 else { return }
            tries.add()
            if tries.count == 2 { hasTriedTwice.open() }
        }
        let result = Guarded<Result<Void, any Error>?>(.unranked, nil)
        let thread = try StorageThread.start(name: "reader") {
            let outcome = Result { try open(.readOnly, reader).close() }
            result.withLock { $0 = outcome }
            hasTriedTwice.open()
        }
        hasTriedTwice.wait()
        deleter.releaseAll()
        thread.join()
        try #require(result.withLock { $0 }).get()
        reader.beforeEachCall(nil)
    }

    /// The lock file is removed after a reader opens it and before the reader gets its lock.
    @Test func noProcessOpensAStoreThroughARemovedLockFile() throws {
        let storage = SimulatedStorage(seed: 1)
        try make(storage)
        let locks = try StoreLocks(reading: StoreFolder(path: folder, storage: storage))
        let deleter = storage.disk.newProcess()
        let isFirst = Countdown(0)
        let folder = folder
        storage.beforeEachCall { call in
            guard call.operation == .tryLock, isFirst.isOver() else { return }
            storage.beforeEachCall(nil)
            do { _ = try Log.remove(folder, storage: deleter) } catch { Issue.record(error) }
        }
        let error = #expect(throws: LogError.self) { try locks.registerOpen() }
        #expect(error?.code == .locked(processID: nil))
    }
}

private final class Counter: Sendable {
    private let value = Guarded(.unranked, 0)
    var count: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
}

import FirnLog
import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnCore

/// Closing a store, and ending a process that has it open, writes the checkpoint that is due.
@Suite("Closing a store writes the checkpoint that is due", .timeLimit(.minutes(20))) struct ClosingTests {
    private static func options(usesThreads: Bool = false) -> StoreOptions {
        var log = LogOptions(folder: "/store", verify: .everything)
        log.usesThreads = usesThreads
        log.reserveByteCount = 0
        var options = StoreOptions(log: log)
        options.compaction.closingLogByteCount = 512
        return options
    }

    private static func open(_ storage: any Storage, _ options: StoreOptions = options()) throws -> Store {
        try Store(options, storage: storage)
    }

    private static func segments(_ storage: any Storage) throws -> Int { try storage.list("/store/log").count }

    @Test("after the log has grown, closing writes it, and then opening replays nothing") func due() throws {
        let storage = SimulatedStorage(seed: 1)
        let store = try Self.open(storage)
        try People.fill(store, 2000)
        let last = store.publishedVersion
        try store.close()
        let again = try Self.open(storage)
        #expect(again.log?.checkpoint?.version == last)
        #expect(again.publishedVersion == last && again.log?.recovery.lastVersion == last)
        #expect(again.pin().snapshot.table(TableID(0)).count == 2000)
        // Nothing was written since, so closing has nothing to do.
        let id = again.log?.checkpoint?.id
        try again.close()
        #expect(try Self.open(storage).log?.checkpoint?.id == id)
    }

    @Test("no compaction begins once the store is closed: it would remove files while others have the store open")
    func noCompactionAfterClosing() throws {
        let storage = SimulatedStorage(seed: 1)
        let store = try Self.open(storage)
        try People.fill(store, 2000)
        store.compaction.thread.stop()
        let ran = Guarded(.unranked, 0)
        for deadline in [nil, .max] as [Int64?] {
            let error = #expect(throws: StoreError.self) {
                let body = { () throws(StoreError) in ran.withLock { $0 += 1 } }
                if let deadline {
                    try store.compaction.thread.run(until: deadline, body)
                } else {
                    try store.compaction.thread.run(body)
                }
            }
            #expect(error?.code == .closed)
        }
        #expect(ran.withLock { $0 } == 0)
        #expect(throws: StoreError.self) { try store.compact() }
        #expect(try storage.list("/store/checkpoint").isEmpty)
    }

    @Test("no checkpoint for a short log, with the rule off, or beside another process") func notDue() throws {
        let storage = SimulatedStorage(seed: 1)
        var options = Self.options()
        options.compaction.closingLogByteCount = 1 << 20
        var store = try Self.open(storage, options)
        try People.fill(store, 2000)
        try store.close()
        #expect(try storage.list("/store/checkpoint").isEmpty)
        options = Self.options()
        options.compaction.isAutomatic = false
        store = try Self.open(storage, options)
        try store.close()
        #expect(try storage.list("/store/checkpoint").isEmpty)
        store = try Self.open(storage)
        let other = try Self.open(storage.disk.newProcess())
        try store.close()
        #expect(try storage.list("/store/checkpoint").isEmpty)
        // The last process writes it.
        try other.close()
        #expect(try storage.list("/store/checkpoint").count == 1)
    }

    @Test("of two processes that end at the same time, one writes it, even beside a reader") func together()
        throws
    {
        let folder = TemporaryFolder()
        var options = Self.options(usesThreads: true)
        options.log?.folder = folder.path + "/store"
        let storage = PosixStorage.shared
        let store = try Self.open(storage, options)
        try People.fill(store, 2000)
        let other = try Self.open(storage, options)
        options.log?.access = .readOnly
        let reader = try Self.open(storage, options)
        // Each process still has the store open when the other one looks.
        try store.prepareForExit()
        #expect(try storage.list(folder.path + "/store/checkpoint").isEmpty)
        try other.prepareForExit()
        #expect(try storage.list(folder.path + "/store/checkpoint").count == 1)
        #expect(other.log?.checkpoint?.version == store.publishedVersion)
        withExtendedLifetime(reader) {}
    }

    @Test("a process that ends and can't write the checkpoint leaves it to the next one that ends")
    func leftToTheNextProcess()
        throws
    {
        let storage = SimulatedStorage(seed: 1)
        let store = try Self.open(storage)
        try People.fill(store, 2000)
        let other = try Self.open(storage.disk.newProcess())
        try other.catchUp()
        // A transaction that does not end.
        #expect(other.queue.tryAcquire())
        try other.prepareForExit()
        try store.prepareForExit()
        #expect(try storage.list("/store/checkpoint").count == 1)
        other.queue.release()
    }

    @Test("a process with the rule off keeps no other process from writing it", arguments: [false, true])
    func besideAProcessWithTheRuleOff(isFirst: Bool) throws {
        let storage = SimulatedStorage(seed: 1)
        var off = Self.options()
        off.compaction.isAutomatic = false
        let store = try Self.open(storage, isFirst ? off : Self.options())
        try People.fill(store, 2000)
        let other = try Self.open(storage.disk.newProcess(), isFirst ? Self.options() : off)
        store.letOthersWrite()
        try (isFirst ? other : store).close()
        #expect(try storage.list("/store/checkpoint").count == 1)
        try (isFirst ? store : other).close()
    }

    @Test("a process that ends gives up the writer lock that it got too late") func lateTurn() throws {
        let storage = SimulatedStorage(seed: 1)
        let store = try Self.open(storage)
        try People.fill(store, 300)
        let mine = storage.disk.newProcess()
        let other = try Self.open(mine)
        try other.catchUp()
        store.letOthersWrite()
        // Another thread holds the write queue from the moment when the kernel's lock is acquired.
        let isHeld = Guarded(.unranked, false)
        mine.beforeEachCall { call in
            guard call.operation == .tryLock, call.path.hasSuffix("/lock"), call.offset == 0 else { return }
            isHeld.withLock { if !$0 { $0 = other.queue.tryAcquire() } }
        }
        other.compaction.thread.processEnds()
        #expect { try other.withWriteLock {} } throws: { ($0 as? StoreError)?.code == .closed }
        mine.beforeEachCall(nil)
        #expect(isHeld.withLock { $0 } && other.log?.isAboutToWrite == true)
        other.queue.release()
        #expect(other.log?.isAboutToWrite == false)
        try store.beginWrite().cancel()
    }

    @Test("a crash or power cut at any call of closing loses nothing") func crash() throws {
        func make() throws -> (SimulatedStorage, Store) {
            let storage = SimulatedStorage(seed: 1)
            let store = try Self.open(storage)
            try People.fill(store, 300)
            return (storage, store)
        }
        let (trial, first) = try make()
        let start = trial.callCount
        try first.close()
        let calls = trial.callCount - start
        #expect(try trial.list("/store/checkpoint").count == 1)
        for stop in 0..<calls {
            let (storage, store) = try make()
            storage.crashAt = storage.callCount + stop
            _ = try? store.close()
            for seed in 0..<3 as Range<UInt64> {
                // In the last round only the process dies, so the page cache survives.
                let disk = seed < 2 ? storage.disk.afterPowerCut(seed: seed) : storage.disk
                let again = try Self.open(disk.newProcess())
                #expect(again.pin().snapshot.table(TableID(0)).count == 300, "stopped at call \(stop) of \(calls)")
                again._checkInvariants()
            }
        }
    }

    @Test("a full disk prevents the checkpoint only; any other failure is thrown, and the store is closed")
    func faults() throws {
        for code in [StorageError.Code.noSpace, .io] {
            let storage = SimulatedStorage(seed: 1)
            let store = try Self.open(storage)
            try People.fill(store, 300)
            storage.inject(
                SimulatedFault(code, times: 1000) { $0.operation == .write && $0.path.hasSuffix(".checkpoint") })
            if code == .noSpace {
                try store.close()
            } else {
                #expect(throws: StoreError.self) { try store.close() }
            }
            #expect { try store.beginWrite() } throws: { ($0 as? StoreError)?.code == .closed }
            storage.removeFaults()
            let again = try Self.open(storage)
            #expect(again.pin().snapshot.table(TableID(0)).count == 300)
            #expect(again.log?.checkpoint == nil)
            try again.close()
        }
    }

    @Test("closing waits for a checkpoint that is being written, without its pace") func hurries() throws {
        let folder = TemporaryFolder()
        var options = StoreOptions(log: LogOptions(folder: folder.path + "/store"))
        // At this pace it would take hours.
        options.compaction.bytesPerSecond = 1
        options.compaction.logByteCount = (least: 1 << 10, most: 1 << 10)
        options.compaction.closingLogByteCount = 1 << 10
        let store = try Store(options, storage: PosixStorage.shared)
        try People.fill(store, 20_000)
        try store.close()
        let again = try Store(options, storage: PosixStorage.shared)
        #expect(again.log?.checkpoint?.version == again.publishedVersion)
        #expect(again.pin().snapshot.table(TableID(0)).count == 20_000)
        try again.close()
    }

    /// When another thread's transaction begins while a process ends.
    enum Moment: CaseIterable { case atOnce, whileWriting, beforeRebase }

    @Test("a process that ends does not wait forever for another thread's transaction", arguments: Moment.allCases)
    func endingBeside(_ moment: Moment) throws {
        let storage = SimulatedStorage(seed: 1)
        let transaction = Guarded<WriteTransaction?>(.unranked, nil)
        let holder = Guarded<Store?>(.unranked, nil)
        @Sendable func begin() {
            let store = holder.withLock { $0 }
            guard let store, transaction.withLock({ $0 == nil }) else { return }
            do {
                nonisolated(unsafe) let begun = try store.beginWrite()
                transaction.withLock { $0 = begun }
            } catch { Issue.record("\(error)") }
        }
        var options = Self.options()
        if moment == .beforeRebase { options.duringCompaction = { begin() } }
        let store = try Self.open(storage, options)
        try People.fill(store, 2000)
        let last = store.publishedVersion
        holder.withLock { $0 = store }
        storage.beforeEachCall { call in
            switch moment {
            case .atOnce: if call.operation == .isLocked { begin() }
            case .whileWriting: if call.operation == .write, call.path.hasSuffix(".checkpoint") { begin() }
            case .beforeRebase: break
            }
        }
        let ended = Guarded(.unranked, false)
        let thread = try StorageThread.start(name: "ending") {
            do { try store.prepareForExit() } catch { Issue.record("\(error)") }
            ended.withLock { $0 = true }
        }
        let deadline = TestTimeout.deadline(30)
        while !ended.withLock({ $0 }), SystemClock.shared.monotonic() < deadline {
            sleepThread(nanoseconds: 1_000_000)
        }
        #expect(ended.withLock { $0 }, "the process hangs")
        storage.beforeEachCall(nil)
        let begun = try #require(transaction.withLock { $0 })
        begun.cancel()
        thread.join()
        holder.withLock { $0 = nil }
        // The store continues to work, and so does the next process.
        try store.compact()
        let other = try Self.open(storage.disk.afterPowerCut(seed: 3).newProcess())
        #expect(other.publishedVersion == last && other.pin().snapshot.table(TableID(0)).count == 2000)
        try store.close()
    }

    @Test(
        "a process that ends syncs what relaxed durability has yet to sync, even while a transaction runs",
        arguments: [false, true])
    func endingRelaxed(isWriting: Bool) throws {
        let storage = SimulatedStorage(seed: 1)
        var options = Self.options()
        options.log?.durability = .relaxed(milliseconds: .max)
        // Nor does it depend on checkpoints.
        options.compaction.isAutomatic = false
        let store = try Self.open(storage, options)
        try People.fill(store, 300)
        let last = store.publishedVersion
        #expect(store.log!.durableVersion < last)
        let transaction = isWriting ? try store.beginWrite() : nil
        try store.prepareForExit()
        #expect(store.log!.durableVersion == last)
        let disk = storage.disk.afterPowerCut(seed: 3, .probability(data: 0, names: 0))
        let other = try Self.open(disk.newProcess())
        #expect(other.publishedVersion == last && other.pin().snapshot.table(TableID(0)).count == 300)
        transaction?.cancel()
        try store.close()
    }
    @Test("closing syncs what relaxed durability has yet to sync before it waits for anything") func closingRelaxed()
        throws
    {
        let storage = SimulatedStorage(seed: 1)
        var options = Self.options()
        options.log?.durability = .relaxed(milliseconds: .max)
        let isCompacting = Mutex(false)
        let mayGoOn = Mutex(false)
        options.duringCompaction = {
            isCompacting.withLock { $0 = true }
            while !mayGoOn.withLock({ $0 }) { sleepThread(nanoseconds: 100_000) }
        }
        let store = try Self.open(storage, options)
        try People.fill(store, 300)
        let compaction = try StorageThread.start(name: "compaction") { _ = try? store.compact() }
        while !isCompacting.withLock({ $0 }) { sleepThread(nanoseconds: 100_000) }
        let transaction = try store.beginWrite()
        for id in 300..<600 { try People.add(id, transaction) }
        try transaction.commit()
        let last = store.publishedVersion
        #expect(store.log!.durableVersion < last)
        let closing = try StorageThread.start(name: "closing") { try? store.close() }
        let deadline = TestTimeout.deadline(30)
        while store.log!.durableVersion < last, SystemClock.shared.monotonic() < deadline {
            sleepThread(nanoseconds: 100_000)
        }
        #expect(store.log!.durableVersion == last)
        mayGoOn.withLock { $0 = true }
        compaction.join()
        closing.join()
    }
}

import FirnLog
import FirnStorage
import FirnTestSupport
import Foundation
import Synchronization
import Testing

@testable import FirnCore

/// Several stores open one folder, as several processes do. The locks exclude file handles, so the stores may as well
/// be in one process.
@Suite(.timeLimit(.minutes(20))) struct SeveralStoresTests {
    private func options(_ change: (inout LogOptions) -> Void = { _ in }) -> LogOptions {
        var options = LogOptions(folder: "/store", verify: .everything)
        options.usesThreads = false
        options.reserveByteCount = 0
        options.segmentByteCount = 8192
        change(&options)
        return options
    }

    /// Commits on `store` after the others have given up the writer lock.
    private func commit(
        _ script: StoreScript, on store: Store, others: [Store], body: StoreScript.Body
    ) throws -> UInt64 {
        for other in others where other !== store { other.letOthersWrite() }
        let transaction = try store.beginWrite()
        try body(script, transaction)
        return try transaction.commit().number
    }

    /// Random transactions on random stores: at any time each store has the oracle's content of some version, and
    /// after catching up the current content.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func storesThatWriteInTurnsAgreeWithTheOracle(seed: UInt64) throws {
        var chance = SeededRandom(seed: seed)
        let disk = SimulatedDisk(seed: seed)
        let options = options()
        var stores = try (0..<3).map { _ in try StoreScript.open(options, disk.newProcess()) }
        let script = StoreScript([])
        var last = try commit(script, on: stores[1], others: stores, body: StoreScript.schema)
        last = try commit(script, on: stores[0], others: stores, body: StoreScript.create(0, 20))
        last = try commit(script, on: stores[2], others: stores, body: StoreScript.create(1, 20))
        for round in 0..<60 {
            let body: StoreScript.Body =
                switch chance.below(8) {
                case 0: StoreScript.create(0, 1 + chance.below(5))
                case 1: StoreScript.create(1, 1 + chance.below(300))
                case 2: StoreScript.editLists
                case 3: StoreScript.blob(200 + chance.below(3000))
                case 4 where script.oracle.keys[1].count > 10: StoreScript.delete(1, 1 + chance.below(5))
                default: StoreScript.set(0, 1 + chance.below(5))
                }
            let context = "seed \(seed), round \(round)"
            let index = chance.below(3)
            let before = stores[index].publishedVersion
            let number = try commit(script, on: stores[index], others: stores, body: body)
            #expect(number == last + 1 && before <= last, "\(context)")
            last = number
            for store in stores where chance.below(2) == 0 {
                try store.catchUp()
                #expect(store.publishedVersion == last, "\(context)")
                let fault = script.oracle.check(store.pin().snapshot, context)
                #expect(fault == nil)
                store._checkInvariants()
            }
            if chance.below(10) == 0 {
                let index = chance.below(3)
                try stores[index].close()
                stores[index] = try StoreScript.open(options, disk.newProcess())
            }
        }
        for store in stores { try store.close() }
        let again = try StoreScript.open(options, disk.newProcess())
        #expect(again.recovery?.outcome == .clean && again.publishedVersion == last)
        let fault = script.oracle.check(again.pin().snapshot, "seed \(seed), reopened")
        #expect(fault == nil)
    }

    /// The compactor looks for other openers, then another process opens the store and reads the manifest, and only
    /// then the compactor replaces the manifest. The files that the opener found in it must still be there for it.
    @Test func aStoreThatIsOpenedWhileAnotherPublishesACheckpointReadsTheOldOne() throws {
        let disk = SimulatedDisk(seed: 12)
        let options = options()
        let (compacting, opening) = (disk.newProcess(), disk.newProcess())
        let script = StoreScript([])
        let store = try StoreScript.open(options, compacting)
        for body in [StoreScript.schema, StoreScript.create(0, 20), StoreScript.create(1, 100), StoreScript.editLists] {
            _ = try commit(script, on: store, others: [], body: body)
        }
        let opened = Guarded<Result<Store, any Error>?>(.unranked, nil)
        let thread = Guarded<StorageThread?>(.unranked, nil)
        let steps = Steps()
        opening.beforeEachCall { call in
            // This is the last step of joining: the opener has read the manifest.
            guard call.operation == .open, call.path.hasSuffix(".segment"), steps.reach(.joined) else { return }
            steps.await(.published)
        }
        compacting.beforeEachCall { call in
            if call.operation == .sync, call.path.hasSuffix(".checkpoint") { _ = steps.reach(.written) }
            guard call.operation == .rename, steps.has(.written), !steps.has(.joined) else { return }
            do throws(StorageError) {
                let started = try StorageThread.start(name: "opener") {
                    let result = Result { try StoreScript.open(options, opening) as Store }
                    opened.withLock { $0 = result }
                }
                thread.withLock { $0 = started }
            } catch { Issue.record("\(error)") }
            steps.await(.joined)
        }
        try store.compact()
        #expect(steps.reach(.published))
        compacting.beforeEachCall(nil)
        thread.withLock { $0 }?.join()
        let second = try #require(opened.withLock { $0 }).get()
        #expect(second.publishedVersion == 4 && store.log?.checkpoint?.version == 4)
        let fault = script.oracle.check(second.pin().snapshot, "opened meanwhile")
        #expect(fault == nil)
        try second.close()
        try store.close()
    }

    /// The steps that two threads wait for each other to reach.
    private final class Steps: Sendable {
        enum Step { case written, joined, published }

        private let reached = Guarded<Set<Step>>(.unranked, [])

        /// Returns false if the step was reached before.
        func reach(_ step: Step) -> Bool { reached.withLock { $0.insert(step).inserted } }
        func has(_ step: Step) -> Bool { reached.withLock { $0.contains(step) } }

        func await(_ step: Step) {
            let deadline = SystemClock.shared.monotonic() + 60_000_000_000
            while !has(step) {
                guard SystemClock.shared.monotonic() < deadline else {
                    Issue.record("\(step) was never reached")
                    return
                }
                sleepThread(nanoseconds: 200_000)
            }
        }
    }

    private static let counter = StoreSchema(tables: [
        TableSchema(
            name: "Counter", primaryKey: 0,
            columns: [ColumnSchema(name: "id", type: .int), ColumnSchema(name: "value", type: .int)])
    ])

    private func makeCounter(_ store: Store) throws {
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: Self.counter)
        var row = transaction.beginRow(TableID(0))
        transaction.fill(&row, column: 0, value: .int(1))
        try transaction.endRow(row)
        try transaction.commit()
    }

    private func set(_ store: Store, _ value: Int64) throws {
        let transaction = try store.beginWrite()
        transaction.set(TableID(0), column: 1, key: 0, to: .int(value))
        try transaction.commit()
    }

    /// Every assignment is reported, whatever its value, even if several commits are applied at once.
    @Test func observersOfAFollowerReceiveWhatOthersAssigned() throws {
        let disk = SimulatedDisk(seed: 1)
        let store = try StoreScript.open(options(), disk.newProcess())
        let other = try StoreScript.open(options(), disk.newProcess())
        try makeCounter(store)
        try other.catchUp()
        var before = other.pin()
        let cursor = other.makeChangeCursor(after: before.version)
        func nextChanges() throws -> (ChangeSummary, Value?) {
            try other.catchUp()
            let now = other.pin()
            let summary = cursor.changes(from: before, to: now)
            cursor.advance(to: now.version)
            before = now
            return (summary, now.snapshot.table(TableID(0)).value(1, of: 0))
        }
        // Assigns the value that the property already has.
        try set(store, 0)
        var (summary, value) = try nextChanges()
        #expect(summary.tables[TableID(0)]?.modified[0]?.columns == [1] && value == .int(0))
        for number in 1...3 as ClosedRange<Int64> { try set(store, number) }
        try set(store, 0)
        (summary, value) = try nextChanges()
        #expect(summary.tables[TableID(0)]?.modified[0]?.columns == [1] && value == .int(0))
        #expect(before.version == 6)
        // Another store's changes together with its own.
        store.letOthersWrite()
        try set(other, 5)
        (summary, value) = try nextChanges()
        #expect(summary.tables[TableID(0)]?.modified[0]?.columns == [1] && value == .int(5))
    }

    @Test func commitsThatAreNotDurableAreNotFollowed() throws {
        let disk = SimulatedDisk(seed: 1)
        let store = try StoreScript.open(options(), disk.newProcess())
        let other = try StoreScript.open(options(), disk.newProcess())
        try makeCounter(store)
        let transaction = try store.beginWrite()
        transaction.set(TableID(0), column: 1, key: 0, to: .int(9))
        let version = try transaction.commitWithoutWaiting().number
        try other.catchUp()
        #expect(other.publishedVersion == version - 1)
        // Giving up the lock makes the version durable, although nobody here has waited for it.
        store.letOthersWrite()
        try other.catchUp()
        #expect(other.publishedVersion == version && store.publishedVersion == version - 1)
        try set(other, 10)
        try store.catchUp()
        #expect(store.publishedVersion == version + 1)
        #expect(store.pin().snapshot.table(TableID(0)).value(1, of: 0) == .int(10))
        store._checkInvariants()
    }

    @Test func aSchemaThatOnlyAddsToTheOldOneIsFollowed() throws {
        let disk = SimulatedDisk(seed: 1)
        let store = try StoreScript.open(options(), disk.newProcess())
        let other = try StoreScript.open(options(), disk.newProcess())
        try makeCounter(store)
        try other.catchUp()
        var wider = Self.counter
        wider.version = 7
        wider.tables[0].columns[1].isIndexed = true
        wider.tables[0].columns.append(ColumnSchema(name: "name", type: .string))
        wider.tables.append(TableSchema(name: "More", columns: [ColumnSchema(name: "x", type: .bool)]))
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: wider)
        transaction.set(TableID(0), column: 2, key: 0, to: .string("one"))
        try transaction.commit()
        try other.catchUp()
        #expect(other.schema == wider)
        #expect(other.pin().snapshot.table(TableID(0)).value(2, of: 0) == .string("one"))
        store.letOthersWrite()
        try set(other, 3)
        other._checkInvariants()
    }

    @Test(arguments: [0, 1, 2, 3])
    func aSchemaThatRemovesSomethingIsATypedErrorThatSaysWhatToDo(_ change: Int) throws {
        let disk = SimulatedDisk(seed: 1)
        let store = try StoreScript.open(options(), disk.newProcess())
        let other = try StoreScript.open(options(), disk.newProcess())
        try makeCounter(store)
        try other.catchUp()
        // Commits before the schema change are still shown.
        try set(store, 4)
        var schema = Self.counter
        switch change {
        case 0: schema.tables[0].columns[1].isRemoved = true
        case 1: schema.tables[0].isRemoved = true
        case 2: schema.tables[0].columns[1].isNullable = true
        default: schema.tables[0].name = "Another"
        }
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: schema)
        let version = try transaction.commit().number
        store.letOthersWrite()
        for attempt in 0..<2 {
            let error = try #require(throws: StoreError.self) { try other.catchUp() }
            #expect(error.code == .schemaChangedElsewhere)
            let text = "\(error)"
            #expect(text.contains("version \(version)") && text.contains("Counter") && text.contains("open it again"))
            #expect(other.publishedVersion == version - 1, "attempt \(attempt)")
            #expect(other.pin().snapshot.table(TableID(0)).value(1, of: 0) == .int(4))
            let writing = #expect(throws: StoreError.self) { _ = try other.beginWrite() }
            #expect(writing?.code == .schemaChangedElsewhere)
        }
        // The store blocks no other store and reads no further, so nothing is kept for it.
        #expect(store.log?.oldestVersionNeededByOthers == .max)
        let third = try StoreScript.open(options(), disk.newProcess())
        try third.beginWrite().commit()
        try other.close()
        let again = try StoreScript.open(options(), disk.newProcess())
        #expect(again.schema == schema)
    }

    /// If one store is killed while another waits, the other continues with every acknowledged commit.
    @Test func aWaitingStoreContinuesWhenTheWriterDies() throws {
        for crash in 0..<12 {
            let disk = SimulatedDisk(seed: UInt64(crash))
            let storage = disk.newProcess()
            let store = try StoreScript.open(options(), storage)
            let other = try StoreScript.open(options(), disk.newProcess())
            try makeCounter(store)
            storage.crashAt = storage.callCount + crash
            var acknowledged: Int64 = 0
            do {
                for value in 1...20 as ClosedRange<Int64> {
                    try set(store, value)
                    acknowledged = value
                }
                Issue.record("crash \(crash): it did not stop")
            } catch {}
            let transaction = try other.beginWrite()
            guard case .int(let value)? = transaction.table(TableID(0)).value(1, of: 0) else {
                Issue.record("crash \(crash): there is no value")
                continue
            }
            #expect(value == acknowledged || value == acknowledged + 1, "crash \(crash)")
            transaction.set(TableID(0), column: 1, key: 0, to: .int(100))
            try transaction.commit()
            other._checkInvariants()
            let again = try StoreScript.open(options(), disk.newProcess())
            #expect(again.pin().snapshot.table(TableID(0)).value(1, of: 0) == .int(100))
        }
    }

    @Test func compactingRemovesNothingThatAnotherStoreReads() throws {
        let disk = SimulatedDisk(seed: 1)
        let options = options { $0.segmentByteCount = 4096 }
        let store = try StoreScript.open(options, disk.newProcess())
        let other = try StoreScript.open(options, disk.newProcess())
        func segments() throws -> Int { try disk.newProcess().list("/store/log").count }
        try makeCounter(store)
        try other.catchUp()
        for value in 1...80 as ClosedRange<Int64> { try set(store, value) }
        let before = try segments()
        #expect(try store.compact()?.version == 81)
        #expect(try before > 2 && segments() >= before, "the other has not read them")
        try other.catchUp()
        #expect(other.publishedVersion == 81)
        try set(store, 81)
        #expect(try store.compact()?.version == 82)
        #expect(try segments() < before)
        // Now another store compacts, after a checkpoint that it did not make.
        store.letOthersWrite()
        try set(other, 82)
        #expect(try other.compact()?.version == 83)
        let third = try StoreScript.open(options, disk.newProcess())
        try store.catchUp()
        other.letOthersWrite()
        try set(third, 83)
        for each in [store, other, third] {
            try each.catchUp()
            #expect(each.pin().snapshot.table(TableID(0)).value(1, of: 0) == .int(83))
            each._checkInvariants()
        }
        for each in [store, other, third] { try each.close() }
        let again = try StoreScript.open(options, disk.newProcess())
        #expect(again.recovery?.outcome == .clean && again.publishedVersion == 84)
    }

    /// A process that opens the store only to read it does not follow any writer.
    @Test(arguments: [false, true])
    func theLogIsShortenedAlthoughAReaderIsOpen(isEmptyAtFirst: Bool) throws {
        let disk = SimulatedDisk(seed: 1)
        let options = options { $0.segmentByteCount = 4096 }
        let store = try StoreScript.open(options, disk.newProcess())
        if !isEmptyAtFirst { try makeCounter(store) }
        var reading = options
        reading.access = .readOnly
        let reader = try StoreScript.open(reading, disk.newProcess())
        #expect(store.otherProcesses.count == 1)
        let before = reader.publishedVersion
        if isEmptyAtFirst { try makeCounter(store) }
        for value in 1...80 as ClosedRange<Int64> { try set(store, value) }
        #expect(try store.compact()?.version == 81)
        #expect(try disk.newProcess().list("/store/log").count == 1)
        #expect(reader.publishedVersion == before)
        reader._checkInvariants()
    }

    /// A process that can't write any more does not follow, either.
    @Test func theLogIsShortenedAlthoughAFailedStoreIsOpen() throws {
        let disk = SimulatedDisk(seed: 1)
        let storage = disk.newProcess()
        let options = options { $0.segmentByteCount = 4096 }
        let failed = try StoreScript.open(options, storage)
        try makeCounter(failed)
        storage.inject(SimulatedFault(.io, residue: .nothing) { $0.operation == .sync })
        #expect(throws: StoreError.self) { try set(failed, 1) }
        let store = try StoreScript.open(options, disk.newProcess())
        failed.handleOtherProcesses()
        for value in 1...80 as ClosedRange<Int64> { try set(store, value) }
        try store.compact()
        #expect(try disk.newProcess().list("/store/log").count == 1)
    }

    /// Whoever dies with the lock makes others recover the log. A cancelled transaction gets the lock, too, and may run
    /// while the process is asked to release it.
    @Test(arguments: [false, true]) func theLockIsReleasedAfterACancelledTransaction(isLong: Bool) throws {
        let folder = TemporaryFolder()
        let options = options {
            $0.folder = folder.path + "/store"
            $0.usesThreads = true
            $0.idleMilliseconds = isLong ? 20 : 5
        }
        let store = try Store(StoreOptions(log: options), storage: PosixStorage.shared)
        try makeCounter(store)
        let log = try #require(store.log)
        for _ in 0..<3 {
            #expect(TestTimeout.awaits { !log.isWriting })
            let transaction = try store.beginWrite()
            #expect(log.isWriting)
            if isLong { usleep(60_000) }
            transaction.cancel()
        }
        #expect(TestTimeout.awaits { !log.isWriting })
        try store.close()
    }

    /// Threads of several stores count up one value: no increment is lost, and every store reaches the last version
    /// by itself.
    @Test(arguments: [Durability.full, .none, .relaxed(milliseconds: 5)])
    func incrementingInSeveralStoresConcurrentlyLosesNothing(_ durability: Durability) throws {
        let folder = TemporaryFolder()
        let options = options {
            $0.folder = folder.path + "/store"
            $0.usesThreads = true
            $0.durability = durability
            $0.idleMilliseconds = 5
            $0.segmentByteCount = 64 << 10
        }
        func open() throws -> Store { try Store(StoreOptions(log: options), storage: PosixStorage.shared) }
        let stores = [try open(), try open(), try open()]
        try makeCounter(stores[0])
        let (threadCount, rounds) = (2, 40)
        // The last store only follows.
        let seen = Guarded<[UInt64]>(.unranked, [])
        let listener = stores[2].onPublish { version in
            seen.withLock { $0.append(version) }
        }
        let threads = try (0..<2 * threadCount).map { number in
            let store = stores[number % 2]
            return try StorageThread.start(name: "counter") {
                do {
                    for _ in 0..<rounds {
                        let transaction = try store.beginWrite()
                        guard case .int(let value)? = transaction.table(TableID(0)).value(1, of: 0) else {
                            Issue.record("there is no value")
                            return
                        }
                        transaction.set(TableID(0), column: 1, key: 0, to: .int(value + 1))
                        try transaction.commit()
                    }
                } catch {
                    Issue.record("\(error)")
                }
            }
        }
        for thread in threads { thread.join() }
        let total = Int64(2 * threadCount * rounds)
        let deadline = SystemClock.shared.monotonic() + 60_000_000_000
        for store in stores {
            while store.publishedVersion < UInt64(total) + 1, SystemClock.shared.monotonic() < deadline {
                yieldThread()
            }
            #expect(store.pin().snapshot.table(TableID(0)).value(1, of: 0) == .int(total))
        }
        // Listeners are told after a version is published.
        #expect(TestTimeout.awaits { seen.withLock { $0.last } == UInt64(total) + 1 })
        let versions = seen.withLock { $0 }
        #expect(versions == versions.sorted())
        withExtendedLifetime(listener) {}
        for store in stores {
            #expect(store.otherProcesses.count == stores.count - 1)
            // The follower frees the nodes of the version before only after it has published the next one, under the
            // write lock.
            store.queue.acquire()
            store._checkInvariants()
            store.queue.release()
        }
        for store in stores { try store.close() }
        let again = try open()
        #expect(again.recovery?.outcome == .clean && again.publishedVersion == UInt64(total) + 1)
    }

    /// A store that is released without being closed ends its thread, and blocks no other store.
    @Test func aReleasedStoreFreesWhatItHeld() throws {
        let folder = TemporaryFolder()
        let options = options {
            $0.folder = folder.path + "/store"
            $0.usesThreads = true
        }
        let store = try Store(StoreOptions(log: options), storage: PosixStorage.shared)
        try makeCounter(store)
        weak var gone: Store?
        do {
            let other = try Store(StoreOptions(log: options), storage: PosixStorage.shared)
            gone = other
            try set(other, 1)
            #expect(store.otherProcesses.count == 1)
        }
        let deadline = SystemClock.shared.monotonic() + 20_000_000_000
        while gone != nil || !store.otherProcesses.isEmpty, SystemClock.shared.monotonic() < deadline { yieldThread() }
        #expect(gone == nil && store.otherProcesses.isEmpty)
        try set(store, 2)
        #expect(store.publishedVersion == 3)
    }
}

import FirnLog
import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnCore

/// A compaction changes where a version is stored, and nothing of its content.
@Suite(.timeLimit(.minutes(20))) struct CompactionTests {
    private static func check(_ snapshot: Snapshot, _ count: Int, age: (Int) -> Int = { $0 % 90 }) {
        let table = snapshot.table(TableID(0))
        #expect(table.count == count)
        for id in stride(from: 0, to: count, by: 97) {
            guard let key = table.firstKey(primaryKeyInt: Int64(id)) else {
                Issue.record("there is no person \(id)")
                continue
            }
            #expect(table.value(1, of: key) == .string("person number \(id), born to be one of many"))
            #expect(table.value(2, of: key) == .int(Int64(age(id))))
        }
    }

    private static func options(_ folder: TemporaryFolder) -> StoreOptions {
        var options = StoreOptions(log: LogOptions(folder: folder.path + "/store"))
        options.compaction.isAutomatic = false
        return options
    }

    /// After a load and a compaction the heap holds almost nothing, the files are much shorter, and the store opens
    /// without reading the data.
    @Test func compactionFreesTheHeapAndOpeningReadsNoData() throws {
        let folder = TemporaryFolder()
        let options = Self.options(folder)
        var store = try Store(options, storage: PosixStorage.shared)
        try People.fill(store, 20_000)
        let before = store.heap.byteCount
        #expect(before > 2 << 20)
        let report = try #require(try store.compact())
        #expect(report.isWhole && report.version == store.publishedVersion)
        #expect(store.heap.byteCount < before / 100)
        #expect(report.byteCount < before / 2)
        Self.check(store.pin().snapshot, 20_000)
        store._checkInvariants()
        #expect(try store.compact() == nil)
        try store.close()
        store = try Store(options, storage: PosixStorage.shared)
        let mapping = try #require(store.pin().mapping)
        #expect(mapping.validatedCount <= 2 && store.heap.nodeCount == 0)
        Self.check(store.pin().snapshot, 20_000)
        #expect(try PosixStorage.shared.list(folder.path + "/store/log").count == 1)
    }

    /// A second checkpoint adds only what has changed to the files. Nothing is written twice until much of them is
    /// garbage.
    @Test func aSecondCheckpointContainsOnlyWhatHasChanged() throws {
        let folder = TemporaryFolder()
        let store = try Store(Self.options(folder), storage: PosixStorage.shared)
        try People.fill(store, 20_000)
        let first = try #require(try store.compact())
        let transaction = try store.beginWrite()
        for key in 0..<3 { transaction.set(TableID(0), column: 2, key: Int64(key), to: .int(1)) }
        try transaction.commit()
        let second = try #require(try store.compact())
        #expect(!second.isWhole && second.byteCount < first.byteCount / 10)
        Self.check(store.pin().snapshot, 20_000) { $0 < 3 ? 1 : $0 % 90 }
        for round in 0..<3 {
            let transaction = try store.beginWrite()
            for key in 0..<20_000 where key % 3 == round {
                transaction.set(TableID(0), column: 2, key: Int64(key), to: .int(2))
            }
            try transaction.commit()
            try store.compact()
        }
        // Everything was rewritten on the way, so the files of earlier checkpoints are gone.
        let files = try PosixStorage.shared.list(folder.path + "/store/checkpoint")
        #expect(files.count < 5)
        Self.check(store.pin().snapshot, 20_000) { _ in 2 }
        store._checkInvariants()
    }

    /// The newest version's other tree, from before the compaction, is released with its files even if nothing is
    /// written after it.
    @Test func anIdleStoreKeepsNoFileOfThePreviousCheckpoint() throws {
        let folder = TemporaryFolder()
        let store = try Store(Self.options(folder), storage: PosixStorage.shared)
        try People.fill(store, 2000)
        try store.compact()
        try Self.changeAge(store, 3)
        #expect(try store.compact(garbageShare: -1)?.isWhole == true)
        #expect(try PosixStorage.shared.list(folder.path + "/store/checkpoint").count == 1)
        #expect(try store.compact() == nil)
        #expect(try PosixStorage.shared.list(folder.path + "/store/checkpoint") == ["0000000002.checkpoint"])
        #expect(store.fileReferences.ids == [2])
    }

    /// The files of a held version go with the first commit after its release, without a compaction.
    @Test func theFilesOfAHeldVersionAreRemovedWhenItIsReleased() throws {
        let folder = TemporaryFolder()
        let store = try Store(
            StoreOptions(log: LogOptions(folder: folder.path + "/store")), storage: PosixStorage.shared)
        func files() -> [String] { (try? PosixStorage.shared.list(folder.path + "/store/checkpoint").sorted()) ?? [] }
        try People.fill(store, 2000)
        try store.compact()
        var held: Pin? = store.pin()
        try Self.changeAge(store, 3)
        #expect(try store.compact(garbageShare: -1)?.isWhole == true)
        try Self.changeAge(store, 4)
        #expect(files() == ["0000000001.checkpoint", "0000000002.checkpoint"])
        withExtendedLifetime(held) {}
        held = nil
        try Self.changeAge(store, 5)
        store.watch { files() == ["0000000002.checkpoint"] }
        #expect(store.log?.checkpoint?.id == 2)
        try store.close()
    }

    /// Two versions on both sides of a rebase are compared by birth stamp and first key: an unchanged table is
    /// skipped at its root.
    @Test func aDifferenceAcrossARebaseVisitsNoLeaf() throws {
        let folder = TemporaryFolder()
        let store = try Store(Self.options(folder), storage: PosixStorage.shared)
        try People.fill(store, 20_000)
        let before = store.pin()
        try store.compact()
        let after = store.pin()
        let mapping = try #require(after.mapping)
        #expect(after.version == before.version && store.isSuperseded(before) && !store.isSuperseded(after))
        let validated = mapping.validatedCount
        #expect(before.snapshot.difference(to: after.snapshot).isEmpty)
        // The table's node and the root of its rows.
        #expect(mapping.validatedCount <= validated + 2)
        let transaction = try store.beginWrite()
        transaction.set(TableID(0), column: 1, key: 10_100, to: .string("changed"))
        try transaction.commit()
        let summary = before.snapshot.difference(to: store.pin().snapshot)
        #expect(summary.tables[TableID(0)]?.modified.count == 1)
        #expect(summary.tables[TableID(0)]?.modified[10_100]?.contains(1) == true)
    }

    /// Commits made while a checkpoint is written are there after the rebase. Among them are rows behind those of the
    /// last leaf, in the very chunks that were written.
    @Test func commitsDuringACompactionAreKept() throws {
        let folder = TemporaryFolder()
        var options = Self.options(folder)
        let held = Guarded<Store?>(.unranked, nil)
        options.duringCompaction = {
            guard let store = held.withLock({ $0 }) else { return }
            do {
                for round in 0..<3 {
                    let transaction = try store.beginWrite()
                    for id in 0..<40 { try People.add(10_000 + 40 * round + id, transaction) }
                    transaction.set(TableID(0), column: 2, key: Int64(round), to: .int(77))
                    transaction.delete(TableID(0), Int64(200 + round))
                    try transaction.commit()
                }
            } catch { Issue.record("\(error)") }
        }
        let store = try Store(options, storage: PosixStorage.shared)
        held.withLock { $0 = store }
        defer { held.withLock { $0 = nil } }
        try People.fill(store, 10_000)
        let old = store.pin()
        try store.compact()
        #expect(store.publishedVersion == old.version + 3)
        Self.check(old.snapshot, 10_000)
        let new = store.pin().snapshot.table(TableID(0))
        #expect(new.count == 10_000 + 120 - 3)
        for id in 10_000..<10_120 {
            #expect(new.firstKey(primaryKeyInt: Int64(id)).flatMap { new.value(2, of: $0) } == .int(Int64(id % 90)))
        }
        #expect(new.value(2, of: 1) == .int(77) && new.find(201) == nil)
        store._checkInvariants()
    }

    /// A writer, readers that hold versions, and one compaction after another: every held version keeps its content.
    @Test func compactionsRunConcurrentlyWithAWriterAndReaders() throws {
        let folder = TemporaryFolder()
        var options = Self.options(folder)
        options.log?.durability = .none
        let store = try Store(options, storage: PosixStorage.shared)
        try People.fill(store, 3000)
        let isDone = Atomic<Bool>(false)
        let writer = try StorageThread.start(name: "writer") {
            do {
                for round in 0..<300 {
                    let transaction = try store.beginWrite()
                    // The sum of all ages is the same in every version.
                    transaction.set(TableID(0), column: 2, key: Int64(round % 2999), to: .int(Int64(1000 + round)))
                    transaction.set(TableID(0), column: 2, key: 2999, to: .int(Int64(-round)))
                    try People.add(3000 + round, transaction)
                    try transaction.commit()
                }
            } catch { Issue.record("\(error)") }
            isDone.store(true, ordering: .releasing)
        }
        var held: [(pin: Pin, count: Int, sum: Int64)] = []
        var random = SeededRandom(seed: 5)
        func figures(_ pin: Pin) -> (Int, Int64) {
            let table = pin.snapshot.table(TableID(0))
            var sum: Int64 = 0
            table.forEachLeaf { leaf, _ in
                for row in 0..<leaf.count { sum += leaf.chunk(2).load(row, as: Int64.self) }
                return true
            }
            return (table.count, sum)
        }
        while !isDone.load(ordering: .acquiring) {
            let pin = store.pin()
            let (count, sum) = figures(pin)
            #expect(count >= 3000)
            held.append((pin, count, sum))
            try store.compact(garbageShare: random.below(4) == 0 ? 0 : 10)
            for (pin, count, sum) in held { #expect(figures(pin) == (count, sum)) }
            while held.count > 6 { held.remove(at: random.below(held.count)) }
        }
        writer.join()
        store._checkInvariants()
        held = []
        try store.compact()
        #expect(store.activeVersions.count == 1 && store.pin().snapshot.table(TableID(0)).count == 3300)
        store._checkInvariants()
    }

    /// The store compacts itself by the rule, on a thread of its own.
    @Test func aStoreCompactsItself() throws {
        let folder = TemporaryFolder()
        var options = StoreOptions(log: LogOptions(folder: folder.path + "/store", durability: .none))
        options.compaction.logByteCount = (least: 64 << 10, most: 1 << 20)
        options.compaction.bytesPerSecond = 0
        let store = try Store(options, storage: PosixStorage.shared)
        try People.fill(store, 20_000)
        for round in 0..<400 {
            let transaction = try store.beginWrite()
            for key in 0..<50 {
                transaction.set(TableID(0), column: 2, key: Int64((round * 50 + key) % 20_000), to: .int(3))
            }
            try transaction.commit()
        }
        // Closing waits for a compaction that is running, or abandons it.
        try store.close()
        #expect(store.compactionFailure == nil || store.compactionFailure?.code == .closed)
        let again = try Store(options, storage: PosixStorage.shared)
        #expect(again.pin().mapping != nil)
        Self.check(again.pin().snapshot, 20_000) { _ in 3 }
        again._checkInvariants()
    }

    /// A short log may make many nodes: the memory that they take is also a reason to compact.
    @Test func aStoreCompactsItselfToFreeMemory() throws {
        let folder = TemporaryFolder()
        var options = StoreOptions(log: LogOptions(folder: folder.path + "/store", durability: .none))
        options.transactionMemoryByteCount = 64 << 10
        let store = try Store(options, storage: PosixStorage.shared)
        try People.fill(store, 3000)
        #expect(try #require(store.log).byteCountSinceCheckpoint < options.compaction.logByteCount.least / 4)
        store.watch { store.log?.checkpoint?.version == store.publishedVersion && store.heap.nodeCount == 0 }
        Self.check(store.pin().snapshot, 3000)
        try store.close()
    }

    /// Scratch files are not for one large transaction only: the nodes of many small ones may exceed memory as well.
    @Test(.disabled(if: TestEnvironment.hasKey)) func smallTransactionsContinueInScratchFilesWhileTheHeapIsFull() throws
    {
        let folder = TemporaryFolder()
        var options = Self.options(folder)
        options.transactionMemoryByteCount = 64 << 10
        let store = try Store(options, storage: PosixStorage.shared)
        try People.fill(store, 3000)
        for key in 0..<40 {
            let transaction = try store.beginWrite()
            transaction.set(TableID(0), column: 2, key: Int64(key * 70), to: .int(1))
            try transaction.commit()
        }
        var arenas: Set<UInt> = []
        store.versions.tip.snapshot.forEachHeapNode { node in
            if node.isSpilled { arenas.insert((node.address - 16).load(as: UInt.self)) }
            #expect(node.isSpilled || node.stamp < store.versions.tip.stamp - 30)
        }
        // All transactions share one arena of values and one of everything else.
        #expect(arenas.count == 2)
        Self.check(store.pin().snapshot, 3000) { $0 % 70 == 0 && $0 < 2800 ? 1 : $0 % 90 }
        try store.compact()
        #expect(store.heap.nodeCount == 0)
        try Self.changeAge(store, 7)
        store.versions.tip.snapshot.forEachHeapNode { #expect(!$0.isSpilled) }
        store._checkInvariants()
    }

    /// A copy is an ordinary store, with the version's number and none of its history.
    @Test func aCopyIsAnIndependentStore() throws {
        let folder = TemporaryFolder()
        let store = try Store(Self.options(folder), storage: PosixStorage.shared)
        try People.fill(store, 10_000)
        let pin = store.pin()
        let transaction = try store.beginWrite()
        transaction.delete(TableID(0), 5)
        try transaction.commit()
        try Store.writeCopy(of: pin, to: folder.path + "/copy", storage: PosixStorage.shared)
        var options = StoreOptions(log: LogOptions(folder: folder.path + "/copy", verify: .everything))
        options.compaction.isAutomatic = false
        let copy = try Store(options, storage: PosixStorage.shared)
        #expect(copy.publishedVersion == pin.version && copy.recovery?.storeID != store.recovery?.storeID)
        Self.check(copy.pin().snapshot, 10_000)
        try Self.changeAge(copy, 3)
        try copy.close()
        let again = try Store(options, storage: PosixStorage.shared)
        #expect(again.publishedVersion == pin.version + 1)
        #expect(again.pin().snapshot.table(TableID(0)).value(2, of: 3) == .int(99))
        #expect(
            logCode { try Store.writeCopy(of: pin, to: folder.path + "/copy", storage: PosixStorage.shared) }
                == .foreignFolder)
    }

    private static func changeAge(_ store: Store, _ key: Int64) throws {
        let transaction = try store.beginWrite()
        transaction.set(TableID(0), column: 2, key: key, to: .int(99))
        try transaction.commit()
    }
}

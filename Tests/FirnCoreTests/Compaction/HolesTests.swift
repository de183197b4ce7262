import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// The blocks of dead nodes are returned to the file system, and no reader is affected.
@Suite(.timeLimit(.minutes(20))) struct HolesTests {
    private static func allocated(_ folder: String) throws -> Int {
        try PosixStorage.shared.list(folder + "/checkpoint").reduce(0) {
            $0 + (try PosixStorage.shared.status(folder + "/checkpoint/" + $1)?.allocatedByteCount ?? 0)
        }
    }

    /// A store of people on the disk, compacted into one file of a checkpoint, and the space that the file takes.
    private static func compacted(_ path: String, count: Int = 2000) throws -> (people: People, allocated: Int) {
        let people = try People(path, PosixStorage.shared, count: count)
        try people.store.compact()
        return (people, try allocated(path))
    }

    @Test func replacedNodesTakeNoBlocksAndNothingElseIsWritten() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let (filled, first) = try Self.compacted(path)
        var people = filled
        for round in 1...6 {
            try people.change(0..<2000, to: round)
            #expect(try people.store.compact(garbageShare: 10)?.isWhole == false)
            #expect(try Self.allocated(path) < first * 5 / 4 + 64 << 10)
        }
        #expect(people.fault(people.store.pin().snapshot) == nil)
        #expect(try people.store.hasHoles())
        people.store._checkInvariants()
        try people.store.close()

        let again = People(try Store(People.options(path), storage: PosixStorage.shared), like: people)
        #expect(again.fault(again.store.pin().snapshot) == nil)
        again.store._checkInvariants()
        let report = try again.store.compact(garbageShare: -1)
        #expect(report?.isWhole == true)
        #expect(again.fault(again.store.pin().snapshot) == nil)
    }

    @Test func aHeldVersionKeepsItsBlocksUntilItIsReleased() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let (filled, first) = try Self.compacted(path, count: 20_000)
        var people = filled
        let before = people
        var held: Pin? = people.store.pin()
        try people.change(0..<20_000, to: 1)
        try people.store.compact(garbageShare: 10)
        try people.change(0..<20_000, to: 2)
        try people.store.compact(garbageShare: 10)
        let most = try Self.allocated(path)
        #expect(before.fault(try #require(held).snapshot) == nil)
        #expect(people.fault(people.store.pin().snapshot) == nil)
        held = nil
        // No checkpoint has to be written for this.
        let id = people.store.log?.checkpoint?.id
        try people.store.removeReleased()
        #expect(people.store.log?.checkpoint?.id == id)
        #expect(try Self.allocated(path) < most - first / 2)
        #expect(people.fault(people.store.pin().snapshot) == nil)
        people.store._checkInvariants()
    }

    /// Nothing is removed while another process opens the store, and no other process reports later that there is
    /// something to remove.
    @Test func aFileThatCouldNotBeRemovedIsRemovedTheNextTime() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let (people, _) = try Self.compacted(path, count: 2000)
        let store = people.store
        var held: Pin? = store.pin()
        let old = try #require(store.log?.checkpoint).id
        try store.compact(garbageShare: -1)
        func files() throws -> Int { try PosixStorage.shared.list(path + "/checkpoint").count }
        #expect(try files() == 2 && store.fileReferences.ids.contains(old))
        let other = try Store(People.options(path), storage: PosixStorage.shared)
        // It now looks like an opener that has not read anything yet.
        other.log?.publishHoldings(version: 0, oldest: 0, activeCount: 0, retainedByteCount: 0)
        withExtendedLifetime(held) {}
        held = nil
        #expect(store.fileReferences.hasReleased)
        try store.removeReleased()
        #expect(try files() == 2)
        other.publishHoldings()
        try store.removeReleased()
        #expect(try files() == 1)
    }

    /// A file that outlives its store is not overwritten by the next one.
    @Test func aVersionThatIsHeldWhileItsStoreIsClosedDoesNotChange() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let before = try People(path, PosixStorage.shared)
        try before.store.compact()
        var held: Pin? = before.store.pin()
        try before.store.close()
        var people = People(try Store(People.options(path), storage: PosixStorage.shared), like: before)
        for round in 1...2 {
            try people.change(0..<2000, to: round)
            try people.store.compact(garbageShare: 10)
        }
        #expect(try !people.store.hasHoles())
        #expect(before.fault(try #require(held).snapshot) == nil)
        held = nil
    }

    /// The process is stopped at each call of two compactions, and the power fails: every acknowledged commit is
    /// there, and every reachable node is intact.
    @Test(.disabled(if: TestEnvironment.hasKey)) func aCrashAtAnyCallLosesNothing() throws {
        let storage = SimulatedStorage(seed: 3)
        let base = try People("/store", storage, count: 600)
        try base.store.compact()
        try base.store.close()
        let disk = storage.disk.afterPowerCut(seed: 1, .everything)
        /// Returns the storage, and the two states of which one must be there after the process was stopped.
        func run(crashAt: Int?) throws -> (storage: SimulatedStorage, before: People, after: People, calls: Range<Int>)
        {
            let storage = disk.afterPowerCut(seed: 1, .everything).newProcess()
            var people = People(try Store(People.options("/store"), storage: storage), like: base)
            let start = storage.callCount
            storage.crashAt = crashAt
            var before = people
            do {
                for round in 1...3 {
                    before = people
                    try people.change(round * 100..<round * 100 + 300, to: round)
                    before = people
                    try people.store.compact(garbageShare: round == 2 ? 0.01 : 10, rewritesAll: false)
                }
            } catch {
                if crashAt == nil { throw error }
            }
            return (storage, before, people, start..<storage.callCount)
        }
        let complete = try run(crashAt: nil)
        #expect(complete.storage.disk.count(.deallocate, suffix: "checkpoint") >= 3)
        let trace = complete.storage.disk.ioTrace.filter { complete.calls.contains($0.index) }
        for call in trace where call.operation.changesDisk {
            let (storage, before, after, _) = try run(crashAt: call.index)
            for seed in 1...3 as ClosedRange<UInt64> {
                let cut = storage.disk.afterPowerCut(seed: seed).newProcess()
                let store = try Store(People.options("/store"), storage: cut)
                let snapshot = store.pin().snapshot
                if let fault = before.fault(snapshot), after.fault(snapshot) != nil {
                    Issue.record("stopped at \(call), seed \(seed): \(fault)")
                }
                store._checkInvariants()
                // The store can be used from there.
                var again = People(store, like: before.fault(snapshot) == nil ? before : after)
                try again.change(0..<200, to: 9)
                try store.compact(garbageShare: 10)
                #expect(again.fault(store.pin().snapshot) == nil)
            }
        }
    }

    /// The holes that a failed checkpoint would have listed are still part of the previous checkpoint, and are not
    /// punched.
    @Test func aFailedCompactionPunchesNoHoles() throws {
        let storage = SimulatedStorage(seed: 4)
        var people = try People("/store", storage, count: 20_000)
        try people.store.compact()
        var held: Pin? = people.store.pin()
        try people.change(0..<20_000, to: 1)
        try people.store.compact(garbageShare: 10)
        let areHeld = people.store.compaction.deferredHoles.areMany
        #expect(areHeld)
        try people.change(0..<20_000, to: 2)
        storage.inject(
            SimulatedFault(.noSpace, number: 28, residue: .some, times: 1) {
                $0.operation == .write && $0.path.hasSuffix("checkpoint")
            })
        #expect(throws: StoreError.self) { try people.store.compact(garbageShare: 10) }
        storage.removeFaults()
        withExtendedLifetime(held) {}
        held = nil
        try people.store.removeReleased()
        #expect(storage.disk.count(.deallocate) > 0)
        let cut = storage.disk.afterPowerCut(seed: 1, .everything).newProcess()
        let recovered = try Store(People.options("/store"), storage: cut)
        #expect(people.fault(recovered.pin().snapshot) == nil)
        recovered._checkInvariants()
    }

    @Test(.disabled(if: TestEnvironment.hasKey)) func noHoleIsPunchedWhileAnotherProcessHasTheStoreOpen() throws {
        let storage = SimulatedStorage(seed: 5)
        var people = try People("/store", storage, count: 2000)
        try people.store.compact()
        let old = people
        var other: Store? = try Store(People.options("/store"), storage: storage.disk.newProcess())
        try people.change(0..<2000, to: 1)
        try people.store.compact(garbageShare: 10)
        #expect(storage.disk.count(.deallocate) == 0)
        #expect(try !people.store.hasHoles())
        // The other process has not followed yet.
        #expect(old.fault(try #require(other).pin().snapshot) == nil)
        // If everything is garbage, everything is rewritten, and the other process keeps its files.
        try people.change(0..<2000, to: 2)
        #expect(try people.store.compact(garbageShare: 0.3, rewritesAll: false)?.isWhole == true)
        #expect(old.fault(try #require(other).pin().snapshot) == nil)
        try other?.close()
        other = nil
        #expect(people.store.log?.isOnlyReader == true)
        try people.change(0..<2000, to: 3)
        try people.store.compact(garbageShare: 10)
        #expect(storage.disk.count(.deallocate) > 0)
        #expect(people.fault(people.store.pin().snapshot) == nil)
    }

    /// The other process has opened the store when the holes are chosen, and reads the manifest that does not list
    /// them.
    @Test func noHoleIsPunchedIfAnotherProcessOpensTheStoreMeanwhile() throws {
        let storage = SimulatedStorage(seed: 5)
        var people = try People("/store", storage, count: 2000)
        try people.store.compact()
        try people.change(0..<1000, to: 1)
        let other = Guarded<(store: Store?, isDue: Bool)>(.unranked, (nil, false))
        storage.beforeEachCall { call in
            if call.operation == .sync, call.path.hasSuffix(".checkpoint") { other.withLock { $0.isDue = true } }
            guard call.operation == .rename, other.withLock({ $0.isDue && $0.store == nil }) else { return }
            do {
                let store = try Store(People.options("/store"), storage: storage.disk.newProcess())
                other.withLock { $0.store = store }
            } catch { Issue.record("\(error)") }
        }
        try people.store.compact(garbageShare: 10)
        storage.beforeEachCall(nil)
        #expect(try people.store.hasHoles())
        #expect(storage.disk.count(.deallocate) == 0)
        // The files that it has open are removed when no process has them open any more.
        func useAndClose() throws {
            let reader = try #require(
                other.withLock { state in
                    defer { state.store = nil }
                    return state.store
                })
            #expect(people.fault(reader.pin().snapshot) == nil)
            try reader.close()
        }
        try useAndClose()
        #expect(people.store.log?.isOnlyReader == true)
        try people.store.compact(garbageShare: 10)
        #expect(storage.disk.count(.deallocate) > 0)
        #expect(people.fault(people.store.pin().snapshot) == nil)
    }

    @Test func aPastVersionKeepsItsBlocksWhileItIsRead() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        var people = try People(path, PosixStorage.shared)
        people.store.retain(.everything)
        try people.store.compact()
        let old = people
        let number = people.store.publishedVersion
        try people.change(0..<2000, to: 1)
        // This version is read in place: the checkpoint is that version.
        let past = try people.store.version(number)
        for round in 2...4 {
            try people.change(0..<2000, to: round)
            try people.store.compact(garbageShare: 10)
            #expect(old.fault(past.pin.snapshot) == nil)
        }
        #expect(old.fault(try people.store.version(number).pin.snapshot) == nil)
        #expect(people.fault(people.store.pin().snapshot) == nil)
    }

    @Test(.disabled(if: TestEnvironment.hasKey)) func everythingIsRewrittenIfHolesCannotBePunched() throws {
        let storage = SimulatedStorage(seed: 6)
        storage.disk.canDeallocate = false
        var people = try People("/store", storage, count: 600)
        try people.store.compact()
        var reports: [Bool] = []
        for round in 1...6 {
            try people.change(0..<600, to: round)
            reports.append(try #require(try people.store.compact(garbageShare: 0.3, rewritesAll: false)).isWhole)
        }
        // The first attempt shows that blocks can't be punched.
        #expect(storage.disk.count(.deallocate) == 1)
        #expect(reports.contains(true))
        #expect(people.fault(people.store.pin().snapshot) == nil)
        people.store._checkInvariants()
    }

    /// Garbage between live nodes has no complete blocks. So a part of the store at a time is moved to free some, and
    /// never the whole store at once.
    @Test func liveNodesAmongDeadOnesAreMovedGradually() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let (filled, first) = try Self.compacted(path, count: 20_000)
        var people = filled
        var random = SeededRandom(seed: 8)
        var sizes: [Int] = []
        for round in 1...40 {
            // Changes one of the small chunks of every leaf.
            let transaction = try people.store.beginWrite()
            for person in stride(from: random.below(5) * 256, to: 20_000, by: 1280) {
                people.ages[person] = Int64(round)
                transaction.set(TableID(0), column: 2, key: Int64(person), to: .int(Int64(round)))
            }
            try transaction.commit()
            let report = try #require(try people.store.compact(garbageShare: 0.1, rewritesAll: false))
            #expect(!report.isWhole && report.byteCount < first)
            sizes.append(try Self.allocated(path))
        }
        #expect(people.fault(people.store.pin().snapshot) == nil)
        people.store._checkInvariants()
        try people.store.close()
        let again = People(try Store(People.options(path), storage: PosixStorage.shared), like: people)
        #expect(again.fault(again.store.pin().snapshot) == nil)
        again.store._checkInvariants()
        try again.store.compact(garbageShare: -1)
        // Compared with the space that all live data takes, of which each commit changes a third.
        let fullSize = try Self.allocated(path)
        #expect(sizes.allSatisfy { $0 < 2 * fullSize }, "\(sizes) of \(fullSize)")
    }

    @Test func theNumberOfFilesStaysSmall() throws {
        var people = try People("/store", MemoryStorage(), count: 40_000)
        try people.store.compact()
        var most = 0
        for round in 1...120 {
            // Changes a leaf that no other round changes, so that every file keeps something.
            try people.change([round * 300], to: round)
            #expect(try people.store.compact(garbageShare: 10, rewritesAll: false)?.isWhole == false)
            most = max(most, people.store.log?.checkpoint?.files.count ?? 0)
        }
        #expect(most > 60 && most <= 67)
        #expect(people.fault(people.store.pin().snapshot) == nil)
        people.store._checkInvariants()
        try people.store.close()
    }

    @Test func holesOutsideOfTheFilesAreRefused() throws {
        let stored = CheckpointState(
            root: 64, stamp: 3, garbage: 5, holes: [96..<4320, 8192..<16_384], schema: StoreSchema(tables: []))
        let bytes = stored.encode()
        let decoded = try CheckpointState.decode(bytes)
        #expect(decoded.holes == stored.holes && decoded.garbage == 5 && decoded.root == 64)
        for count in 24..<bytes.count {
            // A truncated state must not be read beyond its end.
            _ = try? CheckpointState.decode(Array(bytes[..<count]))
        }
        let storage = MemoryStorage()
        let people = try People("/store", storage, count: 10)
        try people.store.compact()
        let log = try #require(people.store.log)
        var checkpoint = try #require(log.checkpoint)
        var state = try CheckpointState.decode(checkpoint.state)
        state.holes = [64..<(checkpoint.byteCount + 4096)]
        checkpoint.state = state.encode()
        let error = #expect(throws: StoreError.self) {
            try CheckpointMapping.open(
                checkpoint, log: log, reading: people.store.checkpointReading,
                fileReferences: CheckpointFileReferences())
        }
        #expect(error?.description.contains("hole") == true)
    }
}

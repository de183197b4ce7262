import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Versions that other processes hold count as if they were held here. The locks exclude file handles, so the processes
/// may as well be stores in one process.
@Suite(.timeLimit(.minutes(20))) struct SharedLimitTests {
    private let disk = SimulatedDisk(seed: 3)

    private func open(
        versions: Int? = nil, bytes: Int? = nil, policy: ActiveVersionPolicy = .fail, on storage: SimulatedStorage
    ) throws -> Store {
        try CountedThings.open(versions: versions, bytes: bytes, policy: policy, on: storage)
    }

    @Test func versionsHeldElsewhereCountUntilTheyAreReleasedOrTheirProcessDies() throws {
        let store = try open(versions: 2, on: disk.newProcess())
        let storage = disk.newProcess()
        let other = try open(on: storage)
        var held: [Pin] = []
        for _ in 0..<2 {
            held.append(other.pin())
            try store.change()
            try other.catchUp()
        }
        let text = try #require(store.refusal()).description
        #expect(text.contains("3 versions are active in all processes, more than maximumNumberOfActiveVersions (2)"))
        #expect(
            text.hasSuffix(
                "- process \(currentProcessID()) holds 2 versions besides its newest, the oldest 1"))
        #expect(store.otherProcesses.map(\.heldVersionCount) == [2])
        held.removeLast()
        try store.change()
        // The process's newest version does not count, held or not; after the process has read on, it does.
        held.append(other.pin())
        try store.change()
        try other.catchUp()
        #expect(store.refusal() != nil)
        // Several holders of one version do not make several versions.
        held.append(held[0].again())
        held.remove(at: 1)
        try store.change()
        try other.catchUp()
        held.append(other.pin())
        try store.change()
        try other.catchUp()
        #expect(store.refusal() != nil)
        disk.kill(storage)
        try store.change()
        withExtendedLifetime(held) {}
        try store.close()
    }

    @Test func bytesRetainedElsewhereCount() throws {
        let store = try open(bytes: 20_000, on: disk.newProcess())
        let other = try open(on: disk.newProcess())
        var held: Pin? = other.pin()
        try store.rewriting(1).commit()
        try other.catchUp()
        let text = try #require(store.refusal()).description
        #expect(text.contains("bytes of memory in all processes, more than maximumRetainedBytes (20000)"))
        #expect(text.contains("holds 1 version besides its newest, the oldest 1, and retains "))
        #expect(store.log?.heldByOthers.byteCount ?? 0 > 36_000)
        withExtendedLifetime(held) {}
        held = nil
        #expect(store.log?.heldByOthers.byteCount == 0)
        try store.change()
        try other.close()
        try store.close()
    }

    /// No process counts retained bytes unless another process needs the count; the holder learns that one does when it
    /// asks.
    @Test func retainedBytesArePublishedOnceAProcessNeedsThem() throws {
        let store = try open(on: disk.newProcess())
        let held = store.pin()
        try store.rewriting(1).commit()
        store.letOthersWrite()
        let other = try open(bytes: 20_000, on: disk.newProcess())
        #expect(other.log?.heldByOthers.byteCount == 0)
        store.handleOtherProcesses()
        #expect(other.log?.heldByOthers.byteCount ?? 0 > 36_000)
        #expect(other.refusal() != nil)
        withExtendedLifetime(held) {}
        try other.close()
        try store.close()
    }

    @Test func aWaitingWriteContinuesWhenAnotherProcessReleasesAVersion() throws {
        let store = try open(versions: 1, policy: .wait(seconds: 3600), on: disk.newProcess())
        let other = try open(on: disk.newProcess())
        var held: Pin? = other.pin()
        try store.change()
        try other.catchUp()
        let thread = try StorageThread.start(name: "writer") {
            do { try store.change() } catch { Issue.record(error) }
        }
        store.awaitWaiters(1)
        #expect(store.publishedVersion == 2)
        withExtendedLifetime(held) {}
        held = nil
        store.watch { store.publishedVersion == 3 }
        thread.join()
        try other.close()
        try store.close()
    }

    @Test func aWaitForAnotherProcessTimesOut() throws {
        let store = try open(versions: 1, policy: .wait(seconds: 0.05), on: disk.newProcess())
        let other = try open(on: disk.newProcess())
        let held = other.pin()
        try store.change()
        try other.catchUp()
        let text = try #require(store.refusal()).description
        #expect(text.contains("that did not change for 0.05 s") && text.contains("- process "))
        withExtendedLifetime(held) {}
        try other.close()
        try store.close()
    }

    @Test func versionsHeldByOthersCannotBeSpilled() throws {
        let store = try open(versions: 1, policy: .spill, on: disk.newProcess())
        let other = try open(on: disk.newProcess())
        var held = [store.pin()]
        try store.change()
        try store.change()
        #expect(store.activeVersions.map(\.isSpilled) == [true, false])
        // A version that is spilled here does not count for other processes, either.
        #expect(other.log?.heldByOthers.versionCount == 0)
        try other.catchUp()
        held.append(other.pin())
        try store.change()
        try other.catchUp()
        let text = try #require(store.refusal()).description
        #expect(text.contains("2 versions are active in all processes") && text.contains("- process "))
        #expect(text.contains("- version 1, ") && text.contains("is written out and does not count, held at"))
        held.removeLast()
        try store.change()
        try other.close()
        try store.close()
    }

    /// Stores with threads, so that each notices by itself what the others ask of it. All have the same process id, as
    /// processes in different PID namespaces may.
    private func openSpilling(_ count: Int, versions: Int, bytes: Int? = nil, in folder: String) throws -> [Store] {
        try (0..<count).map { _ in
            try CountedThings.open(
                versions: versions, bytes: bytes, policy: .spill, on: PosixStorage.shared, folder: folder,
                usesThreads: true, clock: SystemClock.shared)
        }
    }

    @Test(arguments: [2, 3]) func processesThatSpillDoNotRefuseEachOthersWrites(count: Int) throws {
        let folder = TemporaryFolder()
        let stores = try openSpilling(count, versions: count, in: folder.path + "/store")
        var held: [(pin: Pin, value: Int64)] = []
        for round in 1...8 as ClosedRange<Int64> {
            for (index, store) in stores.enumerated() {
                let value = round * 10 + Int64(index)
                try store.change(3, to: value)
                for other in stores {
                    try other.catchUp()
                    held.append((other.pin(), value))
                }
            }
        }
        #expect(stores.allSatisfy { $0.activeVersions.contains(where: \.isSpilled) })
        for (pin, value) in held {
            let table = pin.snapshot.table(CountedThings.table)
            #expect(table.value(1, of: 3) == .int(value))
        }
        withExtendedLifetime(held) {}
        held = []
        for store in stores { try store.close() }
    }

    @Test func aProcessThatWasKilledAsksForNothing() throws {
        let store = try open(policy: .spill, on: disk.newProcess())
        let storage = disk.newProcess()
        let other = try open(policy: .spill, on: storage)
        other.log?.askForWritingOut(true)
        #expect(store.log?.isAskedForWritingOut == true)
        disk.kill(storage)
        #expect(store.log?.isAskedForWritingOut == false)
        try store.close()
    }

    /// What one process retains beyond the limit, another one's write lets it write out.
    @Test func retainedBytesOfAProcessThatSpillsAreWrittenOutForAnotherOnesWrite() throws {
        let folder = TemporaryFolder()
        let stores = try openSpilling(2, versions: 100, bytes: 50_000, in: folder.path + "/store")
        let held = stores[1].pin()
        try stores[0].rewriting(1).commit()
        try stores[1].catchUp()
        let more = stores[1].pin()
        try stores[0].rewriting(2).commit()
        try stores[1].catchUp()
        try stores[0].rewriting(3).commit()
        #expect(Store.isRewritten(more.snapshot, 1) && held.version == 1)
        withExtendedLifetime((held, more)) {}
        for store in stores { try store.close() }
    }

    @Test func aRequestedWriteWaitsForAnotherProcessToWriteOut() throws {
        let folder = TemporaryFolder()
        let stores = try openSpilling(2, versions: 1, in: folder.path + "/store")
        let held = stores[1].pin()
        try stores[0].change()
        try stores[1].catchUp()
        let outcome = Guarded<Result<UInt64, StoreError>?>(.unranked, nil)
        stores[0].requestWrite { result in
            let committed = result.flatMap { transaction in
                Result { () throws(StoreError) in try transaction.commit().number }
            }
            outcome.withLock { $0 = committed }
        }
        stores[0].watch { outcome.withLock { $0 != nil } }
        #expect(try outcome.withLock { $0 }?.get() == 3)
        #expect(stores[1].activeVersions.map(\.isSpilled).first == true)
        withExtendedLifetime(held) {}
        for store in stores { try store.close() }
    }

    /// A write that waits by `.wait` asks for it, too; and a process that was not asked keeps its versions in memory.
    @Test func aWaitingWriteLetsAProcessThatSpillsWriteOut() throws {
        let holder = try open(policy: .spill, on: disk.newProcess())
        let store = try open(versions: 1, policy: .wait(seconds: 3600), on: disk.newProcess())
        let held = holder.pin()
        holder.letOthersWrite()
        try store.change()
        holder.handleOtherProcesses()
        #expect(holder.activeVersions.map(\.isSpilled) == [false, false])
        let thread = try StorageThread.start(name: "writer") {
            do { try store.change() } catch { Issue.record(error) }
        }
        store.awaitWaiters(1)
        store.watch {
            holder.handleOtherProcesses()
            return store.publishedVersion == 3
        }
        thread.join()
        #expect(holder.log?.isAskedForWritingOut == false)
        withExtendedLifetime(held) {}
        try holder.close()
        try store.close()
    }
}

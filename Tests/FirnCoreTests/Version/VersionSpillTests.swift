import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// With the policy `.spill` a write waits for nothing: the oldest held versions no longer count, and what they need
/// is spilled.
@Suite(.timeLimit(.minutes(20))) struct VersionSpillTests {
    private func isAllInFiles(_ store: Store, _ pins: [Pin]) -> Bool {
        var result = true
        for snapshot in pins.map(\.snapshot) + [store.versions.tip.snapshot] {
            snapshot.forEachHeapNode { if !$0.isSpilled { result = false } }
        }
        return result
    }

    @Test func writesContinueAndTheOldestHeldVersionsNoLongerCount() throws {
        let store = try CountedThings.open(versions: 2, policy: .spill, on: MemoryStorage())
        var pins: [Pin] = []
        for byte in 1...5 as ClosedRange<UInt8> {
            pins.append(store.pin())
            try store.rewriting(byte).commit()
        }
        #expect(store.activeVersions.map(\.isSpilled) == [true, true, true, false, false, false])
        try store.change()
        #expect(store.activeVersions.map(\.isSpilled) == [true, true, true, true, false, false])
        #expect(store.activeVersions.map(\.holders) == [1, 1, 1, 1, 1, 0])
        #expect(pins.map(\.version) == [1, 2, 3, 4, 5])
        for (number, pin) in pins.enumerated().dropFirst() {
            #expect(Store.isRewritten(pin.snapshot, UInt8(number)))
        }
        #expect(isAllInFiles(store, pins))
        #expect(store.heap.nodeCount == store.reachedNodeCount(pins))
        store._checkInvariants()
        // Versions that no longer count may go, or get other holders, without others being miscounted.
        pins.append(pins[1].again())
        pins.removeFirst(3)
        try store.change()
        #expect(store.activeVersions.map(\.number) == [2, 4, 5, 8])
        #expect(store.heap.nodeCount == store.reachedNodeCount(pins))
        store._checkInvariants()
        pins = []
        #expect(store.activeVersions.map(\.isSpilled) == [false])
        #expect(store.heap.nodeCount == store.reachedNodeCount([]))
        store._checkInvariants()
        try store.close()
    }

    @Test func retainedBytesOfSpilledVersionsNoLongerCount() throws {
        let store = try CountedThings.open(bytes: 50_000, policy: .spill, on: MemoryStorage())
        var pins: [Pin] = []
        for byte in 1...6 as ClosedRange<UInt8> {
            pins.append(store.pin())
            try store.rewriting(byte).commit()
        }
        #expect(store.activeVersions.count(where: \.isSpilled) == 4)
        #expect(store.versions.withLock { $0.retainedByteCount(without: nil) } > 50_000)
        try store.change()
        #expect(store.versions.withLock { $0.retainedByteCount(without: nil) } <= 50_000)
        for (number, pin) in pins.enumerated().dropFirst() {
            #expect(Store.isRewritten(pin.snapshot, UInt8(number)))
        }
        pins = []
        try store.close()
    }

    /// After a compaction the newest version is in a checkpoint, so the scratch files have only what is held.
    @Test func scratchFilesAreFreedWhenHoldersAndTheCompactorReleaseThem() throws {
        let folder = TemporaryFolder()
        let store = try CountedThings.open(
            versions: 1, policy: .spill, on: PosixStorage.shared, folder: folder.path + "/store")
        let spill = try #require(store.heap.spill)
        let transaction = try store.rewriting(1)
        // More rows than one arena can hold.
        for id in 1000..<12_000 as Range<Int64> {
            var row = transaction.beginRow(CountedThings.table)
            transaction.fill(&row, column: 0, value: .int(id))
            transaction.fill(&row, column: 2, value: .data(Array(repeating: UInt8(truncatingIfNeeded: id), count: 900)))
            try transaction.endRow(row)
        }
        try transaction.commit()
        var pin: Pin? = store.pin()
        #expect(spill.arenaCount > 2)
        try store.change()
        try store.change(1)
        #expect(store.activeVersions.map(\.isSpilled) == [true, false])
        try store.compact()
        #expect(spill.arenaCount > 2)
        #expect(Store.isRewritten(try #require(pin).snapshot, 1))
        #expect(store.heap.nodeCount == store.reachedNodeCount([pin!]))
        pin = nil
        #expect(store.heap.nodeCount == store.reachedNodeCount([]))
        #expect(spill.arenaCount <= 2 && spill.usedPageCount < 60)
        #expect(!(try PosixStorage.shared.list(folder.path + "/store").contains { $0.hasPrefix("scratch") }))
        store._checkInvariants()
        try store.close()
    }

    @Test func aVersionCanBeReadWhileItIsSpilled() throws {
        let folder = TemporaryFolder()
        let store = try CountedThings.open(
            versions: 2, policy: .spill, on: PosixStorage.shared, folder: folder.path + "/store", usesThreads: true)
        try store.rewriting(0).commit()
        let pins = Guarded<[Pin]>(.unranked, [])
        let isDone = Guarded(.unranked, false)
        let reads = Guarded(.unranked, 0)
        let threads = try (0..<2).map { number in
            try StorageThread.start(name: "reader") {
                var chance = SeededRandom(seed: UInt64(number))
                while !isDone.withLock({ $0 }) {
                    let (index, pin) = pins.withLock { pins in
                        let index = pins.isEmpty ? 0 : chance.below(pins.count)
                        return (index, pins.isEmpty ? nil : pins[index])
                    }
                    guard let pin else { continue }
                    #expect(Store.isRewritten(pin.snapshot, UInt8(index)))
                    reads.withLock { $0 += 1 }
                }
            }
        }
        for byte in 1...120 as ClosedRange<UInt8> {
            let pin = store.pin()
            pins.withLock { $0.append(pin) }
            try store.rewriting(byte).commit()
            if byte % 40 == 20 { try store.compact() }
        }
        store.watch { reads.withLock { $0 } > 500 }
        isDone.withLock { $0 = true }
        for thread in threads { thread.join() }
        #expect(store.activeVersions.count(where: \.isSpilled) == 118)
        let held = pins.withLock { $0 }
        #expect(store.heap.nodeCount == store.reachedNodeCount(held))
        store._checkInvariants()
        try store.close()
        // After the store is closed, the versions are still there.
        for (number, pin) in held.enumerated() { #expect(Store.isRewritten(pin.snapshot, UInt8(number))) }
    }

    @Test func theVersionThatAWriterReplacesIsNotSpilled() throws {
        let store = try CountedThings.open(versions: 1, policy: .spill, on: MemoryStorage())
        let own = store.pin()
        try store.change()
        let other = store.pin()
        let transaction = try store.beginWrite(replacing: OwnPin(shared: own), at: CallSite("a", 1))
        transaction.set(CountedThings.table, column: 1, key: 0, to: .int(8))
        try transaction.commit()
        try store.beginWrite(replacing: OwnPin(shared: own), at: CallSite("a", 1)).cancel()
        #expect(store.activeVersions.map(\.isSpilled) == [false, true, false])
        withExtendedLifetime((own, other)) {}
        try store.close()
    }

    @Test func aVersionThatCannotBeSpilledCountsAgain() throws {
        let store = try CountedThings.open(versions: 1, policy: .spill, on: MemoryStorage()) {
            () throws(StorageError) in throw StorageError(.io, operation: "write-out of shared memory", path: "x")
        }
        var held: [Pin] = [store.pin()]
        try store.change()
        let text = try #require(store.refusal()).description
        #expect(text.contains("2 versions are active, more than maximumNumberOfActiveVersions (1)"))
        #expect(text.contains("and nothing more can be written out"))
        #expect(text.contains("- version 1, ") && text.contains("could not be written out ("))
        #expect(text.contains("write-out of shared memory"))
        #expect(store.activeVersions.map(\.isSpilled) == [false, false])
        store._checkInvariants()
        #expect(held.count == 1)
        held = []
        try store.change()
        store._checkInvariants()
        try store.close()
    }

    /// In containers nearly every process has the number 1, so the number does not say whose file it is.
    @Test func filesOfAnotherProcessWithTheSameIDAreNotRemoved() throws {
        let folder = TemporaryFolder()
        let storage = PosixStorage.shared
        let path = folder.path + "/store"
        // There is another opener, so that these files can't be mistaken for what a dead process left.
        let other = try CountedThings.open(policy: .spill, on: storage, folder: path, usesThreads: true)
        let store = try CountedThings.open(policy: .spill, on: storage, folder: path, usesThreads: true)
        let others = (0..<200).map { "\(path)/scratch.\(currentProcessID()).\($0)" }
        for name in others {
            let file = try storage.open(name, .create)
            defer { file.close() }
            try [UInt8](repeating: 0xEE, count: 4096).withUnsafeBytes { try file.write($0, at: 0) }
        }
        var pins: [Pin] = []
        for byte in 1...6 as ClosedRange<UInt8> {
            let transaction = try store.rewriting(byte)
            for id in 0..<4000 as Range<Int64> {
                var row = transaction.beginRow(CountedThings.table)
                transaction.fill(&row, column: 0, value: .int(Int64(byte) << 32 + id))
                transaction.fill(&row, column: 2, value: .data(Array(repeating: byte, count: 600)))
                try transaction.endRow(row)
            }
            try transaction.commit()
            pins.append(store.pin())
        }
        for (number, pin) in pins.enumerated() { #expect(Store.isRewritten(pin.snapshot, UInt8(number + 1))) }
        for name in others {
            let file = try storage.open(name, .read)
            defer { file.close() }
            #expect(try file.size() == 4096)
            var bytes = [UInt8](repeating: 0, count: 4096)
            _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            #expect(bytes.allSatisfy { $0 == 0xEE })
        }
        pins = []
        try store.close()
        try other.close()
        // A process that is alone assumes that dead processes left these files.
        let last = try CountedThings.open(policy: .spill, on: storage, folder: path, usesThreads: true)
        #expect(try storage.list(path).allSatisfy { !$0.hasPrefix("scratch.") })
        try last.close()
    }

    /// Blocks are reserved when a scratch file is made, so a full disk is noticed there.
    @Test func aFullDiskIsAnErrorUntilThereIsSpaceAgain() throws {
        let storage = SimulatedStorage(seed: 4)
        storage.inject(
            SimulatedFault(.noSpace, number: 28, times: .max) {
                $0.operation == .sharedMemory && $0.path.contains("scratch")
            })
        let store = try CountedThings.open(versions: 1, policy: .spill, on: storage)
        var held: [Pin] = [store.pin()]
        // No transaction fails for lack of a scratch file: its nodes are made on the heap.
        try store.rewriting(1).commit()
        var text = try #require(store.refusal()).description
        #expect(text.contains("- version 1, ") && text.contains("could not be written out ("))
        #expect(text.contains("the disk is full"))
        held = []
        try store.change()
        held.append(store.pin())
        storage.removeFaults()
        try store.rewriting(2).commit()
        // The nodes that the held version needs are still on the heap.
        text = try #require(store.refusal()).description
        #expect(text.contains("could not be written out"))
        held = []
        // The newest version's older nodes move to the checkpoint, so the last nodes on the heap go.
        try store.compact()
        held.append(store.pin())
        try store.rewriting(3).commit()
        try store.change()
        #expect(store.activeVersions.map(\.isSpilled) == [true, false])
        #expect(Store.isRewritten(held[0].snapshot, 2) && isAllInFiles(store, held))
        #expect(store.heap.nodeCount == store.reachedNodeCount(held))
        store._checkInvariants()
        try store.close()
    }

    @Test func closingDoesNotWaitForVersionsThatNeedNotBeSpilled() throws {
        let folder = TemporaryFolder()
        let began = Guarded(.unranked, 0)
        let store = try CountedThings.open(
            versions: 1, policy: .spill, on: PosixStorage.shared, folder: folder.path + "/store", usesThreads: true
        ) { () throws(StorageError) in began.withLock { $0 += 1 } }
        var pins: [Pin] = []
        for byte in 0..<30 as Range<UInt8> {
            try store.rewriting(byte).commit()
            pins.append(store.pin())
        }
        try store.close()
        let count = began.withLock { $0 }
        #expect(count >= 1 && count <= 30)
        for (number, pin) in pins.enumerated() { #expect(Store.isRewritten(pin.snapshot, UInt8(number))) }
        pins = []
        #expect(began.withLock { $0 } == count)
    }

    @Test func aStoreInMemoryRefusesThePolicy() throws {
        let error = #expect(throws: StoreError.self) { _ = try CountedThings.open(versions: 2, policy: .spill) }
        #expect(error?.code == .limit)
        #expect(error?.description.contains("activeVersionPolicy is .spill, but a store in memory") == true)
    }

    #if os(Linux)
        /// The child releases its copies of the pins, of the transaction and of the store, whose nodes are in scratch
        /// files.
        @Test func aForkedChildThatReleasesVersionsDoesTheParentNoHarm() async {
            await #expect(processExitsWith: .success) {
                let folder = TemporaryFolder()
                let store = try CountedThings.open(
                    versions: 2, policy: .spill, on: PosixStorage.shared, folder: folder.path + "/store")
                nonisolated(unsafe) var pins: [Pin] = []
                for byte in 1...8 as ClosedRange<UInt8> {
                    pins.append(store.pin())
                    // Only some leaf of each version is as old as the first version: when the version goes, its dead
                    // nodes join those of the version before.
                    let transaction = try store.rewriting(byte)
                    if byte == 1 {
                        for id in 1000..<5000 as Range<Int64> {
                            var row = transaction.beginRow(CountedThings.table)
                            transaction.fill(&row, column: 0, value: .int(id))
                            try transaction.endRow(row)
                        }
                    } else {
                        transaction.set(CountedThings.table, column: 1, key: Int64(byte) * 400, to: .int(1))
                    }
                    try transaction.commit()
                }
                nonisolated(unsafe) var open: WriteTransaction? = try store.rewriting(9)
                let child = forked {
                    pins.remove(at: 3)
                    pins.remove(at: 5)
                    pins = []
                    open?.cancel()
                    open = nil
                    return (try? store.close()) == nil ? 1 : 0
                }
                #expect(end(of: child) == .exited(0))
                // The pins that the child released are still held here, and other processes see them.
                let other = try Log.open(
                    LogOptions(folder: folder.path + "/store", access: .readOnly), storage: PosixStorage.shared)
                #expect(other.otherProcesses.map(\.activeVersionCount) == [2])
                try other.close()
                try open?.commit()
                for (number, pin) in pins.enumerated().dropFirst() {
                    #expect(Store.isRewritten(pin.snapshot, UInt8(number)))
                }
                #expect(Store.isRewritten(store.pin().snapshot, 9))
                #expect(store.heap.nodeCount == store.reachedNodeCount(pins))
                for index in [5, 3, 2] { pins.remove(at: index) }
                store._checkInvariants()
                pins = []
                #expect(store.heap.nodeCount == store.reachedNodeCount([]))
                store._checkInvariants()
                try store.close()
            }
        }
    #endif
}

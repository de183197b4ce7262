import FirnSimulation
import FirnStorage
import Foundation
import Synchronization
import Testing

@testable import FirnCore

/// Only the versions that are held decide whether a transaction may begin.
@Suite(.timeLimit(.minutes(20))) struct ActiveVersionLimitTests {
    @Test func aWriteBeyondTheLimitFailsWithTheHoldersUntilOneIsReleased() throws {
        let clock = ManualClock()
        let store = try CountedThings.open(versions: 3, clock: clock)
        var held: [Pin] = []
        let line = #line + 2
        for _ in 0..<3 {
            held.append(store.pin())
            try store.change()
        }
        held.append(held[1].again())
        clock.advance(by: 12_340_000_000)
        let text = try #require(store.refusal()).description
        #expect(text.contains("4 versions are active, more than maximumNumberOfActiveVersions (3)"))
        let file = "FirnCoreTests/ActiveVersionLimitTests.swift"
        #expect(text.contains("- version 1, 12.3 s old, alone retains "))
        #expect(text.contains("- version 2, 12.3 s old, alone retains "))
        #expect(text.contains("bytes, held at \(file):\(line)\n"))
        #expect(text.contains("bytes, held at \(file):\(line), \(file):\(line + 3)\n"))
        #expect(text.contains("- version 4, 12.3 s old, alone retains 0 bytes, the newest, held by nothing"))
        // A version is kept if another pin also holds it.
        held.remove(at: 1)
        #expect(store.refusal() != nil)
        held.removeFirst()
        try store.change()
        held.append(store.pin())
        try store.change()
        #expect(store.refusal() != nil)
        held = []
        try store.change()
        #expect(store.activeVersions.map(\.number) == [store.publishedVersion])
        store._checkInvariants()
    }

    @Test func manyHoldersAreListedUpToALimit() throws {
        let store = try CountedThings.open(versions: 100)
        var held: [Pin] = []
        for _ in 0..<100 {
            held.append(store.pin())
            try store.change()
        }
        for _ in 0..<6 { held.append(held[0].again()) }
        let text = try #require(store.refusal()).description
        #expect(text.split(separator: "\n").count == 1 + VersionExcess.listedCount + 1)
        #expect(text.contains("(6 times)"))
        #expect(text.hasSuffix("and \(101 - VersionExcess.listedCount) newer ones; activeVersions lists them all"))
        held = []
    }

    @Test func aStoreWithoutALimitAcceptsWritesHoweverMuchIsHeld() throws {
        let store = try CountedThings.open()
        var held: [Pin] = []
        for _ in 0..<100 {
            held.append(store.pin())
            try store.change()
        }
        #expect(store.activeVersions.count == 101)
        held = []
    }

    @Test func aReopenedStoreStartsWithOneActiveVersion() throws {
        let storage = MemoryStorage()
        var held: [Pin] = []
        let before = try CountedThings.open(versions: 5, on: storage)
        for _ in 0..<5 {
            held.append(before.pin())
            try before.change()
        }
        #expect(before.refusal() != nil)
        try before.close()
        let store = try CountedThings.open(versions: 1, on: storage)
        #expect(store.activeVersions.map(\.number) == [6])
        #expect(store.activeVersions.map(\.holders) == [0])
        try store.change()
        #expect(store.publishedVersion == 7)
        #expect(held.map(\.version) == [1, 2, 3, 4, 5])
        try store.close()
    }

    @Test func versionsThatNothingHoldsAreNotCounted() throws {
        let store = try CountedThings.open(versions: 1, bytes: 0, on: MemoryStorage())
        // None of these is durable before the next begins, so all of them are kept, but only the store keeps them.
        var last: UInt64 = 0
        for byte in 0..<5 { last = try store.rewriting(UInt8(byte)).commitWithoutWaiting().number }
        #expect(store.publishedVersion == 1)
        try store.waitUntilPublished(last)
        #expect(store.activeVersions.map(\.number) == [last])
        try store.change()
        // A transaction that is cancelled leaves nothing that counts.
        try store.rewriting(9).cancel()
        try store.change()
        store._checkInvariants()
        try store.close()
    }

    @Test func aVersionHeldBeforeUnpublishedOnesIsCountedOnce() throws {
        let store = try CountedThings.open(versions: 2, on: MemoryStorage())
        let held = store.pin()
        for _ in 0..<4 { _ = try store.changing().commitWithoutWaiting() }
        let other = store.pin()
        #expect(other.version == held.version)
        try store.waitUntilPublished(try store.changing().commitWithoutWaiting().number)
        let third = store.pin()
        try store.change()
        #expect(store.refusal() != nil)
        withExtendedLifetime((held, other, third)) {}
        try store.close()
    }

    @Test func thePinThatAWriterReplacesIsNotCounted() throws {
        let store = try CountedThings.open(versions: 1)
        let own = store.pin()
        try store.change()
        func begin() throws { try store.beginWrite(replacing: OwnPin(shared: own), at: CallSite("a", 1)).cancel() }
        try begin()
        #expect(store.refusal() != nil)
        // If another pin holds the same version, releasing the own one would not help.
        let other = own.again()
        #expect(throws: StoreError.self) { try begin() }
        withExtendedLifetime(other) {}
    }

    /// A version does not count for a transaction that replaces its only pin. So whoever waits for that must wake when
    /// the other pins of the version go, although it is still held.
    @Test func aTransactionWakesWhenItsOwnPinIsTheLast() throws {
        let store = try CountedThings.open(versions: 1, policy: .wait(seconds: 600))
        let own = store.pin()
        var other: Pin? = own.again()
        try store.change()
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var failure: (any Error)?
        Thread.detachNewThread {
            do { try store.beginWrite(replacing: OwnPin(shared: own), at: CallSite("a", 1)).cancel() } catch {
                failure = error
            }
            done.signal()
        }
        store.awaitWaiters(1)
        // It counts as a waiter before it sleeps. One that is not asleep yet would see the release without being woken.
        Thread.sleep(forTimeInterval: 0.1)
        other = nil
        #expect(other == nil && done.wait(timeout: .testTimeout) == .success && failure == nil)
        store._checkInvariants()
    }

    @Test func retainedBytesAreLimited() throws {
        let store = try CountedThings.open(bytes: 20_000)
        var held = [store.pin()]
        try store.change()
        held.append(store.pin())
        try store.rewriting(1).commit()
        // Both versions reach what was replaced, so neither retains it alone, but together they do.
        #expect(store.activeVersions.allSatisfy { $0.retainedByteCount < 20_000 })
        let text = try #require(store.refusal()).description
        #expect(text.contains("bytes of memory, more than maximumRetainedBytes (20000)"))
        #expect(!text.contains("maximumNumberOfActiveVersions"))
        held.removeFirst()
        #expect(store.activeVersions[0].retainedByteCount > 36_000)
        #expect(store.refusal() != nil)
        held.removeFirst()
        try store.change()
        #expect(store.activeVersions.map(\.retainedByteCount) == [0])
        // A replaced pin is not counted here either.
        let own = store.pin()
        try store.rewriting(2).commit()
        #expect(store.refusal() != nil)
        try store.beginWrite(replacing: OwnPin(shared: own), at: CallSite("a", 1)).cancel()
        store._checkInvariants()
    }

    @Test func anIteratorThatOutlivesItsTransactionRetainsBytesButIsNotAVersion() throws {
        let store = try CountedThings.open(versions: 1, bytes: 20_000)
        var transaction = try store.rewriting(1)
        var state: Pin? = transaction.pinSnapshot()
        for key in 0..<Int64(CountedThings.count) {
            transaction.set(CountedThings.table, column: 2, key: key, to: .data(Array(repeating: 3, count: 600)))
        }
        try transaction.commit()
        #expect(store.activeVersions.map(\.number) == [2])
        let text = try #require(store.refusal()).description
        #expect(text.contains("maximumRetainedBytes") && !text.contains("maximumNumberOfActiveVersions"))
        withExtendedLifetime(state) {}
        state = nil
        transaction = try store.changing()
        try transaction.commit()
    }

    /// A cancelled transaction's snapshot needs the version that the transaction began from, for everything
    /// unchanged.
    @Test func anIteratorThatOutlivesACancelledTransactionHoldsItsBase() throws {
        let store = try CountedThings.open()
        let transaction = try store.changing(3, to: 5)
        var state: Pin? = transaction.pinSnapshot()
        transaction.set(CountedThings.table, column: 1, key: 3, to: .int(6))
        transaction.cancel()
        try store.rewriting(9).commit()
        try #require(store.activeVersions.map(\.number) == [1, 2])
        let things = try #require(state).snapshot.table(CountedThings.table)
        #expect(things.value(1, of: 3) == .int(5) && things.value(1, of: 4) == .int(0))
        for key in 0..<Int64(CountedThings.count) {
            #expect(things.value(2, of: key) == .data(Array(repeating: 7, count: 600)))
        }
        state = nil
        #expect(store.activeVersions.map(\.number) == [2])
        #expect(store.heap.nodeCount == store.reachedNodeCount([]))
        store._checkInvariants()
    }

    /// The rows that it appended are in the chunks of the version that it began from, behind that version's rows. The
    /// next transaction appends there, too.
    @Test(arguments: [false, true])
    func anIteratorThatOutlivesACancelledTransactionKeepsTheAppendedRows(changesSchema: Bool) throws {
        let ids = CountedThings.count..<CountedThings.count + 20
        // Every second value has a node of its own, which the transaction that made it frees.
        func data(_ id: Int, _ byte: UInt8) -> Value { .data(Array(repeating: byte, count: id % 2 == 0 ? 5 : 2000)) }
        func append(_ byte: UInt8, _ transaction: WriteTransaction) throws {
            for id in ids {
                var row = transaction.beginRow(CountedThings.table)
                transaction.fill(&row, column: 0, value: .int(Int64(id)))
                transaction.fill(&row, column: 1, value: .int(Int64(byte)))
                transaction.fill(&row, column: 2, value: data(id, byte))
                try transaction.endRow(row)
            }
        }
        func isComplete(_ snapshot: Snapshot, _ byte: UInt8) -> Bool {
            let things = snapshot.table(CountedThings.table)
            return things.count == ids.upperBound
                && ids.allSatisfy { id in
                    let key = things.location(at: id).leaf.key(things.location(at: id).row)
                    return things.value(0, of: key) == .int(Int64(id)) && things.value(1, of: key) == .int(Int64(byte))
                        && things.value(2, of: key) == data(id, byte)
                }
        }
        let store = try CountedThings.open()
        let cancelled = try store.beginWrite()
        try append(3, cancelled)
        var state: Pin? = cancelled.pinSnapshot()
        cancelled.cancel()
        for byte in [4, 5] as [UInt8] {
            let transaction = try store.beginWrite()
            if changesSchema {
                var schema = store.pin().snapshot.schema
                schema.tables[0].columns.append(ColumnSchema(name: "more", type: .int))
                // A leaf that is rebuilt for the new column shares the other columns' chunks.
                try transaction.changeSchema(to: schema)
            }
            try append(byte, transaction)
            if byte == 4 { transaction.cancel() } else { try transaction.commit() }
            #expect(isComplete(try #require(state).snapshot, 3), "after \(byte)")
        }
        state = nil
        #expect(isComplete(store.pin().snapshot, 5))
        store._checkInvariants()
    }

    @Test func theFirstVersionCountsWhileItIsHeld() throws {
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        let empty = store.pin()
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: modelSchema())
        try transaction.commit()
        #expect(store.activeVersions.map(\.number) == [0, 1])
        #expect(empty.snapshot.schema.tables.isEmpty)
        store._checkInvariants()
    }

    @Test(arguments: [(0, nil), (-1, nil), (nil, -1)] as [(Int?, Int?)])
    func aLimitThatForbidsEveryWriteIsRefusedAtOpening(versions: Int?, bytes: Int?) throws {
        let error = #expect(throws: StoreError.self) { _ = try CountedThings.open(versions: versions, bytes: bytes) }
        #expect(error?.code == .limit)
        #expect(error?.description.contains(versions == nil ? "maximumRetainedBytes" : "maximumNumber") == true)
    }
}

/// A write that waits for holders blocks no other write, and continues as soon as it is allowed to.
@Suite(.timeLimit(.minutes(20))) struct ActiveVersionWaitTests {
    private func failure(_ result: Result<WriteTransaction, StoreError>?) -> StoreError? {
        if case .failure(let error)? = result { error } else { nil }
    }

    @Test func aWaitingWriteContinuesWhenAHolderReleasesItsVersionAndLeavesTheWriteLockFree() throws {
        let store = try CountedThings.open(versions: 1, policy: .wait(seconds: 3600))
        var held: Pin? = store.pin()
        try store.change()
        let threads = try (0..<3).map { number in
            try StorageThread.start(name: "writer \(number)") {
                do { try store.change(Int64(number), to: 5) } catch { Issue.record(error) }
            }
        }
        store.awaitWaiters(3)
        #expect(store.publishedVersion == 2)
        // A caller that holds a version may write before it releases it, if it counts no more than the version it
        // replaces.
        try store.beginWrite(replacing: OwnPin(shared: held), at: CallSite("a", 1)).cancel()
        #expect(store.queue.tryAcquire())
        store.queue.release()
        held = nil
        store.watch { store.publishedVersion == 5 }
        for thread in threads { thread.join() }
        #expect(store.activeVersions.count == 1)
    }

    @Test func aWaitThatIsTooLongFailsWithTheHolders() throws {
        let store = try CountedThings.open(versions: 1, policy: .wait(seconds: 0.02))
        let line = #line + 1
        let held = store.pin()
        try store.change()
        let text = try #require(store.refusal()).description
        #expect(text.contains("that did not change for 0.02 s"))
        #expect(text.contains("held at FirnCoreTests/ActiveVersionLimitTests.swift:\(line)\n"))
        withExtendedLifetime(held) {}
    }

    @Test func closingTheStoreEndsWaiting() throws {
        let store = try CountedThings.open(versions: 1, policy: .wait(seconds: 3600))
        let held = store.pin()
        try store.change()
        let codes = Guarded<[StoreError.Code]>(.unranked, [])
        let thread = try StorageThread.start(name: "writer") {
            do throws(StoreError) { _ = try store.beginWrite() } catch { codes.withLock { $0.append(error.code) } }
        }
        store.awaitWaiters(1)
        store.requestWrite { result in codes.withLock { $0.append(failure(result)?.code ?? .damage) } }
        store.awaitWaiters(2)
        try store.close()
        thread.join()
        store.watch { codes.withLock({ $0.count }) == 2 }
        #expect(codes.withLock { $0 } == [.closed, .closed])
        withExtendedLifetime(held) {}
    }

    @Test func aRequestedTransactionThatIsNotAllowedToBeginFails() throws {
        let store = try CountedThings.open(versions: 1)
        let held = store.pin()
        try store.change()
        let seen = Guarded<StoreError?>(.unranked, nil)
        store.requestWrite { result in seen.withLock { $0 = failure(result) } }
        #expect(seen.withLock { $0?.code } == .tooManyActiveVersions)
        withExtendedLifetime(held) {}
        // The write lock was given up.
        #expect(store.queue.tryAcquire())
        store.queue.release()
    }

    @Test func requestedTransactionsWaitWithoutAThreadOfTheirOwnAndBeginInOrder() throws {
        let store = try CountedThings.open(versions: 1, policy: .wait(seconds: 3600))
        var held: Pin? = store.pin()
        try store.change()
        let order = Guarded<[Int]>(.unranked, [])
        for number in 0..<200 {
            store.requestWrite { result in
                do {
                    let transaction = try result.get()
                    transaction.set(CountedThings.table, column: 1, key: 0, to: .int(Int64(number)))
                    try transaction.commit()
                    order.withLock { $0.append(number) }
                } catch { Issue.record(error) }
            }
        }
        store.awaitWaiters(1)
        #expect(store.versions.lock.withLock { store.versions.waiterCount } == 1)
        #expect(order.withLock { $0 }.isEmpty)
        held = nil
        store.watch { order.withLock({ $0.count }) == 200 }
        #expect(order.withLock { $0 } == Array(0..<200))
        #expect(store.publishedVersion == 202)
        withExtendedLifetime(held) {}
        // The thread that waited has ended; another wait starts another thread.
        held = store.pin()
        try store.change()
        store.requestWrite { result in order.withLock { $0.append((try? result.get())?.cancel() == nil ? -1 : 200) } }
        store.awaitWaiters(1)
        held = nil
        store.watch { order.withLock({ $0.count }) == 201 }
        #expect(order.withLock { $0.last } == 200)
    }

    @Test func aRequestedTransactionThatWaitsTooLongFailsWithTheHolders() throws {
        let store = try CountedThings.open(versions: 1, policy: .wait(seconds: 0.02))
        let held = store.pin()
        try store.change()
        let seen = Guarded<[StoreError]>(.unranked, [])
        for _ in 0..<2 {
            store.requestWrite { result in if let error = failure(result) { seen.withLock { $0.append(error) } } }
        }
        store.watch { seen.withLock({ $0.count }) == 2 }
        for error in seen.withLock({ $0 }) {
            #expect(error.code == .tooManyActiveVersions)
            #expect(error.description.contains("- version 1, "))
        }
        withExtendedLifetime(held) {}
    }

    @Test func aWaitMayHaveAnyNumberOfSeconds() {
        #expect(ActiveVersionPolicy.fail.nanoseconds == 0)
        #expect(ActiveVersionPolicy.wait(seconds: 1.5).nanoseconds == 1_500_000_000)
        #expect(ActiveVersionPolicy.wait(seconds: Double.infinity).nanoseconds == 3_000_000_000_000_000_000)
        for seconds in [-1, 0, -Double.infinity, .nan] {
            #expect(ActiveVersionPolicy.wait(seconds: seconds).nanoseconds == 0)
        }
    }
}

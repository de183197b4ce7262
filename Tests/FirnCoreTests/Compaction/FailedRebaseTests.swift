import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

@Suite(.timeLimit(.minutes(20))) struct FailedRebaseTests {
    /// If a checkpoint was published but the rebase failed, so that the tip does not have its nodes, the next
    /// compaction still has work to do.
    @Test func theCompactionAfterAFailedRebaseFreesTheMemory() throws {
        let storage = MemoryStorage()
        let transaction = Guarded<WriteTransaction?>(.unranked, nil)
        let holder = Guarded<Store?>(.unranked, nil)
        var log = LogOptions(folder: "/store", verify: .everything)
        log.usesThreads = false
        log.reserveByteCount = 0
        var options = StoreOptions(log: log)
        options.duringCompaction = {
            guard let store = holder.withLock({ $0 }) else { return }
            do {
                // This simulates a process that ends while a transaction runs.
                store.compaction.thread.processEnds()
                nonisolated(unsafe) let begun = try store.beginWrite()
                transaction.withLock { $0 = begun }
            } catch { Issue.record("\(error)") }
        }
        let store = try Store(options, storage: storage)
        try People.fill(store, 2000)
        _ = try store.compact()
        let change = try store.beginWrite()
        for key in Int64(0)..<2000 { change.set(TableID(0), column: 2, key: key, to: .int(key % 7)) }
        try change.commit()
        holder.withLock { $0 = store }
        #expect(throws: StoreError.self) { try store.compact(garbageShare: 10) }
        holder.withLock { $0 = nil }
        try #require(transaction.withLock { $0 }).cancel()
        transaction.withLock { $0 = nil }
        // The checkpoint is that of the newest version, which still lies on the heap.
        #expect(store.log?.checkpoint?.version == store.publishedVersion)
        let before = store.heap.byteCount
        #expect(before > 10_000)
        #expect(try store.compact(garbageShare: 10) != nil)
        #expect(store.heap.byteCount < before / 10)
        // Now there is nothing left to do.
        #expect(try store.compact(garbageShare: 10) == nil)
        store._checkInvariants()
        try store.verify()
        try store.close()
        let again = try Store(StoreOptions(log: log), storage: storage)
        #expect(again.pin().snapshot.table(TableID(0)).value(2, of: 1999) == .int(1999 % 7))
        try again.close()
    }
}

import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("A sync makes durable what was written before it", .timeLimit(.minutes(20))) struct GroupCommitTests {
    @Test("it covers what was written before it began, and nothing that came while it ran", arguments: [false, true])
    func onlyBefore(leads: Bool) throws {
        let bench = Bench()
        let file = try bench.storage.open("/segment", .create)
        let page = try SharedPage(
            StoreFolder(path: "/", storage: bench.storage), StoreID(high: 1, low: 2), mayCreate: true)
        let group = GroupCommit(file: file, version: 0, page: page, publishesWhenWritten: false)
        let (isSyncing, hold) = bench.holdSyncs()
        group.noteWritten(2)
        let leader = try StorageThread.start(name: "leader") {
            do { if leads { try group.syncAll() } else { try group.wait(for: 1) } } catch { Issue.record("\(error)") }
        }
        isSyncing.wait()
        group.noteWritten(5)
        hold.open()
        leader.join()
        #expect(group.durableVersion == 2 && group.publishedVersion == 2)
        #expect(page.durableMark == 2 && page.published == 2)
        func syncs() -> Int { bench.storage.disk.ioTrace.count { $0.operation == .sync } }
        #expect(syncs() == 1)
        try group.wait(for: 2)
        #expect(syncs() == 1)
        try group.wait(for: 3)
        #expect(syncs() == 2 && group.durableVersion == 5 && page.durableMark == 5)
    }

    @Test("a waiter that came while it ran leads the next sync, which covers all such waiters", arguments: [1, 16])
    func nextLeader(count: Int) throws {
        let bench = Bench()
        let file = try bench.storage.open("/segment", .create)
        let next = ScheduledEventCount()
        let group = GroupCommit(
            file: file, version: 0, page: nil, publishesWhenWritten: false, waitQueues: (ScheduledEventCount(), next))
        let (isSyncing, hold) = bench.holdSyncs()
        func start(_ version: Int) throws -> StorageThread {
            try StorageThread.start(name: "waiter") {
                do { try group.wait(for: UInt64(version)) } catch { Issue.record("\(error)") }
            }
        }
        group.noteWritten(1)
        let leader = try start(1)
        isSyncing.wait()
        group.noteWritten(UInt64(1 + count))
        let waiters = try (1...count).map { try start(1 + $0) }
        next.waitUntil { $0.asleep == count }
        hold.open()
        leader.join()
        #expect(TestTimeout.awaits { next.asleep == 0 }, "nobody is left who would wake them")
        // If that failed, the waiters are woken here to end the test.
        next.broadcast()
        for waiter in waiters { waiter.join() }
        #expect(group.durableVersion == UInt64(1 + count))
        #expect(bench.storage.disk.ioTrace.count { $0.operation == .sync } == 2)
    }

    @Test("a commit that was written while another's sync ran is acknowledged by a later sync")
    func powerCut() throws {
        let bench = Bench()
        let log = try bench.open()
        for round in 0..<8 as Range<UInt64> {
            let first = try bench.commit(log, [300])
            let done = Gate()
            bench.storage.beforeEachCall { call in
                // The sync has begun: what it covers is decided.
                guard call.operation == .sync, call.path.hasSuffix("segment"), !done.isOpen else { return }
                done.open()
                do { try bench.commit(log, [500]) } catch { Issue.record("\(error)") }
            }
            try log.waitUntilDurable(first)
            bench.storage.beforeEachCall(nil)
            #expect(log.writtenVersion == first + 1 && log.durableVersion == first && log.publishedVersion == first)
            let between = try bench.afterPowerCut(keeping: 0, seed: round).open()
            #expect(between.recovery.lastVersion >= first)
            try log.waitUntilDurable(first + 1)
            let after = try bench.afterPowerCut(keeping: 0, seed: round).open()
            #expect(after.recovery.lastVersion == first + 1)
        }
    }

    @Test(
        "another process's version is never seen as written but not durable, or durable but not published")
    func adopting() throws {
        let bench = Bench()
        let file = try bench.storage.open("/segment", .create)
        let group = GroupCommit(file: file, version: 0, page: nil, publishesWhenWritten: false)
        let last: UInt64 = 300_000
        let reader = try StorageThread.start(name: "reader") {
            var faults = 0
            while group.writtenVersion < last {
                let written = group.writtenVersion
                let durable = group.durableVersion
                let published = group.publishedVersion
                if durable < written || published < durable { faults += 1 }
            }
            #expect(faults == 0)
        }
        for version in 1...last { group.adopt(version) }
        reader.join()
    }
}

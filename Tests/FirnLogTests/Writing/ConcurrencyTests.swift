import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnLog

@Suite("Concurrent use of a log", .timeLimit(.minutes(20))) struct ConcurrencyTests {
    @Test("a commit into space that is being preallocated waits for the zeros") func commitIntoFilling() throws {
        let bench = Bench()
        let log = try bench.open()
        let (isFilling, mayFill) = (Gate(), Gate())
        let path = Bench.segment
        bench.storage.beforeEachCall { call in
            guard call.operation == .write, call.path == path, !isFilling.isOpen else { return }
            isFilling.open()
            mayFill.wait()
        }
        let filler = try StorageThread.start(name: "filler") { log.writer?.tail.preallocate() }
        isFilling.wait()
        let committer = try StorageThread.start(name: "committer") {
            do { try bench.commit(log, [2000]) } catch { Issue.record("\(error)") }
        }
        // Long enough for a commit that does not wait.
        sleepThread(nanoseconds: 50_000_000)
        mayFill.open()
        committer.join()
        filler.join()
        bench.storage.beforeEachCall(nil)
        try log.waitUntilDurable(1)
        var versions: [UInt64] = []
        try log.replay(after: 0, through: 1) { commit in
            let bytes = try commit.next()?.bytes
            #expect(bytes.map { Payload.isEqual($0, version: 1, part: 0, count: 2000) } == true)
            versions.append(commit.version)
        }
        #expect(versions == [1])
        try log.close()
    }

    @Test(
        "commits of eight threads are all there, each durable when its wait returns",
        arguments: [Durability.full, .relaxed(milliseconds: 2), .none])
    func threads(_ durability: Durability) throws {
        let folder = TemporaryFolder()
        var options = LogOptions(folder: folder.path + "/store", durability: durability, verify: .everything)
        options.segmentByteCount = 64 << 10
        options.idleMilliseconds = 2
        let log = try Log.open(options, storage: PosixStorage.shared)
        let ticket = Lock(.unranked)
        let called = Atomic<Int>(0)
        let threads = try (0..<8).map { number in
            try StorageThread.start(name: "writer") {
                for index in 0..<50 {
                    ticket.lock()
                    let version = log.writtenVersion + 1
                    do {
                        try LogScript.commit(
                            log, version: version, index % 10 == 0 ? [5000, 3000, 10] : [100 + number])
                        ticket.unlock()
                        if index % 3 == 0 {
                            log.whenDurable(version) { result in
                                if case .success = result { called.wrappingAdd(1, ordering: .relaxed) }
                            }
                        } else {
                            try log.waitUntilDurable(version)
                            #expect(log.publishedVersion >= version)
                            if durability == .full { #expect(log.durableVersion >= version) }
                        }
                    } catch {
                        Issue.record("\(error)")
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        try log.close()
        #expect(called.load(ordering: .relaxed) == 8 * 17)
        let again = try Log.open(options, storage: PosixStorage.shared)
        #expect(again.recovery.outcome == .clean && again.recovery.lastVersion == 400)
        var count = 0
        try again.replay(after: 0, through: 400) { commit in
            while let part = try commit.next() {
                _ = part
            }
            count += 1
        }
        #expect(count == 400)
    }

    @Test("objects that a callback holds are released outside of the lock, so they may use Firn") func callbacks() async
    {
        await #expect(processExitsWith: .success) {
            final class Held: Sendable {
                let gone: Gate
                init(_ gone: Gate) { self.gone = gone }
                deinit {
                    // In debug builds this stops the process if a lock is held.
                    Lock(.innermost).withLock {}
                    gone.open()
                }
            }
            let bench = Bench { $0.usesThreads = true }
            let log = try bench.open()
            for _ in 0..<20 {
                let version = try bench.commit(log)
                let gone = Gate()
                func ask() {
                    let held = Held(gone)
                    log.whenDurable(version) { _ in withExtendedLifetime(held) {} }
                }
                ask()
                gone.wait()
            }
            try log.close()
        }
    }

    @Test("no space is preallocated in a segment that is being sealed, at whatever moment the thread tries")
    func sealing() throws {
        var calls = 0
        var moment = 0
        repeat {
            let bench = Bench { $0.segmentByteCount = 64 << 10 }
            let log = try bench.open()
            for _ in 1...3 { try log.waitUntilDurable(try bench.commit(log, [900])) }
            let before = bench.storage.callCount
            bench.storage.beforeEachCall { [moment] call in
                guard call.index == before + moment else { return }
                log.writer!.tail.preallocate()
            }
            try log.sealSegment()
            bench.storage.beforeEachCall(nil)
            calls = bench.storage.callCount - before
            let manifest = try log.folder.readManifest()
            let sealed = try #require(manifest.segments.first)
            #expect(sealed.isSealed && manifest.segments.count == 2)
            #expect(
                try log.folder.status(log.folder.segment(1))?.byteCount == Int(sealed.byteCount),
                "filled before call \(moment) of \(calls)")
            // Preallocation continues in the new segment.
            log.writer!.tail.preallocate()
            #expect(try log.folder.status(log.folder.segment(2))!.byteCount == 64 << 10)
            moment += 1
        } while moment < calls
        #expect(calls > 8)
    }

    @Test("the log's extent may be asked for beside the writer") func extent() throws {
        let folder = TemporaryFolder()
        var options = LogOptions(folder: folder.path + "/store", durability: .none)
        options.segmentByteCount = 64 << 10
        let log = try Log.open(options, storage: PosixStorage.shared)
        let isOver = Atomic<Bool>(false)
        let asking = try StorageThread.start(name: "asking") {
            var last = 0
            while !isOver.load(ordering: .acquiring) {
                let count = log.segmentByteCount
                if count < last { Issue.record("\(count) after \(last)") }
                last = count
            }
        }
        for version in 1...400 { try LogScript.commit(log, version: UInt64(version), [900]) }
        isOver.store(true, ordering: .releasing)
        asking.join()
        #expect(log.segmentByteCount > 400 * 450)
    }

    @Test("a waiting thread is woken by the next commit, even if the page was reset while another slept")
    func wokenAfterPrepare() throws {
        let storage = MemoryStorage()
        let page = try SharedPage(StoreFolder(path: "/", storage: storage), StoreID(high: 1, low: 2), mayCreate: true)
        page.prepare(epoch: 1, durable: 0, published: 0, generation: 1, fresh: true)
        var version: UInt64 = 0
        for _ in 0..<10 {
            // The thread sleeps while the page is reset, and wakes afterwards.
            let (first, _) = try sleep(on: page)
            page.prepare(epoch: 1, durable: 0, published: version, generation: 1, fresh: true)
            first.join()
            let (second, isWoken) = try sleep(on: page)
            for _ in 0..<100 where !isWoken.isOpen {
                version += 1
                page.setPublished(version)
                sleepThread(nanoseconds: 1_000_000)
            }
            #expect(isWoken.isOpen, "commits wake nobody")
            page.wakeAll()
            second.join()
        }
    }

    /// Starts a thread that almost certainly sleeps on the page when this returns.
    private func sleep(on page: SharedPage) throws -> (StorageThread, woken: Gate) {
        let begun = Gate()
        let woken = Gate()
        let thread = try StorageThread.start(name: "sleeper") {
            let ticket = page.wakeTicket(countsCommits: true)
            begun.open()
            page.waitForWake(ticket)
            woken.open()
        }
        begun.wait()
        sleepThread(nanoseconds: 3_000_000)
        return (thread, woken)
    }

    @Test("one sync covers all that was written before it") func groups() throws {
        let storage = SimulatedStorage(seed: 1)
        var options = LogOptions(folder: "/store")
        options.usesThreads = false
        options.reserveByteCount = 0
        let log = try Log.open(options, storage: storage)
        for version in 1...16 { try LogScript.commit(log, version: UInt64(version), [100]) }
        func syncs() -> Int { storage.disk.ioTrace.count { $0.operation == .sync } }
        let before = syncs()
        for version in 1...16 { try log.waitUntilDurable(UInt64(version)) }
        #expect(syncs() == before + 1)
    }

    @Test("a small commit is one write") func oneWrite() throws {
        let storage = SimulatedStorage(seed: 1)
        var options = LogOptions(folder: "/store", durability: .none)
        options.usesThreads = false
        options.reserveByteCount = 0
        let log = try Log.open(options, storage: storage)
        let before = storage.callCount
        try LogScript.commit(log, version: 1, [200])
        #expect(storage.callCount == before + 1)
    }

    @Test("relaxed durability syncs by itself, and an idle log marks its last commit") func relaxed() throws {
        let storage = MemoryStorage()
        var options = LogOptions(folder: "/store", durability: .relaxed(milliseconds: 1))
        options.idleMilliseconds = 1
        let log = try Log.open(options, storage: storage)
        try LogScript.commit(log, version: 1, [100])
        #expect(log.publishedVersion == 1)
        let deadline = SystemClock.shared.monotonic() + 20_000_000_000
        func mark() throws -> UInt64 {
            let manifest = log.writer!.tail.snapshot().manifest
            let reader = try SegmentReader(log.folder, manifest.openSegment, storeID: manifest.storeID)
            return try SegmentScan.scan(reader, chainStart: nil, previousTime: 0).mark
        }
        while try log.durableVersion < 1 || mark() < 1, SystemClock.shared.monotonic() < deadline {}
        #expect(log.durableVersion == 1)
        #expect(try mark() == 1)
    }

    @Test("relaxed durability syncs each commit within its interval, however long the log counts as busy")
    func relaxedAgain()
        throws
    {
        let storage = MemoryStorage()
        var options = LogOptions(folder: "/store", durability: .relaxed(milliseconds: 1))
        options.idleMilliseconds = .max
        let log = try Log.open(options, storage: storage)
        for version in 1...30 as ClosedRange<UInt64> {
            try LogScript.commit(log, version: version, [100])
            // Long enough that the thread waits again, with no commit left to sync.
            if version % 3 == 0 { sleepThread(nanoseconds: 5_000_000) }
            try #require(isDurable(version, log), "version \(version)")
        }
        try log.close()
    }

    private func isDurable(_ version: UInt64, _ log: Log) -> Bool {
        let deadline = TestTimeout.deadline(30)
        while log.durableVersion < version {
            guard SystemClock.shared.monotonic() < deadline else { return false }
            sleepThread(nanoseconds: 200_000)
        }
        return true
    }

    @Test("relaxed durability with an endless interval keeps no thread busy") func relaxedForever() throws {
        var options = LogOptions(folder: "/store", durability: .relaxed(milliseconds: .max))
        options.idleMilliseconds = 1
        let log = try Log.open(options, storage: MemoryStorage())
        let maintenance = try #require(log.writer?.maintenance)
        try LogScript.commit(log, version: 1, [100])
        sleepThread(nanoseconds: 100_000_000)
        let before = maintenance.roundCount
        sleepThread(nanoseconds: 200_000_000)
        #expect(maintenance.roundCount <= before + 2)
        #expect(log.durableVersion == 0)
        try log.close()
    }

    @Test("a second commit of many parts replaces one that was abandoned half-way") func abandoned() throws {
        let storage = MemoryStorage()
        let log = try Log.open(LogOptions(folder: "/store"), storage: storage)
        try LogScript.commit(log, version: 1, [100])
        for _ in 0..<5 { try LogScript.commit(log, version: 2, [200_000, 200_000, 200_000], abort: true) }
        try LogScript.commit(log, version: 2, [90_000, 100])
        try log.waitUntilDurable(2)
        let script = LogScript([])
        script.lengths = [1: [100], 2: [90_000, 100]]
        script.acknowledged = 2
        script.begun = 2
        try log.close()
        let again = try Log.open(LogOptions(folder: "/store", verify: .everything), storage: storage)
        #expect(again.recovery.outcome == .clean)
        try script.check(again, "")
    }
}

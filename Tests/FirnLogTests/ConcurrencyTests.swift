import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnLog

@Suite("Many at once", .timeLimit(.minutes(20))) struct ConcurrencyTests {
    @Test(
        "commits of eight threads are all there, each durable when its wait returns",
        arguments: [Durability.full, .relaxed(milliseconds: 2), .none])
    func threads(_ durability: Durability) throws {
        let folder = TemporaryFolder()
        var options = LogOptions(folder: folder.path + "/store", durability: durability, verify: .everything)
        options.segmentByteCount = 64 << 10
        options.idleMilliseconds = 2
        let log = try Log.open(options, storage: PosixStorage.shared)
        let ticket = Lock()
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

    @Test("relaxed syncs by itself, and an idle log marks its last commit") func relaxed() throws {
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

    @Test("a second commit of many parts takes the place of one that was given up half-way") func abandoned() throws {
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

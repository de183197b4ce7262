import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite("The reserve", .timeLimit(.minutes(20))) struct ReserveTests {
    @Test("follows the size of the store") func table() throws {
        let folder = try StoreFolder(path: "/", storage: MemoryStorage())
        let reserve = LogReserve(folder: folder, storeID: StoreID(high: 1, low: 2), fixedByteCount: nil)
        let (kib, mib) = (1 << 10, 1 << 20)
        for (store, wanted) in [
            (0, 0), (mib - 1, 0), (mib, 256 * kib), (8 * mib, 256 * kib), (16 * mib, 512 * kib), (63 * mib, 1792 * kib),
            (64 * mib, 4 * mib), (1 << 40, 4 * mib),
        ] { #expect(reserve.byteCount(for: store) == wanted, "\(store)") }
    }

    @Test("of a store that is grown has the bytes that it would have had from the beginning") func grown() throws {
        var made: [[UInt8]] = []
        for steps in [[2 << 20, 16 << 20], [16 << 20]] {
            let storage = MemoryStorage()
            let folder = try StoreFolder(path: "/", storage: storage)
            let reserve = LogReserve(folder: folder, storeID: StoreID(high: 1, low: 2), fixedByteCount: nil)
            for byteCount in steps { #expect(reserve.make(for: byteCount)) }
            // A store that has become smaller keeps it.
            #expect(reserve.make(for: 0) && reserve.presentByteCount == 512 << 10)
            let file = try storage.open("/reserve", .read)
            made.append(try file.read(1 << 20, at: 0))
            #expect(reserve.remove() && !reserve.remove() && reserve.presentByteCount == 0)
        }
        #expect(made[0] == made[1])
        // Equal blocks might be stored once.
        let blocks = stride(from: 0, to: made[0].count, by: 4096).map { Array(made[0][$0..<$0 + 4096]) }
        #expect(blocks.count == 128 && Set(blocks).count == 128)
    }

    @Test("promises no more than its blocks") func sparse() throws {
        let folder = TemporaryFolder()
        let log = try Log.open(LogOptions(folder: folder.path + "/store"), storage: PosixStorage.shared)
        #expect(log.diskSpace.reserve == 0)
        let file = try PosixStorage.shared.open(folder.path + "/store/reserve", .create)
        try file.write([1], at: 0)
        try file.truncate(to: 1 << 40)
        #expect((1...(1 << 20)).contains(log.diskSpace.reserve))
        try log.close()
    }

    /// Removing it would free nothing.
    @Test("is another file if a backup has a hard link to it") func linked() throws {
        let folder = TemporaryFolder()
        let reserve = LogReserve(
            folder: try StoreFolder(path: folder.path, storage: PosixStorage.shared), storeID: StoreID(high: 1, low: 2),
            fixedByteCount: nil)
        #expect(reserve.make(for: 2 << 20) && reserve.freeableByteCount >= 256 << 10)
        #expect(link(folder.path + "/reserve", folder.path + "/backup") == 0)
        #expect(reserve.freeableByteCount == 0)
        #expect(reserve.make(for: 2 << 20) && reserve.freeableByteCount >= 256 << 10)
        #expect(try PosixStorage.shared.status(folder.path + "/backup")?.byteCount == 256 << 10)
    }

    @Test("is not made if it would take the last space") func noSpace() throws {
        let storage = SimulatedStorage(seed: 1, capacity: 400 << 10)
        let folder = try StoreFolder(path: "/", storage: storage)
        let reserve = LogReserve(folder: folder, storeID: StoreID(high: 1, low: 2), fixedByteCount: nil)
        #expect(!reserve.make(for: 2 << 20) && reserve.presentByteCount == 0)
        storage.disk.capacity = 600 << 10
        #expect(reserve.make(for: 2 << 20) && reserve.presentByteCount == 256 << 10)
    }

    @Test("a new store opens on a small volume, and is small when it is closed") func smallVolume() throws {
        let storage = SimulatedStorage(seed: 1, capacity: 1 << 20)
        var options = LogOptions(folder: "/store")
        options.usesThreads = false
        let log = try Log.open(options, storage: storage)
        try LogScript.commit(log, version: 1, [200])
        try log.waitUntilDurable(1)
        try log.close()
        #expect(storage.disk.usedByteCount <= 64 << 10)
    }

    @Test("that can't be made longer is still there, and stops no commit") func shortReserve() throws {
        let storage = SimulatedStorage(seed: 1)
        var options = LogOptions(folder: "/store")
        options.usesThreads = false
        options.reserveByteCount = 256 << 10
        try Log.open(options, storage: storage).close()
        options.reserveByteCount = 4 << 20
        storage.disk.capacity = storage.disk.usedByteCount + (1 << 20)
        let log = try Log.open(options, storage: storage)
        try LogScript.commit(log, version: 1, [200])
        try log.waitUntilDurable(1)
        #expect(try log.useReserve(), "the reserve that is there can be used")
        #expect(try storage.status("/store/reserve") == nil)
    }

    @Test("grows while the store does") func growing() async throws {
        let storage = MemoryStorage()
        let log = try Log.open(LogOptions(folder: "/store"), storage: storage)
        for version in 1...40 as ClosedRange<UInt64> { try LogScript.commit(log, version: version, [100_000]) }
        #expect(
            TestTimeout.awaits {
                // Each step of the preallocation looks at it.
                try? LogScript.commit(log, version: log.writtenVersion + 1, [100_000])
                return (try? storage.status("/store/reserve")) != nil
            })
        try log.close()
    }
}

import FirnBytes
import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnLog

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Prints what a commit costs above the bare system calls. It asserts nothing, and runs only with
/// `FIRN_LOG_COST=FOLDER`, as in
/// `FIRN_LOG_COST=/dev/shm swift test -c release -Xswiftc -enable-testing --filter LogCost`.
@Suite(
    "LogCost", .serialized, .enabled(if: getenv("FIRN_LOG_COST") != nil),
    .timeLimit(.minutes(TestEnvironment.minutes)))
struct LogCost {
    let base = getenv("FIRN_LOG_COST").map { String(cString: $0) } ?? "/tmp"
    let payload = Payload.bytes(version: 1, part: 0, count: 200)

    func median(_ times: [Int64]) -> (p50: Double, p99: Double) {
        let sorted = times.sorted()
        return (Double(sorted[sorted.count / 2]) / 1000, Double(sorted[sorted.count * 99 / 100]) / 1000)
    }

    func time(_ count: Int, _ body: (Int) throws -> Void) rethrows -> [Int64] {
        var times: [Int64] = []
        times.reserveCapacity(count)
        for index in 0..<count {
            let start = SystemClock.shared.monotonic()
            try body(index)
            times.append(SystemClock.shared.monotonic() - start)
        }
        return times
    }

    /// A bare pwrite of 256 bytes (and fdatasync) into a file filled with zeros.
    func floor(_ count: Int, sync: Bool) throws -> [Int64] {
        let path = base + "/firn-floor-\(getpid())"
        defer { unlink(path) }
        let file = try PosixStorage.shared.open(path, .create)
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        for offset in stride(from: 0, to: count * 256, by: zeros.count) {
            try zeros.withUnsafeBytes { try file.write($0, at: offset) }
        }
        try file.sync()
        let frame = Payload.bytes(version: 1, part: 0, count: 256)
        return try frame.withUnsafeBytes { frame in
            try time(count) {
                try file.write(frame, at: $0 * 256)
                if sync { try file.sync() }
            }
        }
    }

    func commits(_ count: Int, _ durability: Durability) throws -> [Int64] {
        let folder = base + "/firn-cost-\(getpid())"
        defer { remove(folder) }
        let log = try Log.open(LogOptions(folder: folder, durability: durability), storage: PosixStorage.shared)
        defer { try? log.close() }
        return try payload.withUnsafeBytes { payload in
            try time(count) {
                let version = UInt64($0 + 1)
                _ = try log.commit(version: version, .changes, payload)
                try log.waitUntilDurable(version)
            }
        }
    }

    func remove(_ path: String) {
        for name in (try? PosixStorage.shared.list(path)) ?? [] { remove(path + "/" + name) }
        try? PosixStorage.shared.remove(path)
    }

    @Test func oneWriter() throws {
        for round in 1...3 {
            for (name, durability) in [("none", Durability.none), ("full", .full)] {
                let count = durability == .none ? 50_000 : 4_000
                let bare = median(try floor(count, sync: durability == .full))
                let ours = median(try commits(count, durability))
                print(
                    "round \(round) \(name): floor p50 \(bare.p50) p99 \(bare.p99), commit p50 \(ours.p50) p99 \(ours.p99) us"
                )
            }
        }
    }

    @Test func manyWriters() throws {
        for count in [1, 4, 16] {
            let folder = base + "/firn-cost-\(getpid())"
            defer { remove(folder) }
            let log = try Log.open(LogOptions(folder: folder), storage: PosixStorage.shared)
            let ticket = Lock(.unranked)
            let total = 4_000
            let start = SystemClock.shared.monotonic()
            let threads = try (0..<count).map { _ in
                try StorageThread.start(name: "writer") {
                    for _ in 0..<(total / count) {
                        ticket.lock()
                        let version = log.writtenVersion + 1
                        payload.withUnsafeBytes { _ = try! log.commit(version: version, .changes, $0) }
                        ticket.unlock()
                        try! log.waitUntilDurable(version)
                    }
                }
            }
            for thread in threads { thread.join() }
            let seconds = Double(SystemClock.shared.monotonic() - start) / 1e9
            print("\(count) writers: \(Int(Double(total) / seconds)) commits/s")
            try log.close()
        }
    }

    @Test func manyParts() throws {
        let folder = base + "/firn-cost-\(getpid())"
        defer { remove(folder) }
        let log = try Log.open(LogOptions(folder: folder), storage: PosixStorage.shared)
        let part = Payload.bytes(version: 1, part: 0, count: 1 << 20)
        for version in 1...3 as ClosedRange<UInt64> {
            let start = SystemClock.shared.monotonic()
            var appender = try log.beginCommit(version: version)
            for _ in 0..<64 {
                var buffer = log.takeBuffer()
                buffer.append(part)
                try appender.add(.changes, buffer)
            }
            let position = try appender.seal()
            let written = SystemClock.shared.monotonic()
            try log.waitUntilDurable(version)
            let end = SystemClock.shared.monotonic()
            print(
                "64 MiB: written in \((written - start) / 1_000_000) ms, durable in \((end - start) / 1_000_000) ms, \(position.range.count >> 20) MiB on disk"
            )
        }
        let start = SystemClock.shared.monotonic()
        try log.replay(after: 0, through: 3) { while try $0.next() != nil {} }
        print("replayed 192 MiB in \((SystemClock.shared.monotonic() - start) / 1_000_000) ms")
        try log.close()
    }
}

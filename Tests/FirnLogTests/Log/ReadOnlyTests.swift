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

/// A reader needs no permission to write, and leaves nothing behind.
@Suite("Reading only", .timeLimit(.minutes(20))) struct ReadOnlyTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/store" }

    private func options(_ access: LogOptions.Access = .readWrite(waitMilliseconds: 1000)) -> LogOptions {
        var options = LogOptions(folder: path, access: access)
        options.fileMode = FileMode(0o644)
        options.reserveByteCount = 4096
        options.segmentByteCount = 4096
        return options
    }

    /// Writes six versions.
    private func fill() throws -> Log {
        let log = try Log.open(options(), storage: PosixStorage.shared)
        for version in 1...6 as ClosedRange<UInt64> {
            try LogScript.commit(log, version: version, [1500])
            try log.waitUntilDurable(version)
        }
        return log
    }

    /// Everything below the store's folder: names, kinds, lengths, modes, owners and times of change.
    private func picture() throws -> [String] {
        func walk(_ path: String) throws -> [String] {
            var status = stat()
            #expect(lstat(path, &status) == 0)
            #if canImport(Darwin)
                let changed = status.st_mtimespec
            #else
                let changed = status.st_mtim
            #endif
            let own =
                "\(path) \(String(status.st_mode, radix: 8)) \(status.st_uid) \(status.st_size) \(changed.tv_sec).\(changed.tv_nsec)"
            guard status.st_mode & S_IFMT == S_IFDIR else { return [own] }
            return [own] + (try PosixStorage.shared.list(path).sorted().flatMap { try walk(path + "/" + $0) })
        }
        return try walk(path)
    }

    private func versions(_ log: Log) throws -> [UInt64] {
        var versions: [UInt64] = []
        try log.replay(after: 0, through: log.publishedVersion) { commit in
            let bytes = try commit.next()?.bytes
            let isRight = bytes.map { Payload.isEqual($0, version: commit.version, part: 0, count: 1500) } ?? false
            if isRight { versions.append(commit.version) }
        }
        return versions
    }

    @Test(
        "creates nothing and changes nothing if the lock, the page or both are missing",
        arguments: [[], ["lock"], ["shared"], ["lock", "shared", "reserve"]])
    func createsNothing(missing: [String]) throws {
        try fill().close()
        for name in missing { try PosixStorage.shared.remove(path + "/" + name) }
        let before = try picture()
        let log = try Log.open(options(.readOnly), storage: PosixStorage.shared)
        #expect(try versions(log) == Array(1...6))
        #expect(log.durableVersion == 6 && (log.slot != nil) == missing.isEmpty)
        #expect(try log.waitForVersion(after: 6, milliseconds: 1) == 6)
        try log.close(isRead: true)
        // An existing page is written to, because a slot is taken on it.
        func isPage(_ line: String) -> Bool { line.contains("/shared ") }
        #expect(try picture().filter { !isPage($0) } == before.filter { !isPage($0) })
        #expect(try picture().count == before.count)
    }

    @Test("a process that may only read the files reads them, closed or beside a writer, and sees commits")
    func anotherUser() async throws {
        try fill().close()
        let before = try picture()
        try asReader { path, options in
            let log = try Log.open(options, storage: PosixStorage.shared)
            guard try versions(log) == Array(1...6), log.slot == nil, log.recovery.outcome == .clean else { return 2 }
            try log.close(isRead: true)
            return 0
        }
        #expect(try picture() == before)

        let log = try Log.open(options(), storage: PosixStorage.shared)
        let ready = Pipe()
        let child = reader { path, options in
            let log = try Log.open(options, storage: PosixStorage.shared)
            guard try versions(log) == Array(1...6), log.slot == nil else { return 2 }
            ready.send()
            guard try log.waitForVersion(after: 6, milliseconds: 60_000) == 7 else { return 3 }
            guard try versions(log) == Array(1...7) else { return 4 }
            try log.close()
            return 0
        }
        ready.wait()
        try LogScript.commit(log, version: 7, [1500])
        try log.waitUntilDurable(7)
        #expect(end(of: child) == .exited(0))
        try log.close()
    }

    @Test("a process that may not even read the lock can still read the store") func withoutLock() throws {
        try fill().close()
        #expect(chmod(path + "/lock", 0) == 0)
        #expect(chmod(path + "/shared", 0) == 0)
        try asReader { path, options in
            let log = try Log.open(options, storage: PosixStorage.shared)
            return try versions(log) == Array(1...6) ? 0 : 2
        }
    }

    @Test("a reader reports no version as durable before its writer does", arguments: [false, true])
    func durable(isThereBefore: Bool) throws {
        let bench = Bench { $0.durability = .none }
        let log = try bench.open()
        func reader() throws -> Log {
            var reader = bench.another()
            reader.options.access = .readOnly
            return try reader.open()
        }
        let before = isThereBefore ? try reader() : nil
        try bench.commit(log)
        let reader = try before ?? reader()
        #expect(reader.publishedVersion == 1)
        #expect(log.durableVersion == 0 && reader.durableVersion == 0)
        try log.sync()
        #expect(log.durableVersion == 1 && reader.durableVersion == 1)
        try bench.commit(log)
        #expect(reader.publishedVersion == 2 && reader.durableVersion == 1)
        try log.close()
        #expect(reader.durableVersion == 2)
    }

    /// Runs `body` in a process that may not write to the store, and expects exit code 0.
    private func asReader(_ body: (String, LogOptions) throws -> Int32) throws {
        #expect(end(of: reader(body)) == .exited(0))
    }

    private func reader(_ body: (String, LogOptions) throws -> Int32) -> Int32 {
        chmod(folder.path, 0o755)
        var options = options(.readOnly)
        options.usesThreads = false
        return forked {
            // Root may write everything; the modes forbid it to everybody else.
            if getuid() == 0, setgid(65534) != 0 || setuid(65534) != 0 { return 100 }
            if getuid() != 65534 {
                for name in ["lock", "shared"] { chmod(path + "/" + name, 0o444) }
            }
            do { return try body(path, options) } catch { return 1 }
        }
    }
}

/// A reader that may not open the file `lock` can't know whether a process writes.
@Suite("Reading beside a writer without its lock", .timeLimit(.minutes(20))) struct UnlockedReadingTests {
    /// Makes a store with commits of 40 KiB, of which a reader reads several at once.
    private func bench(_ count: Int = 5) throws -> (bench: Bench, log: Log) {
        let bench = Bench { $0.segmentByteCount = 4 << 20 }
        let log = try bench.open()
        for _ in 0..<count { try commit(bench, log) }
        return (bench, log)
    }

    private func commit(_ bench: Bench, _ log: Log) throws {
        try log.waitUntilDurable(try bench.commit(log, [40 << 10]))
    }

    private func reader(of bench: Bench) -> Bench {
        var reader = bench.another()
        reader.options.access = .readOnly
        reader.storage.inject(SimulatedFault(.permissionDenied, number: 13, times: 1000) { $0.operation == .lockFile })
        return reader
    }

    @Test("a log that grows while it is read is not reported as damaged", arguments: 3...9, [false, true])
    func growing(count: Int, hasPage: Bool) throws {
        var number = 0
        var isOver = false
        while !isOver {
            let (bench, log) = try bench(count)
            let reader = reader(of: bench)
            if !hasPage {
                reader.storage.inject(
                    SimulatedFault(.permissionDenied, number: 13, times: 1000) { $0.operation == .sharedMemory })
            }
            let reads = Guarded(.unranked, 0)
            reader.storage.beforeEachCall { [number] call in
                guard call.operation == .read || call.operation == .size, call.path.hasSuffix(".segment"),
                    reads.withLock({ reads in
                        reads += 1
                        return reads == number + 1
                    })
                else { return }
                do { for _ in 0..<4 { try commit(bench, log) } } catch { Issue.record("\(error)") }
            }
            let other = try reader.open()
            reader.storage.beforeEachCall(nil)
            #expect(other.publishedVersion >= count, "grown before read \(number)")
            try other.close()
            isOver = reads.withLock { $0 } <= number
            number += 1
        }
        #expect(number > 3)
    }

    @Test("damage is reported with its offset, even while the log grows") func damage() throws {
        let (bench, log) = try bench()
        let damagedOffset = 100 << 10
        try bench.flip(Bench.segment, at: damagedOffset)
        let reader = reader(of: bench)
        reader.storage.beforeEachCall { call in
            guard call.operation == .read, call.path.hasSuffix(".segment"), log.writtenVersion < 40 else { return }
            do { try commit(bench, log) } catch { Issue.record("\(error)") }
        }
        defer { reader.storage.beforeEachCall(nil) }
        #expect {
            _ = try reader.open()
        } throws: { error in
            guard let error = error as? LogError, let offset = error.offset else { return false }
            return error.code == .damage && offset < damagedOffset && offset > damagedOffset - (50 << 10)
        }
    }
}

/// Signals another process.
private final class Pipe {
    private var ends: [Int32] = [0, 0]

    init() { precondition(pipe(&ends) == 0) }

    func send() {
        var byte: UInt8 = 1
        _ = write(ends[1], &byte, 1)
    }

    func wait() {
        close(ends[1])
        var byte: UInt8 = 0
        _ = read(ends[0], &byte, 1)
        close(ends[0])
    }
}

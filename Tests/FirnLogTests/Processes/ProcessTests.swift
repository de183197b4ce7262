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

/// What happens to a store when processes fork and are killed. Each test runs in a process of its own.
@Suite("Processes", .timeLimit(.minutes(20))) struct ProcessTests {
    @Test("a forked child can't use the store, and does the parent no harm") func fork() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let log = try Log.open(LogOptions(folder: folder.path + "/store"), storage: PosixStorage.shared)
            try LogScript.commit(log, version: 1, [100])
            try log.waitUntilDurable(1)
            let child = forked {
                func code(_ body: () throws -> Void) -> LogError.Code? {
                    do {
                        try body()
                        return nil
                    } catch {
                        return (error as? LogError)?.code
                    }
                }
                guard code({ _ = try log.beginCommit(version: 2) }) == .forked else { return 1 }
                guard code({ try log.waitUntilDurable(1) }) == .forked else { return 2 }
                guard code({ try log.replay(after: 0, through: 1) { _ in } }) == .forked else { return 3 }
                guard code({ try log.close() }) == nil else { return 4 }
                return 0
            }
            #expect(end(of: child) == .exited(0))
            try LogScript.commit(log, version: 2, [100])
            try log.waitUntilDurable(2)
            try log.close()
            let again = try Log.open(LogOptions(folder: folder.path + "/store"), storage: PosixStorage.shared)
            #expect(again.recovery.outcome == .clean && again.recovery.lastVersion == 2)
        }
    }

    @Test("a writer that is killed in the middle frees the lock, and loses nothing that it had acknowledged")
    func kill9() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            var options = LogOptions(folder: folder.path + "/store", durability: .full, verify: .everything)
            options.segmentByteCount = 128 << 10
            options.usesThreads = false
            options.reserveByteCount = 0
            let settings = options
            var acknowledged: UInt64 = 0
            let chance = SeededRandomness(seed: 20)
            for round in 0..<20 {
                var ends: [Int32] = [0, 0]
                precondition(pipe(&ends) == 0)
                let target = ends[1]
                let child = forked {
                    guard let log = try? Log.open(settings, storage: PosixStorage.shared) else { return 1 }
                    while true {
                        var version = log.writtenVersion + 1
                        let lengths = version % 7 == 0 ? [40_000, 40_000, 100] : [200]
                        guard (try? LogScript.commit(log, version: version, lengths)) != nil,
                            (try? log.waitUntilDurable(version)) != nil
                        else { return 2 }
                        _ = Swift.withUnsafeBytes(of: &version) { write(target, $0.baseAddress, 8) }
                    }
                }
                close(ends[1])
                // Kills it at some moment after a few commits.
                var version: UInt64 = 0
                for _ in 0..<(1 + chance.next(below: 12)) {
                    guard Swift.withUnsafeMutableBytes(of: &version, { read(ends[0], $0.baseAddress, 8) }) == 8 else {
                        break
                    }
                    acknowledged = version
                }
                usleep(UInt32(chance.next(below: 3000)))
                kill(child, SIGKILL)
                #expect(end(of: child) == .killed, "round \(round)")
                while Swift.withUnsafeMutableBytes(of: &version, { read(ends[0], $0.baseAddress, 8) }) == 8 {
                    acknowledged = version
                }
                close(ends[0])
                let log = try Log.open(settings, storage: PosixStorage.shared)
                let script = LogScript([])
                script.acknowledged = acknowledged
                script.begun = acknowledged + 1
                for version in 1...(acknowledged + 1) {
                    script.lengths[version] = version % 7 == 0 ? [40_000, 40_000, 100] : [200]
                }
                try script.check(log, "round \(round), \(log.recovery)")
                acknowledged = log.recovery.lastVersion
                try log.close()
            }
            #expect(acknowledged > 20)
        }
    }
}

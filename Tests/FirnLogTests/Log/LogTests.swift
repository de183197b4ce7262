import FirnBytes
import FirnStorage
import Testing

@testable import FirnLog

@Suite("The log over memory", .timeLimit(.minutes(20))) struct LogTests {
    let storage = MemoryStorage()

    func open(_ change: (inout LogOptions) -> Void = { _ in }) throws(LogError) -> Log {
        var options = LogOptions(folder: "/store")
        change(&options)
        return try Log.open(options, storage: storage)
    }

    @Test("what was committed is read back after reopening") func roundTrip() throws {
        let log = try open()
        #expect(log.recovery.outcome == .created)
        for version in 1...20 {
            let position = try log.commit(version: UInt64(version), .changes, bytes(version))
            #expect(position.range.count % 64 == 0)
            try log.waitUntilDurable(UInt64(version))
        }
        #expect(log.durableVersion == 20)
        try check(log, 20)
        try log.close()
        let again = try open()
        #expect(again.recovery.outcome == .clean)
        #expect(again.recovery.lastVersion == 20)
        try check(again, 20)
    }

    @Test("a replay from a position reads what follows it, and nothing before it") func positions() throws {
        let log = try open {
            $0.usesThreads = false
            $0.segmentByteCount = 4096
            $0.reserveByteCount = 0
        }
        for version in 1...60 {
            _ = try log.commit(version: UInt64(version), .changes, bytes(version))
            try log.waitUntilDurable(UInt64(version))
            if version % 9 == 0 { try log.writeMark() }
        }
        #expect(try storage.list("/store/log").count > 2)
        /// Replays up to a version in steps; returns the versions seen.
        func read(step: Int, to end: Int) throws -> ([UInt64], LogPosition?) {
            var seen: [UInt64] = []
            var position: LogPosition?
            var reached = 0
            while reached < end {
                let next = min(reached + step, end)
                position = try log.replay(after: UInt64(reached), through: UInt64(next), from: position) { commit in
                    let isRight = try commit.next()?.bytes.elementsEqual(bytes(Int(commit.version)))
                    #expect(isRight == true, "version \(commit.version)")
                    seen.append(commit.version)
                }
                reached = next
                #expect(position?.version == UInt64(reached))
            }
            return (seen, position)
        }
        for step in [1, 7, 60] { #expect(try read(step: step, to: 60).0 == Array(1...60)) }
        // A position at another version is ignored.
        let elsewhere = try read(step: 5, to: 5).1
        var seen: [UInt64] = []
        try log.replay(after: 8, through: 10, from: elsewhere) { seen.append($0.version) }
        #expect(seen == [9, 10])
        // The log before the position is not read again, so it may contain anything.
        let position = try read(step: 8, to: 8).1
        let file = try storage.open("/store/log/0000000001.segment", .readWrite)
        try withUnsafeBytes(of: UInt64.max) { try file.write($0, at: 64 + 100) }
        try log.replay(after: 8, through: 12, from: position) { seen.append($0.version) }
        #expect(seen == [9, 10, 9, 10, 11, 12])
        #expect(throws: LogError.self) { try log.replay(after: 8, through: 12) { _ in } }
    }

    @Test("a commit of many parts is read back part by part") func parts() throws {
        let log = try open()
        var appender = try log.beginCommit(version: 1)
        for part in 0..<20 {
            var writer = log.takeBuffer()
            writer.append(pattern(part, count: 700_000))
            try appender.add(.changes, writer)
        }
        let position = try appender.seal()
        try log.waitUntilDurable(1)
        #expect(position.range.lowerBound == 64)
        try log.close()
        let again = try open()
        var count = 0
        try again.replay(after: 0, through: 1) { commit in
            while let part = try commit.next() {
                #expect(Array(part.bytes) == pattern(count, count: 700_000))
                count += 1
            }
        }
        #expect(count == 20)
    }

    func pattern(_ seed: Int, count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* seed ^ ($0 >> 7)) }
    }

    func bytes(_ version: Int) -> UnsafeRawBufferPointer {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 200, alignment: 8)
        for index in 0..<200 { memory[index] = UInt8(truncatingIfNeeded: index / 4 &+ version) }
        return UnsafeRawBufferPointer(memory)
    }

    func check(_ log: Log, _ through: Int) throws {
        var next = 1
        try log.replay(after: 0, through: UInt64(through)) { commit in
            #expect(commit.version == UInt64(next))
            let part = try #require(try commit.next())
            #expect(part.bytes.elementsEqual(bytes(next)))
            #expect(try commit.next() == nil)
            next += 1
        }
        #expect(next == through + 1)
    }
}

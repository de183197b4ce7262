import FirnBytes
import FirnStorage
import Testing

@testable import FirnLog

@Suite("The log over memory") struct LogTests {
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

    @Test("a commit of many parts comes back part by part") func parts() throws {
        let log = try open()
        var appender = try log.beginCommit(version: 1)
        for part in 0..<20 {
            var writer = log.takeBuffer()
            writer.append(pattern(part, count: 700_000))
            try appender.add(.changes, writer)
        }
        let position = try appender.finish()
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

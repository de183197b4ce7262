import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("The heads of commits", .timeLimit(.minutes(20))) struct CommitHeaderTests {
    private let storage = MemoryStorage()
    private let clock = ManualClock(now: 1_000_000)

    private func open(_ access: LogOptions.Access = .readWrite(waitMilliseconds: 0)) throws -> Log {
        var options = LogOptions(folder: "/store", access: access)
        options.usesThreads = false
        options.reserveByteCount = 0
        options.segmentByteCount = 4096
        return try Log.open(options, storage: storage, clock: clock)
    }

    /// Commits versions of one to three parts over several segments, with marks between; gives their heads as the commits told them.
    private func fill(_ log: Log, _ versions: ClosedRange<UInt64>, step: Int64 = 10) throws -> [CommitHeader] {
        var heads: [CommitHeader] = []
        for version in versions {
            clock.set(now: clock.now() + step)
            var appender = try log.beginCommit(version: version)
            for part in 0...Int(version % 3) {
                var writer = log.takeBuffer()
                writer.append(Payload.bytes(version: version, part: part, count: 40 + 37 * Int(version % 11)))
                try appender.add(.changes, writer)
            }
            let position = try appender.finish()
            try log.waitUntilDurable(version)
            heads.append(CommitHeader(version: version, time: position.time, byteCount: position.range.count))
            if version % 7 == 0 { try log.writeMark() }
        }
        return heads
    }

    private func read(_ log: Log, _ versions: [ClosedRange<UInt64>]) throws -> [CommitHeader] {
        var heads: [CommitHeader] = []
        try log.forEachHeader(of: versions) { heads.append($0) }
        return heads
    }

    @Test("tell number, time and length as the commits did, beside the writer, after reopening and read-only")
    func tellWhatWasCommitted() throws {
        let log = try open()
        let heads = try fill(log, 1...80)
        #expect(try storage.list("/store/log").count > 3)
        func check(_ log: Log) throws {
            #expect(try read(log, [1...80]) == heads)
            #expect(try read(log, [3...3, 17...17, 40...61]) == [heads[2], heads[16]] + heads[39...60])
            #expect(try read(log, []) == [])
            for place in [0, 1, 33, 78] {
                let time = heads[place].time
                #expect(try log.newestVersion(through: 80) { $0 <= time } == UInt64(place + 1))
                #expect(try log.newestVersion(through: 80) { $0 < time } == (place == 0 ? nil : UInt64(place)))
            }
            #expect(try log.newestVersion(through: 20) { _ in true } == 20)
            #expect(try log.created == 1_000_000)
        }
        try check(log)
        try log.close()
        #expect(throws: LogError.self) { try read(log, [1...1]) }
        try check(try open())
        try check(try open(.readOnly))
    }

    @Test("never go back in time, also where the clock does, nor when the store is opened under a clock that is behind")
    func timeNeverGoesBack() throws {
        var log = try open()
        var heads = try fill(log, 1...10)
        clock.set(now: 500)
        heads += try fill(log, 11...20, step: -7)
        try log.close()
        clock.set(now: -1_000_000)
        log = try open()
        heads += try fill(log, 21...60, step: 1)
        #expect(try read(log, [1...60]) == heads)
        #expect(heads.map(\.time) == heads.map(\.time).sorted())
        // All that were committed under a clock that was behind are of one moment, whose version is the newest of them.
        let moment = heads[9].time
        #expect(heads[10...].allSatisfy { $0.time == moment })
        #expect(try log.newestVersion(through: 60) { $0 <= moment } == 60)
        #expect(try log.newestVersion(through: 60) { $0 < moment } == 9)
    }

    @Test("that are not whole are damage, and are told with their place") func damage() throws {
        let log = try open()
        _ = try fill(log, 1...40)
        try log.close()
        let path = "/store/log/0000000001.segment"
        let file = try storage.open(path, .readWrite)
        let byte: [UInt8] = [0xFF]
        try byte.withUnsafeBytes { try file.write($0, at: 64 + 33) }
        file.close()
        let again = try open()
        let error = #expect(throws: LogError.self) { try read(again, [1...3]) }
        #expect(error?.code == .damage && error?.path == path && error?.offset == 64)
        #expect(try read(again, [40...40]).count == 1)
    }
}

import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("The headers of commits", .timeLimit(.minutes(20))) struct CommitHeaderTests {
    private let storage = MemoryStorage()
    private let clock = ManualClock(now: 1_000_000)

    private func open(_ access: LogOptions.Access = .readWrite(waitMilliseconds: 0)) throws -> Log {
        var options = LogOptions(folder: "/store", access: access)
        options.usesThreads = false
        options.reserveByteCount = 0
        options.segmentByteCount = 4096
        return try Log.open(options, storage: storage, clock: clock)
    }

    /// Commits versions of one to three parts over several segments, with marks between. Returns their headers as the
    /// commits reported them.
    private func fill(_ log: Log, _ versions: ClosedRange<UInt64>, step: Int64 = 10) throws -> [CommitHeader] {
        var headers: [CommitHeader] = []
        for version in versions {
            clock.set(now: clock.now() + step)
            var appender = try log.beginCommit(version: version)
            for part in 0...Int(version % 3) {
                var writer = log.takeBuffer()
                writer.append(Payload.bytes(version: version, part: part, count: 40 + 37 * Int(version % 11)))
                try appender.add(.changes, writer)
            }
            let position = try appender.seal()
            try log.waitUntilDurable(version)
            headers.append(CommitHeader(version: version, time: position.time, byteCount: position.range.count))
            if version % 7 == 0 { try log.writeMark() }
        }
        return headers
    }

    private func read(_ log: Log, _ versions: [ClosedRange<UInt64>]) throws -> [CommitHeader] {
        var headers: [CommitHeader] = []
        try log.forEachHeader(of: versions) { headers.append($0) }
        return headers
    }

    @Test("have the number, time and length of the commits, beside the writer, after reopening and read-only")
    func matchTheCommits() throws {
        let log = try open()
        let headers = try fill(log, 1...80)
        #expect(try storage.list("/store/log").count > 3)
        func check(_ log: Log) throws {
            #expect(try read(log, [1...80]) == headers)
            #expect(try read(log, [3...3, 17...17, 40...61]) == [headers[2], headers[16]] + headers[39...60])
            #expect(try read(log, []) == [])
            for index in [0, 1, 33, 78] {
                let time = headers[index].time
                #expect(try log.newestVersion(through: 80) { $0 <= time } == UInt64(index + 1))
                #expect(try log.newestVersion(through: 80) { $0 < time } == (index == 0 ? nil : UInt64(index)))
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

    @Test("never go back in time, even if the clock does, or is behind when the store is opened")
    func timeNeverGoesBack() throws {
        var log = try open()
        var headers = try fill(log, 1...10)
        clock.set(now: 500)
        headers += try fill(log, 11...20, step: -7)
        try log.close()
        clock.set(now: -1_000_000)
        log = try open()
        headers += try fill(log, 21...60, step: 1)
        #expect(try read(log, [1...60]) == headers)
        #expect(headers.map(\.time) == headers.map(\.time).sorted())
        // All versions committed under a clock that was behind have the same time. The version of that time is the
        // newest of them.
        let moment = headers[9].time
        #expect(headers[10...].allSatisfy { $0.time == moment })
        #expect(try log.newestVersion(through: 60) { $0 <= moment } == 60)
        #expect(try log.newestVersion(through: 60) { $0 < moment } == 9)
    }

    @Test("that are broken are damage, reported with its offset") func damage() throws {
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

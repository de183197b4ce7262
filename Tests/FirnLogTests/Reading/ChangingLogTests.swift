import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// Other processes change the log while it is read. At any moment a reader gets what was published, or an error that
/// says what no longer exists. It never stops the program, and never reports damage.
@Suite("A log that changes while it is read", .timeLimit(.minutes(20))) struct ChangingLogTests {
    /// Versions, and the lengths of their parts: some longer than any reader's window.
    private static let lengths: [UInt64: [Int]] = [
        1: [300], 2: [200_000, 100], 3: [500], 4: [300_000, 200_000, 300_000], 5: [40], 6: [90_000, 90_000], 7: [700],
    ]

    /// Checks a commit's parts, and returns its version.
    private func check(_ commit: inout CommitReader, _ context: String) throws -> UInt64 {
        for (part, length) in (Self.lengths[commit.version] ?? []).enumerated() {
            let bytes = try commit.next()?.bytes
            #expect(
                bytes.map { Payload.isEqual($0, version: commit.version, part: part, count: length) } == true,
                "part \(part) of version \(commit.version); \(context)")
        }
        #expect(try commit.next() == nil, "\(context)")
        return commit.version
    }

    /// Runs a trial for each call of a process, from its call 0 on, until the process makes no more calls. Returns
    /// the number of its calls in the last trial.
    ///
    /// - Parameter trial: returns the number of calls that the process has made.
    private func atEachMoment(_ trial: (_ moment: Int) throws -> Int) rethrows -> Int {
        var moment = 0
        while true {
            let calls = try trial(moment)
            moment += 1
            if moment >= calls { return calls }
        }
    }

    /// Three openers: `a` has died, or dies later, and not all that it published is durable; `b` has read a part of
    /// it; `c` is about to take over.
    private struct Death {
        let a: Bench
        let b: Bench
        let c: Bench
        /// The log of `a`. It is kept here because a log without references is closed.
        let writer: Log
        let reader: Log
        let successor: Log

        init(isLater: Bool = false) throws {
            a = Bench {
                $0.segmentByteCount = 8 << 20
                $0.durability = .none
            }
            b = a.another()
            c = a.another()
            writer = try a.open()
            reader = try b.open()
            successor = try c.open()
            for version in 1...2 as ClosedRange<UInt64> { try a.commit(writer, ChangingLogTests.lengths[version]!) }
            try writer.sync()
            try a.commit(writer, ChangingLogTests.lengths[3]!)
            if let progress = try reader.readPublished({ _ in }) { reader.advance(to: progress) }
            for version in 4...7 as ClosedRange<UInt64> { try a.commit(writer, ChangingLogTests.lengths[version]!) }
            if !isLater { a.storage.disk.kill(a.storage) }
        }

        func rewriteTail() throws {
            a.storage.disk.kill(a.storage)
            try successor.awaitWriting()
            let progress = try successor.readToEnd { _ in }
            successor.advance(to: progress)
            try successor.beginWriting()
        }
    }

    @Test("a follower reads the complete rest at every moment of another process's recovery") func following() throws {
        let calls = try atEachMoment { moment in
            let death = try Death()
            let before = death.c.storage.callCount
            let seen = Versions()
            death.c.storage.beforeEachCall { call in
                guard call.index == before + moment else { return }
                seen.collect {
                    var versions: [UInt64] = []
                    _ = try death.reader.readPublished { versions.append(try check(&$0, "at call \(moment)")) }
                    return versions
                }
            }
            try death.rewriteTail()
            death.c.storage.beforeEachCall(nil)
            let calls = death.c.storage.callCount - before
            #expect(seen.result == [4, 5, 6, 7], "at call \(moment) of \(calls): \(seen)")
            return calls
        }
        #expect(calls > 20)
    }

    @Test(
        "a follower reads the complete rest when another takes over between any two of its calls",
        arguments: [true, false])
    func followingBetween(isCursor: Bool) throws {
        let calls = try atEachMoment { moment in
            let death = try Death()
            let reader = death.reader
            let before = death.b.storage.callCount
            let result = Versions()
            death.b.storage.beforeEachCall { call in
                guard call.index == before + moment else { return }
                result.note { try death.rewriteTail() }
            }
            result.collect {
                var versions: [UInt64] = []
                if isCursor {
                    // This reads what this process has seen, as opening a past version does.
                    try reader.replay(after: 0, through: 3) { versions.append(try check(&$0, "at call \(moment)")) }
                } else {
                    let progress = try reader.readPublished { versions.append(try check(&$0, "at call \(moment)")) }
                    if let progress { reader.advance(to: progress) }
                }
                return versions
            }
            death.b.storage.beforeEachCall(nil)
            let calls = death.b.storage.callCount - before
            #expect(
                result.result == (isCursor ? [1, 2, 3] : [4, 5, 6, 7]), "at call \(moment) of \(calls): \(result)")
            // The reader continues from there.
            if !death.successor.isWriting { try death.rewriteTail() }
            _ = try death.successor.commit(version: 8, .changes, UnsafeRawBufferPointer(start: nil, count: 0))
            var next: [UInt64] = []
            if let progress = try reader.readPublished({ next.append($0.version) }) { reader.advance(to: progress) }
            #expect(next == (isCursor ? [4, 5, 6, 7, 8] : [8]), "after call \(moment)")
            return calls
        }
        #expect(calls > (isCursor ? 2 : 5))
    }

    @Test("a joining process begins with no checkpoint newer than what it has read, whenever another takes over")
    func joining() throws {
        var joined = 0
        let calls = try atEachMoment { moment in
            // While `a` writes, a process that opens the store joins.
            let death = try Death(isLater: true)
            let opener = death.b.another()
            let result = Versions()
            opener.storage.beforeEachCall { call in
                guard call.index == moment else { return }
                result.note {
                    do { try death.rewriteTail() } catch let error as LogError {
                        // The opener has the lock at this moment.
                        guard case .locked = error.code else { throw error }
                        return
                    }
                    try death.c.commit(death.successor)
                    try death.successor.waitUntilDurable(8)
                    try death.c.publishCheckpoint(death.successor, keepingVersionsAfter: 0)
                }
            }
            result.collect {
                let log: Log
                do { log = try opener.open() } catch let error as LogError {
                    // Another process was just recovering the log: without threads the opener does not wait.
                    guard case .locked = error.code else { throw error }
                    log = try opener.open()
                }
                if !log.isWriting { joined += 1 }
                #expect((log.checkpoint?.version ?? 0) <= log.writtenVersion, "at call \(moment)")
                var versions: [UInt64] = []
                let start = log.checkpoint?.version ?? 0
                try log.replay(after: start, through: log.publishedVersion) { versions.append($0.version) }
                if let progress = try log.readPublished({ versions.append($0.version) }) { log.advance(to: progress) }
                return Array(1..<start + 1) + versions
            }
            opener.storage.beforeEachCall(nil)
            let calls = opener.storage.callCount
            #expect(result.result.map { [7, 8].contains($0.count) } == true, "at call \(moment): \(result)")
            #expect(result.result.map { $0 == Array(1...UInt64($0.count)) } == true, "at call \(moment): \(result)")
            return calls
        }
        #expect(calls > 20 && joined > calls / 2)
    }

    @Test("a process that can't join gets the reason, even if another took over while it tried") func notJoining()
        throws
    {
        var refusals = 0
        _ = try atEachMoment { moment in
            let death = try Death(isLater: true)
            let opener = death.b.another()
            let attempts = Countdown(1)
            let mayOpen = Gate()
            opener.storage.inject(
                SimulatedFault(.tooManyOpenFiles, number: 24, residue: .nothing, times: .max) {
                    mayOpen.isOpen && $0.operation == .open && $0.path.hasSuffix(".segment")
                })
            let result = Versions()
            opener.storage.beforeEachCall { call in
                // Each attempt asks for the first slot once.
                if call.operation == .tryLock, call.offset == 64, attempts.isOver() { mayOpen.open() }
                guard call.index == moment else { return }
                result.note {
                    do { try death.rewriteTail() } catch let error as LogError {
                        guard case .locked = error.code else { throw error }
                    }
                }
            }
            result.collect {
                try opener.open().close()
                return []
            }
            opener.storage.beforeEachCall(nil)
            if mayOpen.isOpen {
                guard case .storage(let cause) = result.error?.code, cause.code == .tooManyOpenFiles else {
                    Issue.record("at call \(moment): \(result)")
                    return 0
                }
                refusals += 1
            }
            return opener.storage.callCount
        }
        #expect(refusals > 0)
    }

    /// With a second slot it would seem to be opening the store forever, and no process would remove a file.
    @Test("a process that begins to join again keeps one slot") func joiningAnew() throws {
        let bench = Bench()
        let first = try bench.open()
        let writing = bench.another()
        let log = try writing.open()
        try first.waitUntilDurable(try bench.commit(first))
        first.releaseWriting()
        try log.awaitWriting()
        log.advance(to: try log.readToEnd { _ in })
        try log.beginWriting()

        var joining = bench.another()
        joining.options.usesThreads = true
        joining.options.access = .readWrite(waitMilliseconds: 10_000)
        let isSegment: @Sendable (SimulatedCall) -> Bool = { $0.operation == .open && $0.path.hasSuffix(".segment") }
        joining.storage.inject(SimulatedFault(.tooManyOpenFiles, number: 24, residue: .nothing, when: isSegment))
        let result = Versions()
        let calls = Countdown(0)
        joining.storage.beforeEachCall { call in
            guard isSegment(call), calls.isOver() else { return }
            result.note {
                try log.sealSegment()
                try first.close()
            }
        }
        let joined = try joining.open()
        #expect(result.error == nil)
        #expect(log.otherProcesses.count == 1)
        joined.publishHoldings(version: 1, oldest: 1, activeCount: 1, retainedByteCount: 0)
        #expect(try log.removeUnneeded(held: []))
    }

    /// A writer with several segments, and a reader for which there is no free slot, or one.
    private struct Removal {
        let a: Bench
        let reading: Bench
        let log: Log
        private let slots: any StorageLock

        init(hasSlot: Bool = false) throws {
            a = Bench { $0.segmentByteCount = 4096 }
            log = try a.open()
            for _ in 1...9 { try log.waitUntilDurable(try a.commit(log, [900])) }
            slots = try a.storage.disk.newProcess().lockFile("/store/lock")
            for slot in 0..<LogLimits.openerCount where !hasSlot || slot > 1 {
                _ = try slots.tryLock(64 + slot, exclusive: true)
            }
            var reading = a.another()
            reading.options.access = .readOnly
            self.reading = reading
        }

        /// Replaces the log by a checkpoint of the newest version, as a compactor does that looked for other openers
        /// before any came.
        func compact() throws {
            try publish()
            try log.removeUnneeded(held: [])
            try log.waitUntilDurable(try a.commit(log, [100]))
        }

        func publish() throws {
            try log.sealSegment()
            let version = log.publishedVersion
            let file = try log.beginCheckpoint(start: 0)
            let checkpoint = try file.finish(version: version, time: 1, earlier: [], state: [7])
            try log.publish(checkpoint, keepingVersionsAfter: version)
        }

        /// Reads as an opening store does: the checkpoint's files, then the log behind them. Returns the versions.
        func read(_ reader: Log) throws -> [UInt64] {
            for file in reader.checkpoint?.files ?? [] { try reader.openCheckpointFile(file).close() }
            var versions: [UInt64] = [reader.checkpoint?.version ?? 0]
            try reader.replay(after: versions[0], through: reader.publishedVersion, isOpening: true) {
                versions.append($0.version)
            }
            reader.finishOpening()
            return versions
        }
    }

    @Test("a reader without a slot gets an error if a version is removed between any two of its calls")
    func removedWhileReading() throws {
        var refusals = 0
        let calls = try atEachMoment { moment in
            let removal = try Removal()
            let reader = try removal.reading.open()
            #expect(reader.slot == nil)
            reader.finishOpening()
            let storage = removal.reading.storage
            let before = storage.callCount
            let result = Versions()
            storage.beforeEachCall { call in
                guard call.index == before + moment else { return }
                result.note { try removal.compact() }
            }
            result.collect {
                var versions: [UInt64] = []
                try reader.replay(after: 0, through: 9) { versions.append($0.version) }
                return versions
            }
            storage.beforeEachCall(nil)
            let calls = storage.callCount - before
            switch result.error?.code {
            case nil: #expect(result.result == Array(1...9), "at call \(moment)")
            case .versionNotHere: refusals += 1
            default: Issue.record("at call \(moment): \(result)")
            }
            // Headers are listed as far as they still exist.
            var headers: [UInt64] = []
            try reader.forEachHeader(of: [1...10]) { headers.append($0.version) }
            #expect(headers == [10])
            return calls
        }
        #expect(calls > 5 && refusals > 2)
    }

    enum Opener: CaseIterable {
        case reader, readerWithoutSlot, joiner
    }

    @Test(
        "an opener opens what is there, whatever is removed between two of its calls", arguments: Opener.allCases)
    func removedWhileOpening(_ opener: Opener) throws {
        let calls = try atEachMoment { moment in
            let removal = try Removal(hasSlot: opener != .readerWithoutSlot)
            let opening = opener == .joiner ? removal.a.another() : removal.reading
            let storage = opening.storage
            let before = storage.callCount
            let result = Versions()
            storage.beforeEachCall { call in
                guard call.index == before + moment else { return }
                result.note { try removal.compact() }
            }
            result.collect {
                let log = try opening.open()
                #expect((log.slot != nil) == (opener != .readerWithoutSlot))
                #expect(!log.isWriting)
                return try removal.read(log)
            }
            storage.beforeEachCall(nil)
            let calls = storage.callCount - before
            let possible: [[UInt64]] = [Array(0...9), Array(0...10), [9, 10], [9]]
            #expect(possible.contains(result.result ?? []), "at call \(moment) of \(calls): \(result)")
            return calls
        }
        #expect(calls > 20)
    }

    @Test("the next writer after a writer's death removes nothing that another process is just opening")
    func removedByTheNextWriter() throws {
        let removal = try Removal(hasSlot: true)
        let reader = try removal.reading.open()
        #expect(reader.slot != nil)
        try removal.publish()
        removal.a.storage.disk.kill(removal.a.storage)
        let next = try removal.a.another().open()
        #expect(next.writtenVersion == 9 && next.checkpoint?.version == 9)
        #expect(try removal.read(reader) == Array(0...9))
        // Once the reader has read them, the files are removed.
        reader.publishHoldings(version: 9, oldest: 9, activeCount: 1, retainedByteCount: 0)
        #expect(try next.removeUnneeded(held: []))
        #expect(try removal.a.storage.disk.newProcess().list("/store/log").count == 1)
    }

    @Test("a segment that has become shorter ends there, and stops no reader") func shortened() throws {
        let bench = Bench()
        let log = try bench.open()
        for _ in 1...4 { try log.waitUntilDurable(try bench.commit(log, [3000])) }
        let manifest = try log.folder.readManifest()
        let path = log.folder.path(of: log.folder.segment(1))
        let reader = try SegmentReader(log.folder, manifest.openSegment, storeID: manifest.storeID)
        var frames: [FrameHeader] = []
        var offset = SegmentHeader.byteCount
        while case .frame(let frame, _) = try reader.item(at: offset, after: nil) {
            frames.append(frame)
            offset += frame.frameByteCount
        }
        #expect(frames.count == 4)
        let file = try bench.storage.open(path, .readWrite)
        for length in [Int(frames[2].offset) + 100, Int(frames[1].offset), 100, 0] {
            try file.truncate(to: length)
            for isRefreshed in [false, true] {
                if isRefreshed { try reader.refresh() }
                for frame in frames.reversed() where Int(frame.offset) >= length {
                    if case .frame = try reader.item(at: Int(frame.offset), after: nil), isRefreshed {
                        Issue.record("a frame behind the end")
                    }
                    #expect(try !isRefreshed || reader.header(at: Int(frame.offset)) == nil)
                    #expect(try reader.endOfZeros(from: Int(frame.offset)) >= Int(frame.offset))
                    if isRefreshed { #expect(throws: LogError.self) { _ = try reader.payload(of: frame) } }
                }
            }
        }
    }
}

/// The versions or the error that a reader got, on any thread.
private final class Versions: @unchecked Sendable, CustomStringConvertible {
    // Guarded by `lock`.
    private var versions: [UInt64]?
    private var failure: (any Error)?
    private let lock = Lock(.unranked)

    var result: [UInt64]? { lock.withLock { versions } }
    var error: LogError? { lock.withLock { failure as? LogError } }

    func collect(_ body: () throws -> [UInt64]) {
        do {
            let all = try body()
            lock.withLock { versions = all }
        } catch {
            lock.withLock { failure = error }
        }
    }

    /// Runs a change that disturbs the reader.
    func note(_ body: () throws -> Void) {
        do { try body() } catch { Issue.record("\(error)") }
    }

    var description: String {
        lock.withLock { failure.map { "\($0)" } ?? "\(versions ?? [])" }
    }
}

import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// How long ago frames were written is known whatever the clock says, and never overstated.
@Suite("Ages of frames", .timeLimit(.minutes(20))) struct AgeRecordTests {
    private static let second: Int64 = 1_000_000_000
    private static let hour = 3600 * second
    private static let year = 365 * 24 * hour

    /// FIRN_AGE_SEEDS asks for more than every run can afford.
    private static let seedCount = TestEnvironment.value("FIRN_AGE_SEEDS").flatMap { Int($0) } ?? 30

    /// A log's frames with their times and, unlike a log, the time that had really passed.
    private struct Frames {
        let clock = ManualClock()
        var record: AgeRecord
        var frames: [(time: Int64, passed: Int64)] = []

        init() { record = AgeRecord(clock.reading(), after: nil) }

        var last: Int64 { frames.last?.time ?? 0 }

        mutating func write() {
            let now = clock.reading()
            let time = record.timeIfUneventful(now, after: last) ?? record.read(now, after: last)
            #expect(time >= last && time >= now.wall)
            frames.append((time, clock.passed))
        }

        mutating func write(_ count: Int, every nanoseconds: Int64) {
            for _ in 0..<count {
                clock.advance(by: nanoseconds)
                write()
            }
        }

        /// How old the frames are that count as older than `age`: the youngest of them, and the oldest of the others.
        func ages(_ age: Int64) -> (old: Int64?, young: Int64?) {
            var now = record
            _ = now.read(clock.reading(), after: last)
            let limit = now.time(ofAge: age)
            return (
                frames.last { $0.time <= limit }.map { clock.passed - $0.passed },
                frames.first { $0.time > limit }.map { clock.passed - $0.passed }
            )
        }
    }

    /// Any process that may write the store's files may have written the page, with a right check.
    @Test("numbers that no record has are none, and any others do no harm") func hostilePage() throws {
        let storage = MemoryStorage()
        try storage.createFolder("/store")
        let page = try SharedPage(
            StoreFolder(path: "/store", storage: storage), StoreID(high: 1, low: 2), mayCreate: true)
        func record(
            _ clocks: ClockReading, time: Int64 = 5, slack: Int64 = 0, point: AgeRecord.Point? = nil
        ) -> AgeRecord {
            AgeRecord(reading: clocks, time: time, slack: slack, points: point.map { [$0] } ?? [], gap: nil)
        }
        let clocks = ClockReading(wall: 7, boot: 6, bootID: 1)
        let good = record(clocks, slack: Self.second, point: AgeRecord.Point(time: 4, age: -3, isMerged: true))
        page.setAges(good)
        #expect(page.ages == good)
        // People have set clocks to 2232, as far as Linux lets them, and back.
        let far: Int64 = 8_276_000_000 * Self.second
        let ahead = record(clocks, time: far, point: AgeRecord.Point(time: far, age: 3))
        page.setAges(ahead)
        #expect(page.ages == ahead)
        for bad in [
            record(clocks, slack: .max), record(clocks, slack: -1), record(clocks, time: .max),
            record(clocks, time: .min),
            record(ClockReading(wall: .min, boot: 6, bootID: 1)), record(ClockReading(wall: 7, boot: .max, bootID: 1)),
            record(clocks, point: AgeRecord.Point(time: .max, age: 0)),
            record(clocks, point: AgeRecord.Point(time: 4, age: .max)),
        ] {
            page.setAges(bad)
            #expect(page.ages == nil, "\(bad)")
        }
        // Clocks may say anything, too.
        let extremes = [Int64.min, -1, 0, 1 << 62, .max]
        for wall in extremes {
            for boot in extremes {
                var known = good
                _ = known.read(ClockReading(wall: boot, boot: wall, bootID: 1), after: 4)
                for bootID in [1, 2] as [UInt64] {
                    var next = known
                    let now = ClockReading(wall: wall, boot: boot, bootID: bootID)
                    #expect(next.read(now, after: 9) >= 9)
                    for last in [Int64.max, 5] { _ = next.read(now, after: last) }
                    _ = next.time(ofAge: .max)
                }
            }
        }
    }

    /// The page outlives a power cut that takes frames, so it may know of later frames than the log has.
    @Test("what is known of frames that are lost makes no later ones older") func lostFrames() {
        var log = Frames()
        log.write(10, every: Self.hour)
        let kept = log.frames.count
        // The clock is ahead twice, so that there is a point behind frames that are lost.
        for _ in 1...2 {
            log.clock.jump(by: Self.year)
            log.write(2, every: Self.hour)
        }
        log.clock.jump(by: -2 * Self.year)
        log.frames.removeSubrange(kept...)
        log.record.forget(after: log.last)
        #expect(log.record.points.allSatisfy { $0.time <= log.last })
        log.write(1, every: Self.hour)
        let written = log.frames.count - 1
        log.write(3, every: Self.hour)
        let ages = log.ages(4 * Self.hour)
        #expect(ages.old.map { $0 >= 4 * Self.hour } ?? true)
        #expect(log.frames[written].time > log.frames[kept - 1].time)
    }

    /// Across a point that stands for several, differences of times are no ages, wherever it is moved to.
    @Test("a point that is moved back before lost frames still stands for several") func lostMergedFrames() {
        let clocks = ClockReading(wall: 2000 * Self.hour, boot: 200 * Self.hour, bootID: 1)
        var record = AgeRecord(
            reading: clocks, time: 2000 * Self.hour, slack: 0,
            points: [
                AgeRecord.Point(time: 0, age: 100 * Self.hour),
                AgeRecord.Point(time: 1000 * Self.hour, age: 10 * Self.hour, isMerged: true),
            ], gap: nil)
        record.forget(after: 500 * Self.hour)
        #expect(record.points.map(\.time) == [0, 500 * Self.hour])
        #expect(record.time(ofAge: 20 * Self.hour) == 0, "nothing between the points is known to be so old")
    }

    @Test("with a clock that nobody sets, ages are differences of times") func ordinaryAges() {
        var log = Frames()
        log.write(100, every: 60 * Self.second)
        let ages = log.ages(Self.hour)
        #expect(ages.old == Self.hour + 60 * Self.second && ages.young == Self.hour)
        log.clock.sleep(for: 10 * Self.hour)
        #expect(log.ages(Self.hour).old == 10 * Self.hour, "what sleeps grows older")
    }

    @Test("a clock that was ahead for a moment makes nothing old, and keeps nothing young")
    func aheadForAMoment() throws {
        var log = Frames()
        log.write(60, every: 60 * Self.second)
        log.clock.jump(by: Self.year)
        log.write(20, every: 10_000_000)
        #expect(log.ages(Self.hour).old == nil, "nothing is older than an hour yet")
        log.clock.jump(by: -Self.year)
        log.write(30, every: 60 * Self.second)
        var old = try #require(log.ages(Self.hour).old)
        var young = try #require(log.ages(Self.hour).young)
        // The time between the two readings between which the clock was set back counts for nothing.
        #expect(old >= Self.hour && young <= Self.hour + 120 * Self.second)
        log.write(180, every: 60 * Self.second)
        old = try #require(log.ages(Self.hour).old)
        young = try #require(log.ages(Self.hour).young)
        #expect(old >= Self.hour && young <= Self.hour * 9 / 8)
        #expect(Set(log.frames.map(\.time)).count == log.frames.count, "times that are ahead creep")
    }

    @Test("times that are ahead go on, and the clock catches up with them") func converging() {
        var log = Frames()
        log.write(10, every: Self.second)
        log.clock.jump(by: -100 * Self.second)
        log.write(1, every: Self.second)
        #expect(log.last > log.clock.now())
        log.write(1700, every: Self.second)
        #expect(log.last == log.clock.now())
    }

    @Test("frames whose times the clock overtakes while nothing is written are as old as they are")
    func overtaken() throws {
        var log = Frames()
        log.write(10, every: Self.second)
        log.clock.jump(by: -Self.hour)
        log.write(10, every: Self.second)
        log.clock.advance(by: Self.hour + Self.second)
        log.write()
        #expect(log.last == log.clock.now() && log.ages(Self.hour - 60 * Self.second).old == Self.hour + Self.second)
        #expect(try #require(log.ages(Self.hour).old) >= Self.hour)
    }

    @Test("the time between two starts counts once a second reading confirms it") func restarts() throws {
        var log = Frames()
        log.write(20, every: 60 * Self.second)
        log.clock.reboot(after: 5 * Self.hour)
        log.write(1, every: Self.second)
        #expect(log.ages(Self.hour).old == nil, "one reading alone says that five hours have passed")
        log.write(60, every: 11 * Self.second)
        var old = try #require(log.ages(Self.hour).old)
        #expect(old > 5 * Self.hour)
        #expect(log.record.points.isEmpty, "a clock that was right all the time leaves no point")
        // Or the next start does.
        log.clock.reboot(after: 5 * Self.hour)
        log.write(1, every: Self.second)
        old = try #require(log.ages(3 * Self.hour).old)
        #expect(old > 5 * Self.hour)
        log.clock.reboot(after: 5 * Self.hour)
        log.write(1, every: Self.second)
        old = try #require(log.ages(4 * Self.hour).old)
        #expect(old > 9 * Self.hour, "the last five hours are not confirmed yet")
    }

    @Test("a clock that is ahead after a start, and is set then, makes nothing old") func wrongAfterStart() {
        var log = Frames()
        log.write(20, every: 60 * Self.second)
        log.clock.reboot(after: 60 * Self.second)
        log.clock.jump(by: Self.year)
        log.write(5, every: 60 * Self.second)
        log.clock.jump(by: -Self.year)
        log.write(100, every: 20 * Self.second)
        #expect(log.ages(2 * Self.hour).old == nil)
        #expect(log.record.gap == nil)
    }

    @Test("of frames that were written before anything was known, nothing is old at first") func unknown() throws {
        var log = Frames()
        log.write(50, every: Self.hour)
        log.record = AgeRecord(log.clock.reading(), after: log.last)
        #expect(log.ages(Self.second).old == nil)
        log.write(90, every: 60 * Self.second)
        let old = try #require(log.ages(Self.hour).old)
        let young = try #require(log.ages(Self.hour).young)
        #expect(old >= Self.hour && young <= 61 * 60 * Self.second)
    }

    @Test("a power cut that loses the newest record makes nothing old, and keeps nothing young")
    func lostRecord() throws {
        var log = Frames()
        log.write(20, every: 60 * Self.second)
        let old = log.record
        log.clock.jump(by: Self.year)
        log.write(5, every: Self.second)
        log.clock.reboot(after: 60 * Self.second)
        log.clock.jump(by: -Self.year)
        log.record = old
        log.write(1, every: Self.second)
        #expect(log.ages(Self.hour).old == nil)
        log.write(70, every: 60 * Self.second)
        let ages = log.ages(Self.hour)
        #expect(try #require(ages.old) >= Self.hour)
        // The times of frames creep by 15 of 16 parts while they are ahead of the clock.
        #expect(try #require(ages.young) <= 68 * 60 * Self.second)
    }

    /// Two starts with a clock that is ahead, and between them one with a right clock, whose record is lost.
    @Test("a start does not confirm what a lost record had found wrong") func lostRefutation() {
        var log = Frames()
        log.write(20, every: Self.second)
        log.clock.reboot(after: Self.second)
        log.clock.jump(by: Self.hour)
        log.write(2, every: Self.second)
        let ahead = log.record
        log.clock.reboot(after: Self.second)
        log.clock.jump(by: -Self.hour)
        log.write(2, every: Self.second)
        log.clock.reboot(after: Self.second)
        log.clock.jump(by: Self.hour + Self.second)
        log.record = ahead
        log.write(2, every: Self.second)
        #expect(log.ages(60 * Self.second).old == nil)
    }

    @Test("whatever happens to the clocks, no age is overstated", arguments: 0..<seedCount)
    func neverOverstated(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let page = SharedPage(memory: NoMemory(), storeHigh: 7)
        var log = Frames()
        /// By how much the clock is ahead since the last start, and until when that must have been mended.
        var wrong: (ahead: Int64, until: Int64)?
        for step in 0..<400 {
            if let (ahead, until) = wrong, log.clock.passed >= until || random.below(8) == 0 {
                log.clock.jump(by: -ahead)
                wrong = nil
                log.write()
            }
            switch random.below(20) {
            case 0 where wrong == nil:
                log.clock.jump(by: Int64(random.below(1000)) * [Self.second, Self.hour, 10_000_000][random.below(3)])
            case 1 where wrong == nil:
                log.clock.jump(by: -Int64(random.below(1000)) * [Self.second, Self.hour][random.below(2)])
            case 2 where wrong == nil: log.clock.sleep(for: Int64(random.below(100)) * 60 * Self.second)
            case 3 where wrong == nil:
                // A clock that is wrong in all readings before a start, or in all after it, is believed. So it is read
                // before and after the start, and set in between only if that is mended soon.
                log.write()
                log.clock.reboot(after: Int64(random.below(100)) * 60 * Self.second)
                if random.below(3) == 0 {
                    wrong = (Int64(random.below(100)) * Self.hour, log.clock.passed + 300 * Self.second)
                    log.clock.jump(by: wrong!.ahead)
                }
                log.write()
            case 4 where wrong == nil: log.clock.advance(by: Int64(random.below(3000)) * Self.second)
            default: log.clock.advance(by: Int64(random.below(60)) * Self.second)
            }
            if random.below(3) != 0 { log.write() }
            // What the page keeps is what another process goes on with.
            page.setAges(log.record)
            let kept = try #require(page.ages)
            if random.below(10) == 0 { log.record = kept }
            for age in [Self.second, 600 * Self.second, 5 * Self.hour, 100 * Self.hour] {
                guard let old = log.ages(age).old else { continue }
                #expect(old >= age - 2_000_000, "seed \(seed), step \(step): \(old) counts as \(age)")
                if old < age - 2_000_000 { return }
            }
        }
    }

    @Test("a record that its writer did not finish, or of another store, is none") func torn() throws {
        let memory = NoMemory()
        let page = SharedPage(memory: memory, storeHigh: 7)
        #expect(page.ages == nil)
        var record = AgeRecord(
            ClockReading(wall: 1000 * Self.second, boot: 10 * Self.second, bootID: 99), after: 900 * Self.second)
        _ = record.read(
            ClockReading(wall: 5000 * Self.second, boot: 5 * Self.second, bootID: 98), after: 950 * Self.second)
        #expect(record.points.count == 2 && record.gap != nil)
        page.setAges(record)
        var expected = record
        // In the page, a gap's moment is a whole second.
        expected.gap?.since = 6 * Self.second
        #expect(page.ages == expected)
        #expect(SharedPage(memory: memory, storeHigh: 8).ages == nil)
        for offset in stride(from: 128, to: 240, by: 8) {
            let word = page.load(offset)
            page.store(word ^ 1, offset)
            #expect(page.ages == nil, "byte \(offset)")
            page.store(word, offset)
        }
        #expect(page.ages == expected)
    }
}

/// Memory for a page that no file has.
private final class NoMemory: SharedMemory, @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    var isWritable: Bool { true }

    init() {
        bytes = .allocate(byteCount: SharedPage.byteCount, alignment: 64)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }
}

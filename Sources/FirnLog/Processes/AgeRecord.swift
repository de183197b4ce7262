import FirnStorage

/// How long ago the frames of the log were written, whatever the system's clock said then.
///
/// A frame bears the time of the wall clock, which people and time servers set. So the difference of two frames' times
/// is not the time that passed between them, if the clock was set in between. This record says where that was: it is
/// the last **reading** of the clocks, and a few **points**. It is kept in the shared page (`SharedPage+Ages`).
///
/// **Elapsed time.** The time between two readings is the lesser of what has passed by the boot clock and by the wall
/// clock. So neither clock alone can make anything old.
///
/// **Points.** A point (t, a) says that every frame with a time up to t was written at least a before the reading. A
/// point is made where frames' times rise by more than the time that has passed. All frames up to then are at least as
/// old as that moment. A point is also made where they rise by less, because they were ahead of the wall clock and it
/// catches up. All frames up to then are older than their times say. Between two points, and behind the last one,
/// differences of times are ages.
///
/// **Starts of the system.** How much time passed between two starts is known from the wall clock alone. That clock may
/// be wrong, and is wrong more often just then. So the gap counts for nothing until a second reading confirms it:
/// - a reading that is `confirmation` later and finds that the clock was not set;
/// - a reading after the next start that is not before the last one of the start before, if no newer record was lost in
/// between.
///
/// A gap is counted from the last frame's time, so there is none while frames' times are ahead of the clock.
///
/// Whatever is unknown makes frames younger: then more of the past is retained, never less.
struct AgeRecord: Equatable {
    struct Point: Equatable {
        /// The time of frames.
        var time: Int64
        /// How old those up to that time are at least, at the reading. Slightly below 0 for a new point.
        var age: Int64
        /// Whether the clock was set between the point before and this one, so that differences of times there are not
        /// ages. Then all frames up to this point are taken to be as old as the youngest.
        var isMerged = false
    }

    /// The time between the last two starts of the system, which a second reading has yet to confirm.
    struct Gap: Equatable {
        var nanoseconds: Int64
        /// How many of the points lie before it.
        var pointCount: Int
        /// The boot time from which on the clock was not set.
        var since: Int64
    }

    /// The most points that fit in the page.
    static let pointCount = 3
    /// The nanoseconds by which frames' times may rise more than the time that has passed before a point is made.
    static let tolerance: Int64 = 1_000_000_000
    /// The nanoseconds between two readings of a clock that nobody sets.
    static let interval: Int64 = 1_000_000_000
    /// The nanoseconds after which a second reading confirms the time between two starts.
    static let confirmation: Int64 = 600_000_000_000
    /// What may lie between the readings of two clocks, because a thread was interrupted.
    private static let noise: Int64 = 1_000_000
    /// Two clocks that nobody sets differ by less than this share of the time that passes.
    private static let driftShare: Int64 = 512
    /// The most that a clock which nobody sets counts while another one counts `passed`, which is not below 0.
    private static func withDrift(_ passed: Int64) -> Int64 { passed.clampedAdding(passed / driftShare) }

    var reading: ClockReading
    /// The time that a frame had, or would have had, at the reading.
    var time: Int64
    /// By how much differences of times behind the last point may exceed the time that has passed.
    var slack: Int64 = 0
    /// Oldest first.
    var points: [Point] = []
    var gap: Gap?

    /// The record of a log about which only this is known: it has frames with times up to `last`. `last` is nil for a
    /// log without frames.
    init(_ now: ClockReading, after last: Int64?) {
        reading = now
        time = max(last ?? now.wall, now.wall)
        if let last { points = [Point(time: last, age: 0, isMerged: true)] }
    }

    init(reading: ClockReading, time: Int64, slack: Int64, points: [Point], gap: Gap?) {
        self.reading = reading
        self.time = time
        self.slack = slack
        self.points = points
        self.gap = gap
    }

    /// Whether the numbers can be those of a record: a page may hold any, with a right check.
    var isPossible: Bool {
        let numbers = [reading.boot, reading.wall, time] + points.flatMap { [$0.time, $0.age] }
        return numbers.allSatisfy { $0.magnitude <= Self.limit } && (0...Self.tolerance).contains(slack)
    }

    /// The greatest number of a record that is taken from the page. In nanoseconds since 1970 it is in the year 2253:
    /// clocks can be set up to 2232.
    private static let limit = UInt64(Int64.max) - 1 << 58

    /// Forgets the frames behind `last`, the time of the log's last one: a power cut has lost them, and left the page.
    /// Otherwise frames that are written from now on would count as old as those.
    mutating func forget(after last: Int64) {
        while let before = points.dropLast().last, before.time >= last { points.removeLast() }
        if let newest = points.indices.last, points[newest].time > last {
            points[newest].time = last
        }
        if let count = gap?.pointCount { gap?.pointCount = min(count, points.count) }
    }

    // MARK: The time of a frame

    /// The time of a frame that is written now, behind one of time `last`: the wall clock's, but never before `last`.
    ///
    /// While the wall clock is behind, times go on by 15 of 16 parts of the time that passes. So times differ, and ages
    /// can be computed from them. And the wall clock catches up, however long it was ahead before.
    func nextTime(_ now: ClockReading, after last: Int64) -> Int64 {
        if now.wall >= last { return now.wall }
        guard now.bootID == reading.bootID else { return last }
        let passed = max(now.boot.clampedSubtracting(reading.boot), 0)
        return max(last, time.clampedAdding(passed - passed / 16))
    }

    /// As `nextTime`, if the record need not be changed for it; otherwise nil.
    func timeIfUneventful(_ now: ClockReading, after last: Int64) -> Int64? {
        guard now.bootID == reading.bootID else { return nil }
        let next = nextTime(now, after: last)
        let passed = min(now.boot.clampedSubtracting(reading.boot), now.wall.clampedSubtracting(reading.wall))
        // No frame that is written later has the time of the reading.
        guard passed >= 0, passed < Self.interval, passed == 0 || next > time,
            next.clampedSubtracting(time) <= Self.withDrift(passed) + Self.noise
        else { return nil }
        return next
    }

    // MARK: Reading the clocks

    /// Takes a reading into the record, and returns the time of a frame that is written now.
    ///
    /// - Parameter last: the time of the last frame that was written.
    mutating func read(_ now: ClockReading, after last: Int64) -> Int64 {
        let next = nextTime(now, after: last)
        if now.bootID == reading.bootID { pass(to: now, next, last) } else { beginBoot(now, last) }
        reading = now
        time = next
        if gap == nil { dropNeedlessPoint() }
        return next
    }

    private mutating func pass(to now: ClockReading, _ next: Int64, _ last: Int64) {
        let boot = now.boot.clampedSubtracting(reading.boot)
        let wall = now.wall.clampedSubtracting(reading.wall)
        let passed = max(min(boot, wall), 0)
        for index in points.indices { points[index].age = points[index].age.clampedAdding(passed) }
        confirmGap(now, set: wall.clampedSubtracting(boot))
        let growth = next.clampedSubtracting(time).clampedSubtracting(Self.withDrift(passed))
        let grown = max(slack.clampedAdding(growth), 0)
        if grown > Self.tolerance {
            addPoint(last, passed: passed)
        } else {
            // Times that are ahead rise by 15 of 16 parts, and no point is made for that.
            if growth < -Self.tolerance - passed / 8 { addPointThatIsOlder(passed: passed, before: next) }
            slack = grown
        }
    }

    /// - Parameter change: by how much the wall clock was set since the reading before.
    private mutating func confirmGap(_ now: ClockReading, set change: Int64) {
        guard var gap else { return }
        if change.magnitude > Self.tolerance.magnitude {
            // Set back, the clock had claimed that much too much.
            gap.nanoseconds = gap.nanoseconds.clampedAdding(min(change, 0))
            gap.since = now.boot
        } else if now.boot.clampedSubtracting(gap.since) >= Self.confirmation {
            return count(gap)
        }
        self.gap = gap.nanoseconds > 0 ? gap : nil
    }

    /// Lets what lies before the gap be older by it.
    private mutating func count(_ confirmed: Gap) {
        for index in points.indices.prefix(confirmed.pointCount) {
            points[index].age = points[index].age.clampedAdding(confirmed.nanoseconds)
        }
        gap = nil
    }

    private mutating func beginBoot(_ now: ClockReading, _ last: Int64) {
        // Frames behind the reading say that a power cut has lost a newer record, which may have found the gap wrong.
        if let gap, now.wall >= reading.wall, last <= time { count(gap) }
        addPoint(last, passed: 0)
        // Counted from the last frame's time also if that was ahead of the clock, because the clock may have been
        // behind.
        let claimed = now.wall.clampedSubtracting(max(last, reading.wall))
        gap = claimed > 0 ? Gap(nanoseconds: claimed, pointCount: points.count, since: now.boot) : nil
    }

    // MARK: Points

    /// Notes that all frames up to `last` are at least as old as this moment.
    ///
    /// - Parameter passed: the nanoseconds since the reading before.
    private mutating func addPoint(_ last: Int64, passed: Int64) {
        defer { slack = 0 }
        // Of frames that have a point already, more is known.
        if let newest = points.last, newest.time >= last { return }
        // Frames may have later times than the reading accounts for. Then the record is older than they are: a power
        // cut has lost the newer one, or their writer kept none. The clock may have been set between them.
        let unknown = max(last.clampedSubtracting(time).clampedSubtracting(Self.withDrift(passed)), 0)
        if unknown <= Self.tolerance {
            insert(Point(time: last, age: -slack - unknown))
        } else {
            if points.last?.time ?? .min < time { insert(Point(time: time, age: passed - slack)) }
            insert(Point(time: last, age: 0, isMerged: true))
        }
    }

    /// Notes that all frames up to the reading before are older than their times say.
    ///
    /// - Parameter next: the time of the frame that is written now. If it equals the time of the reading before, times
    ///   can't distinguish these frames from the new one.
    private mutating func addPointThatIsOlder(passed: Int64, before next: Int64) {
        if next <= time || points.last?.time ?? .min >= time { return }
        insert(Point(time: time, age: passed.clampedSubtracting(slack)))
    }

    private mutating func insert(_ point: Point) {
        points.append(point)
        guard points.count > Self.pointCount else { return }
        // The one whose frames lose the least part of their age if they count as old as those of the next point.
        func weight(_ index: Int) -> Double { Double(max(points[index].age, 0)) + Double(Self.tolerance) }
        func loss(_ index: Int) -> Double { weight(index) / weight(index + 1) }
        let index = (0..<points.count - 1).min { loss($0) < loss($1) } ?? 0
        points.remove(at: index)
        points[index].isMerged = true
        if let count = gap?.pointCount, count > index { gap?.pointCount = count - 1 }
    }

    /// Removes the last point if differences of times are ages across it, too: after a gap in which the clock was
    /// right.
    private mutating func dropNeedlessPoint() {
        guard let last = points.last, !last.isMerged else { return }
        let needed = time.clampedSubtracting(last.time).clampedSubtracting(last.age)
        guard needed >= -Self.tolerance, max(slack, needed) <= Self.tolerance else { return }
        slack = max(slack, needed)
        points.removeLast()
    }

    // MARK: Ages

    /// The greatest time for which this is known: frames with times up to it were written at least `age` before the
    /// reading.
    func time(ofAge age: Int64) -> Int64 {
        // As much more as the drift of the clocks may feign.
        let age = max(age, 0).clampedAdding(max(age, 0) / (Self.driftShare / 2))
        var limit = time.clampedSubtracting(slack).clampedSubtracting(age)
        for point in points.reversed() {
            // The limit may lie where no frames are, because the clock was set forward.
            if point.age >= age { return max(limit, point.time) }
            limit = point.isMerged ? .min : point.time.clampedSubtracting(age.clampedSubtracting(point.age))
        }
        return limit
    }
}

extension Int64 {
    /// The sum, or the number nearest to it: clocks and files may say anything.
    func clampedAdding(_ other: Int64) -> Int64 {
        let (sum, overflowed) = addingReportingOverflow(other)
        return overflowed ? (other > 0 ? .max : .min) : sum
    }

    /// The difference, or the number nearest to it.
    func clampedSubtracting(_ other: Int64) -> Int64 {
        let (difference, overflowed) = subtractingReportingOverflow(other)
        return overflowed ? (other > 0 ? .min : .max) : difference
    }
}

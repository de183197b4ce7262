import FirnStorage

/// How long ago the frames of the log were written, even if the system's clock was wrong then or was set meanwhile.
///
/// A frame bears the time of the wall clock, which people and time servers set. If the clock was set between two
/// frames, the difference of their times is not the time that passed between them. This record says where that
/// happened. It consists of the last **reading** of the clocks and a few **points**. It is kept in the shared page
/// (`SharedPage+Ages`).
///
/// **Elapsed time.** The time between two readings is the lesser of what the boot clock and the wall clock have
/// counted. So neither clock alone can make anything old.
///
/// **Points.** A point (t, a) says that every frame with a time up to t was written at least a before the reading. A
/// point is made in two cases:
/// - Frames' times rise by more than the time that has passed. All frames up to then are at least as old as that
///   moment.
/// - Frames' times rise by less, because they were ahead of the wall clock and it catches up. All frames up to then are
///   older than their times say.
///
/// Between two points, and behind the last one, differences of times are ages.
///
/// **Starts of the system.** Only the wall clock knows how much time passed between two starts. That clock may be
/// wrong, and is wrong more often just then. So the gap counts for nothing until a second reading confirms it:
/// - a reading that is `confirmation` later and finds that the clock was not set;
/// - the first reading after the next start, if the wall clock has not gone back meanwhile and no newer record was
///   lost.
///
/// A gap is counted from the last frame's time, so there is none while frames' times are ahead of the clock.
///
/// If something is unknown, frames count as younger. So more of the past is retained, never less.
struct AgeRecord: Equatable {
    struct Point: Equatable {
        /// The point is about frames with times up to this one.
        var time: Int64
        /// The least age of these frames at the reading. It may be slightly below 0 for a new point.
        var age: Int64
        /// Whether the clock was set between the point before and this one, so that differences of times there are not
        /// ages. Then all frames between the two points count as being only as old as this point.
        var isMerged = false
    }

    /// The time between the last two starts of the system, which a second reading has yet to confirm.
    struct Gap: Equatable {
        var nanoseconds: Int64
        /// How many of the points lie before the gap.
        var pointCount: Int
        /// The boot clock's time since which the wall clock was not set.
        var since: Int64
    }

    /// The most points that fit in the page.
    static let pointCount = 3
    /// A point is made when frames' times have risen by this many nanoseconds more than the time that has passed.
    static let tolerance: Int64 = 1_000_000_000
    /// The nanoseconds after which a new frame takes another reading, even if nobody has set the clock.
    static let interval: Int64 = 1_000_000_000
    /// The nanoseconds after which a second reading confirms the time between two starts.
    static let confirmation: Int64 = 600_000_000_000
    /// The nanoseconds that may pass between the readings of two clocks, because the thread was interrupted.
    private static let noise: Int64 = 1_000_000
    /// Two clocks that nobody sets differ by less than the time that passes divided by this.
    private static let driftShare: Int64 = 512
    /// The most that a clock that nobody sets counts while another one counts `passed`, which is at least 0.
    private static func withDrift(_ passed: Int64) -> Int64 { passed.clampedAdding(passed / driftShare) }

    var reading: ClockReading
    /// The time that a frame had, or would have had, at the reading.
    var time: Int64
    /// By how much differences of times behind the last point may exceed the time that has passed.
    var slack: Int64 = 0
    /// Oldest first.
    var points: [Point] = []
    var gap: Gap?

    /// The record of a log if only the time of its last frame is known, which is `last`. `last` is nil for a log
    /// without frames.
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

    /// Whether the numbers can be those of a record. A page may hold any numbers, even with a right check.
    var isPossible: Bool {
        let numbers = [reading.boot, reading.wall, time] + points.flatMap { [$0.time, $0.age] }
        return numbers.allSatisfy { $0.magnitude <= Self.limit } && (0...Self.tolerance).contains(slack)
    }

    /// The greatest magnitude of a number that is accepted from the page. As nanoseconds since 1970 it is in the year
    /// 2253; clocks can be set up to 2232.
    private static let limit = UInt64(Int64.max) - 1 << 58

    /// Forgets the frames behind `last`, the time of the log's last frame. A power cut has lost these frames, but not
    /// the page. Otherwise, frames that are written from now on would count as being as old as the lost ones.
    mutating func forget(after last: Int64) {
        while let before = points.dropLast().last, before.time >= last { points.removeLast() }
        if let newest = points.indices.last, points[newest].time > last {
            points[newest].time = last
        }
        if let count = gap?.pointCount { gap?.pointCount = min(count, points.count) }
    }

    // MARK: The time of a frame

    /// The time of a frame that is written now, behind a frame of time `last`. It is the wall clock's time, but never
    /// before `last`.
    ///
    /// While the wall clock is behind `last`, times advance by 15/16 of the time that passes. So times differ, and ages
    /// can be computed from them. And the wall clock catches up, however far behind it is.
    func nextTime(_ now: ClockReading, after last: Int64) -> Int64 {
        if now.wall >= last { return now.wall }
        guard now.bootID == reading.bootID else { return last }
        let passed = max(now.boot.clampedSubtracting(reading.boot), 0)
        return max(last, time.clampedAdding(passed - passed / 16))
    }

    /// The result of `nextTime`, if the record need not be changed for it; otherwise nil.
    func timeIfUneventful(_ now: ClockReading, after last: Int64) -> Int64? {
        guard now.bootID == reading.bootID else { return nil }
        let next = nextTime(now, after: last)
        let passed = min(now.boot.clampedSubtracting(reading.boot), now.wall.clampedSubtracting(reading.wall))
        // A frame that is written after the reading must have a later time than the reading.
        guard passed >= 0, passed < Self.interval, passed == 0 || next > time,
            next.clampedSubtracting(time) <= Self.withDrift(passed) + Self.noise
        else { return nil }
        return next
    }

    // MARK: Reading the clocks

    /// Updates the record with a reading, and returns the time of a frame that is written now.
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
            // Times that are ahead of the wall clock advance by 15/16 of the time that passes. No point is made for
            // that.
            if growth < -Self.tolerance - passed / 8 { addPointThatIsOlder(passed: passed, before: next) }
            slack = grown
        }
    }

    /// - Parameter change: by how much the wall clock was set since the reading before.
    private mutating func confirmGap(_ now: ClockReading, set change: Int64) {
        guard var gap else { return }
        if change.magnitude > Self.tolerance.magnitude {
            // If the clock was set back, the gap was measured too long by that much.
            gap.nanoseconds = gap.nanoseconds.clampedAdding(min(change, 0))
            gap.since = now.boot
        } else if now.boot.clampedSubtracting(gap.since) >= Self.confirmation {
            return count(gap)
        }
        self.gap = gap.nanoseconds > 0 ? gap : nil
    }

    /// Adds a confirmed gap to the ages of the points before it.
    private mutating func count(_ confirmed: Gap) {
        for index in points.indices.prefix(confirmed.pointCount) {
            points[index].age = points[index].age.clampedAdding(confirmed.nanoseconds)
        }
        gap = nil
    }

    private mutating func beginBoot(_ now: ClockReading, _ last: Int64) {
        // Frames behind the reading show that a power cut has lost a newer record, which may have found the gap wrong.
        if let gap, now.wall >= reading.wall, last <= time { count(gap) }
        addPoint(last, passed: 0)
        // The gap is counted from the last frame's time, even if that is ahead of the last reading: the clock may have
        // been behind then.
        let claimed = now.wall.clampedSubtracting(max(last, reading.wall))
        gap = claimed > 0 ? Gap(nanoseconds: claimed, pointCount: points.count, since: now.boot) : nil
    }

    // MARK: Points

    /// Makes a point: all frames up to `last` are at least as old as this moment.
    ///
    /// - Parameter passed: the nanoseconds since the reading before.
    private mutating func addPoint(_ last: Int64, passed: Int64) {
        defer { slack = 0 }
        // If a point covers these frames already, more is known about them.
        if let newest = points.last, newest.time >= last { return }
        // Frames may have later times than the reading accounts for. Then the record is older than these frames: a
        // power cut has lost a newer record, or the writer of the frames kept none. The clock may have been set between
        // the frames.
        let unknown = max(last.clampedSubtracting(time).clampedSubtracting(Self.withDrift(passed)), 0)
        if unknown <= Self.tolerance {
            insert(Point(time: last, age: -slack - unknown))
        } else {
            if points.last?.time ?? .min < time { insert(Point(time: time, age: passed - slack)) }
            insert(Point(time: last, age: 0, isMerged: true))
        }
    }

    /// Makes a point: all frames up to the reading before are older than their times say.
    ///
    /// - Parameter next: the time of the frame that is written now. If it equals the time of the reading before, no
    ///   point is made, because times can't distinguish these frames from the new one.
    private mutating func addPointThatIsOlder(passed: Int64, before next: Int64) {
        if next <= time || points.last?.time ?? .min >= time { return }
        insert(Point(time: time, age: passed.clampedSubtracting(slack)))
    }

    private mutating func insert(_ point: Point) {
        points.append(point)
        guard points.count > Self.pointCount else { return }
        // Removes the point whose frames lose the least part of their age if they count only as old as the next point.
        func weight(_ index: Int) -> Double { Double(max(points[index].age, 0)) + Double(Self.tolerance) }
        func loss(_ index: Int) -> Double { weight(index) / weight(index + 1) }
        let index = (0..<points.count - 1).min { loss($0) < loss($1) } ?? 0
        points.remove(at: index)
        points[index].isMerged = true
        if let count = gap?.pointCount, count > index { gap?.pointCount = count - 1 }
    }

    /// Removes the last point if differences of times are ages across it, too. That is so after a gap in which the
    /// clock was right.
    private mutating func dropNeedlessPoint() {
        guard let last = points.last, !last.isMerged else { return }
        let needed = time.clampedSubtracting(last.time).clampedSubtracting(last.age)
        guard needed >= -Self.tolerance, max(slack, needed) <= Self.tolerance else { return }
        slack = max(slack, needed)
        points.removeLast()
    }

    // MARK: Ages

    /// The greatest time t such that all frames with times up to t are known to have been written at least `age` before
    /// the reading.
    func time(ofAge age: Int64) -> Int64 {
        // Adds the most by which the drift of the clocks may make frames look older than they are.
        let age = max(age, 0).clampedAdding(max(age, 0) / (Self.driftShare / 2))
        var limit = time.clampedSubtracting(slack).clampedSubtracting(age)
        for point in points.reversed() {
            // If the clock was set forward, the limit may lie in a range of times that no frame has.
            if point.age >= age { return max(limit, point.time) }
            limit = point.isMerged ? .min : point.time.clampedSubtracting(age.clampedSubtracting(point.age))
        }
        return limit
    }
}

extension Int64 {
    /// The sum, or the nearest number that fits: clocks and files may give any number.
    func clampedAdding(_ other: Int64) -> Int64 {
        let (sum, overflowed) = addingReportingOverflow(other)
        return overflowed ? (other > 0 ? .max : .min) : sum
    }

    /// The difference, or the nearest number that fits.
    func clampedSubtracting(_ other: Int64) -> Int64 {
        let (difference, overflowed) = subtractingReportingOverflow(other)
        return overflowed ? (other > 0 ? .min : .max) : difference
    }
}

import FirnStorage
import Synchronization

/// How the system's clock was set while the log was written.
package enum ClockChange: Sendable, Equatable {
    /// The clock was set forwards, by so many nanoseconds.
    case forward(nanoseconds: Int64)
    /// The clock is so many nanoseconds behind the newest frame: it was ahead before, or was set back.
    case behind(nanoseconds: Int64)
}

/// A change of the clock that the tail's appender has noticed and that any thread may take. A newer change replaces it.
final class PendingClockChange: Sendable {
    /// A clock that is wrong by at least this many nanoseconds is reported.
    static let notable: Int64 = 60_000_000_000
    /// By how much the clock was set forwards, or by how much it is behind, as a negative number.
    private let change = Atomic<Int64>(0)
    /// Whether it was already noted that the clock is behind. It is noted again only after the clock has caught up.
    private let isBehind = Atomic<Bool>(false)

    @inline(__always)
    var isPending: Bool { change.load(ordering: .relaxed) != 0 }

    func take() -> ClockChange? {
        let change = change.exchange(0, ordering: .relaxed)
        if change == 0 { return nil }
        return change > 0 ? .forward(nanoseconds: change) : .behind(nanoseconds: -change)
    }

    /// Called by the tail's appender.
    ///
    /// - Parameters:
    ///   - time: the time of a frame that is written now.
    ///   - before: the record at the reading before.
    func note(_ now: ClockReading, _ time: Int64, since before: AgeRecord) {
        let behind = time.clampedSubtracting(now.wall)
        if behind >= Self.notable {
            if !isBehind.exchange(true, ordering: .relaxed) { change.store(-behind, ordering: .relaxed) }
            return
        }
        if behind < Self.notable / 2 { isBehind.store(false, ordering: .relaxed) }
        guard now.bootID == before.reading.bootID else { return }
        let passed = max(now.boot.clampedSubtracting(before.reading.boot), 0)
        let forward = time.clampedSubtracting(before.time).clampedSubtracting(passed)
        if forward >= Self.notable { change.store(forward, ordering: .relaxed) }
    }
}

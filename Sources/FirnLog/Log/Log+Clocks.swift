import FirnStorage

extension Log {
    /// The greatest time of a frame that is known to have been written at least `age` ago; nil if nothing is known. See
    /// `AgeRecord`.
    ///
    /// - Parameter last: the time of the newest version that this process has read.
    package func timeOfAge(_ age: Int64, at now: ClockReading, after last: Int64) -> Int64? {
        guard var record = page.ages else { return nil }
        _ = record.read(now, after: last)
        return record.time(ofAge: age)
    }

    /// Whether `takeClockChange` would return a change. One load.
    @inline(__always)
    package var hasClockChange: Bool { writer?.tail.clockChange.isPending ?? false }

    /// How the system's clock was set since the last call; nil if it was not, or not by much.
    package func takeClockChange() -> ClockChange? { writer?.tail.clockChange.take() }
}

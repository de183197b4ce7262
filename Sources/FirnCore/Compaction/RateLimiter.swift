import FirnStorage

/// Limits background work to a number of bytes per second, by a rest after each piece.
struct RateLimiter {
    let bytesPerSecond: Int
    private var next: Int64 = 0

    init(bytesPerSecond: Int) { self.bytesPerSecond = bytesPerSecond }

    /// Returns the time until which to rest after a piece of `byteCount` bytes, in nanoseconds of the monotonic clock.
    /// Nil if the work is not ahead of the rate.
    mutating func restEnd(after byteCount: Int) -> Int64? {
        let now = SystemClock.shared.monotonic()
        let share = Int64(min(Double(byteCount) / Double(bytesPerSecond) * 1e9, 1e15))
        next = max(next, now - share) + share
        return next > now ? next : nil
    }
}

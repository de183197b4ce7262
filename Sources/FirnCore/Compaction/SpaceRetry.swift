/// Decides when to retry a checkpoint that failed because the disk was full.
///
/// Each try writes what fits and removes it again, so tries that can't succeed must not follow each other with every
/// commit. The first retry comes after a second, and each later one after twice the delay before, up to five minutes. A
/// retry comes earlier if deletions have freed much of the missing space. It comes even if nobody commits any more.
struct SpaceRetry {
    private static let delays: (first: Int64, longest: Int64) = (1_000_000_000, 300_000_000_000)

    private var delay: Int64 = 0
    /// The time at which the next try comes at the latest.
    private(set) var notBefore: Int64 = .min
    /// The bytes that the last try needed, and how many of them were missing.
    private var needed = 0
    private var missing = 0

    var hasFailed: Bool { delay > 0 }

    /// Whether a checkpoint may be tried. `now` is a time of the monotonic clock in nanoseconds.
    func isDue(at now: Int64, needed: Int, space: Int) -> Bool {
        !hasFailed || now >= notBefore || needed - space < missing - self.needed / 4
    }

    mutating func noteFailure(at now: Int64, needed: Int, space: Int) {
        delay = delay == 0 ? Self.delays.first : min(delay * 2, Self.delays.longest)
        notBefore = now + delay
        self.needed = needed
        missing = needed - space
    }

    mutating func noteSuccess() { self = SpaceRetry() }
}

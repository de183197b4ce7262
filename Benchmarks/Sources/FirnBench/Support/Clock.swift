#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Nanoseconds of the monotonic clock. One call costs some 20–40 ns, see `clockOverhead()`.
@inline(__always)
func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}

/// Nanoseconds that `body` took.
@inline(__always)
func nanoseconds(_ body: () throws -> Void) rethrows -> Double {
    let start = now()
    try body()
    return Double(now() - start)
}

/// What an empty interval between two readings of the clock measures. It is subtracted if single calls of less than a
/// microsecond are timed one by one.
func clockOverhead() -> Double {
    var empty: [Double] = []
    for _ in 0..<2_001 { empty.append(nanoseconds {}) }
    return empty.percentile(0.5)
}

extension [Double] {
    /// The value below which the share `p` of all values lies. The array need not be sorted; it must not be empty.
    func percentile(_ p: Double) -> Double {
        let sorted = self.sorted()
        return sorted[Int((Double(sorted.count - 1) * p).rounded())]
    }

    var median: Double { percentile(0.5) }
}

import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The source of Firn's time, so that tests can set it.
public protocol Clock: AnyObject, Sendable {
    /// Nanoseconds since 1970 (UTC). May go back when the system's clock is set.
    func now() -> Int64

    /// Nanoseconds since some fixed moment; never goes back.
    func monotonic() -> Int64
}

extension Int64 {
    /// Converts milliseconds to nanoseconds, limited to 0 … 100 years, which is as good as for ever. So a sum with a
    /// clock's time does not overflow.
    package static func nanoseconds(milliseconds: Int) -> Int64 {
        Int64(Swift.min(Swift.max(milliseconds, 0), 100 * 366 * 86_400_000)) * 1_000_000
    }
}

extension Int {
    /// Converts seconds to milliseconds, limited to 0 … 100 years. Nil for NaN.
    package init?(milliseconds seconds: Double) {
        if seconds.isNaN { return nil }
        self = Int(Swift.min(Swift.max(seconds, 0), 100 * 366 * 86_400) * 1000)
    }
}

/// The operating system's clocks. A call costs about 25 ns.
public final class SystemClock: Clock {
    public static var shared: SystemClock { SharedObject.systemClock.get { SystemClock() } }

    public init() {}

    public func now() -> Int64 {
        Self.read(CLOCK_REALTIME)
    }

    public func monotonic() -> Int64 {
        Self.read(CLOCK_MONOTONIC)
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

/// A clock that moves only when a test moves it.
public final class ManualClock: Clock {
    // Atomic: tests move the clock while other threads read it.
    private let wall: Atomic<Int64>
    private let elapsed: Atomic<Int64>

    public init(now: Int64 = 1_700_000_000_000_000_000, monotonic: Int64 = 0) {
        wall = Atomic(now)
        elapsed = Atomic(monotonic)
    }

    public func now() -> Int64 {
        wall.load(ordering: .acquiring)
    }

    public func monotonic() -> Int64 {
        elapsed.load(ordering: .acquiring)
    }

    /// Lets `nanoseconds` pass on both clocks.
    public func advance(by nanoseconds: Int64) {
        precondition(nanoseconds >= 0, "time can't pass backwards; use set(now:) to set the wall clock back")
        wall.wrappingAdd(nanoseconds, ordering: .acquiringAndReleasing)
        elapsed.wrappingAdd(nanoseconds, ordering: .acquiringAndReleasing)
    }

    /// Sets the wall clock forwards or back, as a user may. The monotonic clock does not change.
    public func set(now: Int64) {
        wall.store(now, ordering: .releasing)
    }
}

import Synchronization

/// The source of Firn's time, so that tests can set it.
public protocol Clock: AnyObject, Sendable {
    /// Nanoseconds since 1970 (UTC). May go back when the system's clock is set.
    func now() -> Int64

    /// Nanoseconds since some fixed moment. Never goes back.
    func monotonic() -> Int64

    /// The times of all clocks of the system at this moment.
    func reading() -> ClockReading
}

/// The times of the system's clocks at one moment.
public struct ClockReading: Sendable, Equatable {
    /// Nanoseconds since 1970 (UTC), like `Clock.now()`. People and time servers can set this clock.
    public var wall: Int64
    /// Nanoseconds since the system was started. This clock can't be set, and it goes on while the system sleeps.
    public var boot: Int64
    /// Identifies the start of the system that `boot` counts from. Times of different starts can't be compared.
    public var bootID: UInt64

    public init(wall: Int64, boot: Int64, bootID: UInt64) {
        self.wall = wall
        self.boot = boot
        self.bootID = bootID
    }
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

/// A clock that moves only when a test moves it.
public final class ManualClock: Clock {
    // Atomic: tests move the clock while other threads read it.
    private let wall: Atomic<Int64>
    private let elapsed: Atomic<Int64>
    /// The nanoseconds for which the system slept. The monotonic clock leaves them out.
    private let slept = Atomic<Int64>(0)
    /// When the system was started, on the scale of `passed`.
    private let started = Atomic<Int64>(0)
    private let bootID = Atomic<UInt64>(1)

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

    public func reading() -> ClockReading {
        ClockReading(
            wall: now(), boot: passed &- started.load(ordering: .acquiring), bootID: bootID.load(ordering: .acquiring))
    }

    /// The nanoseconds that have really passed, sleep included, whatever was set on the clocks or restarted.
    public var passed: Int64 { monotonic() &+ slept.load(ordering: .acquiring) }

    /// Lets `nanoseconds` pass on all clocks.
    public func advance(by nanoseconds: Int64) {
        precondition(nanoseconds >= 0, "Firn: time can't pass backwards; use set(now:) to set the wall clock back")
        wall.wrappingAdd(nanoseconds, ordering: .acquiringAndReleasing)
        elapsed.wrappingAdd(nanoseconds, ordering: .acquiringAndReleasing)
    }

    /// Lets the system sleep for `nanoseconds`: its monotonic clock stands still meanwhile, and the others go on.
    public func sleep(for nanoseconds: Int64) {
        precondition(nanoseconds >= 0, "Firn: nobody sleeps backwards")
        wall.wrappingAdd(nanoseconds, ordering: .acquiringAndReleasing)
        slept.wrappingAdd(nanoseconds, ordering: .acquiringAndReleasing)
    }

    /// Restarts the system after it was off for `nanoseconds`. Its wall clock went on meanwhile.
    public func reboot(after nanoseconds: Int64 = 0) {
        sleep(for: nanoseconds)
        started.store(passed, ordering: .releasing)
        bootID.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }

    /// Sets the wall clock, forwards or back, as a user may. The other clocks do not change.
    public func set(now: Int64) {
        wall.store(now, ordering: .releasing)
    }

    /// Moves the wall clock by `nanoseconds`, forwards or back, as a user may. The other clocks do not change.
    public func jump(by nanoseconds: Int64) {
        wall.wrappingAdd(nanoseconds, ordering: .acquiringAndReleasing)
    }
}

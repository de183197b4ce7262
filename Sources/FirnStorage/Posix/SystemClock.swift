#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The operating system's clocks. Reading one costs about 25 ns.
public final class SystemClock: Clock {
    public static var shared: SystemClock { SharedObject.systemClock.get { SystemClock() } }

    private let bootID: UInt64

    public init() {
        // If the system has no name for its present start, a random number is used. Then no process relies on the boot
        // time of another one.
        bootID = Self.bootName().map(Self.number) ?? SystemRandomness.shared.next()
    }

    public func now() -> Int64 {
        Self.time(of: CLOCK_REALTIME)
    }

    public func monotonic() -> Int64 {
        Self.time(of: CLOCK_MONOTONIC)
    }

    public func reading() -> ClockReading {
        #if canImport(Darwin)
            // This is `mach_continuous_time`, in nanoseconds.
            let boot = Self.time(of: CLOCK_MONOTONIC_RAW)
        #else
            let boot = Self.time(of: CLOCK_BOOTTIME)
        #endif
        return ClockReading(wall: now(), boot: boot, bootID: bootID)
    }

    private static func time(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// The name that the system has given to its present start. Nil if there is none.
    private static func bootName() -> [UInt8]? {
        var name = [UInt8](repeating: 0, count: 64)
        #if canImport(Darwin)
            var count = name.count
            guard sysctlbyname("kern.bootsessionuuid", &name, &count, nil, 0) == 0 else { return nil }
        #else
            let file = systemOpen(AT_FDCWD, name: "/proc/sys/kernel/random/boot_id", flags: O_RDONLY)
            guard file >= 0 else { return nil }
            defer { systemClose(file) }
            let count = read(file, &name, name.count)
        #endif
        return count > 16 ? Array(name[..<count]) : nil
    }

    /// The FNV-1a hash of a name.
    private static func number(of name: [UInt8]) -> UInt64 {
        name.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

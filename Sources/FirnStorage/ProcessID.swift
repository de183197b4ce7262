#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The number of this process. It is shown in messages, and a number other than 0 on the shared page marks an
/// unfinished writer. Processes exclude each other by the kernel's locks, not by this number.
public func currentProcessID() -> Int32 { getpid() }

#if DEBUG
    /// Whether the process was started with an environment variable.
    package func hasEnvironmentVariable(_ name: String) -> Bool { getenv(name) != nil }
#endif

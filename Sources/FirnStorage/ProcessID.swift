#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The number of this process, for messages to people only. Processes exclude each other by the kernel's locks, not
/// by it.
public func currentProcessID() -> Int32 { getpid() }

#if DEBUG
    /// Whether the process was started with an environment variable.
    package func hasEnvironmentVariable(_ name: String) -> Bool { getenv(name) != nil }
#endif

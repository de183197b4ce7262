#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The number of this process, for messages that name it to people; what excludes processes is the kernel's locks.
public func currentProcessID() -> Int32 { getpid() }

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Calls `body` when the process ends by returning from `main` or by `exit`: on the thread that ends it, while others may still run. Not when it is killed, nor at
/// `_exit`. A forked child inherits the call. False if the system keeps no more of them.
public func atProcessExit(_ body: @escaping @convention(c) () -> Void) -> Bool { atexit(body) == 0 }

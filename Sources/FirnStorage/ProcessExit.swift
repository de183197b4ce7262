#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Calls `body` when the process ends by returning from `main` or by `exit`. False if the system accepts no more such
/// calls.
///
/// The call is made on the thread that ends the process, while other threads may still run. It is not made when the
/// process is killed, nor at `_exit`. A forked child inherits it.
public func atProcessExit(_ body: @escaping @convention(c) () -> Void) -> Bool { atexit(body) == 0 }

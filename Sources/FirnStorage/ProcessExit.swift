#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Registers `body` to be called when the process ends by returning from `main` or by `exit`. False if the system
/// accepts no more such calls.
///
/// `body` is called on the thread that ends the process, while other threads may still run. It is not called if the
/// process is killed or ends by `_exit`. A forked child inherits the registration.
public func atProcessExit(_ body: @escaping @convention(c) () -> Void) -> Bool { atexit(body) == 0 }

import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Runs `body` in a forked child, whose exit code is the result of `body`. Returns the child's number.
///
/// Swift hides fork(2), for a good reason: such a child may only do what needs no other thread.
public func forked(_ body: () -> Int32) -> Int32 {
    typealias Fork = @convention(c) () -> pid_t
    let call = unsafeBitCast(dlsym(dlopen(nil, RTLD_NOW), "fork"), to: Fork.self)
    let child = call()
    precondition(child >= 0, "no process could be forked (errno \(errno))")
    if child == 0 { _exit(body()) }
    return child
}

/// How a process ended.
public enum ProcessEnd: Equatable, Sendable {
    case exited(Int32)
    case killed
    /// It did not end in time, so it was killed.
    case hung
}

/// Waits until a child ends, and kills it after `seconds`.
public func end(of child: Int32, within seconds: Int = TestTimeout.seconds) -> ProcessEnd {
    var status: Int32 = 0
    let deadline = TestTimeout.deadline(seconds)
    while true {
        let result = waitpid(child, &status, WNOHANG)
        if result == child || result < 0 && errno != EINTR { break }
        if SystemClock.shared.monotonic() > deadline {
            kill(child, SIGKILL)
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            return .hung
        }
        usleep(500)
    }
    return status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .killed
}

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Runs `body` in a forked child, which ends with the code it returns; gives the child's number. Swift hides fork(2), for good reason: only what needs no other
/// thread may be done in such a child.
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
}

/// Waits for the end of a child.
public func end(of child: Int32) -> ProcessEnd {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .killed
}

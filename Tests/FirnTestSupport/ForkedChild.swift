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

/// Runs `body` in a forked child, and returns how the child ended and what it wrote to its standard error. A child
/// whose body returns ends with the code 0.
public func outcome(inChild body: () throws -> Void) -> (end: ProcessEnd, text: String) {
    let folder = TemporaryFolder()
    let path = folder.path + "/error"
    let child = forked {
        // The child ends at once: its parent's handlers may describe the crash for seconds.
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS] { signal(number, SIG_DFL) }
        let file = open(path, O_CREAT | O_WRONLY, 0o600)
        guard file >= 0, dup2(file, 2) == 2 else { return 99 }
        do { try body() } catch { return 98 }
        return 0
    }
    let end = end(of: child)
    let file = try? PosixStorage.shared.open(path, .read)
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = bytes.withUnsafeMutableBytes { (try? file?.read(into: $0, at: 0)) ?? 0 }
    return (end, String(decoding: bytes[..<count], as: UTF8.self))
}

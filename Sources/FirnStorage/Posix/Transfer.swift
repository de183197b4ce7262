#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Whole transfers made of the system's, which may be interrupted by a signal or move only a part. Apart from `PosixFile`, so that tests can put another system in its place;
/// inlined there, so that this costs nothing.
enum Transfer {
    /// Apple's systems refuse more than 2 GiB in one call, and Linux cuts it short.
    static let longest = 1 << 30

    enum Failure: Error { case system, noProgress }

    /// Reads `count` bytes, or up to the end of the file, and returns how many there were.
    ///
    /// - Parameter part: `pread` behind the first `done` bytes, for `length` bytes at most.
    @inline(__always)
    static func read(
        count: Int, _ part: (_ done: Int, _ length: Int) -> Int
    ) throws(Failure) -> Int {
        var done = 0
        while done < count {
            let length = part(done, min(count - done, longest))
            if length == 0 { break }
            if length > 0 {
                done += length
            } else if errno != EINTR {
                throw .system
            }
        }
        return done
    }

    /// Writes `count` bytes.
    ///
    /// - Parameter part: as for `read`, `pwrite`.
    @inline(__always)
    static func write(count: Int, _ part: (_ done: Int, _ length: Int) -> Int) throws(Failure) {
        var done = 0
        while done < count {
            let length = part(done, min(count - done, longest))
            if length > 0 {
                done += length
            } else if length == 0 {
                // The system promises progress or an error. Neither would spin here for ever.
                throw .noProgress
            } else if errno != EINTR {
                throw .system
            }
        }
    }
}

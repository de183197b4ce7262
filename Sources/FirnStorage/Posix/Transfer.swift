#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Makes complete transfers out of system calls. A signal may interrupt such a call, and it may transfer only a part of
/// the bytes.
///
/// It is separate from `PosixFile`, so that tests can replace the system, and inlined there, so that the separation
/// costs nothing.
enum Transfer {
    /// The most bytes per call. Apple's systems refuse more than 2 GiB in one call, and Linux transfers only a part.
    static let longest = 1 << 30

    /// Reads `count` bytes, or up to the end of the file, and returns how many bytes it read.
    ///
    /// - Parameters:
    ///   - path: the file, which errors name.
    ///   - part: calls `pread` after the first `done` bytes, for at most `length` bytes.
    @inline(__always)
    static func read(
        count: Int, path: String, _ part: (_ done: Int, _ length: Int) -> Int
    ) throws(StorageError) -> Int {
        var done = 0
        while done < count {
            let length = part(done, min(count - done, longest))
            if length == 0 { break }
            if length > 0 {
                done += length
            } else if errno != EINTR {
                throw .last("read", path)
            }
        }
        return done
    }

    /// Writes `count` bytes.
    ///
    /// - Parameters:
    ///   - path: the file, which errors name.
    ///   - part: calls `pwrite` after the first `done` bytes, for at most `length` bytes.
    @inline(__always)
    static func write(
        count: Int, path: String, _ part: (_ done: Int, _ length: Int) -> Int
    ) throws(StorageError) {
        var done = 0
        while done < count {
            let length = part(done, min(count - done, longest))
            if length > 0 {
                done += length
            } else if length == 0 {
                // The system promises progress or an error. Without either, this loop would never end.
                throw StorageError(.io, operation: "write", path: path)
            } else if errno != EINTR {
                throw .last("write", path)
            }
        }
    }
}

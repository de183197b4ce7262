#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The least that any durable commit can cost on this disk: a write of one frame behind the last one, into a file
/// whose blocks are allocated and hold zeros, and a sync of its data. Nothing is encoded, checked or kept.
///
/// For one thread.
final class RawFloor {
    private let file: Int32
    private let capacity: Int
    private let path: String
    private var end = 0
    private var frame: [UInt8]

    init(path: String, frameBytes: Int, capacity: Int) throws {
        self.path = path
        self.capacity = max(capacity, frameBytes)
        file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw BenchError("can't make \(path): error \(errno)") }
        var random = SplitMix64(seed: UInt64(frameBytes))
        frame = (0..<frameBytes).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        for offset in stride(from: 0, to: self.capacity, by: zeros.count) {
            let count = min(zeros.count, self.capacity - offset)
            guard pwrite(file, zeros, count, off_t(offset)) == count else {
                throw BenchError("can't fill \(path): error \(errno)")
            }
        }
        try sync()
    }

    deinit {
        close(file)
        unlink(path)
    }

    func commit() throws {
        try append()
        try sync()
    }

    /// The write without a sync.
    func append() throws {
        if end + frame.count > capacity { end = 0 }
        frame[0] &+= 1
        guard pwrite(file, frame, frame.count, off_t(end)) == frame.count else {
            throw BenchError("can't write to \(path): error \(errno)")
        }
        end += frame.count
    }

    private func sync() throws {
        #if canImport(Darwin)
            let result = fcntl(file, F_FULLFSYNC)
        #else
            let result = fdatasync(file)
        #endif
        guard result == 0 else { throw BenchError("can't sync \(path): error \(errno)") }
    }
}

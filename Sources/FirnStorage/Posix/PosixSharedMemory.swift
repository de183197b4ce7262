import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file's first bytes, mapped for writing and shared with every process that has them mapped.
final class PosixSharedMemory: SharedMemory, @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    private let path: String

    init(path: String, byteCount: Int) throws(StorageError) {
        self.path = path
        let operation = "map of shared memory"
        guard byteCount > 0 else {
            throw StorageError(
                .input("a mapping of \(byteCount) bytes is impossible"), operation: operation, path: path)
        }
        let descriptor = systemOpen(path, O_RDWR | O_CREAT | O_NONBLOCK, 0o644)
        guard descriptor >= 0 else { throw .last(operation, path) }
        defer { systemClose(descriptor) }
        // Blocks and not only a length: touching a page for which a full disk has no block stops the process.
        let error = firn_reserve(descriptor, off_t(byteCount))
        guard error == 0 else { throw StorageError(number: error, operation: operation, path: path) }
        guard let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), base != MAP_FAILED
        else { throw .last(operation, path) }
        bytes = UnsafeMutableRawBufferPointer(start: base, count: byteCount)
    }

    func willBeTouchedAtRandom() { madvise(bytes.baseAddress, bytes.count, MADV_RANDOM) }
    func giveBack(_ ranges: [Range<Int>]) throws(StorageError) {
        guard let base = bytes.baseAddress, let first = ranges.first, let last = ranges.last else { return }
        // Each call waits for the disk, so there is one for all.
        let error = firn_write_back(base + first.lowerBound, last.upperBound - first.lowerBound)
        guard error == 0 else { throw StorageError(number: error, operation: "write-out of shared memory", path: path) }
        for range in ranges { firn_give_back(base + range.lowerBound, range.count) }
    }

    deinit {
        munmap(bytes.baseAddress!, bytes.count)
    }
}

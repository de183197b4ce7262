import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file's first bytes, mapped and shared with every process that has them mapped.
final class PosixSharedMemory: SharedMemory, @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    let isWritable: Bool
    private let path: String

    init(path: String, byteCount: Int, _ opening: SharedOpening) throws(StorageError) {
        self.path = path
        let operation = "map of shared memory"
        guard byteCount > 0 else {
            throw StorageError(
                .input("a mapping of \(byteCount) bytes is impossible"), operation: operation, path: path)
        }
        let descriptor = openShared(opening) { flags, mode in
            let result = systemOpen(path, flags, mode)
            return result < 0 ? -errno : result
        }
        guard descriptor >= 0 else { throw StorageError(number: -descriptor, operation: operation, path: path) }
        defer { systemClose(descriptor) }
        var status = stat()
        guard retrying({ fstat(descriptor, &status) }) == 0 else { throw .last(operation, path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.input("it is not a regular file"), operation: operation, path: path)
        }
        var isWritable = fcntl(descriptor, F_GETFL) & O_ACCMODE == O_RDWR
        switch opening {
        case .create:
            // Blocks and not only a length: touching a page for which a full disk has no block stops the process.
            let error = firn_reserve(descriptor, off_t(byteCount))
            guard error == 0 else { throw StorageError(number: error, operation: operation, path: path) }
        case .existing:
            guard status.st_size >= off_t(byteCount) else {
                throw StorageError(.notFound, operation: operation, path: path, number: ENOENT)
            }
            // As above, but nothing need be written.
            if isWritable, firn_reserve(descriptor, off_t(byteCount)) != 0 { isWritable = false }
        }
        let protection = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
        guard let base = mmap(nil, byteCount, protection, MAP_SHARED, descriptor, 0), base != MAP_FAILED
        else { throw .last(operation, path) }
        self.isWritable = isWritable
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

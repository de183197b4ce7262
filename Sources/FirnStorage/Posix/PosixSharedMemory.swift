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

    init(path: String, byteCount: Int) throws(StorageError) {
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

    deinit {
        munmap(bytes.baseAddress!, bytes.count)
    }
}

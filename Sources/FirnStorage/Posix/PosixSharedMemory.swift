import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A mapping of a file's first bytes, shared with every process that has them mapped.
final class PosixSharedMemory: SharedMemory, @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    let isWritable: Bool
    let identity: FileIdentity?
    private let path: String
    private let mark = ForkMark()
    /// Whether a forked child has the mapping too.
    private let isInherited: Bool

    /// - Parameter names: the folder in which `name` is looked up.
    init(names: PosixNames, _ name: String, byteCount: Int, _ opening: SharedOpening) throws(StorageError) {
        let path = names.path(of: name)
        self.path = path
        isInherited = true
        let operation = "map of shared memory"
        guard byteCount > 0 else {
            throw StorageError(
                .input("a mapping of \(byteCount) bytes is impossible"), operation: operation, path: path)
        }
        let descriptor = openShared(opening) { flags, mode in
            let result = systemOpen(names.descriptor, name: name, flags: flags, mode: mode)
            return result < 0 ? -errno : result
        }
        guard descriptor >= 0 else { throw StorageError(number: -descriptor, operation: operation, path: path) }
        defer { systemClose(descriptor) }
        var status = stat()
        guard retrying({ fstat(descriptor, &status) }) == 0 else { throw .last(operation, path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.input("it is not a regular file"), operation: operation, path: path)
        }
        identity = FileIdentity(status)
        var isWritable = fcntl(descriptor, F_GETFL) & O_ACCMODE == O_RDWR
        switch opening {
        case .create:
            // The file needs blocks and not only a length. If a full disk has no block for a page, access to that page
            // stops the process.
            try Self.reserve(descriptor, byteCount: byteCount, operation: operation, path: path)
        case .existing, .writable:
            guard status.st_size >= off_t(byteCount) else {
                throw StorageError(.notFound, operation: operation, path: path, number: ENOENT)
            }
            if case .writable = opening {
                try Self.reserve(descriptor, byteCount: byteCount, operation: operation, path: path)
            }
            // An existing file for which no blocks can be reserved is mapped for reading only.
            if isWritable, firn_reserve(descriptor, off_t(byteCount)) != 0 { isWritable = false }
        }
        let protection = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
        guard let base = mmap(nil, byteCount, protection, MAP_SHARED, descriptor, 0), base != MAP_FAILED
        else { throw .last(operation, path) }
        self.isWritable = isWritable
        bytes = UnsafeMutableRawBufferPointer(start: base, count: byteCount)
    }

    /// Allocates a file's blocks; see `fileLengthLimit`.
    private static func reserve(
        _ descriptor: Int32, byteCount: Int, operation: String, path: String
    ) throws(StorageError) {
        let error = byteCount > fileLengthLimit() ? EFBIG : firn_reserve(descriptor, off_t(byteCount))
        guard error == 0 else { throw StorageError(number: error, operation: operation, path: path) }
    }

    /// Makes scratch memory for `StorageFolder.scratchMemory`.
    init(
        scratchIn folder: PosixFolder, byteCount: Int, allowsNameless: Bool = true,
        random: any Randomness = SystemRandomness.shared
    ) throws(StorageError) {
        path = folder.path
        identity = nil
        isInherited = false
        isWritable = true
        let operation = "map of scratch memory"
        guard byteCount > 0 else {
            throw StorageError(
                .input("a mapping of \(byteCount) bytes is impossible"), operation: operation, path: folder.path)
        }
        var descriptor = allowsNameless ? firn_open_nameless(folder.descriptor) : -ENOTSUP
        if descriptor == -ENOTSUP { descriptor = try Self.makeAndUnname(in: folder, random, operation) }
        guard descriptor >= 0 else { throw StorageError(number: -descriptor, operation: operation, path: folder.path) }
        defer { systemClose(descriptor) }
        bytes = try Self.map(descriptor, byteCount: byteCount, operation: operation, path: folder.path)
        if let base = bytes.baseAddress { firn_exclude_from_fork(base, byteCount) }
    }

    /// Makes a file under a random name that nobody else uses, and removes the name before the file is used.
    private static func makeAndUnname(
        in folder: PosixFolder, _ random: any Randomness, _ operation: String
    ) throws(StorageError) -> Int32 {
        while true {
            let name = ScratchName.next(random)
            let path = folder.path(of: name)
            let descriptor = systemOpen(
                folder.descriptor, name: name, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
            if descriptor < 0, errno == EEXIST { continue }
            guard descriptor >= 0 else { throw .last(operation, path) }
            guard systemRemove(folder.descriptor, name) == 0 || errno == ENOENT else {
                let error = StorageError.last(operation, path)
                systemClose(descriptor)
                throw error
            }
            return descriptor
        }
    }

    private static func map(
        _ descriptor: Int32, byteCount: Int, operation: String, path: String
    ) throws(StorageError) -> UnsafeMutableRawBufferPointer {
        // The file needs blocks and not only a length. If a full disk has no block for a page, access to that page
        // stops the process.
        try reserve(descriptor, byteCount: byteCount, operation: operation, path: path)
        guard let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), base != MAP_FAILED
        else { throw .last(operation, path) }
        return UnsafeMutableRawBufferPointer(start: base, count: byteCount)
    }

    func adviseRandomAccess() { madvise(bytes.baseAddress, bytes.count, MADV_RANDOM) }
    func evict(_ ranges: [Range<Int>]) throws(StorageError) {
        guard let base = bytes.baseAddress, let first = ranges.first, let last = ranges.last else { return }
        // Each write-out waits for the disk, so all ranges share one.
        let error = firn_write_back(base + first.lowerBound, last.upperBound - first.lowerBound)
        guard error == 0 else { throw StorageError(number: error, operation: "write-out of shared memory", path: path) }
        for range in ranges { firn_page_out(base + range.lowerBound, range.count) }
    }

    deinit {
        // A forked child that has not inherited the mapping may have other memory at its addresses.
        if isInherited || !mark.isForked { munmap(bytes.baseAddress!, bytes.count) }
    }
}

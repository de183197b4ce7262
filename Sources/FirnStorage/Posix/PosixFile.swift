import CFirn
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An open file of the operating system. Its calls allocate nothing unless they fail.
final class PosixFile: StorageFile {
    var path: String { names.path(of: name) }
    private let names: PosixNames
    private let name: String
    private let descriptor: Int32
    private let identity: FileIdentity
    let kind: FileStatus.Kind
    private let isWritable: Bool

    // The length up to which this file may be written without calling `fileLengthLimit` again. It is the length that
    // was last checked, or the file's length after a truncation below that. Atomic, because any thread may write.
    private let allowed = Atomic<Int>(0)

    // Twice the number of calls that are in the system now, plus 1 once `close` has been called. The last thread to
    // leave closes the descriptor, so that no call ever uses a number that belongs to another file by now. Atomic,
    // because it decides which thread that is.
    private let use = Atomic<Int>(0)

    /// Takes over a descriptor. If this throws, the descriptor is closed.
    ///
    /// - Parameter names: the folder in which `name` was looked up.
    init(
        opened descriptor: Int32, names: PosixNames, name: String, isWritable: Bool, _ operation: String
    ) throws(StorageError) {
        var status = stat()
        guard retrying({ fstat(descriptor, &status) }) == 0 else {
            let error = StorageError.last(operation, names.path(of: name))
            systemClose(descriptor)
            throw error
        }
        identity = FileIdentity(status)
        kind = FileStatus.Kind(mode: status.st_mode)
        self.descriptor = descriptor
        self.names = names
        self.name = name
        self.isWritable = isWritable
    }

    deinit {
        if use.load(ordering: .acquiring) & 1 == 0 { systemClose(descriptor) }
    }

    func close() {
        let before = use.bitwiseOr(1, ordering: .acquiringAndReleasing).oldValue
        if before == 0 { systemClose(descriptor) }
    }

    /// Counts a call that will use the descriptor. False if the file has been closed.
    @inline(__always)
    private func enter() -> Bool {
        var seen = use.load(ordering: .relaxed)
        while seen & 1 == 0 {
            let result = use.weakCompareExchange(expected: seen, desired: seen + 2, ordering: .acquiringAndReleasing)
            if result.exchanged { return true }
            seen = result.original
        }
        return false
    }

    @inline(__always)
    private func begin(_ operation: StaticString) throws(StorageError) {
        if !enter() { throw StorageError(.closed, operation: operation.description, path: path) }
    }

    @inline(__always)
    private func end() {
        if use.wrappingSubtract(2, ordering: .acquiringAndReleasing).newValue == 1 { systemClose(descriptor) }
    }

    func size() throws(StorageError) -> Int {
        Int(try status("size").st_size)
    }

    private func status(_ operation: StaticString) throws(StorageError) -> stat {
        try begin(operation)
        defer { end() }
        var status = stat()
        guard retrying({ fstat(descriptor, &status) }) == 0 else { throw .last(operation.description, path) }
        return status
    }

    func isNamed() throws(StorageError) -> Bool {
        // The file must be open, because its inode number could otherwise belong to another file by now.
        try begin("status")
        defer { end() }
        return try names.gives(identity, name)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StorageError) -> Int {
        try begin("read")
        defer { end() }
        try FileRange.check(offset: offset, "read", path)
        guard let target = buffer.baseAddress else { return 0 }
        return try Transfer.read(count: buffer.count, path: path) { done, length in
            pread(descriptor, target + done, length, off_t(offset + done))
        }
    }

    /// Throws if the file must not become that long; see `fileLengthLimit`.
    @inline(__always)
    private func checkLimit(_ byteCount: Int, _ operation: StaticString) throws(StorageError) {
        if byteCount > allowed.load(ordering: .relaxed) { try askForLimit(byteCount, operation) }
    }

    private func askForLimit(_ byteCount: Int, _ operation: StaticString) throws(StorageError) {
        guard byteCount <= fileLengthLimit() else {
            throw StorageError(number: EFBIG, operation: operation.description, path: path)
        }
        allowed.store(byteCount, ordering: .relaxed)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StorageError) {
        try begin("write")
        defer { end() }
        try FileRange.check(length: offset, adding: bytes.count, "write", path)
        if !isWritable { throw StorageError(.notWritable, operation: "write", path: path) }
        try checkLimit(offset + bytes.count, "write")
        guard let source = bytes.baseAddress else { return }
        try Transfer.write(count: bytes.count, path: path) { done, length in
            pwrite(descriptor, source + done, length, off_t(offset + done))
        }
    }

    func sync() throws(StorageError) {
        try begin("sync")
        defer { end() }
        guard systemSync(descriptor) == 0 else { throw .last("sync", path) }
    }

    func startWriteback(_ range: Range<Int>) {
        guard range.lowerBound >= 0, !range.isEmpty, enter() else { return }
        defer { end() }
        firn_start_writeback(descriptor, off_t(range.lowerBound), off_t(range.count))
    }

    func truncate(to byteCount: Int) throws(StorageError) {
        try begin("truncate")
        defer { end() }
        try FileRange.check(length: byteCount, "truncate", path)
        if !isWritable { throw StorageError(.notWritable, operation: "truncate", path: path) }
        if byteCount > allowed.load(ordering: .relaxed) {
            if try size() < byteCount { try askForLimit(byteCount, "truncate") }
        } else {
            allowed.store(byteCount, ordering: .relaxed)
        }
        guard retrying({ ftruncate(descriptor, off_t(byteCount)) }) == 0 else { throw .last("truncate", path) }
    }

    func deallocate(_ range: Range<Int>) throws(StorageError) -> Bool {
        try FileRange.check(deallocating: range, size: Int(try status("deallocate").st_size), path)
        try begin("deallocate")
        defer { end() }
        if !isWritable { throw StorageError(.notWritable, operation: "deallocate", path: path) }
        if range.isEmpty { return true }
        let error = firn_deallocate_range(descriptor, off_t(range.lowerBound), off_t(range.count))
        if error == ENOTSUP { return false }
        if error != 0 { throw StorageError(number: error, operation: "deallocate", path: path) }
        return true
    }

    func map(_ range: Range<Int>) throws(StorageError) -> any MappedRegion {
        try FileRange.check(mapping: range, size: Int(try status("map").st_size), path)
        try begin("map")
        defer { end() }
        guard let base = mmap(nil, range.count, PROT_READ, MAP_SHARED, descriptor, off_t(range.lowerBound)),
            base != MAP_FAILED
        else { throw .last("map", path) }
        return PosixRegion(UnsafeRawBufferPointer(start: base, count: range.count))
    }

    func mapPrivately(byteCount: Int, at address: UnsafeMutableRawPointer) throws(StorageError) -> Bool {
        try FileRange.check(mapping: 0..<byteCount, size: Int(try status("map").st_size), path)
        try begin("map")
        defer { end() }
        let error = firn_map_private(descriptor, 0, address, byteCount)
        if error != 0 { throw StorageError(number: error, operation: "map", path: path) }
        return true
    }
}

/// A read-only mapping. If another process truncates the file, an access beyond the new end stops the process (SIGBUS).
final class PosixRegion: MappedRegion, @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    deinit {
        munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress!), bytes.count)
    }
}

/// How a file is opened.
public enum OpenMode: Sendable, Equatable {
    /// For reading; `.notFound` if it is absent.
    case read
    /// For reading and writing; `.notFound` if it is absent.
    case readWrite
    /// For reading and writing; created empty. `.exists` if something has the name.
    case create
}

/// An open file. It is closed when the last reference goes, or by `close`.
public protocol StorageFile: AnyObject, Sendable {
    /// The path under which it was opened, for messages. The file may have been moved since.
    var path: String { get }

    /// Whether the name under which it was opened still gives this file, in the folder in which that name was looked
    /// up.
    func isNamed() throws(StorageError) -> Bool

    /// The length in bytes.
    func size() throws(StorageError) -> Int

    /// Reads into `buffer` from `offset` until it is full or the file ends, and returns how many bytes were read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StorageError) -> Int

    /// Writes all of `bytes` at `offset` and makes the file longer if needed. If it throws, any part may have been
    /// written.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StorageError)

    /// Makes data and length durable (`fdatasync`; `F_FULLFSYNC` on Apple's systems). If it throws, what was written
    /// since the last successful sync may be lost, although reads show it.
    func sync() throws(StorageError)

    /// Asks the system to begin writing a range out, without waiting. This is a hint: it never fails and promises
    /// nothing.
    func startWriteback(_ range: Range<Int>)

    /// Sets the length.
    func truncate(to byteCount: Int) throws(StorageError)

    /// Punches a hole: releases the blocks of a range, whose ends are multiples of 4 KiB within the file.
    ///
    /// The range then reads as zeros, in mappings too, and the length does not change. Returns false, with nothing
    /// changed, if this file system can't do it. The hole is not durable before the next `sync`: until then a power
    /// cut may bring the bytes back.
    func deallocate(_ range: Range<Int>) throws(StorageError) -> Bool

    /// Maps a range for reading. It begins at a multiple of 64 KiB and ends within the file.
    ///
    /// The mapping outlives the file object and shows later writes.
    func map(_ range: Range<Int>) throws(StorageError) -> any MappedRegion

    /// Maps the first `byteCount` bytes (not beyond the end) to an address within a `ReservedMemory`.
    ///
    /// Changes there never reach the file. Returns false if this kind of file can't be mapped to an address that the
    /// caller chooses.
    func mapPrivately(byteCount: Int, at address: UnsafeMutableRawPointer) throws(StorageError) -> Bool

    /// Closes the descriptor. A second call does nothing; any other call then throws `.closed`.
    func close()
}

extension StorageFile {
    public func mapPrivately(byteCount: Int, at address: UnsafeMutableRawPointer) throws(StorageError) -> Bool { false }

    /// Up to `byteCount` bytes from `offset` on: as many as the file has.
    package func read(_ byteCount: Int, at offset: Int) throws(StorageError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let count = try bytes.withUnsafeMutableBufferPointer { (bytes) throws(StorageError) in
            try read(into: UnsafeMutableRawBufferPointer(bytes), at: offset)
        }
        bytes.removeLast(byteCount - count)
        return bytes
    }

    /// Writes an array of bytes at `offset`.
    package func write(_ bytes: [UInt8], at offset: Int) throws(StorageError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(StorageError) in
            try write(UnsafeRawBufferPointer(bytes), at: offset)
        }
    }
}

/// A read-only mapping, which is unmapped when the last reference goes.
///
/// Code that uses `bytes` must keep the region alive for that long (`withExtendedLifetime`), because the compiler may
/// release it right after its last use.
public protocol MappedRegion: AnyObject, Sendable {
    var bytes: UnsafeRawBufferPointer { get }
}

/// Memory shared with all processes that have the same file mapped. It is unmapped when the last reference goes (see
/// `MappedRegion`).
public protocol SharedMemory: AnyObject, Sendable {
    var bytes: UnsafeMutableRawBufferPointer { get }

    /// False if the file may only be read. Writing to the bytes would then stop the process.
    var isWritable: Bool { get }

    /// What tells the mapped file from all others on this machine; nil if it has no name.
    var identity: FileIdentity? { get }

    /// Tells the system that the bytes will be accessed in random order, so that it reads nothing but what is
    /// accessed. A hint.
    func adviseRandomAccess()

    /// Writes ranges out to the file and lets the system reclaim their memory. The ranges ascend and are whole blocks
    /// of 4 KiB.
    ///
    /// Whatever else was changed between the first range and the last is written out too. The bytes keep their
    /// addresses: an access waits until they are read from the file. Other threads may read and write them meanwhile.
    ///
    /// It does nothing if the memory has no file. It blocks. If it throws, the bytes are still in memory.
    func evict(_ ranges: [Range<Int>]) throws(StorageError)
}

extension SharedMemory {
    public var isWritable: Bool { true }
    public var identity: FileIdentity? { nil }
    public func adviseRandomAccess() {}
    public func evict(_ ranges: [Range<Int>]) throws(StorageError) {}
}

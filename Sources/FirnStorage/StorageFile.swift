/// How a file is opened.
public enum OpenMode: Sendable, Equatable {
    /// For reading. Throws `.notFound` if the file is absent.
    case read
    /// For reading and writing. Throws `.notFound` if the file is absent.
    case readWrite
    /// For reading and writing. The file is created empty. Throws `.exists` if something has the name.
    case create
}

/// An open file. It is closed by `close`, or when the last reference to it is released.
public protocol StorageFile: AnyObject, Sendable {
    /// The path under which the file was opened, for messages. The file may have been moved since.
    var path: String { get }

    /// Whether the name under which the file was opened still leads to this file, in the folder where the name was
    /// looked up.
    func isNamed() throws(StorageError) -> Bool

    /// The length in bytes.
    func size() throws(StorageError) -> Int

    /// Reads into `buffer` from `offset` until it is full or the file ends, and returns how many bytes were read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StorageError) -> Int

    /// Writes all of `bytes` at `offset` and makes the file longer if needed. If it throws, any part may have been
    /// written.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StorageError)

    /// Makes data and length durable (`fdatasync`; `F_FULLFSYNC` on Apple's systems). If it throws, everything written
    /// since the last successful sync may be lost, although reads still return it.
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

    /// Maps a range for reading. The range begins at a multiple of 64 KiB and ends within the file.
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

    /// Reads up to `byteCount` bytes from `offset` on: fewer if the file ends before.
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

/// A read-only mapping, which is unmapped when the last reference to it is released.
///
/// Code that uses `bytes` must keep the region alive meanwhile (`withExtendedLifetime`), because the compiler may
/// release the region right after its last use.
public protocol MappedRegion: AnyObject, Sendable {
    var bytes: UnsafeRawBufferPointer { get }
}

/// Memory shared with all processes that have the same file mapped. It is unmapped when the last reference to it is
/// released, so keep it alive like a `MappedRegion`.
public protocol SharedMemory: AnyObject, Sendable {
    var bytes: UnsafeMutableRawBufferPointer { get }

    /// False if the file may only be read. Writing to the bytes would then stop the process.
    var isWritable: Bool { get }

    /// Distinguishes the mapped file from all others on this machine. Nil if the file has no name.
    var identity: FileIdentity? { get }

    /// Hints to the system that the bytes will be accessed in random order, so that it reads nothing ahead.
    func adviseRandomAccess()

    /// Writes ranges out to the file and lets the system reclaim their memory. The ranges are in ascending order and
    /// consist of whole blocks of 4 KiB.
    ///
    /// All other changes between the first range and the last are written out too. The bytes keep their addresses: an
    /// access waits until they are read from the file. Other threads may read and write them meanwhile.
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

/// Everything that Firn needs of the machine's files, as one protocol.
///
/// It has three implementations: `PosixStorage` (the operating system), `MemoryStorage` (nothing outlives the
/// process) and the tests' `SimulatedStorage` (power cuts, torn writes, full disks).
///
/// Paths are absolute or relative to the process's working folder, with `/` between components. Every call may be
/// made from any thread. A call that throws has changed nothing unless its comment says otherwise.
public protocol Storage: AnyObject, Sendable {
    /// Opens the file at `path`, unless its last component is a link. The descriptor is close-on-exec.
    ///
    /// - Parameter permissions: the mode of the file if it is created.
    func open(_ path: String, _ mode: OpenMode, permissions: FileMode) throws(StorageError) -> any StorageFile

    /// Creates one folder, whose parent exists. Throws `.exists` if something has the name.
    ///
    /// - Parameter permissions: the mode of its files; see `FileMode.folderBits`.
    func createFolder(_ path: String, permissions: FileMode) throws(StorageError)

    /// The names in a folder, unsorted, without `.` and `..`.
    func list(_ path: String) throws(StorageError) -> [String]

    /// What has the name, or nil if nothing does.
    func status(_ path: String) throws(StorageError) -> FileStatus?

    /// Renames a file or a folder within one file system and replaces what has the new name, in one step. A folder
    /// replaces an empty one only. Durable once the folder is synced.
    func rename(_ path: String, to newPath: String) throws(StorageError)

    /// Removes a file or an empty folder. Durable once the folder is synced.
    func remove(_ path: String) throws(StorageError)

    /// Makes creations, renames and removals in the folder durable.
    func syncFolder(_ path: String) throws(StorageError)

    /// Opens a lock file, which must not be a link. It holds no lock yet. A file opened for reading takes shared
    /// locks only.
    func lockFile(_ path: String, _ opening: SharedOpening) throws(StorageError) -> any StorageLock

    /// Maps `byteCount` bytes of the file at `path`, which must not be a link, shared between processes.
    ///
    /// A file that is absent or shorter is filled with zeros up to that length and has blocks for it. With
    /// `.existing` the call throws `.notFound` instead. This is for the store's shared page: data files are never
    /// written through a mapping.
    func sharedMemory(
        _ path: String, byteCount: Int, _ opening: SharedOpening
    ) throws(StorageError) -> any SharedMemory

    /// Maps a new file without a name, which has blocks for `byteCount` bytes, all zeros.
    ///
    /// No other process can reach the file, whatever its process number, and nothing is left of it when its mapping
    /// goes. Only its owner may use it; a forked child does not have it. If the file system can't make a file without
    /// a name, the file gets a random name, which is removed at once.
    func scratchMemory(in folder: String, byteCount: Int) throws(StorageError) -> any SharedMemory

    /// Whether a name is a symbolic link, whatever it leads to. False if nothing has the name.
    func isLink(_ path: String) throws(StorageError) -> Bool

    /// Describes the volume that contains `path`.
    func volume(of path: String) throws(StorageError) -> Volume
}

extension Storage {
    /// Opens a file. If it is created, only its owner may read and write it.
    public func open(_ path: String, _ mode: OpenMode) throws(StorageError) -> any StorageFile {
        try open(path, mode, permissions: .ownerOnly)
    }

    /// Creates a folder that only its owner may use.
    public func createFolder(_ path: String) throws(StorageError) {
        try createFolder(path, permissions: .ownerOnly)
    }

    /// Opens a lock file. If nothing has the name, it is created for its owner alone.
    public func lockFile(_ path: String) throws(StorageError) -> any StorageLock {
        try lockFile(path, .create(.ownerOnly))
    }

    /// Maps a shared file. If nothing has the name, it is created for its owner alone.
    public func sharedMemory(_ path: String, byteCount: Int) throws(StorageError) -> any SharedMemory {
        try sharedMemory(path, byteCount: byteCount, .create(.ownerOnly))
    }
}

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
    var path: String { get }

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
    public func adviseRandomAccess() {}
    public func evict(_ ranges: [Range<Int>]) throws(StorageError) {}
}

/// Splits a path into its folder and its last name. Slashes at the end are ignored.
package func splitPath(_ path: String) -> (folder: String, name: Substring) {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    guard let slash = trimmed.lastIndex(of: "/") else { return (".", trimmed) }
    return (slash == trimmed.startIndex ? "/" : String(trimmed[..<slash]), trimmed[trimmed.index(after: slash)...])
}

/// A handle of a lock file.
///
/// Its locks of single bytes belong to this handle, go with its process, and exclude every other handle, in this
/// process or another.
public protocol StorageLock: AnyObject, Sendable {
    /// Tries to lock the byte `byte`. False if another handle has a lock on it that excludes this one.
    func tryLock(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool

    /// Whether `tryLock` would be refused at this moment because of another handle. It locks nothing, so nobody else
    /// is refused meanwhile.
    func isLocked(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool

    /// Releases the byte. Does nothing if it is not held, or in a forked child (the lock is the parent's).
    func unlock(_ byte: Int) throws(StorageError)

    /// Whether the lock file has lost its name since it was opened. A process that opens the name now gets another
    /// file, whose locks do not exclude those of this one.
    func isRemoved() throws(StorageError) -> Bool

    /// Releases all locks and closes the file.
    func close()
}

extension Storage {
    public func isLink(_ path: String) throws(StorageError) -> Bool { false }
}

/// What is at a path.
public struct FileStatus: Sendable, Equatable {
    public enum Kind: Sendable { case file, folder, other }
    public var kind: Kind
    /// Length in bytes.
    public var byteCount: Int
    /// Bytes allocated on the device.
    public var allocatedByteCount: Int

    public init(kind: Kind, byteCount: Int, allocatedByteCount: Int) {
        self.kind = kind
        self.byteCount = byteCount
        self.allocatedByteCount = allocatedByteCount
    }
}

/// The volume that contains a path.
public struct Volume: Sendable, Equatable {
    /// The file system's name, for example `ext4` or `nfs`; its number in hexadecimal if it is unknown.
    public var fileSystem: String
    /// True for network file systems, whose locks and mappings do not work between machines.
    public var isNetwork: Bool
    /// Bytes free for this user.
    public var availableByteCount: Int

    public init(fileSystem: String, isNetwork: Bool, availableByteCount: Int) {
        self.fileSystem = fileSystem
        self.isNetwork = isNetwork
        self.availableByteCount = availableByteCount
    }
}

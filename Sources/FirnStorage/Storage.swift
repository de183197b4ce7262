/// Everything Firn asks of the machine's files, as one protocol with three forms: `PosixStorage` (the operating
/// system), `MemoryStorage` (nothing outlives the process) and the tests' `SimulatedStorage` (power cuts, torn writes,
/// full disks).
///
/// Paths are absolute or relative to the process's working folder, with `/` between components. Every call may be made from any thread.
/// A call that throws has changed nothing unless its comment says otherwise.
public protocol Storage: AnyObject, Sendable {
    /// Opens the file at `path`, unless its last component is a link. The descriptor is close-on-exec.
    ///
    /// - Parameter permissions: of the file, where it is created.
    func open(_ path: String, _ mode: OpenMode, permissions: FileMode) throws(StorageError) -> any StorageFile

    /// Creates one folder whose parent exists; throws `.exists` where something bears the name.
    ///
    /// - Parameter permissions: its files'; see `FileMode.folderBits`.
    func createFolder(_ path: String, permissions: FileMode) throws(StorageError)

    /// The names in a folder, unsorted, without `.` and `..`.
    func list(_ path: String) throws(StorageError) -> [String]

    /// What bears the name, or nil where nothing does.
    func status(_ path: String) throws(StorageError) -> FileStatus?

    /// Renames a file within one file system, replacing what bears the new name, in one step. Durable once the folder is synced.
    func rename(_ path: String, to newPath: String) throws(StorageError)

    /// Removes a file or an empty folder. Durable once the folder is synced.
    func remove(_ path: String) throws(StorageError)

    /// Makes creations, renames and removals in the folder durable.
    func syncFolder(_ path: String) throws(StorageError)

    /// Opens a lock file that is no link, holding nothing yet. One opened for reading takes shared locks only.
    func lockFile(_ path: String, _ opening: SharedOpening) throws(StorageError) -> any StorageLock

    /// Maps `byteCount` bytes of the file at `path`, which is no link, shared between processes. A file that is absent or shorter is filled with zeros up to that length, and has blocks for it; with
    /// `.existing` it throws `.notFound` instead. For the store's shared page: data files are never written through a mapping.
    func sharedMemory(
        _ path: String, byteCount: Int, _ opening: SharedOpening
    ) throws(StorageError) -> any SharedMemory

    /// Memory of a new file that has blocks for `byteCount` bytes, all zeros, and no name: no other process can come by it, whatever number it has, and nothing is left of it when its mapping goes. Its
    /// owner alone may use it; a forked child does not have it. Where the file system needs a name to make a file, that is random and removed at once.
    func scratchMemory(in folder: String, byteCount: Int) throws(StorageError) -> any SharedMemory

    /// Whether a name is a symbolic link, whatever that leads to. False where nothing bears the name.
    func isLink(_ path: String) throws(StorageError) -> Bool

    /// What the volume that holds `path` is like.
    func volume(of path: String) throws(StorageError) -> Volume
}

extension Storage {
    /// A file that is created is its owner's alone.
    public func open(_ path: String, _ mode: OpenMode) throws(StorageError) -> any StorageFile {
        try open(path, mode, permissions: .ownerOnly)
    }

    /// The folder is its owner's alone.
    public func createFolder(_ path: String) throws(StorageError) {
        try createFolder(path, permissions: .ownerOnly)
    }

    /// It is created, its owner's alone, where nothing bears the name.
    public func lockFile(_ path: String) throws(StorageError) -> any StorageLock {
        try lockFile(path, .create(.ownerOnly))
    }

    /// The file is created, its owner's alone, where nothing bears the name.
    public func sharedMemory(_ path: String, byteCount: Int) throws(StorageError) -> any SharedMemory {
        try sharedMemory(path, byteCount: byteCount, .create(.ownerOnly))
    }
}

/// How a file is opened.
public enum OpenMode: Sendable, Equatable {
    /// For reading; `.notFound` where absent.
    case read
    /// For reading and writing; `.notFound` where absent.
    case readWrite
    /// For reading and writing; created empty, `.exists` where something bears the name.
    case create
}

/// An open file. It is closed when the last reference goes, or by `close`.
public protocol StorageFile: AnyObject, Sendable {
    var path: String { get }

    /// The length in bytes.
    func size() throws(StorageError) -> Int

    /// Reads into `buffer` from `offset` until it is full or the file ends, and returns how many bytes were read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StorageError) -> Int

    /// Writes all of `bytes` at `offset`, lengthening the file as needed. Where it throws, any part may have been written.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StorageError)

    /// Makes data and length durable (`fdatasync`; `F_FULLFSYNC` on Apple's systems). Where it throws, what was written since
    /// the last successful sync may be lost although reads show it.
    func sync() throws(StorageError)

    /// Asks the system to begin writing a range out, without waiting. A hint: it never fails and promises nothing.
    func startWriteback(_ range: Range<Int>)

    /// Sets the length.
    func truncate(to byteCount: Int) throws(StorageError)

    /// Gives the blocks of a range back, whose ends are multiples of 4 KiB within the file: it reads as zeros from then on, in mappings too, and the length stays. False, and nothing changed, where this file system
    /// can't. Not durable before the next `sync`: until then a power cut may bring the bytes back.
    func deallocate(_ range: Range<Int>) throws(StorageError) -> Bool

    /// Maps a range (its start a multiple of 64 KiB, its end within the file) for reading. The mapping outlives the file object and
    /// shows later writes.
    func map(_ range: Range<Int>) throws(StorageError) -> any MappedRegion

    /// Puts the first `byteCount` bytes (not beyond the end) at an address that `ReservedMemory` gave. What is changed there never reaches the file. False where this
    /// kind of file can't be put at an address of the caller's choice.
    func mapPrivately(byteCount: Int, at address: UnsafeMutableRawPointer) throws(StorageError) -> Bool

    /// Closes the descriptor; a second call does nothing, any other call then throws `.closed`.
    func close()
}

extension StorageFile {
    public func mapPrivately(byteCount: Int, at address: UnsafeMutableRawPointer) throws(StorageError) -> Bool { false }
}

/// A read-only mapping, unmapped when the last reference goes: whoever uses `bytes` keeps the region for that long
/// (`withExtendedLifetime`), since the compiler may let go of it as soon as its last use is past.
public protocol MappedRegion: AnyObject, Sendable {
    var bytes: UnsafeRawBufferPointer { get }
}

/// Memory shared with other processes that have the same file mapped, unmapped when the last reference goes (as
/// `MappedRegion`).
public protocol SharedMemory: AnyObject, Sendable {
    var bytes: UnsafeMutableRawBufferPointer { get }

    /// False where the file may only be read: writing to the bytes would stop the process then.
    var isWritable: Bool { get }

    /// Tells the system that the bytes will be touched in no order, so that it reads nothing beside what is touched. A hint.
    func willBeTouchedAtRandom()

    /// Writes the ranges (ascending, of whole 4 KiB) out to the file, and whatever else was changed between the first and the last, and gives the memory that they take back to the system. The
    /// bytes stay where they are: who touches them waits until they are read from the file. Others may read and write them meanwhile.
    ///
    /// Does nothing where the memory is no file's. Blocks. Where it throws, the bytes are still in memory.
    func giveBack(_ ranges: [Range<Int>]) throws(StorageError)
}

extension SharedMemory {
    public var isWritable: Bool { true }
    public func willBeTouchedAtRandom() {}
    public func giveBack(_ ranges: [Range<Int>]) throws(StorageError) {}
}

/// The folder that a path's last name is in, and that name. Slashes at the end do not count.
package func splitPath(_ path: String) -> (folder: String, name: Substring) {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    guard let slash = trimmed.lastIndex(of: "/") else { return (".", trimmed) }
    return (slash == trimmed.startIndex ? "/" : String(trimmed[..<slash]), trimmed[trimmed.index(after: slash)...])
}

/// A lock file's handle: locks of byte ranges that belong to this handle, die with its process, and exclude every other handle,
/// in this process or another.
public protocol StorageLock: AnyObject, Sendable {
    /// Tries to lock the byte `byte`; false where another handle holds it in a way that excludes this.
    func tryLock(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool

    /// Whether `tryLock` would be refused because of another handle, at this moment. Locks nothing, so that nobody else is refused meanwhile.
    func isLocked(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool

    /// Releases the byte. Nothing happens where it is not held, or in a forked child (the lock is the parent's).
    func unlock(_ byte: Int) throws(StorageError)

    /// Whether the lock file has lost its name since it was opened: who opens the name now gets another file, and locks that nobody here knows of.
    func isRemoved() throws(StorageError) -> Bool

    /// Releases all and closes.
    func close()
}

extension Storage {
    public func isLink(_ path: String) throws(StorageError) -> Bool { false }
}

/// What stands at a path.
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

/// The volume that holds a path.
public struct Volume: Sendable, Equatable {
    /// The file system's name, as `ext4` or `nfs`; in hexadecimal where it is not a known one.
    public var fileSystem: String
    /// True for file systems whose locks and mappings do not hold between machines.
    public var isNetwork: Bool
    /// Bytes free for this user.
    public var availableByteCount: Int

    public init(fileSystem: String, isNetwork: Bool, availableByteCount: Int) {
        self.fileSystem = fileSystem
        self.isNetwork = isNetwork
        self.availableByteCount = availableByteCount
    }
}

/// The operations on files by name. Names are paths in `Storage`, and single components in a `StorageFolder`.
///
/// Every call may be made from any thread. A call that throws has changed nothing unless its comment says otherwise.
public protocol FileNames: AnyObject, Sendable {
    /// Opens a file. Throws if the name is a symbolic link. The descriptor is close-on-exec.
    ///
    /// - Parameter permissions: the mode of the file if it is created.
    func open(_ name: String, _ mode: OpenMode, permissions: FileMode) throws(StorageError) -> any StorageFile

    /// Creates one folder, whose parent exists. Throws `.exists` if something has the name.
    ///
    /// - Parameter permissions: the mode of the files in it. The folder's own mode follows from it: see
    ///   `FileMode.folderBits`.
    func createFolder(_ name: String, permissions: FileMode) throws(StorageError)

    /// Opens a folder. The returned object refers to this folder even if the name later leads to another one.
    func openFolder(_ name: String) throws(StorageError) -> any StorageFolder

    /// Describes the file or folder that has the name. Nil if nothing has it.
    func status(_ name: String) throws(StorageError) -> FileStatus?

    /// Renames a file or a folder within one file system. In the same step it replaces whatever has the new name. A
    /// folder can replace only an empty folder. Durable once the folder is synced.
    func rename(_ name: String, to newName: String) throws(StorageError)

    /// Removes a file or an empty folder. Durable once the folder is synced.
    func remove(_ name: String) throws(StorageError)

    /// Opens a lock file, which must not be a link. The new handle holds no lock yet. A file opened for reading takes
    /// shared locks only.
    func lockFile(_ name: String, _ opening: SharedOpening) throws(StorageError) -> any StorageLock

    /// Maps `byteCount` bytes of a file, shared between processes. The file must not be a link.
    ///
    /// A file that is absent or shorter is filled with zeros up to that length and has blocks for it. With `.existing`
    /// and `.writable` the call throws `.notFound` for such a file instead. This is for the store's shared page: data
    /// files are never written through a mapping.
    func sharedMemory(
        _ name: String, byteCount: Int, _ opening: SharedOpening
    ) throws(StorageError) -> any SharedMemory

    /// Whether a name is a symbolic link, whatever its target. False if nothing has the name.
    func isLink(_ name: String) throws(StorageError) -> Bool
}

extension FileNames {
    /// Opens a file. If it is created, only its owner may read and write it.
    public func open(_ name: String, _ mode: OpenMode) throws(StorageError) -> any StorageFile {
        try open(name, mode, permissions: .ownerOnly)
    }

    /// Creates a folder that only its owner may use.
    public func createFolder(_ name: String) throws(StorageError) {
        try createFolder(name, permissions: .ownerOnly)
    }

    /// Opens a lock file. If nothing has the name, the file is created for its owner alone.
    public func lockFile(_ name: String) throws(StorageError) -> any StorageLock {
        try lockFile(name, .create(.ownerOnly))
    }

    /// Maps a shared file. If nothing has the name, the file is created for its owner alone.
    public func sharedMemory(_ name: String, byteCount: Int) throws(StorageError) -> any SharedMemory {
        try sharedMemory(name, byteCount: byteCount, .create(.ownerOnly))
    }
}

/// Everything that Firn needs from the machine's file systems, as one protocol. Names are paths: absolute, or relative
/// to the process's working folder, with `/` between components.
///
/// A path may lead elsewhere at any moment: folders are moved and replaced, links are changed, and so is the working
/// folder. So an open store uses a `StorageFolder`, and paths serve only to open it.
///
/// It has three implementations: `PosixStorage` (the operating system), `MemoryStorage` (nothing outlives the
/// process) and the tests' `SimulatedStorage` (power cuts, torn writes, full disks). `openFolder` and `status` follow
/// links; the other calls do not follow a link that is the last component.
public protocol Storage: FileNames {
    /// The names in a folder, unsorted, without `.` and `..`.
    func list(_ path: String) throws(StorageError) -> [String]

    /// Makes creations, renames and removals in the folder durable.
    func syncFolder(_ path: String) throws(StorageError)

    /// Describes the volume that contains `path`.
    func volume(of path: String) throws(StorageError) -> Volume
}

/// Splits a path into its folder and its last name. Slashes at the end are ignored.
package func splitPath(_ path: String) -> (folder: String, name: Substring) {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    guard let slash = trimmed.lastIndex(of: "/") else { return (".", trimmed) }
    return (slash == trimmed.startIndex ? "/" : String(trimmed[..<slash]), trimmed[trimmed.index(after: slash)...])
}

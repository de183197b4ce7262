/// An open folder. The names in its calls are single components; a call with any other name throws.
///
/// The object refers to the same folder even if the folder is moved, another one takes its name, or a link on its path
/// changes. It is closed when the last reference to it is released. No call follows a link. A forked child can't use
/// it.
public protocol StorageFolder: FileNames {
    /// The path under which the folder was opened, for messages. The folder may have been moved since.
    var path: String { get }

    /// Distinguishes the folder from all others on this machine.
    var identity: FileIdentity { get }

    /// Whether the name under which the folder was opened still leads to this folder, in the folder where the name was
    /// looked up.
    func isNamed() throws(StorageError) -> Bool

    /// The names in the folder, unsorted, without `.` and `..`.
    func list() throws(StorageError) -> [String]

    /// Makes creations, renames and removals in the folder durable.
    func sync() throws(StorageError)

    /// Describes the volume that contains the folder.
    func volume() throws(StorageError) -> Volume

    /// Maps a new file without a name, which has blocks for `byteCount` bytes, all zeros.
    ///
    /// No other process can reach the file, even one with the same process number, and nothing is left of it when it is
    /// unmapped. Only its owner may use it; a forked child does not have it. If the file system can't make a file
    /// without a name, the file gets a random name, which is removed at once.
    func scratchMemory(byteCount: Int) throws(StorageError) -> any SharedMemory

    /// Tries to lock the folder itself. The new lock replaces the lock that this handle already has on it.
    ///
    /// The lock belongs to this handle, ends with its process, and is independent of the locks of files. False if
    /// another handle has a lock that excludes this one; this handle may then have lost the lock that it had. True,
    /// without any effect, on a system that can't lock folders.
    func tryLock(exclusive: Bool) throws(StorageError) -> Bool

    /// Releases the lock on the folder, if this handle has one.
    func unlock()
}

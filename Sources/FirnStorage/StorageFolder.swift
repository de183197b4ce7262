/// An open folder. Its names are single components; a call with another name throws.
///
/// It stays the same folder when it is moved, when another one takes its name, and when a link on the way to it
/// changes. It is closed when the last reference goes. No call follows a link. A forked child can't use it.
public protocol StorageFolder: FileNames {
    /// The path under which it was opened, for messages. The folder may have been moved since.
    var path: String { get }

    /// What tells the folder from all others on this machine.
    var identity: FileIdentity { get }

    /// Whether the name under which it was opened still gives this folder, in the folder in which that name was
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
    /// No other process can reach the file, whatever its process number, and nothing is left of it when its mapping
    /// goes. Only its owner may use it; a forked child does not have it. If the file system can't make a file without
    /// a name, the file gets a random name, which is removed at once.
    func scratchMemory(byteCount: Int) throws(StorageError) -> any SharedMemory

    /// Tries to lock the folder itself, and replaces the lock that this handle has on it.
    ///
    /// The lock belongs to this handle, goes with its process, and is independent of the locks of files. False if
    /// another handle has a lock that excludes this one; then this handle may have lost the lock that it had. True,
    /// without any effect, on a system that can't lock folders.
    func tryLock(exclusive: Bool) throws(StorageError) -> Bool

    /// Releases the lock on the folder, if this handle has one.
    func unlock()
}

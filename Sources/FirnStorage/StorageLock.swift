/// A handle of a lock file.
///
/// Each lock is on a single byte. It belongs to this handle, ends with its process, and excludes every other handle, in
/// this process or another.
public protocol StorageLock: AnyObject, Sendable {
    /// Tries to lock the byte `byte`. False if another handle has a lock on the byte that excludes this one.
    func tryLock(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool

    /// Whether `tryLock` would fail at this moment because of another handle. This call locks nothing, so no other
    /// handle is refused meanwhile.
    func isLocked(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool

    /// Unlocks the byte. Does nothing if the byte is not locked, or in a forked child (the lock is the parent's).
    func unlock(_ byte: Int) throws(StorageError)

    /// Whether the name under which the file was opened still leads to this file, in the folder where the name was
    /// looked up. If not, a process that opens the name now gets another file, and locks of the two files do not
    /// exclude each other.
    func isNamed() throws(StorageError) -> Bool

    /// Releases all locks and closes the file.
    func close()
}

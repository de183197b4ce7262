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

    /// Whether the name under which the file was opened still gives this file, in the folder in which that name was
    /// looked up. If not, a process that opens the name now gets another file, whose locks do not exclude those of
    /// this one.
    func isNamed() throws(StorageError) -> Bool

    /// Releases all locks and closes the file.
    func close()
}

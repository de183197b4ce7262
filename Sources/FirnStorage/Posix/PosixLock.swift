import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A handle of a lock file. Its locks belong to the open file (F_OFD_SETLK), and the kernel releases them when the
/// file's last descriptor is closed.
///
/// A forked child would have such a descriptor too, and keep the lock alive after its parent's death. So CFirn lists
/// the descriptors of lock files and closes them in the child. The child's copy of this object then does nothing.
final class PosixLock: StorageLock, @unchecked Sendable {
    private var path: String { names.path(of: name) }
    private let names: PosixNames
    private let name: String
    private let identity: FileIdentity
    private let mark = ForkMark()

    // Guards `descriptor`: its number must not be closed and reused while another thread locks through it.
    private let descriptorLock = Lock(.innermost)
    private var descriptor: Int32
    /// The error number that says why the file could not be opened for writing.
    private let refusal: Int32

    /// - Parameter names: the folder in which `name` is looked up.
    init(names: PosixNames, _ name: String, _ opening: SharedOpening) throws(StorageError) {
        self.names = names
        self.name = name
        let path = names.path(of: name)
        let operation = "open of a lock file"
        var result = openShared(opening) { firn_lock_open(names.descriptor, name, $0, $1) }
        var refusal = EACCES
        if result == -EACCES || result == -EROFS || result == -EPERM, case .create = opening {
            // A user who may only read the store can still take shared locks.
            refusal = -result
            result = openShared(.existing) { firn_lock_open(names.descriptor, name, $0, $1) }
            if result < 0 { result = -refusal }
        }
        guard result >= 0 else { throw StorageError(number: -result, operation: operation, path: path) }
        descriptor = result
        self.refusal = refusal
        var status = stat()
        let number = fstat(result, &status) == 0 ? 0 : errno
        identity = FileIdentity(status)
        guard number == 0 else { throw StorageError(number: number, operation: operation, path: path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.input("it is not a regular file"), operation: operation, path: path)
        }
    }

    deinit {
        close()
    }

    func tryLock(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool {
        if mark.isForked { throw StorageError(.forked, operation: "lock", path: path) }
        try FileRange.check(offset: byte, "lock", path)
        let error = try access("lock") { firn_lock_try($0, off_t(byte), exclusive) }
        switch error {
        case 0: return true
        case EAGAIN: return false
        case EBADF:
            // An exclusive lock needs a descriptor that is open for writing.
            throw StorageError(number: refusal, operation: "lock", path: path)
        default: throw StorageError(number: error, operation: "lock", path: path)
        }
    }

    func isLocked(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool {
        if mark.isForked { throw StorageError(.forked, operation: "lock", path: path) }
        try FileRange.check(offset: byte, "lock", path)
        let error = try access("lock") { firn_lock_test($0, off_t(byte), exclusive) }
        guard error == 0 || error == EAGAIN else { throw StorageError(number: error, operation: "lock", path: path) }
        return error == EAGAIN
    }

    func unlock(_ byte: Int) throws(StorageError) {
        if mark.isForked { return }
        try FileRange.check(offset: byte, "unlock", path)
        let error = try access("unlock") { firn_lock_release($0, off_t(byte)) }
        if error != 0 { throw StorageError(number: error, operation: "unlock", path: path) }
    }

    func isNamed() throws(StorageError) -> Bool {
        if mark.isForked { throw StorageError(.forked, operation: "status", path: path) }
        // The file must be open, because its inode number could otherwise belong to another file by now.
        _ = try access("status") { _ in 0 }
        return try names.gives(identity, name)
    }

    func close() {
        // In a child the number is free, or belongs to another file. This check comes first, because a thread that
        // stayed in the parent may hold `descriptorLock` for ever.
        if mark.isForked { return }
        descriptorLock.withLock {
            if descriptor >= 0 { firn_lock_close(descriptor) }
            descriptor = -1
        }
    }

    private func access(_ operation: String, _ body: (Int32) -> Int32) throws(StorageError) -> Int32 {
        try descriptorLock.withLock { () throws(StorageError) in
            guard descriptor >= 0 else { throw StorageError(.closed, operation: operation, path: path) }
            return body(descriptor)
        }
    }
}

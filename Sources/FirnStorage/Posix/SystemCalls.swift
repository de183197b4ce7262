import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

// System calls under names that methods of `Storage` do not shadow. A call that a signal has interrupted is repeated,
// except `close`.

/// - Parameter folder: the descriptor of the folder in which the name is looked up, or AT_FDCWD.
func systemOpen(_ folder: Int32, name: String, flags: Int32, mode: mode_t = 0) -> Int32 {
    retrying {
        let descriptor = firn_open(folder, name, flags, mode)
        if descriptor >= 0 { return descriptor }
        errno = -descriptor
        return -1
    }
}

func systemClose(_ descriptor: Int32) {
    // Not repeated: after an interruption the descriptor is closed, and another thread may have got its number by now.
    _ = close(descriptor)
}

/// Removes a file or an empty folder.
func systemRemove(_ folder: Int32, _ name: String) -> Int32 {
    let result = retrying { unlinkat(folder, name, 0) }
    // For a folder, Linux returns EISDIR; POSIX and Apple's systems return EPERM.
    guard result < 0, errno == EISDIR || errno == EPERM else { return result }
    let number = errno
    let second = retrying { unlinkat(folder, name, AT_REMOVEDIR) }
    if second < 0, errno == ENOTDIR { errno = number }
    return second
}

/// Makes a file's data and length durable on the medium. Returns 0, or -1 as the system call does.
func systemSync(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
        // On Apple's systems fsync sends the data to the drive, but may leave it in the drive's cache. Some file
        // systems support nothing else.
        let result = retrying { fcntl(descriptor, F_FULLFSYNC) }
        let number = errno
        guard result < 0, number == ENOTSUP || number == ENOTTY || number == EINVAL else { return result }
        return retrying { fsync(descriptor) }
    #else
        return retrying { fdatasync(descriptor) }
    #endif
}

/// Opens a file that processes share, by calling `open`, which returns a descriptor, or minus an error number.
///
/// It never follows a link: otherwise anybody who may write in the folder could make this process write to another file
/// of its user. A file that it creates has the requested mode, if the file system has modes (`setMode`).
func openShared(_ opening: SharedOpening, _ open: (_ flags: Int32, _ mode: mode_t) -> Int32) -> Int32 {
    let flags = O_NONBLOCK | O_NOFOLLOW
    switch opening {
    case .create(let permissions):
        while true {
            let existing = open(O_RDWR | flags, 0)
            guard existing == -ENOENT else { return existing }
            let created = open(O_RDWR | O_CREAT | O_EXCL | flags, mode_t(permissions.bits))
            // Another process may have created it first.
            if created == -EEXIST { continue }
            if created >= 0 { setMode(created, mode_t(permissions.bits)) }
            return created
        }
    case .writable: return open(O_RDWR | flags, 0)
    case .existing:
        let writable = open(O_RDWR | flags, 0)
        guard writable == -EACCES || writable == -EROFS || writable == -EPERM else { return writable }
        return open(O_RDONLY | flags, 0)
    }
}

/// Sets the mode of a file or folder that was just created, if the system gave it another one because of the umask.
///
/// The set-group bit, by which a folder passes its group on, is not changed. A file system without modes refuses the
/// call; then the file has the mode that this file system gives to all files.
func setMode(_ descriptor: Int32, _ mode: mode_t) {
    var status = stat()
    guard retrying({ fstat(descriptor, &status) }) == 0, status.st_mode & 0o777 != mode else { return }
    _ = retrying { fchmod(descriptor, mode | status.st_mode & 0o7000) }
}

/// The length that no file of this process may exceed (RLIMIT_FSIZE). Making a file longer raises the signal SIGXFSZ,
/// which stops a process that does not ignore it, and Firn leaves signals to the program. So Firn checks the limit
/// first.
func fileLengthLimit() -> Int {
    var limit = rlimit()
    #if canImport(Darwin) || canImport(Musl)
        let result = getrlimit(RLIMIT_FSIZE, &limit)
    #else
        let result = getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    #endif
    return result == 0 ? Int(clamping: limit.rlim_cur) : .max
}

@inline(__always)
func retrying(_ call: () -> Int32) -> Int32 {
    LockRank.expectNone("a system call is made")
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

extension StorageError {
    /// The error of this thread's last system call.
    static func last(_ operation: String, _ path: String) -> StorageError {
        StorageError(number: errno, operation: operation, path: path)
    }

    init(number: Int32, operation: String, path: String) {
        let code: Code =
            switch number {
            case ENOENT: .notFound
            case EACCES, EPERM: .permissionDenied
            case EEXIST: .exists
            case ENOTDIR: .notAFolder
            case EISDIR: .isAFolder
            case ENOTEMPTY: .notEmpty
            case ENAMETOOLONG: .nameTooLong
            // EFBIG: the file would be longer than the file system, or the limit (ulimit -f), allows.
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case EMFILE, ENFILE: .tooManyOpenFiles
            case EROFS: .readOnlyFileSystem
            case ENOMEM: .outOfMemory
            case ELOOP:
                .input("it is a symbolic link, which Firn does not follow here, or there are too many in the path")
            case EXDEV: .input("the new name is on another file system")
            case ETXTBSY: .input("it is a program that is running")
            case EINVAL: .input("the system finds the call invalid for this file")
            default: .io
            }
        self.init(code, operation: operation, path: path, number: number)
    }
}

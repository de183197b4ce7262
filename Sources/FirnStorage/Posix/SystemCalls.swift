#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

// The system's calls under names that methods of `Storage` do not hide. Each repeats a call that a signal has interrupted.

func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    retrying { open(path, flags | O_CLOEXEC, mode) }
}

func systemClose(_ descriptor: Int32) {
    // Not repeated: after an interruption the descriptor is closed, and its number may be another thread's by now.
    _ = close(descriptor)
}

func systemRename(_ path: String, _ newPath: String) -> Int32 {
    retrying { rename(path, newPath) }
}

func systemRemove(_ path: String) -> Int32 {
    retrying { remove(path) }
}

/// Opens a file that processes share with `open`, which gives a descriptor, or an error's number below zero.
///
/// Never through a link: whoever may write in the folder could otherwise make this process write another of its user's files. What is created has exactly the mode asked for.
func openShared(_ opening: SharedOpening, _ open: (_ flags: Int32, _ mode: mode_t) -> Int32) -> Int32 {
    let flags = O_NONBLOCK | O_NOFOLLOW
    switch opening {
    case .create(let permissions):
        while true {
            let existing = open(O_RDWR | flags, 0)
            guard existing == -ENOENT else { return existing }
            let created = open(O_RDWR | O_CREAT | O_EXCL | flags, mode_t(permissions.bits))
            // Another process may be quicker.
            if created == -EEXIST { continue }
            if created >= 0 { setMode(created, mode_t(permissions.bits)) }
            return created
        }
    case .existing:
        let writable = open(O_RDWR | flags, 0)
        guard writable == -EACCES || writable == -EROFS || writable == -EPERM else { return writable }
        return open(O_RDONLY | flags, 0)
    }
}

/// Gives a file or folder that was just created its mode, if the umask has kept some of it. The set-group bit, by which a folder hands its group on, stays as the system has set it. A file system that
/// keeps no modes refuses; then it has what it gives to all.
func setMode(_ descriptor: Int32, _ mode: mode_t) {
    var status = stat()
    guard retrying({ fstat(descriptor, &status) }) == 0, status.st_mode & 0o777 != mode else { return }
    _ = retrying { fchmod(descriptor, mode | status.st_mode & 0o7000) }
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
    /// The error that the last call of this thread left.
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
            case ENOSPC, EDQUOT: .noSpace
            case EMFILE, ENFILE: .tooManyOpenFiles
            case EROFS: .readOnlyFileSystem
            case ENOMEM: .outOfMemory
            case EFBIG: .input("the file would be longer than the file system, or the limit (ulimit -f), allows")
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

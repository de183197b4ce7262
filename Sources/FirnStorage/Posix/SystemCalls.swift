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

@inline(__always)
func retrying(_ call: () -> Int32) -> Int32 {
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
            case ELOOP: .input("there are too many symbolic links in the path")
            case EXDEV: .input("the new name is on another file system")
            case ETXTBSY: .input("it is a program that is running")
            case EINVAL: .input("the system finds the call invalid for this file")
            default: .io
            }
        self.init(code, operation: operation, path: path, number: number)
    }
}

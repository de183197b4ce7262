import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The operating system's files. It has no state: every call makes one or a few system calls.
public final class PosixStorage: Storage {
    public static var shared: PosixStorage { SharedObject.posixStorage.get { PosixStorage() } }

    public init() {}

    public func open(_ path: String, _ mode: OpenMode, permissions: FileMode) throws(StorageError) -> any StorageFile {
        let operation = mode == .create ? "create" : "open"
        let flags =
            switch mode {
            case .read: O_RDONLY
            case .readWrite: O_RDWR
            case .create: O_RDWR | O_CREAT | O_EXCL
            }
        // O_NONBLOCK, so that the call does not block if a pipe has the name. It has no effect on files.
        let descriptor = systemOpen(path, flags | O_NONBLOCK | O_NOFOLLOW, mode_t(permissions.bits))
        guard descriptor >= 0 else { throw .last(operation, path) }
        if mode == .create { setMode(descriptor, mode_t(permissions.bits)) }
        let file = PosixFile(descriptor: descriptor, path: path, isWritable: mode != .read)
        switch try file.kind() {
        case .file: return file
        case .folder: throw StorageError(.isAFolder, operation: operation, path: path)
        case .other: throw StorageError(.input("it is not a regular file"), operation: operation, path: path)
        }
    }

    public func createFolder(_ path: String, permissions: FileMode) throws(StorageError) {
        let mode = mode_t(permissions.folderBits)
        guard retrying({ mkdir(path, mode) }) == 0 else { throw .last("create folder", path) }
        // If the umask leaves the owner too few permissions to open the folder, they are too few to use it.
        let descriptor = systemOpen(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .last("create folder", path) }
        defer { systemClose(descriptor) }
        setMode(descriptor, mode)
    }

    public func list(_ path: String) throws(StorageError) -> [String] {
        guard let folder = opendir(path) else { throw .last("list", path) }
        defer { closedir(folder) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(folder) else {
                if errno != 0 { throw .last("list", path) }
                return names
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    public func status(_ path: String) throws(StorageError) -> FileStatus? {
        var status = stat()
        guard retrying({ stat(path, &status) }) == 0 else {
            if errno == ENOENT { return nil }
            throw .last("status", path)
        }
        return FileStatus(
            kind: FileStatus.Kind(mode: status.st_mode), byteCount: Int(status.st_size),
            allocatedByteCount: Int(status.st_blocks) * 512)
    }

    /// The one path of a file or folder that is absolute and free of links, whichever path is given.
    ///
    /// If neither the file nor its folder exists, the path is returned unchanged.
    public func canonicalPath(_ path: String) -> String {
        if let resolved = resolve(path) { return resolved }
        let (folder, name) = splitPath(path)
        return resolve(folder).map { $0 == "/" ? "/\(name)" : "\($0)/\(name)" } ?? path
    }

    private func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    public func rename(_ path: String, to newPath: String) throws(StorageError) {
        guard systemRename(path, newPath) == 0 else { throw .last("rename", path) }
    }

    public func remove(_ path: String) throws(StorageError) {
        guard systemRemove(path) == 0 else { throw .last("remove", path) }
    }

    public func syncFolder(_ path: String) throws(StorageError) {
        let descriptor = systemOpen(path, O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { throw .last("sync of a folder", path) }
        defer { systemClose(descriptor) }
        // The names are the folder's own data, which fsync makes durable. On Apple's systems they also have to pass
        // the drive's cache.
        #if canImport(Darwin)
            let result = systemSync(descriptor)
        #else
            let result = retrying { fsync(descriptor) }
        #endif
        guard result == 0 else { throw .last("sync of a folder", path) }
    }

    public func lockFile(_ path: String, _ opening: SharedOpening) throws(StorageError) -> any StorageLock {
        try PosixLock(path: path, opening)
    }

    public func sharedMemory(
        _ path: String, byteCount: Int, _ opening: SharedOpening
    ) throws(StorageError) -> any SharedMemory {
        try PosixSharedMemory(path: path, byteCount: byteCount, opening)
    }

    public func scratchMemory(in folder: String, byteCount: Int) throws(StorageError) -> any SharedMemory {
        try PosixSharedMemory(scratchIn: folder, byteCount: byteCount)
    }

    public func isLink(_ path: String) throws(StorageError) -> Bool {
        var status = stat()
        guard retrying({ lstat(path, &status) }) == 0 else {
            if errno == ENOENT { return false }
            throw .last("status", path)
        }
        return status.st_mode & S_IFMT == S_IFLNK
    }

    public func volume(of path: String) throws(StorageError) -> Volume {
        var volume = firn_volume()
        let error = firn_volume_of(path, &volume)
        guard error == 0 else { throw StorageError(number: error, operation: "status of the volume", path: path) }
        let available = Int(clamping: volume.available)
        guard volume.type != 0 else {
            let name = withUnsafeBytes(of: &volume.name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            return Volume(fileSystem: name, isNetwork: !volume.is_local, availableByteCount: available)
        }
        if volume.type == FileSystems.fuse,
            let mount = FuseMount.find(major: volume.device_major, minor: volume.device_minor, in: FuseMount.table())
        {
            return Volume(fileSystem: mount.name, isNetwork: mount.isNetwork, availableByteCount: available)
        }
        let known = FileSystems.find(volume.type)
        return Volume(
            fileSystem: known?.name ?? "0x" + String(volume.type, radix: 16), isNetwork: known?.isNetwork ?? false,
            availableByteCount: available)
    }
}

extension FileStatus.Kind {
    init(mode: mode_t) {
        switch mode & S_IFMT {
        case S_IFREG: self = .file
        case S_IFDIR: self = .folder
        default: self = .other
        }
    }
}

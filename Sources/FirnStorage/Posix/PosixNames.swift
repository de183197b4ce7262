import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Files by their names relative to one folder: the process's working folder (`PosixStorage`) or an open folder
/// (`PosixFolder`). Every call is one of the system's `…at` calls, with that folder's descriptor.
///
/// Its state never changes.
public class PosixNames: @unchecked Sendable {
    /// A descriptor, or AT_FDCWD.
    let descriptor: Int32
    /// The folder's path, for messages; nil if names are paths.
    let folderPath: String?

    init(descriptor: Int32, folderPath: String?) {
        self.descriptor = descriptor
        self.folderPath = folderPath
    }

    /// Throws if the descriptor must not be used.
    func checkUsable(_ operation: String) throws(StorageError) {}

    /// The path of a name, for messages.
    func path(of name: String) -> String { folderPath.map { "\($0)/\(name)" } ?? name }

    /// Checks a name before it is passed to the system. The system's names end at a NUL, so it would silently ignore
    /// the rest and use another file.
    func check(_ name: String, _ operation: String) throws(StorageError) {
        try checkUsable(operation)
        var last: UInt8?
        for byte in name.utf8 {
            if byte == 0 || folderPath != nil && byte == UInt8(ascii: "/") {
                throw StorageError(
                    .input(byte == 0 ? "its name contains a NUL, at which it would end" : "it is not a single name"),
                    operation: operation, path: path(of: name))
            }
            last = byte
        }
        if folderPath != nil, last == nil || name == "." || name == ".." {
            throw StorageError(.input("it is not a single name"), operation: operation, path: path(of: name))
        }
    }

    func error(_ operation: String, _ name: String) -> StorageError { .last(operation, path(of: name)) }

    public func open(_ name: String, _ mode: OpenMode, permissions: FileMode) throws(StorageError) -> any StorageFile {
        let operation = mode == .create ? "create" : "open"
        try check(name, operation)
        let flags =
            switch mode {
            case .read: O_RDONLY
            case .readWrite: O_RDWR
            case .create: O_RDWR | O_CREAT | O_EXCL
            }
        // O_NONBLOCK, so that the call does not block on a pipe. It has no effect on files.
        let opened = systemOpen(
            descriptor, name: name, flags: flags | O_NONBLOCK | O_NOFOLLOW, mode: mode_t(permissions.bits))
        guard opened >= 0 else { throw error(operation, name) }
        if mode == .create { setMode(opened, mode_t(permissions.bits)) }
        let file = try PosixFile(opened: opened, names: self, name: name, isWritable: mode != .read, operation)
        switch file.kind {
        case .file: return file
        case .folder: throw StorageError(.isAFolder, operation: operation, path: file.path)
        case .other: throw StorageError(.input("it is not a regular file"), operation: operation, path: file.path)
        }
    }

    public func createFolder(_ name: String, permissions: FileMode) throws(StorageError) {
        try check(name, "create folder")
        let mode = mode_t(permissions.folderBits)
        guard retrying({ mkdirat(descriptor, name, mode) }) == 0 else { throw error("create folder", name) }
        // If the umask leaves the owner too few permissions to open the folder, it can't be used anyway.
        let opened = systemOpen(descriptor, name: name, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard opened >= 0 else { throw error("create folder", name) }
        defer { systemClose(opened) }
        setMode(opened, mode)
    }

    public func openFolder(_ name: String) throws(StorageError) -> any StorageFolder {
        try check(name, "open of a folder")
        return try PosixFolder(in: self, name)
    }

    public func status(_ name: String) throws(StorageError) -> FileStatus? {
        try check(name, "status")
        // A link is followed only in a path, because the user chose the path and may mean the link's target.
        return try systemStatus(name, follows: folderPath == nil, "status").map { status in
            FileStatus(
                kind: FileStatus.Kind(mode: status.st_mode), byteCount: Int(status.st_size),
                allocatedByteCount: Int(status.st_blocks) * 512, identity: FileIdentity(status),
                linkCount: Int(status.st_nlink), mode: FileMode(UInt16(truncatingIfNeeded: status.st_mode)))
        }
    }

    public func isLink(_ name: String) throws(StorageError) -> Bool {
        try check(name, "status")
        return try systemStatus(name, follows: false, "status").map { $0.st_mode & S_IFMT == S_IFLNK } ?? false
    }

    /// Whether the name leads to the file with this identity, and is not a link to it. For what this does not do, see
    /// `firn_identify`.
    func gives(_ identity: FileIdentity, _ name: String) throws(StorageError) -> Bool {
        try checkUsable("status")
        var found = FileIdentity(device: 0, number: 0)
        switch firn_identify(descriptor, name, &found.device, &found.number) {
        case 0: return found == identity
        case ENOENT: return false
        case let number: throw StorageError(number: number, operation: "status", path: path(of: name))
        }
    }

    private func systemStatus(_ name: String, follows: Bool, _ operation: String) throws(StorageError) -> stat? {
        var status = stat()
        let flags = follows ? 0 : AT_SYMLINK_NOFOLLOW
        guard retrying({ fstatat(descriptor, name, &status, flags) }) == 0 else {
            if errno == ENOENT { return nil }
            throw error(operation, name)
        }
        return status
    }

    public func rename(_ name: String, to newName: String) throws(StorageError) {
        try check(name, "rename")
        try check(newName, "rename")
        guard retrying({ renameat(descriptor, name, descriptor, newName) }) == 0 else { throw error("rename", name) }
    }

    public func remove(_ name: String) throws(StorageError) {
        try check(name, "remove")
        guard systemRemove(descriptor, name) == 0 else { throw error("remove", name) }
    }

    public func lockFile(_ name: String, _ opening: SharedOpening) throws(StorageError) -> any StorageLock {
        try check(name, "open of a lock file")
        return try PosixLock(names: self, name, opening)
    }

    public func sharedMemory(
        _ name: String, byteCount: Int, _ opening: SharedOpening
    ) throws(StorageError) -> any SharedMemory {
        try check(name, "map of shared memory")
        return try PosixSharedMemory(names: self, name, byteCount: byteCount, opening)
    }

    /// The names in an open folder. This function takes over and closes the descriptor.
    static func list(_ opened: Int32, _ path: String) throws(StorageError) -> [String] {
        guard opened >= 0 else { throw .last("list", path) }
        guard let folder = fdopendir(opened) else {
            let error = StorageError.last("list", path)
            systemClose(opened)
            throw error
        }
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

    /// Makes the names in an open folder durable.
    static func syncFolder(_ opened: Int32, _ path: String) throws(StorageError) {
        // The names are the folder's own data, which fsync makes durable. On Apple's systems they must also leave the
        // drive's cache.
        #if canImport(Darwin)
            let result = systemSync(opened)
        #else
            let result = retrying { fsync(opened) }
        #endif
        guard result == 0 else { throw .last("sync of a folder", path) }
    }

    /// The volume of a path. If the path is nil, the volume of an open folder.
    static func volume(_ opened: Int32, _ path: String?, shown: String) throws(StorageError) -> Volume {
        var volume = firn_volume()
        let error = firn_volume_of(opened, path, &volume)
        guard error == 0 else { throw StorageError(number: error, operation: "status of the volume", path: shown) }
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

extension FileIdentity {
    init(_ status: stat) {
        self.init(
            device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(truncatingIfNeeded: status.st_ino))
    }
}

import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The operating system's files, by path. It has no state: every call makes one or a few system calls.
public final class PosixStorage: PosixNames, Storage, @unchecked Sendable {
    public static var shared: PosixStorage { SharedObject.posixStorage.get { PosixStorage() } }

    public init() {
        super.init(descriptor: AT_FDCWD, folderPath: nil)
    }

    public func list(_ path: String) throws(StorageError) -> [String] {
        try check(path, "list")
        return try Self.list(systemOpen(descriptor, name: path, flags: O_RDONLY | O_DIRECTORY), path)
    }

    public func syncFolder(_ path: String) throws(StorageError) {
        try check(path, "sync of a folder")
        let opened = systemOpen(descriptor, name: path, flags: O_RDONLY | O_DIRECTORY)
        guard opened >= 0 else { throw .last("sync of a folder", path) }
        defer { systemClose(opened) }
        try Self.syncFolder(opened, path)
    }

    public func volume(of path: String) throws(StorageError) -> Volume {
        try check(path, "status of the volume")
        return try Self.volume(-1, path, shown: path)
    }

    /// The absolute path of a file or folder without links. All paths of a file give the same one.
    ///
    /// If neither the file nor its folder exists, or the path contains a NUL, the path is returned unchanged.
    public func canonicalPath(_ path: String) -> String {
        if path.utf8.contains(0) { return path }
        if let resolved = resolve(path) { return resolved }
        let (folder, name) = splitPath(path)
        return resolve(folder).map { $0 == "/" ? "/\(name)" : "\($0)/\(name)" } ?? path
    }

    private func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

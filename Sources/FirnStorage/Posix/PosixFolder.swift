import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An open folder of the operating system: a descriptor, closed when the last reference to the object is released.
///
/// A forked child would share the open folder, and so keep a lock on the folder alive after its parent's death. So
/// CFirn lists the descriptor and closes it in the child. The child's copy of this object then does nothing.
final class PosixFolder: PosixNames, StorageFolder, @unchecked Sendable {
    let path: String
    let identity: FileIdentity
    private let parent: PosixNames
    private let name: String
    private let mark = ForkMark()

    /// Opens a folder by its name. A symbolic link is followed only if names are paths, because the user chose those.
    init(in parent: PosixNames, _ name: String) throws(StorageError) {
        let operation = "open of a folder"
        let path = parent.path(of: name)
        let flags = O_DIRECTORY | (parent.folderPath == nil ? 0 : O_NOFOLLOW)
        var opened = firn_lock_open(parent.descriptor, name, O_RDONLY | flags, 0)
        // A user who may look names up in the folder, but not list them, can still open its files.
        if opened == -EACCES { opened = firn_lock_open(parent.descriptor, name, searchOnly | flags, 0) }
        guard opened >= 0 else {
            // With O_DIRECTORY a link is "not a folder" to some systems, and "a link" to others.
            let isLink = parent.folderPath != nil && (try? parent.isLink(name)) ?? false
            throw StorageError(number: isLink ? ELOOP : -opened, operation: operation, path: path)
        }
        var status = stat()
        guard retrying({ fstat(opened, &status) }) == 0 else {
            let error = StorageError.last(operation, path)
            firn_lock_close(opened)
            throw error
        }
        self.path = path
        self.parent = parent
        self.name = name
        identity = FileIdentity(status)
        super.init(descriptor: opened, folderPath: path)
    }

    deinit {
        // In a child the descriptor's number is free, or belongs to another file.
        if !mark.isForked { firn_lock_close(descriptor) }
    }

    override func checkUsable(_ operation: String) throws(StorageError) {
        if mark.isForked { throw StorageError(.forked, operation: operation, path: path) }
    }

    func isNamed() throws(StorageError) -> Bool { try parent.gives(identity, name) }

    func list() throws(StorageError) -> [String] {
        try checkUsable("list")
        // Listing uses a new descriptor, because each descriptor has only one read position.
        return try Self.list(systemOpen(descriptor, name: ".", flags: O_RDONLY | O_DIRECTORY), path)
    }

    func sync() throws(StorageError) {
        try checkUsable("sync of a folder")
        try Self.syncFolder(descriptor, path)
    }

    func volume() throws(StorageError) -> Volume {
        try checkUsable("status of the volume")
        return try Self.volume(descriptor, nil, shown: path)
    }

    func scratchMemory(byteCount: Int) throws(StorageError) -> any SharedMemory {
        try checkUsable("map of scratch memory")
        return try PosixSharedMemory(scratchIn: self, byteCount: byteCount)
    }

    func tryLock(exclusive: Bool) throws(StorageError) -> Bool {
        try checkUsable("lock")
        let error = firn_lock_folder(descriptor, exclusive ? LOCK_EX : LOCK_SH)
        if error == EWOULDBLOCK { return false }
        if error != 0 { throw StorageError(number: error, operation: "lock", path: path) }
        return true
    }

    func unlock() {
        if !mark.isForked { _ = firn_lock_folder(descriptor, LOCK_UN) }
    }
}

/// The flag for opening a folder to look names up in it, without the right to list them.
private var searchOnly: Int32 {
    #if canImport(Darwin)
        O_SEARCH
    #else
        // This is O_PATH, which only Linux has. Glibc's module declares it only for GNU programs.
        0o10000000
    #endif
}

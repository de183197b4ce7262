/// Files in memory, which are freed with the storage.
///
/// They behave as files do: mappings show later writes, an open file can still be read after it was removed, and
/// handles exclude each other by locks. Syncing does nothing, because nothing can outlive the process.
///
/// One lock guards everything: the tree of names, every file's bytes and every handle's state. No thread waits while
/// it holds the lock.
public final class MemoryStorage: Storage {
    final class Node: NameTreeNode {
        var children: [String: Node]?
        var bytes = StableBytes()
        var locks = LockTable()
        /// Whether it has lost its name.
        var isRemoved = false

        init(isFolder: Bool) {
            children = isFolder ? [:] : nil
        }
    }

    struct State {
        var tree = NameTree(root: Node(isFolder: true))
        var lastOwner = 0
    }

    let guarded = Guarded(.unranked, State())

    public init() {}

    public func open(_ path: String, _ mode: OpenMode, permissions: FileMode) throws(StorageError) -> any StorageFile {
        try guarded.withLock { (state) throws(StorageError) in
            if mode == .create {
                let node = Node(isFolder: false)
                try Self.insert(node, at: path, &state, "create")
                return MemoryFile(self, node, path, mode)
            }
            let node = try state.tree.existing(path, "open")
            guard node.children == nil else { throw StorageError(.isAFolder, operation: "open", path: path) }
            return MemoryFile(self, node, path, mode)
        }
    }

    public func createFolder(_ path: String, permissions: FileMode) throws(StorageError) {
        try guarded.withLock { (state) throws(StorageError) in
            try Self.insert(Node(isFolder: true), at: path, &state, "create folder")
        }
    }

    public func list(_ path: String) throws(StorageError) -> [String] {
        try guarded.withLock { (state) throws(StorageError) in
            Array(try state.tree.existingFolder(path, "list").children!.keys)
        }
    }

    public func status(_ path: String) throws(StorageError) -> FileStatus? {
        try guarded.withLock { (state) throws(StorageError) in
            guard let node = try state.tree.node(at: path, "status") else { return nil }
            guard node.children == nil else { return FileStatus(kind: .folder, byteCount: 0, allocatedByteCount: 0) }
            return FileStatus(kind: .file, byteCount: node.bytes.count, allocatedByteCount: node.bytes.count)
        }
    }

    public func rename(_ path: String, to newPath: String) throws(StorageError) {
        try guarded.withLock { (state) throws(StorageError) in
            let old = try state.tree.location(of: path, "rename")
            guard let node = old.folder.children?[old.name] else {
                throw StorageError(.notFound, operation: "rename", path: path)
            }
            let new = try state.tree.location(of: newPath, "rename", outside: node)
            if let replaced = new.folder.children?[new.name] {
                if replaced === node { return }
                try Self.checkReplacement(of: replaced, by: node, newPath)
                replaced.isRemoved = true
            }
            old.folder.children?[old.name] = nil
            new.folder.children?[new.name] = node
        }
    }

    public func remove(_ path: String) throws(StorageError) {
        try guarded.withLock { (state) throws(StorageError) in
            let location = try state.tree.location(of: path, "remove")
            guard let node = location.folder.children?[location.name] else {
                throw StorageError(.notFound, operation: "remove", path: path)
            }
            guard node.children?.isEmpty ?? true else {
                throw StorageError(.notEmpty, operation: "remove", path: path)
            }
            node.isRemoved = true
            location.folder.children?[location.name] = nil
        }
    }

    public func syncFolder(_ path: String) throws(StorageError) {
        try guarded.withLock { (state) throws(StorageError) in
            _ = try state.tree.existingFolder(path, "sync of a folder")
        }
    }

    public func lockFile(_ path: String, _ opening: SharedOpening) throws(StorageError) -> any StorageLock {
        try guarded.withLock { (state) throws(StorageError) in
            let node = try Self.node(at: path, opening, &state, "open of a lock file")
            state.lastOwner += 1
            return MemoryLock(self, node, owner: state.lastOwner, path)
        }
    }

    public func sharedMemory(
        _ path: String, byteCount: Int, _ opening: SharedOpening
    ) throws(StorageError) -> any SharedMemory {
        try guarded.withLock { (state) throws(StorageError) in
            let operation = "map of shared memory"
            let node = try Self.node(at: path, opening, &state, operation)
            if case .existing = opening, node.bytes.count < byteCount {
                throw StorageError(.notFound, operation: operation, path: path)
            }
            guard byteCount > 0, let buffer = node.bytes.pin(byteCount: byteCount) else {
                throw StorageError(
                    .input("it is mapped already with fewer bytes than the \(byteCount) asked for"),
                    operation: operation, path: path)
            }
            return StableSharedMemory(buffer, byteCount: byteCount)
        }
    }

    public func scratchMemory(in folder: String, byteCount: Int) throws(StorageError) -> any SharedMemory {
        try guarded.withLock { (state) throws(StorageError) in
            _ = try state.tree.existingFolder(folder, "map of scratch memory")
            var bytes = StableBytes()
            guard byteCount > 0, let buffer = bytes.pin(byteCount: byteCount) else {
                throw StorageError(
                    .input("a mapping of \(byteCount) bytes is impossible"), operation: "map of scratch memory",
                    path: folder)
            }
            return StableSharedMemory(buffer, byteCount: byteCount)
        }
    }

    public func volume(of path: String) throws(StorageError) -> Volume {
        try guarded.withLock { (state) throws(StorageError) in
            _ = try state.tree.existing(path, "status of the volume")
            return Volume(fileSystem: "memory", isNetwork: false, availableByteCount: .max)
        }
    }

    private static func insert(
        _ node: Node, at path: String, _ state: inout State, _ operation: String
    ) throws(StorageError) {
        if try state.tree.node(at: path, operation) != nil {
            throw StorageError(.exists, operation: operation, path: path)
        }
        let location = try state.tree.location(of: path, operation)
        location.folder.children?[location.name] = node
    }

    private static func node(
        at path: String, _ opening: SharedOpening, _ state: inout State, _ operation: String
    ) throws(StorageError) -> Node {
        if case .existing = opening { _ = try state.tree.existing(path, operation) }
        if let node = try state.tree.node(at: path, operation) {
            guard node.children == nil else { throw StorageError(.isAFolder, operation: operation, path: path) }
            return node
        }
        let node = Node(isFolder: false)
        try insert(node, at: path, &state, operation)
        return node
    }

    private static func checkReplacement(of old: Node, by new: Node, _ path: String) throws(StorageError) {
        switch (old.children, new.children) {
        case (nil, nil): return
        case (nil, _): throw StorageError(.notAFolder, operation: "rename", path: path)
        case (_, nil): throw StorageError(.isAFolder, operation: "rename", path: path)
        case (let children?, _):
            if !children.isEmpty { throw StorageError(.notEmpty, operation: "rename", path: path) }
        }
    }
}

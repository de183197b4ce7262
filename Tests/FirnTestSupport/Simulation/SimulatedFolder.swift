import FirnStorage

/// An open folder of a process on a `SimulatedDisk`. Its lock is guarded by the disk's lock.
final class SimulatedFolder: SimulatedNames, StorageFolder, @unchecked Sendable {
    let path: String
    private let parent: SimulatedNames
    private let name: String
    private let node: SimulatedNode
    private let owner: LockTable.Owner

    init(parent: SimulatedNames, node: SimulatedNode, name: String, owner: LockTable.Owner) {
        self.parent = parent
        self.name = name
        self.node = node
        self.owner = owner
        path = parent.path(of: name)
        super.init(parent.disk, parent.process, folder: node, folderPath: path)
    }

    deinit {
        disk.guarded.withLock { _ in
            node.folderLock.unlockAll(by: owner)
            process.locks[owner] = nil
        }
    }

    var identity: FileIdentity { node.identity }

    func isNamed() throws(StorageError) -> Bool { try parent.gives(node, name) }

    func list() throws(StorageError) -> [String] {
        // Sorted, so that a run is reproducible.
        try call(.list, path: path) { (_) throws(StorageError) in node.children!.keys.sorted() }
    }

    func sync() throws(StorageError) { try syncNames(path) { _ in node } }

    func volume() throws(StorageError) -> Volume {
        try call(.volume, path: path) { (state) throws(StorageError) in state.currentVolume }
    }

    /// Counts as a call of `sharedMemory` for a file named `scratch`. The file takes space of the disk only while it
    /// is made.
    func scratchMemory(byteCount: Int) throws(StorageError) -> any SharedMemory {
        try call(.sharedMemory, path: path + "/scratch", length: byteCount) { (state) throws(StorageError) in
            let operation = "map of scratch memory"
            if let capacity = state.capacity, state.used + byteCount > capacity {
                throw StorageError(.noSpace, operation: operation, path: path, number: 28)
            }
            var bytes = StableBytes()
            guard byteCount > 0, let buffer = bytes.pin(byteCount: byteCount) else {
                throw StorageError(
                    .input("a mapping of \(byteCount) bytes is impossible"), operation: operation, path: path)
            }
            return StableSharedMemory(buffer, byteCount: byteCount, nil)
        }
    }

    func tryLock(exclusive: Bool) throws(StorageError) -> Bool {
        try call(.tryLock, path: path) { (_) throws(StorageError) in
            node.folderLock.tryReplaceLock(0, exclusive: exclusive, by: owner)
        }
    }

    func unlock() { disk.guarded.withLock { _ in node.folderLock.unlockAll(by: owner) } }
}

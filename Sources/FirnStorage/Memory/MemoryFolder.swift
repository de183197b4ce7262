/// An open folder of a `MemoryStorage`. The storage's lock guards the folder's own lock.
final class MemoryFolder: MemoryNames, StorageFolder, @unchecked Sendable {
    let path: String
    private let parent: MemoryNames
    private let name: String
    private let node: Node
    private let owner: LockTable.Owner

    init(parent: MemoryNames, node: Node, name: String, owner: LockTable.Owner) {
        self.parent = parent
        self.name = name
        self.node = node
        self.owner = owner
        path = parent.path(of: name)
        super.init(guarded: parent.guarded, folder: node, folderPath: path)
    }

    deinit {
        unlock()
    }

    var identity: FileIdentity { node.identity }

    func isNamed() throws(StorageError) -> Bool { try parent.gives(node, name) }

    func list() throws(StorageError) -> [String] { guarded.withLock { _ in Array(node.children!.keys) } }

    func sync() throws(StorageError) {}

    func volume() throws(StorageError) -> Volume { Self.volume }

    func scratchMemory(byteCount: Int) throws(StorageError) -> any SharedMemory {
        var bytes = StableBytes()
        guard byteCount > 0, let buffer = bytes.pin(byteCount: byteCount) else {
            throw StorageError(
                .input("a mapping of \(byteCount) bytes is impossible"), operation: "map of scratch memory", path: path)
        }
        return StableSharedMemory(buffer, byteCount: byteCount, nil)
    }

    func tryLock(exclusive: Bool) throws(StorageError) -> Bool {
        guarded.withLock { _ in node.folderLock.tryReplaceLock(0, exclusive: exclusive, by: owner) }
    }

    func unlock() { guarded.withLock { _ in node.folderLock.unlockAll(by: owner) } }
}

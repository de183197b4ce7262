/// Files in memory, which are freed with the storage object.
///
/// They behave like files on a disk:
/// - mappings show later writes;
/// - an open file can still be read after it was removed;
/// - an open folder object refers to the same folder even if that is moved or replaced;
/// - locks of handles exclude each other.
///
/// Syncing does nothing, because nothing can outlive the process.
///
/// One lock guards everything: the tree of names, every file's bytes and every handle's state. No thread waits while it
/// holds the lock.
public final class MemoryStorage: MemoryNames, Storage, @unchecked Sendable {
    final class Node: NameTreeNode {
        let number: UInt64
        var children: [String: Node]?
        var bytes = StableBytes()
        var locks = LockTable()
        /// The lock of the folder itself. It has one byte.
        var folderLock = LockTable()

        init(isFolder: Bool, number: UInt64) {
            children = isFolder ? [:] : nil
            self.number = number
        }

        var identity: FileIdentity { FileIdentity(device: 0, number: number) }
    }

    struct State {
        let root = Node(isFolder: true, number: 1)
        var lastNumber: UInt64 = 1
        var lastOwner = 0

        mutating func newNode(isFolder: Bool) -> Node {
            lastNumber += 1
            return Node(isFolder: isFolder, number: lastNumber)
        }

        mutating func newOwner() -> LockTable.Owner {
            lastOwner += 1
            return lastOwner
        }
    }

    public init() {
        super.init(guarded: Guarded(.unranked, State()), folder: nil, folderPath: nil)
    }

    public func list(_ path: String) throws(StorageError) -> [String] {
        try withTree { (tree, _) throws(StorageError) in
            Array(try tree.existingFolder(path, "list").children!.keys)
        }
    }

    public func syncFolder(_ path: String) throws(StorageError) {
        try withTree { (tree, _) throws(StorageError) in _ = try tree.existingFolder(path, "sync of a folder") }
    }

    public func volume(of path: String) throws(StorageError) -> Volume {
        try withTree { (tree, _) throws(StorageError) in
            _ = try tree.existing(path, "status of the volume")
            return Self.volume
        }
    }
}

/// Files in memory by their names, relative to the root (`MemoryStorage`) or to an open folder (`MemoryFolder`).
///
/// The storage's lock guards everything that is reached from here.
public class MemoryNames: @unchecked Sendable {
    typealias Node = MemoryStorage.Node
    typealias State = MemoryStorage.State

    let guarded: Guarded<State>
    /// The open folder; nil for the root.
    let folder: Node?
    /// The open folder's path, for messages; nil if names are paths.
    let folderPath: String?

    init(guarded: Guarded<State>, folder: Node?, folderPath: String?) {
        self.guarded = guarded
        self.folder = folder
        self.folderPath = folderPath
    }

    static var volume: Volume { Volume(fileSystem: "memory", isNetwork: false, availableByteCount: .max) }

    /// The path of a name, for messages.
    func path(of name: String) -> String { folderPath.map { "\($0)/\(name)" } ?? name }

    /// Runs `body` with the tree in which names are looked up.
    func withTree<Result>(
        _ body: (NameTree<Node>, inout State) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try guarded.withLock { (state) throws(StorageError) in
            try body(NameTree(root: folder ?? state.root, folderPath: folderPath), &state)
        }
    }

    public func open(_ name: String, _ mode: OpenMode, permissions: FileMode) throws(StorageError) -> any StorageFile {
        try withTree { (tree, state) throws(StorageError) in
            let node: Node
            if mode == .create {
                node = state.newNode(isFolder: false)
                try Self.insert(node, at: name, tree: tree, operation: "create")
            } else {
                node = try tree.existing(name, "open")
                guard node.children == nil else {
                    throw StorageError(.isAFolder, operation: "open", path: path(of: name))
                }
            }
            return MemoryFile(storage: self, node: node, name: name, mode: mode)
        }
    }

    public func createFolder(_ name: String, permissions: FileMode) throws(StorageError) {
        try withTree { (tree, state) throws(StorageError) in
            try Self.insert(state.newNode(isFolder: true), at: name, tree: tree, operation: "create folder")
        }
    }

    public func openFolder(_ name: String) throws(StorageError) -> any StorageFolder {
        try withTree { (tree, state) throws(StorageError) in
            let node = try tree.existingFolder(name, "open of a folder")
            return MemoryFolder(parent: self, node: node, name: name, owner: state.newOwner())
        }
    }

    public func status(_ name: String) throws(StorageError) -> FileStatus? {
        try withTree { (tree, _) throws(StorageError) in
            guard let node = try tree.node(at: name, "status") else { return nil }
            let isFolder = node.children != nil
            return FileStatus(
                kind: isFolder ? .folder : .file, byteCount: isFolder ? 0 : node.bytes.count,
                allocatedByteCount: isFolder ? 0 : node.bytes.count, identity: node.identity)
        }
    }

    public func isLink(_ name: String) throws(StorageError) -> Bool { false }

    /// Whether the name leads to the node.
    func gives(_ node: Node, _ name: String) throws(StorageError) -> Bool {
        try withTree { (tree, _) throws(StorageError) in try tree.node(at: name, "status") === node }
    }

    public func rename(_ name: String, to newName: String) throws(StorageError) {
        try withTree { (tree, _) throws(StorageError) in
            let old = try tree.location(of: name, "rename")
            guard let node = old.folder.children?[old.name] else {
                throw StorageError(.notFound, operation: "rename", path: path(of: name))
            }
            let new = try tree.location(of: newName, "rename", outside: node)
            if let replaced = new.folder.children?[new.name] {
                if replaced === node { return }
                try Self.checkReplacement(of: replaced, by: node, path(of: newName))
            }
            old.folder.children?[old.name] = nil
            new.folder.children?[new.name] = node
        }
    }

    public func remove(_ name: String) throws(StorageError) {
        try withTree { (tree, _) throws(StorageError) in
            let location = try tree.location(of: name, "remove")
            guard let node = location.folder.children?[location.name] else {
                throw StorageError(.notFound, operation: "remove", path: path(of: name))
            }
            guard node.children?.isEmpty ?? true else {
                throw StorageError(.notEmpty, operation: "remove", path: path(of: name))
            }
            location.folder.children?[location.name] = nil
        }
    }

    public func lockFile(_ name: String, _ opening: SharedOpening) throws(StorageError) -> any StorageLock {
        try withTree { (tree, state) throws(StorageError) in
            let node = try node(at: name, opening: opening, tree: tree, state: &state, operation: "open of a lock file")
            return MemoryLock(storage: self, node: node, owner: state.newOwner(), name: name)
        }
    }

    public func sharedMemory(
        _ name: String, byteCount: Int, _ opening: SharedOpening
    ) throws(StorageError) -> any SharedMemory {
        try withTree { (tree, state) throws(StorageError) in
            let operation = "map of shared memory"
            let node = try node(at: name, opening: opening, tree: tree, state: &state, operation: operation)
            if !opening.mayCreate, node.bytes.count < byteCount {
                throw StorageError(.notFound, operation: operation, path: path(of: name))
            }
            guard byteCount > 0, let buffer = node.bytes.pin(byteCount: byteCount) else {
                throw StorageError(
                    .input("it is mapped already with fewer bytes than the \(byteCount) asked for"),
                    operation: operation, path: path(of: name))
            }
            return StableSharedMemory(buffer, byteCount: byteCount, node.identity)
        }
    }

    private static func insert(
        _ node: Node, at name: String, tree: NameTree<Node>, operation: String
    ) throws(StorageError) {
        let location = try tree.freeLocation(of: name, operation)
        location.folder.children?[location.name] = node
    }

    private func node(
        at name: String, opening: SharedOpening, tree: NameTree<Node>, state: inout State, operation: String
    ) throws(StorageError) -> Node {
        if !opening.mayCreate { _ = try tree.existing(name, operation) }
        if let node = try tree.node(at: name, operation) {
            guard node.children == nil else {
                throw StorageError(.isAFolder, operation: operation, path: path(of: name))
            }
            return node
        }
        let node = state.newNode(isFolder: false)
        try Self.insert(node, at: name, tree: tree, operation: operation)
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

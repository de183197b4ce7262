import FirnStorage

/// Files of a `SimulatedDisk` by their names: below its root (`SimulatedStorage`) or below an open folder
/// (`SimulatedFolder`), as one process sees them.
public class SimulatedNames: @unchecked Sendable {
    // Sendable: the process is guarded by the disk's lock, and nothing else changes.
    public let disk: SimulatedDisk
    let process: SimulatedStorage.Process
    /// The open folder; nil for the root.
    let folder: SimulatedNode?
    /// The open folder's path; nil if names are paths.
    let folderPath: String?

    init(
        _ disk: SimulatedDisk, _ process: SimulatedStorage.Process, folder: SimulatedNode?, folderPath: String?
    ) {
        self.disk = disk
        self.process = process
        self.folder = folder
        self.folderPath = folderPath
    }

    /// The path of a name, under which its calls are recorded.
    func path(of name: String) -> String { folderPath.map { "\($0)/\(name)" } ?? name }

    /// The tree in which names are looked up.
    func tree(_ state: borrowing SimulatedDisk.State) -> NameTree<SimulatedNode> {
        NameTree(root: folder ?? state.tree.root, folderPath: folderPath)
    }

    public func open(_ name: String, _ mode: OpenMode, permissions: FileMode) throws(StorageError) -> any StorageFile {
        try call(mode == .create ? .create : .open, path: path(of: name)) { (state) throws(StorageError) in
            if mode == .create {
                let node = state.newNode(isFolder: false, disk.traits)
                try insert(node, at: name, state: &state, operation: "create")
                return SimulatedFile(storage: self, node: node, name: name, mode: mode)
            }
            let node = try tree(state).existing(name, "open")
            guard node.children == nil else { throw StorageError(.isAFolder, operation: "open", path: path(of: name)) }
            return SimulatedFile(storage: self, node: node, name: name, mode: mode)
        }
    }

    public func createFolder(_ name: String, permissions: FileMode) throws(StorageError) {
        try change(.createFolder, path: path(of: name)) { (state) throws(StorageError) in
            try insert(state.newNode(isFolder: true, disk.traits), at: name, state: &state, operation: "create folder")
        }
    }

    public func openFolder(_ name: String) throws(StorageError) -> any StorageFolder {
        try call(.openFolder, path: path(of: name)) { (state) throws(StorageError) in
            let node = try tree(state).existingFolder(name, "open of a folder")
            state.lastOwner += 1
            process.locks[state.lastOwner] = node
            return SimulatedFolder(parent: self, node: node, name: name, owner: state.lastOwner)
        }
    }

    public func isLink(_ name: String) throws(StorageError) -> Bool { false }

    /// Whether the name gives the node.
    ///
    /// It is not counted as a call: a log asks so often that scripts which stop at each call would take several times
    /// as long, and a stop here is one before the next call. A fault of a `status` call of this path applies.
    func gives(_ node: SimulatedNode, _ name: String) throws(StorageError) -> Bool {
        let call = SimulatedCall(
            process: process.number, index: -1, operation: .status, path: path(of: name), offset: 0, length: 0)
        return try disk.guarded.withLock { (state) throws(StorageError) in
            guard !process.isStopped else { throw StorageError.stop(call.path) }
            if let fault = fault(of: call) { throw fault.error }
            return try tree(state).node(at: name, "status") === node
        }
    }

    public func status(_ name: String) throws(StorageError) -> FileStatus? {
        try call(.status, path: path(of: name)) { (state) throws(StorageError) in
            guard let node = try tree(state).node(at: name, "status") else { return nil }
            guard node.children == nil else {
                return FileStatus(kind: .folder, byteCount: 0, allocatedByteCount: 0, identity: node.identity)
            }
            return FileStatus(
                kind: .file, byteCount: node.bytes.count, allocatedByteCount: node.allocated, identity: node.identity)
        }
    }

    public func rename(_ name: String, to newName: String) throws(StorageError) {
        try change(.rename, path: path(of: name)) { (state) throws(StorageError) in
            let old = try tree(state).location(of: name, "rename")
            guard let node = old.folder.children?[old.name] else {
                throw StorageError(.notFound, operation: "rename", path: path(of: name))
            }
            let new = try tree(state).location(of: newName, "rename", outside: node)
            if let replaced = new.folder.children?[new.name] {
                if replaced === node { return }
                try Self.checkReplacement(of: replaced, by: node, path(of: newName))
                state.unlink(replaced)
            }
            old.folder.children?[old.name] = nil
            new.folder.children?[new.name] = node
            state.pendingNames.append(
                SimulatedDisk.NameChange(
                    set: new, clear: old, node: node,
                    waitsFor: old.folder === new.folder ? [old.folder] : [old.folder, new.folder]))
        }
    }

    public func remove(_ name: String) throws(StorageError) {
        try change(.remove, path: path(of: name)) { (state) throws(StorageError) in
            let location = try tree(state).location(of: name, "remove")
            guard let node = location.folder.children?[location.name] else {
                throw StorageError(.notFound, operation: "remove", path: path(of: name))
            }
            guard node.children?.isEmpty ?? true else {
                throw StorageError(.notEmpty, operation: "remove", path: path(of: name))
            }
            location.folder.children?[location.name] = nil
            state.unlink(node)
            state.pendingNames.append(
                SimulatedDisk.NameChange(set: nil, clear: location, node: node, waitsFor: [location.folder]))
        }
    }

    public func lockFile(_ name: String, _ opening: SharedOpening) throws(StorageError) -> any StorageLock {
        try call(.lockFile, path: path(of: name)) { (state) throws(StorageError) in
            let node = try node(at: name, opening: opening, state: &state, operation: "open of a lock file")
            state.lastOwner += 1
            process.locks[state.lastOwner] = node
            return SimulatedLock(storage: self, node: node, owner: state.lastOwner, name: name)
        }
    }

    public func sharedMemory(
        _ name: String, byteCount: Int, _ opening: SharedOpening
    ) throws(StorageError) -> any SharedMemory {
        try call(.sharedMemory, path: path(of: name), length: byteCount) { (state) throws(StorageError) in
            let operation = "map of shared memory"
            let node = try node(at: name, opening: opening, state: &state, operation: operation)
            if !opening.mayCreate, node.bytes.count < byteCount {
                throw StorageError(.notFound, operation: operation, path: path(of: name))
            }
            let growth = max(0, byteCount - node.allocated)
            if let capacity = state.capacity, state.used + growth > capacity {
                throw StorageError(.noSpace, operation: operation, path: path(of: name), number: 28)
            }
            guard byteCount > 0, let buffer = node.bytes.pin(byteCount: byteCount) else {
                throw StorageError(
                    .input("it is mapped already with fewer bytes than the \(byteCount) asked for"),
                    operation: operation, path: path(of: name))
            }
            node.allocated += growth
            state.used += growth
            node.isShared = true
            return SimulatedSharedMemory(storage: self, buffer: buffer, byteCount: byteCount, identity: node.identity)
        }
    }

    /// A sync of a folder's names. `find` finds the folder.
    func syncNames(
        _ path: String, _ find: (SimulatedDisk.State) throws(StorageError) -> SimulatedNode
    ) throws(StorageError) {
        try call(.syncFolder, path) { (state, verdict) throws(StorageError) in
            let folder = try find(state)
            switch verdict {
            case .stop: return
            case .proceed: Self.syncNames(of: folder, &state)
            case .fail(let error, let residue):
                switch residue {
                case .all: Self.syncNames(of: folder, &state)
                case .nothing: state.pendingNames.removeAll { $0.waitsFor.contains { $0 === folder } }
                // The changes may or may not survive a power cut, as before.
                case .some: break
                }
                throw error
            }
        }
    }

    private static func syncNames(of folder: SimulatedNode, _ state: inout SimulatedDisk.State) {
        state.pendingNames = state.pendingNames.compactMap { change in
            var change = change
            change.waitsFor.removeAll { $0 === folder }
            guard change.waitsFor.isEmpty else { return change }
            if let (folder, name) = change.clear, folder.durableChildren[name] === change.node {
                folder.durableChildren[name] = nil
            }
            if let (folder, name) = change.set { folder.durableChildren[name] = change.node }
            return nil
        }
    }

    private func insert(
        _ node: SimulatedNode, at name: String, state: inout SimulatedDisk.State, operation: String
    ) throws(StorageError) {
        let location = try tree(state).freeLocation(of: name, operation)
        location.folder.children?[location.name] = node
        state.pendingNames.append(
            SimulatedDisk.NameChange(set: location, clear: nil, node: node, waitsFor: [location.folder]))
    }

    private func node(
        at name: String, opening: SharedOpening, state: inout SimulatedDisk.State, operation: String
    ) throws(StorageError) -> SimulatedNode {
        if !opening.mayCreate { _ = try tree(state).existing(name, operation) }
        if let node = try tree(state).node(at: name, operation) {
            guard node.children == nil else {
                throw StorageError(.isAFolder, operation: operation, path: path(of: name))
            }
            return node
        }
        let node = state.newNode(isFolder: false, disk.traits)
        try insert(node, at: name, state: &state, operation: operation)
        return node
    }

    private static func checkReplacement(
        of old: SimulatedNode, by new: SimulatedNode, _ path: String
    ) throws(StorageError) {
        switch (old.children, new.children) {
        case (nil, nil): return
        case (nil, _): throw StorageError(.notAFolder, operation: "rename", path: path)
        case (_, nil): throw StorageError(.isAFolder, operation: "rename", path: path)
        case (let children?, _):
            if !children.isEmpty { throw StorageError(.notEmpty, operation: "rename", path: path) }
        }
    }
}

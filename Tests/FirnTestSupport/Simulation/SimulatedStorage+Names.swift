import FirnStorage

/// The calls of `Storage` that deal with names.
extension SimulatedStorage {
    public func open(_ path: String, _ mode: OpenMode, permissions: FileMode) throws(StorageError) -> any StorageFile {
        try call(mode == .create ? .create : .open, path) { (state) throws(StorageError) in
            if mode == .create {
                let node = SimulatedNode(isFolder: false, disk.traits)
                try Self.insert(node, at: path, &state, "create")
                return SimulatedFile(self, node, path, mode)
            }
            let node = try state.tree.existing(path, "open")
            guard node.children == nil else { throw StorageError(.isAFolder, operation: "open", path: path) }
            return SimulatedFile(self, node, path, mode)
        }
    }

    public func createFolder(_ path: String, permissions: FileMode) throws(StorageError) {
        try change(.createFolder, path) { (state) throws(StorageError) in
            try Self.insert(SimulatedNode(isFolder: true, disk.traits), at: path, &state, "create folder")
        }
    }

    public func list(_ path: String) throws(StorageError) -> [String] {
        try call(.list, path) { (state) throws(StorageError) in
            // Sorted, so that a run is reproducible.
            try state.tree.existingFolder(path, "list").children!.keys.sorted()
        }
    }

    public func status(_ path: String) throws(StorageError) -> FileStatus? {
        try call(.status, path) { (state) throws(StorageError) in
            guard let node = try state.tree.node(at: path, "status") else { return nil }
            guard node.children == nil else { return FileStatus(kind: .folder, byteCount: 0, allocatedByteCount: 0) }
            return FileStatus(kind: .file, byteCount: node.bytes.count, allocatedByteCount: node.allocated)
        }
    }

    public func rename(_ path: String, to newPath: String) throws(StorageError) {
        try change(.rename, path) { (state) throws(StorageError) in
            let old = try state.tree.location(of: path, "rename")
            guard let node = old.folder.children?[old.name] else {
                throw StorageError(.notFound, operation: "rename", path: path)
            }
            let new = try state.tree.location(of: newPath, "rename", outside: node)
            if let replaced = new.folder.children?[new.name] {
                if replaced === node { return }
                try Self.checkReplacement(of: replaced, by: node, newPath)
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

    public func remove(_ path: String) throws(StorageError) {
        try change(.remove, path) { (state) throws(StorageError) in
            let location = try state.tree.location(of: path, "remove")
            guard let node = location.folder.children?[location.name] else {
                throw StorageError(.notFound, operation: "remove", path: path)
            }
            guard node.children?.isEmpty ?? true else {
                throw StorageError(.notEmpty, operation: "remove", path: path)
            }
            location.folder.children?[location.name] = nil
            state.unlink(node)
            state.pendingNames.append(
                SimulatedDisk.NameChange(set: nil, clear: location, node: node, waitsFor: [location.folder]))
        }
    }

    public func syncFolder(_ path: String) throws(StorageError) {
        try call(.syncFolder, path) { (state, verdict) throws(StorageError) in
            let folder = try state.tree.existingFolder(path, "sync of a folder")
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

    public func lockFile(_ path: String, _ opening: SharedOpening) throws(StorageError) -> any StorageLock {
        try call(.lockFile, path) { (state) throws(StorageError) in
            let node = try node(at: path, opening, &state, "open of a lock file")
            state.lastOwner += 1
            process.locks[state.lastOwner] = node
            return SimulatedLock(self, node, owner: state.lastOwner, path)
        }
    }

    public func sharedMemory(
        _ path: String, byteCount: Int, _ opening: SharedOpening
    ) throws(StorageError) -> any SharedMemory {
        try call(.sharedMemory, path, length: byteCount) { (state) throws(StorageError) in
            let operation = "map of shared memory"
            let node = try node(at: path, opening, &state, operation)
            if case .existing = opening, node.bytes.count < byteCount {
                throw StorageError(.notFound, operation: operation, path: path)
            }
            let growth = max(0, byteCount - node.allocated)
            if let capacity = state.capacity, state.used + growth > capacity {
                throw StorageError(.noSpace, operation: operation, path: path, number: 28)
            }
            guard byteCount > 0, let buffer = node.bytes.pin(byteCount: byteCount) else {
                throw StorageError(
                    .input("it is mapped already with fewer bytes than the \(byteCount) asked for"),
                    operation: operation, path: path)
            }
            node.allocated += growth
            state.used += growth
            node.isShared = true
            return SimulatedSharedMemory(self, buffer, byteCount: byteCount)
        }
    }

    /// Counts as a call of `sharedMemory` for a file named `scratch`. The file takes space of the disk only while it
    /// is made.
    public func scratchMemory(in folder: String, byteCount: Int) throws(StorageError) -> any SharedMemory {
        try call(.sharedMemory, folder + "/scratch", length: byteCount) { (state) throws(StorageError) in
            let operation = "map of scratch memory"
            _ = try state.tree.existingFolder(folder, operation)
            if let capacity = state.capacity, state.used + byteCount > capacity {
                throw StorageError(.noSpace, operation: operation, path: folder, number: 28)
            }
            var bytes = StableBytes()
            guard byteCount > 0, let buffer = bytes.pin(byteCount: byteCount) else {
                throw StorageError(
                    .input("a mapping of \(byteCount) bytes is impossible"), operation: operation, path: folder)
            }
            return StableSharedMemory(buffer, byteCount: byteCount)
        }
    }

    public func volume(of path: String) throws(StorageError) -> Volume {
        try call(.volume, path) { (state) throws(StorageError) in
            _ = try state.tree.existing(path, "status of the volume")
            var volume = state.volume
            if let capacity = state.capacity { volume.availableByteCount = max(0, capacity - state.used) }
            return volume
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

    private static func insert(
        _ node: SimulatedNode, at path: String, _ state: inout SimulatedDisk.State, _ operation: String
    ) throws(StorageError) {
        if try state.tree.node(at: path, operation) != nil {
            throw StorageError(.exists, operation: operation, path: path)
        }
        let location = try state.tree.location(of: path, operation)
        location.folder.children?[location.name] = node
        state.pendingNames.append(
            SimulatedDisk.NameChange(set: location, clear: nil, node: node, waitsFor: [location.folder]))
    }

    private func node(
        at path: String, _ opening: SharedOpening, _ state: inout SimulatedDisk.State, _ operation: String
    ) throws(StorageError) -> SimulatedNode {
        if case .existing = opening { _ = try state.tree.existing(path, operation) }
        if let node = try state.tree.node(at: path, operation) {
            guard node.children == nil else { throw StorageError(.isAFolder, operation: operation, path: path) }
            return node
        }
        let node = SimulatedNode(isFolder: false, disk.traits)
        try Self.insert(node, at: path, &state, operation)
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

import FirnStorage

/// What deleting a store has done.
public struct StoreRemoval: Sendable, Equatable {
    /// Whether there was a store, or what was left of one.
    public var wasThere: Bool
    /// What stays, as the store's makers did not put it there: names within the folder.
    public var left: [String]
}

extension Log {
    /// Deletes a store: the files that Firn has made, by their names, and the folder if nothing else is in it. Links are neither followed nor removed.
    ///
    /// Throws, having changed nothing, where the path bears no store (its manifest must be whole), and `.locked` where anybody, in this process or another, has the store open or holds a version of it.
    ///
    /// The manifest goes last of what holds data, once the rest is gone for good. So a crash leaves a folder that says that it is a store, which can't be opened unless all is there, and which
    /// can be deleted again; without a manifest only the shared page and the lock are left.
    public static func remove(_ path: String, storage: any Storage) throws(LogError) -> StoreRemoval {
        try StoreFolder(path: path, storage: storage).remove()
    }
}

extension StoreFolder {
    func remove() throws(LogError) -> StoreRemoval {
        guard try !isLink(path) else {
            throw LogError(.notAStore, path: path, detail: "it is a symbolic link, which deleting does not follow")
        }
        let found = try find()
        if found == .nothing { return StoreRemoval(wasThere: false, left: []) }
        if found == .store { _ = try readManifest() }
        if found == .empty, try names(path).isEmpty { return StoreRemoval(wasThere: false, left: []) }
        if try isLink(lock) { throw LogError(.notAStore, path: lock, detail: "it is a symbolic link") }

        let locks = try claim()
        defer { locks.leave() }
        // Nobody changes anything from here on.
        if try find() == .store { _ = try readManifest() }
        return try removeAll()
    }

    /// How long a thread of a store that has just been let go may still hold its locks.
    private static let patience: Int64 = 2_000_000_000

    /// Every lock of the store. Throws `.locked` if somebody has one of them for longer than `patience`.
    private func claim() throws(LogError) -> StoreLocks {
        let deadline = SystemClock.shared.monotonic() + Self.patience
        while true {
            let locks = try StoreLocks(self)
            do throws(LogError) {
                if try locks.claimAll(), try !locks.isRemoved() { return locks }
            } catch {
                locks.leave()
                throw error
            }
            locks.leave()
            if SystemClock.shared.monotonic() > deadline {
                throw LogError(.locked(processID: SharedPage.writerProcess(self)), path: path)
            }
            restThread(nanoseconds: 5_000_000)
        }
    }

    private func removeAll() throws(LogError) -> StoreRemoval {
        try removeFiles(in: log) { Self.segmentNumber(of: $0) != nil }
        try removeFiles(in: checkpoints) { Self.checkpointID(of: $0) != nil }
        for name in try names(path) where ScratchName.matches(name) { try removeFile(path + "/" + name) }
        try removeFile(newManifest)
        try removeFile(reserve)
        try stored { () throws(StorageError) in try storage.syncFolder(path) }
        try removeFile(manifest)
        // As the manifest, the mark of an unfinished copy goes after what it is about.
        try removeFile(copying)
        try stored { () throws(StorageError) in try storage.syncFolder(path) }
        try removeFile(shared)
        try removeFile(lock)
        let left = try leftNames()
        if left.isEmpty {
            try stored { () throws(StorageError) in
                try storage.remove(path)
                try storage.syncFolder(parent)
            }
        }
        return StoreRemoval(wasThere: true, left: left)
    }

    /// Removes the files of a folder of the store whose names are Firn's, and the folder if that leaves nothing in it.
    private func removeFiles(in folder: String, where isOurs: (String) -> Bool) throws(LogError) {
        guard try !isLink(folder),
            try stored({ () throws(StorageError) in try storage.status(folder) })?.kind == .folder
        else { return }
        for name in try names(folder) where isOurs(name) { try removeFile(folder + "/" + name) }
        if try names(folder).isEmpty {
            try stored { () throws(StorageError) in try storage.remove(folder) }
        } else {
            try stored { () throws(StorageError) in try storage.syncFolder(folder) }
        }
    }

    /// Removes a file. What bears the name and is none stays.
    private func removeFile(_ path: String) throws(LogError) {
        guard try !isLink(path), try stored({ () throws(StorageError) in try storage.status(path) })?.kind == .file
        else { return }
        try removeIfPresent(path)
    }

    /// What is in the folder, and what is in its folders where only that keeps them.
    private func leftNames() throws(LogError) -> [String] {
        var result: [String] = []
        for name in try names(path).sorted() {
            let inner = path + "/" + name
            guard name == "log" || name == "checkpoint", try !isLink(inner),
                try stored({ () throws(StorageError) in try storage.status(inner) })?.kind == .folder
            else {
                result.append(name)
                continue
            }
            for innerName in try names(inner).sorted() { result.append(name + "/" + innerName) }
        }
        return result
    }

    private func names(_ folder: String) throws(LogError) -> [String] {
        try stored { () throws(StorageError) in try storage.list(folder) }
    }
}

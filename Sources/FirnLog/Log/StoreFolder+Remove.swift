import FirnStorage

/// What deleting a store has done.
package struct StoreRemoval: Sendable, Equatable {
    /// Whether there was a store, or remains of one.
    package var wasThere: Bool
    /// What was left in the folder because Firn did not make it: names within the folder.
    package var left: [String]
}

/// A store as an opener for writing has last seen it.
package struct SeenStore: Sendable {
    /// The identity of the store's folder.
    let identity: FileIdentity
    let session: UInt64
    let version: UInt64

    /// Whether nobody has written to the store since. The caller holds all locks, so no opener has it open.
    fileprivate func isUnchanged(in folder: StoreFolder, _ storeID: StoreID) throws(LogError) -> Bool {
        let page = try SharedPage(reading: folder, storeID)
        return page.isValid && page.session == session && page.durableMark <= version
    }
}

extension Log {
    /// The store as it is now; nil for a log that is opened read-only.
    package var seenStore: SeenStore? {
        writer.map {
            SeenStore(identity: folder.root.identity, session: page.session, version: $0.group.writtenVersion)
        }
    }

    /// Deletes a store: the files that Firn has made, recognised by their names, and the folder if nothing else is
    /// in it. Links are neither followed nor removed.
    ///
    /// Returns `wasThere` false if there is nothing at the path, or an empty folder. Throws, having changed nothing, if
    /// there is something else, or if the store's manifest is not intact. Throws `.locked` if any opener, in this
    /// process or another, has the store open or holds a version of it.
    ///
    /// Of the files that hold data, the manifest is removed last, once the removal of the others is durable. So a crash
    /// leaves a folder that is still marked as a store. It can't be opened unless everything is there, and it can be
    /// deleted again. If the manifest is gone, only the shared page and the lock are left.
    ///
    /// - Parameters:
    ///   - keepsOthers: whether other files in the folder are kept, and the folder with them. If not, they make this
    ///     throw `.foreignFolder`, having changed nothing.
    ///   - seen: the store that is meant. If another store is at the path by now, or somebody has written to it since,
    ///     nothing is deleted.
    package static func remove(
        _ path: String, keepsOthers: Bool = true, ifStill seen: SeenStore? = nil, storage: any Storage
    ) throws(LogError) -> StoreRemoval {
        let location = StoreLocation(path: path, storage: storage)
        guard try stored(!storage.isLink(path)) else {
            throw LogError(.notAStore, path: path, detail: "it is a symbolic link, which deleting does not follow")
        }
        guard let folder = try location.open(), seen == nil || folder.root.identity == seen?.identity else {
            return StoreRemoval(wasThere: false, left: [])
        }
        return try folder.remove(keepsOthers: keepsOthers, ifStill: seen, location)
    }
}

extension StoreFolder {
    /// Deletes the store in this folder (`Log.remove`).
    ///
    /// - Parameter location: where the folder was found.
    fileprivate func remove(
        keepsOthers: Bool, ifStill seen: SeenStore?, _ location: StoreLocation
    ) throws(LogError) -> StoreRemoval {
        let found = try find()
        if found == .store { _ = try readManifest(needsKey: false) }
        if found == .empty, try list(.store).isEmpty { return StoreRemoval(wasThere: false, left: []) }
        if try isLink(lock) { throw LogError(.notAStore, path: path(of: lock), detail: "it is a symbolic link") }

        let locks = try takeAllLocks()
        defer { locks.releaseAll() }
        // From here on no other process changes anything.
        if try find() == .store {
            let manifest = try readManifest(needsKey: false)
            if let seen, try !seen.isUnchanged(in: self, manifest.storeID) {
                return StoreRemoval(wasThere: false, left: [])
            }
        }
        if !keepsOthers, let other = try leftNames().first(where: { !Self.isOwn($0) }) {
            throw LogError(.foreignFolder, path: path, detail: other)
        }
        return try removeAll(location)
    }

    /// The nanoseconds to wait for a lock. A thread of a store that was just closed may still hold locks for this long.
    private static let lockTimeout: Int64 = 2_000_000_000

    /// Takes every lock of the store. Throws `.locked` if another opener holds one of them for longer than
    /// `lockTimeout`.
    func takeAllLocks() throws(LogError) -> StoreLocks {
        let deadline = SystemClock.shared.monotonic() + Self.lockTimeout
        while true {
            let locks = try StoreLocks(self)
            do throws(LogError) {
                if try locks.claimAll() { return locks }
            } catch {
                locks.releaseAll()
                throw error
            }
            locks.releaseAll()
            if SystemClock.shared.monotonic() > deadline {
                throw LogError(.locked(processID: SharedPage.writerProcess(self)), path: path)
            }
            sleepThread(nanoseconds: 5_000_000)
        }
    }

    private func removeAll(_ location: StoreLocation) throws(LogError) -> StoreRemoval {
        try removeFiles(in: .log) { Self.segmentNumber(of: $0) != nil }
        try removeFiles(in: .checkpoints) { Self.checkpointID(of: $0) != nil }
        for name in try list(.store) where ScratchName.matches(name) { try removeFile(StoreFileName(name)) }
        try removeFile(newManifest)
        try removeFile(reserve)
        try stored(sync(.store))
        try removeFile(manifest)
        // Like the manifest, the mark of an unfinished copy is removed after the files that it is about.
        try removeFile(copying)
        try stored(sync(.store))
        try removeFile(shared)
        try removeFile(lock)
        let left = try leftNames()
        // If the folder was moved meanwhile, its path leads to another folder, or to nothing.
        if left.isEmpty, try stored(root.isNamed()) {
            try stored(location.storage.remove(location.path))
            try stored(location.storage.syncFolder(location.parent))
        }
        return StoreRemoval(wasThere: true, left: left)
    }

    /// Removes the files of a folder of the store that have Firn's names, and the folder if nothing is left in it.
    private func removeFiles(
        in folder: StoreFileName.Folder, where isRemoved: (String) -> Bool
    ) throws(LogError) {
        guard try stored(root.status(folder.name))?.kind == .folder else { return }
        for name in try list(folder) where isRemoved(name) { try removeFile(StoreFileName(name, in: folder)) }
        if try list(folder).isEmpty {
            try stored(root.remove(folder.name))
        } else {
            try stored(sync(folder))
        }
    }

    /// Removes a file. A link, or anything else that is not a file, stays.
    private func removeFile(_ name: StoreFileName) throws(LogError) {
        guard try stored(status(name))?.kind == .file else { return }
        try removeIfPresent(name)
    }

    /// The names left in the folder; for `log` and `checkpoint`, which stay only because something is in them, the
    /// names in those folders.
    private func leftNames() throws(LogError) -> [String] {
        var result: [String] = []
        for name in try list(.store).sorted() {
            guard let folder = StoreFileName.Folder.inner.first(where: { $0.name == name }),
                try stored(root.status(name))?.kind == .folder
            else {
                result.append(name)
                continue
            }
            for innerName in try list(folder).sorted() { result.append(name + "/" + innerName) }
        }
        return result
    }

    /// Whether a name that `leftNames` gives is a name that `removeAll` removes.
    private static func isOwn(_ name: String) -> Bool {
        let parts = name.split(separator: "/").map(String.init)
        guard parts.count == 2 else { return isName(name) || ScratchName.matches(name) }
        return parts[0] == "log" ? segmentNumber(of: parts[1]) != nil : checkpointID(of: parts[1]) != nil
    }
}

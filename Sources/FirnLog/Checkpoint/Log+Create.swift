import FirnBytes
import FirnStorage

extension Log {
    /// Makes a store that begins with a checkpoint, and closes it.
    ///
    /// All locks of the store are held meanwhile, as they are while a store is deleted: an opener waits, and finds
    /// the complete store. Until the manifest says that this is a store, a file `copying` says that it is not yet
    /// one; that file is durable before anything else is made. So an interrupted copy can be opened (as a location
    /// where nothing is), deleted, or written again.
    ///
    /// - Parameter beginning: the checkpoint's version and time, and the schema in force.
    /// - Parameter write: writes the checkpoint's nodes, and returns its `state`.
    /// - Parameter replacesRemains: whether an empty folder, or what an interrupted creation or deletion has left in
    /// one,
    ///   is no obstacle.
    /// - Throws: `.foreignFolder` if anything exists at the path, except an interrupted copy; `.locked` if another
    ///   opener is making a store there. If it throws, nothing is left of the copy; or, if that can't be removed
    ///   either, an interrupted copy or the complete one.
    package static func create(
        _ path: String, beginningWith beginning: (version: UInt64, time: Int64, schema: [UInt8]),
        fileMode: FileMode = .ownerOnly, replacesRemains: Bool = false, storage: any Storage,
        randomness: any Randomness, _ write: (CheckpointFileWriter) throws(LogError) -> [UInt8]
    ) throws(LogError) {
        var folder = StoreFolder(path: path, storage: storage)
        folder.fileMode = fileMode
        let locks = try claimFolder(folder, replacesRemains: replacesRemains)
        defer { locks.releaseAll() }
        do {
            try folder.removeUnfinishedCopy()
            try folder.removeIfPresent(folder.newManifest)
            try folder.markCopy()
            try folder.createFolderIfAbsent(folder.log)
            try folder.createFolderIfAbsent(folder.checkpoints)
            let storeID = StoreID(randomness)
            let file = try CheckpointFileWriter(folder: folder, storeID: storeID, id: 1, start: 0)
            let state = try write(file)
            let checkpoint = try file.finish(
                version: beginning.version, time: beginning.time, earlier: [], state: state)
            let manifest = Manifest(
                storeID: storeID, created: beginning.time, checkpoint: Manifest.Checkpoint(checkpoint),
                segments: [Manifest.Segment(segment: 1, epoch: 1, firstVersion: beginning.version + 1)])
            try makeFirstSegment(folder, manifest, schema: beginning.schema, time: beginning.time)
            try stored { () throws(StorageError) in try storage.syncFolder(folder.parent) }
        } catch {
            removeAll(folder)
            throw error
        }
        // Beside a manifest this file means nothing; if this fails, the next opening removes it.
        try? folder.removeIfPresent(folder.copying)
    }

    /// Creates the copy's folder, or takes over that of an interrupted copy. Returns the store's locks, all of them
    /// held.
    private static func claimFolder(
        _ folder: StoreFolder, replacesRemains: Bool
    ) throws(LogError) -> StoreLocks {
        let found = try find(folder)
        guard found == .nothing || found == .unfinishedCopy || found == .empty && replacesRemains else {
            throw nameIsTaken(folder)
        }
        if found == .nothing {
            // If another process makes something at the path meanwhile, this throws and leaves it there.
            try stored { () throws(StorageError) in
                try folder.storage.createFolder(folder.path, permissions: folder.fileMode)
            }
        }
        let locks: StoreLocks
        do throws(LogError) { locks = try StoreLocks(folder) } catch {
            // Only an empty folder is removed by this.
            if found == .nothing { try? folder.storage.remove(folder.path) }
            throw error
        }
        do throws(LogError) {
            guard try locks.claimAll(), try !locks.isRemoved() else {
                throw LogError(.locked(processID: SharedPage.writerProcess(folder)), path: folder.path)
            }
            // Before the locks were claimed, another process may have made a store.
            let now = try find(folder)
            guard now == .empty || now == .unfinishedCopy else { throw nameIsTaken(folder) }
            return locks
        } catch {
            locks.releaseAll()
            throw error
        }
    }

    /// What exists at the copy's path. Throws also for what is no store, or was one: the copy must not replace it
    /// either.
    private static func find(_ folder: StoreFolder) throws(LogError) -> StoreFolder.Found {
        do throws(LogError) { return try folder.find() } catch {
            switch error.code {
            case .notAStore, .foreignFolder, .damage: throw nameIsTaken(folder)
            default: throw error
            }
        }
    }

    private static func nameIsTaken(_ folder: StoreFolder) -> LogError {
        LogError(.foreignFolder, path: folder.path, detail: "something exists there already; a copy replaces nothing")
    }

    /// Removes the files that a failed copy has made, by their names. The caller holds the locks.
    ///
    /// It ends with the first step that fails, because each must be durable before the next: a manifest without its
    /// files would be a damaged store, and files without the mark the remains of one. Neither can be opened, nor the
    /// second one deleted. So what is left after a failure or a power cut is the whole store, or an interrupted copy.
    private static func removeAll(_ folder: StoreFolder) {
        do {
            try folder.removeIfPresent(folder.manifest)
            try folder.storage.syncFolder(folder.path)
            try folder.removeUnfinishedCopy()
            for path in [folder.log, folder.checkpoints, folder.lock, folder.path] { try folder.removeIfPresent(path) }
        } catch {
            // The caller throws what the copy has failed with.
        }
    }
}

extension StoreFolder {
    /// Marks the folder durably as a copy that is not finished. The caller holds the locks.
    func markCopy() throws(LogError) {
        let file = try stored { () throws(StorageError) in try create(copying) }
        defer { file.close() }
        try write(withUnsafeBytes(of: Self.copyMagic.littleEndian) { Array($0) }, to: file, at: 0)
        try stored { () throws(StorageError) in
            try file.sync()
            try storage.syncFolder(path)
        }
    }

    /// Removes the files of an interrupted copy, if there is one. The caller holds the locks, and there is no manifest.
    func removeUnfinishedCopy() throws(LogError) {
        guard try stored({ () throws(StorageError) in try storage.status(copying) }) != nil else { return }
        for path in [newManifest, segment(1), checkpoint(1)] { try removeIfPresent(path) }
        // Their removal is durable before the mark is removed: without the mark they would be remains of a store.
        try stored { () throws(StorageError) in
            for folder in [log, checkpoints] where try storage.status(folder) != nil { try storage.syncFolder(folder) }
            try storage.syncFolder(path)
        }
        try removeIfPresent(copying)
    }
}

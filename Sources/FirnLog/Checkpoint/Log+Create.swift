import FirnBytes
import FirnStorage

extension Log {
    /// Makes a store that begins with a checkpoint, and closes it.
    ///
    /// All locks of the store are held meanwhile, as by who deletes it: whoever opens it waits, and finds the whole. A
    /// file `copying` says that what is there is no store yet, until the manifest says that it is one; it is durable
    /// before anything else is made. So what a copy leaves that was cut short can be opened (as a place where nothing
    /// is), deleted, or copied to again.
    ///
    /// - Parameter beginning: the checkpoint's version and time, and the schema in force.
    /// - Parameter write: writes the checkpoint's nodes, and gives its `state`.
    /// - Throws: `.foreignFolder` where something bears the name, but for a copy that was cut short; `.locked` where
    ///   somebody else is making a store there. Where it throws, nothing is left of it.
    public static func create(
        _ path: String, beginningWith beginning: (version: UInt64, time: Int64, schema: [UInt8]),
        fileMode: FileMode = .ownerOnly, storage: any Storage, randomness: any Randomness,
        _ write: (CheckpointFileWriter) throws(LogError) -> [UInt8]
    ) throws(LogError) {
        var folder = StoreFolder(path: path, storage: storage)
        folder.fileMode = fileMode
        let locks = try claimPlace(folder)
        defer { locks.leave() }
        do {
            try folder.removeUnfinishedCopy()
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
        // Beside the manifest it says nothing; the next opening removes it where this fails.
        try? folder.removeIfPresent(folder.copying)
    }

    /// Makes the copy's folder, or takes that of a copy that was cut short. Gives all locks of the store there.
    private static func claimPlace(_ folder: StoreFolder) throws(LogError) -> StoreLocks {
        let found = try look(at: folder)
        guard found == .nothing || found == .unfinishedCopy else { throw bearsName(folder) }
        if found == .nothing {
            // Whoever else makes something there meanwhile keeps it.
            try stored { () throws(StorageError) in
                try folder.storage.createFolder(folder.path, permissions: folder.fileMode)
            }
        }
        let locks: StoreLocks
        do throws(LogError) { locks = try StoreLocks(folder) } catch {
            // Only an empty folder can be removed.
            if found == .nothing { try? folder.storage.remove(folder.path) }
            throw error
        }
        do throws(LogError) {
            guard try locks.claimAll(), try !locks.isRemoved() else {
                throw LogError(.locked(processID: SharedPage.writerProcess(folder)), path: folder.path)
            }
            // Before the locks were claimed, somebody else may have made a store.
            let now = try look(at: folder)
            guard now == .empty || now == .unfinishedCopy else { throw bearsName(folder) }
            return locks
        } catch {
            locks.leave()
            throw error
        }
    }

    /// What bears the copy's name. Whatever is no store, or was one, is something all the same.
    private static func look(at folder: StoreFolder) throws(LogError) -> StoreFolder.Found {
        do throws(LogError) { return try folder.find() } catch {
            switch error.code {
            case .notAStore, .foreignFolder, .damage: throw bearsName(folder)
            default: throw error
            }
        }
    }

    private static func bearsName(_ folder: StoreFolder) -> LogError {
        LogError(.foreignFolder, path: folder.path, detail: "something bears the name; a copy replaces nothing")
    }

    /// Removes what a copy that failed has made, by its names. The locks are held. What can't be removed is no store:
    /// it has no manifest, and the mark goes after it.
    private static func removeAll(_ folder: StoreFolder) {
        let files = [folder.manifest, folder.newManifest, folder.segment(1), folder.checkpoint(1)]
        for path in files + [folder.log, folder.checkpoints, folder.copying, folder.lock, folder.path] {
            try? folder.storage.remove(path)
        }
    }
}

extension StoreFolder {
    /// Says that what is made here is a copy that is not finished, durably. By the holder of the locks.
    func markCopy() throws(LogError) {
        let file = try stored { () throws(StorageError) in try create(copying) }
        defer { file.close() }
        try write(withUnsafeBytes(of: Self.copyMagic.littleEndian) { Array($0) }, to: file, at: 0)
        try stored { () throws(StorageError) in
            try file.sync()
            try storage.syncFolder(path)
        }
    }

    /// Removes what a copy has left that was cut short, if there is any. By the holder of the locks, where no manifest
    /// is.
    func removeUnfinishedCopy() throws(LogError) {
        guard try stored({ () throws(StorageError) in try storage.status(copying) }) != nil else { return }
        for path in [newManifest, segment(1), checkpoint(1)] { try removeIfPresent(path) }
        // They are gone for good before the mark is: without it they would be what is left of a store.
        try stored { () throws(StorageError) in
            for folder in [log, checkpoints] where try storage.status(folder) != nil { try storage.syncFolder(folder) }
            try storage.syncFolder(path)
        }
        try removeIfPresent(copying)
    }
}

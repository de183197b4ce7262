import FirnBytes
import FirnCrypto
import FirnStorage

extension Log {
    /// Makes a store from a checkpoint (a *copy*), and closes it.
    ///
    /// All locks of the store are held meanwhile, as they are while a store is deleted. So an opener waits, and then
    /// finds the complete store. Until the manifest exists, a file `copying` marks the folder as an interrupted copy.
    /// That file is durable before anything else is made. So an interrupted copy can be opened for writing (it then
    /// counts as empty), deleted, or written again.
    ///
    /// - Parameter beginning: the checkpoint's version and time, and the schema in force.
    /// - Parameter write: writes the checkpoint's nodes, and returns its `state`.
    /// - Parameter encryptionKey: the key of the copy, which is encrypted if there is one.
    /// - Parameter replacesRemains: whether a folder is accepted at the path that is empty, or has the remains of an
    ///   interrupted creation or deletion.
    /// - Throws: `.foreignFolder` if anything exists at the path, except an interrupted copy and what `replacesRemains`
    ///   allows. `.locked` if another opener is making a store there. After an error, nothing of the copy is left,
    ///   unless its removal fails, too. Then an interrupted copy or the complete store is left.
    package static func create(
        _ path: String, beginningWith beginning: (version: UInt64, time: Int64, schema: [UInt8]),
        fileMode: FileMode = .ownerOnly, encryptionKey: EncryptionKey? = nil, replacesRemains: Bool = false,
        storage: any Storage, randomness: any Randomness, _ write: (CheckpointFileWriter) throws(LogError) -> [UInt8]
    ) throws(LogError) {
        var location = StoreLocation(path: path, storage: storage)
        location.fileMode = fileMode
        location.keyRing = (encryptionKey ?? EncryptionKey.ofTests).map { KeyRing($0, randomness: randomness) }
        if location.keyRing != nil, EncryptionAlgorithm.preferred == nil {
            throw LogError(.key(.unavailable), path: path)
        }
        let (folder, locks) = try claimFolder(location, replacesRemains: replacesRemains)
        defer { locks.releaseAll() }
        do {
            try folder.removeUnfinishedCopy()
            try folder.removeIfPresent(folder.newManifest)
            try folder.markCopy()
            try folder.createFolderIfAbsent(.log)
            try folder.createFolderIfAbsent(.checkpoints)
            let storeID = StoreID(randomness)
            let encryption = try folder.makeKeys(for: storeID)
            let file = try CheckpointFileWriter(folder: folder, storeID: storeID, id: 1, start: 0)
            let state = try write(file)
            let checkpoint = try file.finish(
                version: beginning.version, time: beginning.time, earlier: [], state: state)
            let manifest = Manifest(
                storeID: storeID, encryption: encryption, created: beginning.time,
                checkpoint: Manifest.Checkpoint(checkpoint),
                segments: [Manifest.Segment(segment: 1, epoch: 1, firstVersion: beginning.version + 1)])
            try makeFirstSegment(folder, manifest, schema: beginning.schema, time: beginning.time)
            try stored(storage.syncFolder(location.parent))
        } catch {
            removeAll(folder, location)
            throw error
        }
        // Beside a manifest, the file `copying` means nothing. If its removal fails, the next opening removes it.
        try? folder.removeIfPresent(folder.copying)
    }

    /// Creates the copy's folder, or takes over the folder that is there. Returns the folder, and the store's locks,
    /// all of them held.
    private static func claimFolder(
        _ location: StoreLocation, replacesRemains: Bool
    ) throws(LogError) -> (folder: StoreFolder, locks: StoreLocks) {
        let present = try find(location)
        let isNew = present == nil
        if let present {
            guard present.found == .unfinishedCopy || present.found == .empty && replacesRemains else {
                throw nameIsTaken(location)
            }
        } else {
            // If another process makes something at the path meanwhile, this throws and leaves it there.
            try stored(location.storage.createFolder(location.path, permissions: location.fileMode))
        }
        var opened = present?.folder
        if opened == nil { opened = try location.open() }
        guard let folder = opened else {
            throw .replaced(location.path, "the folder that was just made is gone")
        }
        let locks: StoreLocks
        do throws(LogError) { locks = try StoreLocks(folder) } catch {
            // This removes the folder only if it is empty.
            if isNew { try? location.storage.remove(location.path) }
            throw error
        }
        do throws(LogError) {
            guard try locks.claimAll() else {
                throw LogError(.locked(processID: SharedPage.writerProcess(folder)), path: folder.path)
            }
            // Before the locks were claimed, another process may have made a store.
            let now = try findTaken(location) { () throws(LogError) in try folder.find() }
            guard now == .empty || now == .unfinishedCopy else { throw nameIsTaken(location) }
            return (folder, locks)
        } catch {
            locks.releaseAll()
            throw error
        }
    }

    /// What exists at the copy's path; nil if there is nothing.
    private static func find(
        _ location: StoreLocation
    ) throws(LogError) -> (folder: StoreFolder, found: StoreFolder.Found)? {
        try findTaken(location) { () throws(LogError) in
            guard let folder = try location.open() else { return nil }
            return (folder, try folder.find())
        }
    }

    /// Turns the errors for a path that holds no store, or a damaged one, into `nameIsTaken`: a copy must not replace
    /// it either.
    private static func findTaken<Result>(
        _ location: StoreLocation, _ body: () throws(LogError) -> Result
    ) throws(LogError) -> Result {
        do throws(LogError) { return try body() } catch {
            switch error.code {
            case .notAStore, .foreignFolder, .damage: throw nameIsTaken(location)
            default: throw error
            }
        }
    }

    private static func nameIsTaken(_ location: StoreLocation) -> LogError {
        LogError(.foreignFolder, path: location.path, detail: "something exists there already; a copy replaces nothing")
    }

    /// Removes the files that a failed copy has made, by their names. The caller holds the locks.
    ///
    /// It ends with the first step that fails, because each step must be durable before the next. A manifest without
    /// its files would be a damaged store, and files without the mark would be the remains of a store. Neither can be
    /// opened, and the remains can't be deleted. So after a failure or a power cut, the whole store or an interrupted
    /// copy is left.
    private static func removeAll(_ folder: StoreFolder, _ location: StoreLocation) {
        do {
            try folder.removeIfPresent(folder.manifest)
            try folder.sync(.store)
            try folder.removeUnfinishedCopy()
            for name in StoreFileName.Folder.inner.map(\.name) + [folder.lock.name] {
                try folder.removeIfPresent(StoreFileName(name))
            }
            if try folder.root.isNamed() { try location.storage.remove(location.path) }
        } catch {
            // The caller throws the error that made the copy fail.
        }
    }
}

extension StoreFolder {
    /// Marks the folder durably as a copy that is not finished. The caller holds the locks.
    func markCopy() throws(LogError) {
        let file = try stored(create(copying))
        defer { file.close() }
        try stored(file.write(withUnsafeBytes(of: Self.copyMagic.littleEndian) { Array($0) }, at: 0))
        try stored(file.sync())
        try stored(sync(.store))
    }

    /// Removes the files of an interrupted copy, if there is one. The caller holds the locks, and there is no manifest.
    func removeUnfinishedCopy() throws(LogError) {
        guard try stored(status(copying)) != nil else { return }
        try removeIfPresent(newManifest)
        for file in [segment(1), checkpoint(1)]
        where try stored(exists(file.folder)) { try removeIfPresent(file) }
        // The removal of these files is durable before the mark is removed: without the mark they would be remains of a
        // store.
        try stored { () throws(StorageError) in
            for folder in StoreFileName.Folder.inner where try exists(folder) { try sync(folder) }
            try sync(.store)
        }
        try removeIfPresent(copying)
    }
}

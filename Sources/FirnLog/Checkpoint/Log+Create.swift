import FirnBytes
import FirnStorage

extension Log {
    /// Makes a store that begins with a checkpoint, and closes it.
    ///
    /// - Parameter beginning: the checkpoint's version and time, and the schema in force.
    /// - Parameter write: writes the checkpoint's nodes, and gives its `state`.
    /// - Throws: `.foreignFolder` where something bears the name. Where it throws, nothing is left.
    public static func create(
        _ path: String, beginningWith beginning: (version: UInt64, time: Int64, schema: [UInt8]),
        fileMode: FileMode = .ownerOnly, storage: any Storage, randomness: any Randomness,
        _ write: (CheckpointFileWriter) throws(LogError) -> [UInt8]
    ) throws(LogError) {
        var folder = StoreFolder(path: path, storage: storage)
        folder.fileMode = fileMode
        guard try folder.find() == .nothing else {
            throw LogError(.foreignFolder, path: path, detail: "something bears the name; a copy replaces nothing")
        }
        // Whoever else makes something there meanwhile keeps it.
        try stored { () throws(StorageError) in try storage.createFolder(path, permissions: fileMode) }
        do {
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
    }

    /// Removes what a copy that failed has made, by its names. What can't be removed is no store: it has no manifest.
    private static func removeAll(_ folder: StoreFolder) {
        let files = [folder.manifest, folder.newManifest, folder.segment(1), folder.checkpoint(1)]
        for path in files + [folder.log, folder.checkpoints, folder.path] { try? folder.storage.remove(path) }
    }
}

import FirnStorage

/// The manifest with which a store is opened read-only, even if another one replaces it meanwhile. For a reader
/// without a slot, also the files that opening needs, opened before another process could remove them.
final class HeldLogFiles: Sendable {
    /// If more segments than this lie behind the checkpoint, none is held: file descriptors are scarce.
    private static let segmentMax = 64

    let manifest: Manifest
    let files: LinearMap<StoreFileName, any StorageFile>

    /// For a reader with a slot: nothing is removed while it opens the store.
    init(_ manifest: Manifest) {
        self.manifest = manifest
        files = LinearMap()
    }

    init(folder: StoreFolder, manifest: Manifest, checkpoint: Checkpoint?) throws(LogError) {
        self.manifest = manifest
        let start = checkpoint?.version ?? 0
        let needed = manifest.segments.filter { !$0.isSealed || $0.lastVersion > start }
        var names = checkpoint?.files.map { folder.checkpoint($0.id) } ?? []
        if needed.count <= Self.segmentMax { names += needed.map { folder.segment($0.segment) } }
        var files = LinearMap<StoreFileName, any StorageFile>()
        for name in names {
            files[name] = try stored(folder.open(name, .read))
        }
        self.files = files
    }
}

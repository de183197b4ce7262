import FirnStorage

/// The manifest that opening a store read-only uses, even if a newer manifest replaces it meanwhile. A reader without a
/// slot also holds the files that opening needs, because another process may remove them.
final class HeldLogFiles: Sendable {
    /// If opening needs more segments than this, no segment is held: file descriptors are scarce.
    private static let segmentMax = 64

    let manifest: Manifest
    let files: LinearMap<StoreFileName, any StorageFile>

    /// For a reader with a slot, which needs no held files: no process removes a file while it opens the store.
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

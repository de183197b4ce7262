import FirnStorage

/// The path at which a store is, or is to be made. The path is only used to find, make and remove the store's folder.
/// Everything else is done through the folder once it is open (`StoreFolder`).
struct StoreLocation: Sendable {
    let path: String
    let storage: any Storage
    /// The mode of the files that are created.
    var fileMode = FileMode.ownerOnly
    /// The length of the file `reserve`; nil if it follows the store's size.
    var reserveByteCount: Int?
    /// The keys of an encrypted store, if the opener has given a key.
    var keyRing: KeyRing?

    init(path: String, storage: any Storage) {
        self.path = path
        self.storage = storage
    }

    init(_ options: LogOptions, _ storage: any Storage, randomness: any Randomness) {
        self.init(path: options.folder, storage: storage)
        fileMode = options.fileMode
        reserveByteCount = options.reserveByteCount
        keyRing = options.encryptionKey.map { KeyRing($0, options.encryptionAlgorithm, randomness: randomness) }
    }

    /// The path of the folder that holds the store's folder.
    var parent: String { splitPath(path).folder }

    /// Opens the folder; nil if nothing is at the path. Throws `.notAStore` if something else is there.
    func open() throws(LogError) -> StoreFolder? {
        guard let status = try stored(storage.status(path)) else { return nil }
        guard status.kind == .folder else {
            throw LogError(.notAStore, path: path, detail: describeFile(status))
        }
        let root: any StorageFolder
        do throws(StorageError) { root = try storage.openFolder(path) } catch {
            // The folder was removed meanwhile.
            if error.code == .notFound { return nil }
            throw LogError(error)
        }
        var folder = StoreFolder(root)
        folder.fileMode = fileMode
        folder.reserveByteCount = reserveByteCount
        folder.keyRing = keyRing
        return folder
    }

    /// Creates the folder, and makes its name durable. Nothing happens if it exists.
    func makeFolder() throws(LogError) {
        do throws(StorageError) {
            try storage.createFolder(path, permissions: fileMode)
        } catch {
            if error.code != .exists { throw LogError(error) }
        }
        try stored(storage.syncFolder(parent))
    }

    /// Makes the store's own name durable. Does nothing if the user is not allowed to read the folder above it. In that
    /// case the process that created the store's folder had to make its name durable.
    func syncParent() throws(LogError) {
        do throws(StorageError) { try storage.syncFolder(parent) } catch {
            if error.code != .permissionDenied { throw LogError(error) }
        }
    }

    private func describeFile(_ status: FileStatus) -> String {
        guard status.kind == .file else { return "it is neither a file nor a folder" }
        // A Realm database file says "T-DB" at byte 16.
        var start = [UInt8](repeating: 0, count: 24)
        if let file = try? storage.open(path, .read),
            let count = try? start.withUnsafeMutableBytes({ try file.read(into: $0, at: 0) }), count == 24,
            start[16..<20].elementsEqual("T-DB".utf8)
        {
            return "it is a file of a Realm database, whose format Firn does not read"
        }
        if path.hasSuffix(".realm") {
            return "it is a file with the name of a Realm database, whose format Firn does not read"
        }
        return "it is a file of \(status.byteCount) bytes"
    }
}

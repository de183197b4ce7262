import FirnBytes
import FirnStorage

/// The names in a store's folder, and the steps on files that more than one part of the log takes.
///
/// ```
/// STORE/manifest      what the store consists of (Manifest)
///       manifest.new  the next manifest, while it is being written
///       log/0000000001.segment …   (SegmentHeader, FrameHeader)
///       checkpoint/   checkpoint files
///       shared        the page that processes share (SharedPage); holds no data
///       lock          locks of bytes (StoreLocks); empty
///       reserve       4 MiB of random bytes, given back when the disk is full
/// ```
struct StoreFolder: Sendable {
    let path: String
    let storage: any Storage
    /// Of the files that are created.
    var fileMode = FileMode.ownerOnly
    /// Files that are read through handles opened before, as their names may have gone.
    var held: HeldLogFiles?

    init(path: String, storage: any Storage) {
        self.path = path
        self.storage = storage
    }

    init(_ options: LogOptions, _ storage: any Storage) {
        self.init(path: options.folder, storage: storage)
        fileMode = options.fileMode
    }

    var manifest: String { path + "/manifest" }
    var newManifest: String { path + "/manifest.new" }
    var log: String { path + "/log" }
    var checkpoints: String { path + "/checkpoint" }
    var shared: String { path + "/shared" }
    var lock: String { path + "/lock" }
    var reserve: String { path + "/reserve" }

    static let names: Set<String> = ["manifest", "manifest.new", "log", "checkpoint", "shared", "lock", "reserve"]

    func segment(_ number: UInt32) -> String {
        let digits = String(number)
        return log + "/" + String(repeating: "0", count: 10 - digits.count) + digits + ".segment"
    }

    /// The number in the name of a segment's file; nil for other names.
    static func segmentNumber(of name: String) -> UInt32? {
        guard name.utf8.count == 18, name.hasSuffix(".segment") else { return nil }
        return UInt32(name.prefix(10))
    }

    // MARK: What stands there

    enum Found: Equatable {
        /// Nothing bears the name.
        case nothing
        /// An empty folder, or what a creation left that was cut short before the store existed.
        case empty
        case store
    }

    /// What stands at the path. Throws where it is neither a store nor a place for one, having changed nothing.
    func find() throws(LogError) -> Found {
        guard let status = try stored({ () throws(StorageError) in try storage.status(path) }) else { return .nothing }
        guard status.kind == .folder else {
            throw LogError(.notAStore, path: path, detail: describeFile(status))
        }
        if try stored({ () throws(StorageError) in try storage.status(manifest) }) != nil { return .store }
        let names = try stored { () throws(StorageError) in try storage.list(path) }
        // Another process may just have made it.
        if names.contains("manifest") { return .store }
        let others = names.filter { !Self.names.contains($0) }.sorted()
        if !others.isEmpty {
            let shown = others.prefix(3).joined(separator: ", ")
            throw LogError(
                .foreignFolder, path: path, detail: others.count > 3 ? "\(shown) and \(others.count - 3) more" : shown)
        }
        if let remains = try remainsOfStore(names) {
            // Another process may have made the store and committed to it since the names were read.
            if try stored({ () throws(StorageError) in try storage.status(manifest) }) != nil { return .store }
            throw LogError(
                .damage, path: manifest,
                detail: "it is missing, although there is \(remains); put it back from a copy of the store")
        }
        return .empty
    }

    /// A file that shows that a manifest was here and has been removed; nil where there is none. A crash while a store is made leaves the first segment's head at most.
    private func remainsOfStore(_ names: [String]) throws(LogError) -> String? {
        if names.contains("checkpoint"),
            let id = try checkpointIDs().min()
        {
            return checkpoint(id)
        }
        guard names.contains("log") else { return nil }
        for name in try stored({ () throws(StorageError) in try storage.list(log) }).sorted() {
            let status = try stored { () throws(StorageError) in try storage.status(log + "/" + name) }
            if Self.segmentNumber(of: name) != 1 || (status?.byteCount ?? 0) > SegmentHeader.byteCount {
                return log + "/" + name
            }
        }
        return nil
    }

    private func describeFile(_ status: FileStatus) -> String {
        guard status.kind == .file else { return "it is neither a file nor a folder" }
        // A Realm database file says "T-DB" at byte 16.
        var head = [UInt8](repeating: 0, count: 24)
        if let file = try? storage.open(path, .read),
            let count = try? head.withUnsafeMutableBytes({ try file.read(into: $0, at: 0) }), count == 24,
            head[16..<20].elementsEqual("T-DB".utf8)
        {
            return "it is a file of a Realm database, whose format Firn does not read"
        }
        if path.hasSuffix(".realm") {
            return "it is a file, by its name one of a Realm database, whose format Firn does not read"
        }
        return "it is a file of \(status.byteCount) bytes"
    }

    /// Throws where `log` or `checkpoint` is a link. The last component of a path is never followed (`O_NOFOLLOW`), but these are followed by each path of a file in them: Firn would read, overwrite
    /// and remove files of another folder, such as another store's. Looked at whenever a store is opened, and before a process writes a checkpoint or removes files.
    func refuseLinks() throws(LogError) {
        for folder in [log, checkpoints] where try stored({ () throws(StorageError) in try storage.isLink(folder) }) {
            throw LogError(
                StorageError(
                    .input(
                        "it is a symbolic link, which Firn does not follow within a store; put the folder itself there, or make the store's own path a link"
                    ), operation: "open", path: folder))
        }
    }

    // MARK: The manifest

    /// Reads and checks the manifest.
    func readManifest() throws(LogError) -> Manifest {
        let file = try stored { () throws(StorageError) in try storage.open(manifest, .read) }
        defer { file.close() }
        let size = try stored { () throws(StorageError) in try file.size() }
        guard
            size <= 2
                * (LogLimits.segmentCount * Manifest.entryByteCount + LogLimits.checkpointCount
                    * Manifest.checkpointByteCount + 4096)
        else {
            throw LogError(.damage, path: manifest, detail: "it is \(size) bytes long, more than a manifest can be")
        }
        var bytes = [UInt8](repeating: 0, count: size)
        let count: Int
        do {
            count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        } catch {
            throw LogError(error as! StorageError)
        }
        do {
            return try bytes.withUnsafeBytes {
                try Manifest.decode(file: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }.current
        } catch let refusal as Manifest.Refusal {
            switch refusal {
            case .newerFormat(let format): throw LogError(.newerFormat(found: format), path: manifest)
            case .damage(let text, let offset): throw LogError(.damage, path: manifest, offset: offset, detail: text)
            }
        } catch {
            throw LogError(.damage, path: manifest, detail: "\(error)")
        }
    }

    /// Puts `next` in the place of `previous` (nil for a new store), durably.
    ///
    /// Where it throws `.diskFull`, the old manifest stands, and what is needed may be tried again. After any other error which of the two stands is not known, nor which one a power cut leaves: whoever
    /// goes on must first read the manifest and sync its name, as an opener does. A disk that is full at the rename, or at the sync behind it, is therefore not reported as `.diskFull`.
    func replaceManifest(_ previous: Manifest?, with next: Manifest) throws(LogError) {
        guard next.generation <= LogLimits.number, next.epoch <= LogLimits.epoch,
            next.openSegment.segment <= LogLimits.epoch, next.openSegment.firstVersion <= LogLimits.number
        else {
            throw LogError(.damage, path: manifest, detail: "its numbers have come to their end; copy the store")
        }
        let bytes = next.encode() + (previous?.encode() ?? [])
        try removeIfPresent(newManifest)
        do {
            let file = try stored { () throws(StorageError) in try create(newManifest) }
            defer { file.close() }
            try write(bytes, to: file, at: 0)
            try stored { () throws(StorageError) in try file.sync() }
        } catch {
            try? removeIfPresent(newManifest)
            throw error
        }
        do throws(StorageError) {
            try storage.rename(newManifest, to: manifest)
            try storage.syncFolder(path)
        } catch {
            throw LogError(.storage(error), path: error.path, detail: error.description)
        }
    }

    // MARK: Files

    /// Creates a file of the store.
    func create(_ path: String) throws(StorageError) -> any StorageFile {
        try storage.open(path, .create, permissions: fileMode)
    }

    /// Opens a segment or a checkpoint's file for reading.
    func openToRead(_ path: String) throws(StorageError) -> any StorageFile {
        if let file = held?.files[path] { return file }
        return try storage.open(path, .read)
    }

    /// The same folder, where files are read that are held.
    func reading(_ held: HeldLogFiles?) -> StoreFolder {
        var folder = self
        folder.held = held
        return folder
    }

    func write(_ bytes: [UInt8], to file: any StorageFile, at offset: Int) throws(LogError) {
        do {
            try bytes.withUnsafeBytes { try file.write($0, at: offset) }
        } catch {
            throw LogError(error as! StorageError)
        }
    }

    func removeIfPresent(_ path: String) throws(LogError) {
        do {
            try storage.remove(path)
        } catch  where error.code == .notFound {
            return
        } catch {
            throw LogError(error)
        }
    }

    /// Makes the store's own name durable. The folder above may be one that this user can't read: then whoever made the store's folder there answers for it.
    func syncParent() throws(LogError) {
        do throws(StorageError) { try storage.syncFolder(parent) } catch {
            if error.code != .permissionDenied { throw LogError(error) }
        }
    }

    func createFolderIfAbsent(_ path: String) throws(LogError) {
        do {
            try storage.createFolder(path, permissions: fileMode)
        } catch  where error.code == .exists {
            return
        } catch {
            throw LogError(error)
        }
    }

    /// The folder that holds this one.
    var parent: String { splitPath(path).folder }
}

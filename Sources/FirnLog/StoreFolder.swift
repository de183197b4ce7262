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
///       copying       there while a copy is written (Log.create); without a manifest, what lies beside it is none yet
/// ```
struct StoreFolder: Sendable {
    let path: String
    let storage: any Storage
    /// Of the files that are created.
    var fileMode = FileMode.ownerOnly
    /// How long the file `reserve` is.
    var reserveByteCount = LogLimits.reserveByteCount
    /// Files that are read through handles opened before, as their names may have gone.
    var held: HeldLogFiles?

    init(path: String, storage: any Storage) {
        self.path = path
        self.storage = storage
    }

    init(_ options: LogOptions, _ storage: any Storage) {
        self.init(path: options.folder, storage: storage)
        fileMode = options.fileMode
        reserveByteCount = options.reserveByteCount
    }

    var manifest: String { path + "/manifest" }
    var newManifest: String { path + "/manifest.new" }
    var log: String { path + "/log" }
    var checkpoints: String { path + "/checkpoint" }
    var shared: String { path + "/shared" }
    var lock: String { path + "/lock" }
    var reserve: String { path + "/reserve" }
    var copying: String { path + "/copying" }

    /// What the file `copying` holds: "FIRNCOPY".
    static let copyMagic: UInt64 = 0x5950_4F43_4E52_4946

    /// Whether a file or folder of a store bears the name.
    static func isName(_ name: String) -> Bool {
        switch name {
        case "manifest", "manifest.new", "log", "checkpoint", "shared", "lock", "reserve", "copying": true
        default: false
        }
    }

    func segment(_ number: UInt32) -> String {
        let digits = String(number)
        return log + "/" + String(repeating: "0", count: 10 - digits.count) + digits + ".segment"
    }

    /// The number in the name of a segment's file; nil for other names.
    static func segmentNumber(of name: String) -> UInt32? {
        guard name.utf8.count == 18, name.hasSuffix(".segment") else { return nil }
        return number(name.prefix(10)).flatMap(UInt32.init(exactly:))
    }

    /// A number as names of files have it, without a sign.
    static func number(_ digits: Substring) -> UInt64? {
        digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt64(digits) : nil
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
    /// Where it throws what `isPassing`, as `.diskFull`, the old manifest stands, and what is needed may be tried
    /// again. After any other error which of the two stands is not known, nor which one a power cut leaves: whoever
    /// goes on must first read the manifest and write it anew, as an opener does (`Recovery.renewManifest`).
    ///
    /// A rename for which the disk has no room has changed nothing, or everything: whichever manifest then stands says
    /// which. A disk that is full at the sync behind the rename is not reported as `.diskFull`, since no second sync
    /// would prove anything.
    func replaceManifest(_ previous: Manifest?, with next: Manifest) throws(LogError) {
        try checkNumbers(of: next)
        let bytes = next.encode() + (previous?.encode() ?? [])
        try removeIfPresent(newManifest)
        do throws(LogError) {
            let file = try stored { () throws(StorageError) in try create(newManifest) }
            defer { file.close() }
            try write(bytes, to: file, at: 0)
            try stored { () throws(StorageError) in try file.sync() }
        } catch {
            try? removeIfPresent(newManifest)
            throw error.beforeAnyChange
        }
        do throws(StorageError) {
            try storage.rename(newManifest, to: manifest)
        } catch {
            let standing = error.code == .noSpace ? try? readManifest() : nil
            if let standing, standing == previous {
                try? removeIfPresent(newManifest)
                throw LogError(error)
            }
            guard standing == next else { throw LogError(.storage(error), path: error.path, detail: error.description) }
        }
        try syncName()
    }

    /// Makes the name of the manifest in force durable. As with `synced`, what fails is never a mere full disk.
    func syncName() throws(LogError) {
        do throws(StorageError) { try storage.syncFolder(path) } catch {
            throw LogError(.storage(error), path: error.path, detail: error.description)
        }
    }

    /// Throws where a manifest's numbers are such that it could not be read again. Nothing has been changed then.
    func checkNumbers(of next: Manifest) throws(LogError) {
        guard next.generation <= LogLimits.number, next.epoch <= LogLimits.epoch,
            next.openSegment.segment <= LogLimits.epoch, next.openSegment.firstVersion <= LogLimits.number,
            next.checkpoint?.isPossible ?? true, next.segments.count <= LogLimits.segmentCount,
            next.earlier.count <= LogLimits.checkpointCount
        else {
            throw LogError(.damage, path: manifest, detail: "its numbers have come to their end; copy the store")
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

import FirnBytes
import FirnStorage

/// The names in a store's folder, and the file operations that several parts of the log share.
///
/// ```
/// STORE/manifest      what the store consists of (Manifest)
///       manifest.new  the next manifest, while it is being written
///       log/0000000001.segment …   (SegmentHeader, FrameHeader)
///       checkpoint/   checkpoint files
///       shared        the page that processes share (SharedPage); holds no data
///       lock          locks of bytes (StoreLocks); empty
///       reserve       random bytes, removed when the disk is full (LogReserve)
///       copying       there while a copy is written (Log.create); without a manifest, no store is there yet
/// ```
///
/// The folder is open, and so are `log` and `checkpoint` from their first use on. So all of these files are found
/// through descriptors: another folder that gets the store's path is never read or changed.
struct StoreFolder: Sendable {
    let root: any StorageFolder
    /// The handles of `log` and `checkpoint`, as soon as they have been opened.
    let inner = Guarded(.innermost, LinearMap<StoreFileName.Folder, any StorageFolder>())
    /// The mode of the files that are created.
    var fileMode = FileMode.ownerOnly
    /// The length of the file `reserve`; nil if it follows the store's size.
    var reserveByteCount: Int?
    /// The keys of an encrypted store, if the opener has given a key.
    var keyRing: KeyRing?
    /// Files that are read through handles opened earlier, because their names may have been removed.
    var held: HeldLogFiles?

    init(_ root: any StorageFolder) {
        self.root = root
    }

    /// The path under which the folder was opened, for messages.
    var path: String { root.path }

    var manifest: StoreFileName { StoreFileName("manifest") }
    var newManifest: StoreFileName { StoreFileName("manifest.new") }
    var shared: StoreFileName { StoreFileName("shared") }
    var lock: StoreFileName { StoreFileName("lock") }
    var reserve: StoreFileName { StoreFileName("reserve") }
    var copying: StoreFileName { StoreFileName("copying") }

    /// What the file `copying` holds: "FIRNCOPY".
    static let copyMagic: UInt64 = 0x5950_4F43_4E52_4946

    /// Whether this is the name of a file or folder of a store.
    static func isName(_ name: String) -> Bool {
        switch name {
        case "manifest", "manifest.new", "log", "checkpoint", "shared", "lock", "reserve", "copying": true
        default: false
        }
    }

    func segment(_ number: UInt32) -> StoreFileName {
        let digits = String(number)
        return StoreFileName(String(repeating: "0", count: 10 - digits.count) + digits + ".segment", in: .log)
    }

    /// The number in the name of a segment file; nil for other names.
    static func segmentNumber(of name: String) -> UInt32? {
        guard name.utf8.count == 18, name.hasSuffix(".segment") else { return nil }
        return number(name.prefix(10)).flatMap(UInt32.init(exactly:))
    }

    func checkpoint(_ id: UInt64) -> StoreFileName {
        let digits = String(id)
        return StoreFileName(
            String(repeating: "0", count: max(0, 10 - digits.count)) + digits + ".checkpoint", in: .checkpoints)
    }

    /// The id in the name of a checkpoint file; nil for other names.
    static func checkpointID(of name: String) -> UInt64? {
        guard name.utf8.count >= 21, name.hasSuffix(".checkpoint"), let id = number(name.dropLast(11)),
            id <= LogLimits.number
        else { return nil }
        return id
    }

    /// The value of a text of decimal digits; nil for any other text, such as a number with a sign.
    static func number(_ digits: Substring) -> UInt64? {
        digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt64(digits) : nil
    }

    // MARK: The manifest

    /// Reads and checks the manifest. That proves the key of an encrypted store right.
    ///
    /// - Parameter needsKey: if false, an encrypted store's manifest is not authenticated. Then nothing may be read,
    ///   changed or removed that depends on what the manifest lists.
    func readManifest(needsKey: Bool = true) throws(LogError) -> Manifest {
        try readGenerations(needsKey: needsKey).current
    }

    /// The same, with the generation before the one in force, which nobody has authenticated.
    func readGenerations(
        needsKey: Bool = true
    ) throws(LogError) -> (current: Manifest, previous: Manifest?) {
        let file = try stored(open(manifest, .read))
        defer { file.close() }
        let size = try stored(file.size())
        guard
            size <= 2
                * (LogLimits.segmentCount * Manifest.entryByteCount + LogLimits.checkpointCount
                    * Manifest.checkpointByteCount + 4096)
        else {
            throw LogError(
                .damage, path: path(of: manifest), detail: "it is \(size) bytes long, more than a manifest can be")
        }
        let bytes = try stored(file.read(size, at: 0))
        let generations = try bytes.withUnsafeBufferPointer { (bytes) throws(LogError) in
            try Manifest.decode(file: UnsafeRawBufferPointer(bytes), path: path(of: manifest))
        }
        let current = generations.current
        if needsKey, let keys = try keys(current), !bytes.starts(with: current.encode(keys)) {
            throw LogError(
                .damage, path: path(of: manifest), offset: 0,
                detail: "it was not written by somebody with the store's key")
        }
        return generations
    }

    /// Replaces the manifest `previous` (nil for a new store) with `next`, durably.
    ///
    /// If it throws an error whose `isTransient` is true, such as `.diskFull`, the old manifest is still in force. The
    /// caller may then free what was lacking and try again. After any other error it is not known which of the two
    /// manifests is in force, nor which one a power cut leaves. To go on, the caller must first read the manifest and
    /// write it again, as an opener does (`Recovery.renewManifest`).
    ///
    /// A rename for which the disk has no space has changed either nothing or everything: the manifest that is then
    /// in force shows which. If the disk is full at the sync behind the rename, that is not reported as
    /// `.diskFull`, because no second sync would prove anything.
    func replaceManifest(_ previous: Manifest?, with next: Manifest) throws(LogError) {
        try checkNumbers(of: next)
        try checkInForce(previous)
        let keys = try keys(next)
        let bytes = next.encode(keys) + (previous?.encode(keys) ?? [])
        try removeIfPresent(newManifest)
        do throws(LogError) {
            let file = try stored(create(newManifest))
            defer { file.close() }
            try stored(file.write(bytes, at: 0))
            try stored(file.sync())
        } catch {
            try? removeIfPresent(newManifest)
            throw error.markedUnchanged
        }
        do throws(StorageError) {
            try root.rename(newManifest.name, to: manifest.name)
        } catch {
            let current = error.code == .noSpace ? try? readManifest() : nil
            if let current, current == previous {
                try? removeIfPresent(newManifest)
                throw LogError(error)
            }
            guard current == next else { throw LogError(lasting: error) }
        }
        try syncName()
    }

    /// Throws `.replaced` if the manifest in force is not `expected` (nil: if there is a manifest). Somebody has then
    /// put other files here.
    ///
    /// - Parameter mayBeLater: whether another process may have replaced the manifest by its next one.
    func checkInForce(_ expected: Manifest?, mayBeLater: Bool = false) throws(LogError) {
        guard let expected else {
            guard try stored(status(manifest)) == nil else {
                throw .replaced(path(of: manifest), "a manifest has appeared")
            }
            return
        }
        let current: Manifest
        do throws(LogError) { current = try readManifest() } catch {
            guard case .storage(let cause) = error.code, cause.code == .notFound else { throw error.markedUnchanged }
            throw .replaced(path(of: manifest), "it is gone")
        }
        guard current.storeID == expected.storeID,
            current.generation == expected.generation || mayBeLater && current.generation > expected.generation
        else {
            throw .replaced(path(of: manifest), "another manifest is in force than the one that was last read")
        }
    }

    /// Makes the name of the manifest in force durable. A failure is never reported as `.diskFull`.
    func syncName() throws(LogError) {
        try synced(sync(.store))
    }

    /// Throws, before anything is changed, if a manifest with these numbers could not be read again.
    func checkNumbers(of next: Manifest) throws(LogError) {
        guard next.generation <= LogLimits.number, next.epoch <= LogLimits.epoch,
            next.openSegment.segment <= LogLimits.epoch, next.openSegment.firstVersion <= LogLimits.number,
            next.checkpoint?.isPossible ?? true, next.segments.count <= LogLimits.segmentCount,
            next.earlier.count <= LogLimits.checkpointCount
        else {
            throw LogError(
                .damage, path: path(of: manifest), detail: "its numbers have reached their limit; copy the store")
        }
    }

    /// The same folder, but the files in `held` are read through their open handles.
    func reading(_ held: HeldLogFiles?) -> StoreFolder {
        var folder = self
        folder.held = held
        return folder
    }
}

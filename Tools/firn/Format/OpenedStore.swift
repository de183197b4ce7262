import FirnBytes
import FirnStorage

/// A store as it was when the tool opened it: its manifest, and how far its log may be read. The tool writes and
/// creates nothing, and locks nothing for longer than a query takes, so the store may be in use.
struct OpenedStore {
    let files: StoreFiles
    /// The manifest. If the file's is damaged, it is pieced together from the segments' headers and, if that can still
    /// be read, the generation before it.
    var manifest: Manifest
    /// What is wrong with the manifest, if anything is.
    var findings: [Finding] = []
    /// Whether `manifest` was pieced together. It then has no seals, so a segment ends where the next one begins.
    var isSalvaged = false
    /// Whether a process has the store open for writing at this moment.
    var hasWriter = false
    /// The shared page, if it is of this store and epoch.
    var page: PageState?

    /// The last version that may be read while a writer is active; nil without a writer, when the log alone decides.
    var limit: UInt64? { hasWriter ? page?.published : nil }

    /// Opens the store at `path`.
    ///
    /// The page is read before the manifest: the versions that the page calls published lie in segments that any
    /// later manifest lists.
    ///
    /// - Parameter patience: how long to wait while a process opens the store for writing, in units of 4 ms.
    static func open(_ path: String, storage: any Storage, patience: Int = 500) throws(ToolError) -> OpenedStore {
        try open(StoreFiles(named: path, storage: storage), patience: patience)
    }

    private static func open(_ files: StoreFiles, patience: Int) throws(ToolError) -> OpenedStore {
        try files.checkIsStore()
        var attempt = 0
        while true {
            attempt += 1
            let page = try readPage(files)
            var store = try readManifest(files)
            store.hasWriter = try Self.hasWriter(files)
            if let page, page.storeHigh == store.manifest.storeHigh, page.epoch == store.manifest.epoch {
                store.page = page
            }
            // A writer that is still recovering the store has not yet published how far the log may be read.
            guard store.hasWriter, store.page == nil, !store.isSalvaged else { return store }
            guard attempt < patience else {
                throw ToolError(
                    .input,
                    "\(files.path) is being opened by another process, which has not finished yet. Try again in a while."
                )
            }
            sleepThread(nanoseconds: 4_000_000)
        }
    }

    /// The identity of the store at `path`. It can be read without a key.
    static func storeID(_ path: String, storage: any Storage) throws(ToolError) -> String {
        let files = StoreFiles(named: path, storage: storage)
        let bytes = try files.contents(of: files.manifest, limit: 2 * Manifest.byteCountMax)
        do throws(Damage) { return try read(bytes, from: 0).block.storeID } catch {
            throw ToolError(Finding(kind: .damage, file: files.manifest, offset: error.offset, text: error.text))
        }
    }

    /// The last version that can be read: the log's last version or, if the log holds none, the checkpoint's.
    func lastVersion() throws -> UInt64 {
        let summary = try LogWalk(store: self, from: .max).run { _ in true }
        return max(summary.lastVersion, manifest.checkpoint?.version ?? 0)
    }

    /// Throws if somebody without the key of an encrypted store has written its manifest. For commands that make
    /// something of what the manifest lists, and show nothing of `findings`.
    func checkIsAuthentic() throws(ToolError) {
        if let forgery = findings.first(where: { $0.text == Self.forgery }) { throw ToolError(forgery) }
    }

    private static let forgery = "it was not written by somebody with the store's key"

    /// Finds the keys of an encrypted store in a block of its manifest. Returns what is wrong if somebody without the
    /// keys has written the block.
    private static func unlock(
        _ files: inout StoreFiles, _ encryption: Manifest.Encryption, at offset: Int?
    ) throws(ToolError) -> Finding? {
        files.keys = try files.keys(encryption)
        guard let keys = files.keys, !encryption.isAuthentic(keys) else { return nil }
        return Finding(kind: .damage, file: files.manifest, offset: offset, text: forgery)
    }

    /// Whether the store has changed since it was opened. If it has, what looked like damage may be a writer's work.
    func hasChanged() -> Bool {
        guard let now = try? Self.open(files.path, storage: files.storage) else { return true }
        return now.manifest != manifest || now.hasWriter != hasWriter
    }

    /// Opens a store that may have nothing left but a checkpoint, and whose files may have wrong names.
    static func openDamaged(_ path: String, storage: any Storage) throws(ToolError) -> OpenedStore {
        var files = StoreFiles(named: path, storage: storage)
        do throws(ToolError) {
            try files.checkIsStore()
            try files.findMisnamed()
            return try open(files, patience: 500)
        } catch {
            guard error.status == .damage else { throw error }
            guard let (header, entry) = try checkpoints(files).first else { throw error }
            let manifest = Manifest(
                generation: 1, storeHigh: header.storeHigh, storeLow: header.storeLow, epoch: 1, checkpoint: entry,
                created: 0, segments: [])
            return OpenedStore(
                files: files, manifest: manifest,
                findings: [
                    Finding(
                        kind: .damage, file: files.manifest, offset: nil,
                        text: "neither it nor any segment of the log can be read")
                ],
                isSalvaged: true)
        }
    }

    // MARK: The page and the lock

    private static func readPage(_ files: StoreFiles) throws(ToolError) -> PageState? {
        guard let status = try stored(files.storage.status(files.shared)) else {
            return nil
        }
        // The page holds no data, so one that can't be read counts as missing.
        guard let bytes = try? files.contents(of: files.shared, limit: 1 << 20) else { return nil }
        return bytes.withUnsafeBytes { PageState.read($0, in: status.identity) }
    }

    /// Byte 2 of the lock file is held by every process that has the store open for writing.
    private static func hasWriter(_ files: StoreFiles) throws(ToolError) -> Bool {
        guard try stored(files.storage.status(files.lock)) != nil else {
            return false
        }
        return try stored { () throws(StorageError) in
            let lock = try files.storage.lockFile(files.lock, .existing)
            defer { lock.close() }
            return try lock.isLocked(2, exclusive: true)
        }
    }

    // MARK: The manifest

    private static func readManifest(_ files: StoreFiles) throws(ToolError) -> OpenedStore {
        let path = files.manifest
        guard try stored(files.storage.status(path)) != nil else {
            return try salvage(
                files, [Finding(kind: .damage, file: path, offset: nil, text: "it is missing")], previous: nil)
        }
        let bytes: [UInt8]
        do {
            bytes = try files.contents(of: path, limit: 2 * Manifest.byteCountMax)
        } catch  where error.status == .damage {
            return try salvage(
                files, [Finding(kind: .damage, file: path, offset: nil, text: "it is longer than a manifest can be")],
                previous: nil)
        }
        var findings: [Finding] = []
        if let feature = bytes.withUnsafeBytes(Manifest.unknownFeature) {
            throw ToolError(
                .input, "\(path) was written by another release of Firn (\(feature)). Use that release's `firn`.")
        }
        let current: (block: Manifest, byteCount: Int)
        do throws(Damage) {
            current = try read(bytes, from: 0)
        } catch {
            findings.append(Finding(kind: .damage, file: path, offset: error.offset, text: error.text))
            return try salvage(files, findings, previous: previousBlock(bytes))
        }
        var files = files
        guard current.block.encryption != nil || StoreKeySource.current.fileKey == nil else {
            throw ToolError(.usage, "\(files.path) is not encrypted, but a key was given. Leave out --key-file.")
        }
        if let encryption = current.block.encryption {
            if let forgery = try unlock(&files, encryption, at: 0) { findings.append(forgery) }
        }
        findings += checkRest(bytes, current: current, path: path) + checkBeginning(current.block, path)
        return OpenedStore(files: files, manifest: current.block, findings: findings)
    }

    private static func read(
        _ bytes: [UInt8], from offset: Int
    ) throws(Damage) -> (block: Manifest, byteCount: Int) {
        try bytes.withUnsafeBufferPointer { bytes throws(Damage) in
            try Manifest.read(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[offset...])))
        }
    }

    /// Checks that the log begins no later than with the version after the checkpoint's.
    private static func checkBeginning(_ manifest: Manifest, _ path: String) -> [Finding] {
        let (first, end) = (manifest.firstVersion, manifest.checkpoint?.version ?? 0)
        guard first > end, first - end > 1 else { return [] }
        let present = manifest.checkpoint == nil ? "there is no checkpoint" : "the checkpoint is of version \(end)"
        return [
            Finding(
                kind: .damage, file: path, offset: nil,
                text: "the log begins with version \(first), but \(present): the versions in between are missing")
        ]
    }

    /// Checks that only the generation before the current one lies behind it in the file.
    private static func checkRest(
        _ bytes: [UInt8], current: (block: Manifest, byteCount: Int), path: String
    ) -> [Finding] {
        let start = current.byteCount
        if start == bytes.count {
            if current.block.generation == 1 { return [] }
            return [
                Finding(
                    kind: .damage, file: path, offset: start, text: "the generation before the current one is missing")
            ]
        }
        do throws(Damage) {
            let previous = try read(bytes, from: start)
            guard start + previous.byteCount == bytes.count, previous.block.storeID == current.block.storeID,
                previous.block.generation &+ 1 == current.block.generation
            else {
                return [
                    Finding(
                        kind: .damage, file: path, offset: start,
                        text: "the generation before the current one does not fit it")
                ]
            }
            return []
        } catch {
            return [
                Finding(
                    kind: .damage, file: path, offset: start + error.offset,
                    text: "in the generation before the current one: \(error.text)")
            ]
        }
    }

    /// Finds the generation before a damaged one, at whatever offset it begins.
    private static func previousBlock(_ bytes: [UInt8]) -> Manifest? {
        // A manifest has two blocks. If there seem to be many, they were forged so that each is read to its end. The
        // search therefore stops after a few.
        var beginnings = 0
        for offset in stride(from: FormatNumbers.alignment, to: bytes.count, by: FormatNumbers.alignment)
        where beginnings < 16 {
            guard Manifest.begins(bytes, at: offset) else { continue }
            beginnings += 1
            if let found = try? read(bytes, from: offset) { return found.block }
        }
        return nil
    }

    // MARK: Without a manifest

    /// The store that most files belong to; of two stores with equally many, the store of the newer segment.
    private static func commonest(_ segments: [SegmentHeader], _ files: StoreFiles) throws(ToolError) -> UInt64? {
        var counts: [UInt64: Int] = [:]
        for store in segments.map(\.storeHigh) + (try checkpoints(files).map(\.header.storeHigh)) {
            counts[store, default: 0] += 1
        }
        let most = counts.values.max()
        return segments.last { counts[$0.storeHigh] == most }?.storeHigh ?? segments.last?.storeHigh
    }

    /// Pieces a manifest together from the headers of the segments and the footers of the checkpoints that exist.
    private static func salvage(
        _ given: StoreFiles, _ findings: [Finding], previous: Manifest?
    ) throws(ToolError) -> OpenedStore {
        var (files, findings, previous) = (given, findings, previous)
        if let encryption = previous?.encryption {
            // A data key that the user's key unwraps is the store's, whoever has written the rest.
            if let forgery = try unlock(&files, encryption, at: nil) {
                findings.append(forgery)
                previous = nil
            }
        }
        var headers: [SegmentHeader] = []
        for number in try files.segmentNumbers() {
            guard let header = try? SegmentFile.header(files.segment(number), files.storage), header.segment == number
            else {
                continue
            }
            headers.append(header)
        }
        // The generation that can still be read names the store. Without one, the store is the one that most files
        // belong to.
        var storeHigh = previous?.storeHigh
        if storeHigh == nil { storeHigh = try commonest(headers, files) }
        headers.removeAll { $0.storeHigh != storeHigh }
        guard let first = headers.first, let last = headers.last else {
            throw ToolError(
                .damage,
                findings.map(\.description).joined(separator: "\n")
                    + "\nand the log has no segment with an intact header, so nothing can be read.")
        }
        guard !first.hasSalt || files.keys != nil else {
            throw ToolError(
                .damage,
                findings.map(\.description).joined(separator: "\n")
                    + "\nand the store is encrypted: the manifest held its data key, so nothing can be read. Put back the manifest "
                    + "of a backup of this store.")
        }
        let checkpoint = try newestCheckpoint(files, storeHigh: first.storeHigh)
        let manifest = Manifest(
            generation: (previous?.generation ?? 0) + 1, storeHigh: first.storeHigh, storeLow: first.storeLow,
            epoch: last.epoch, checkpoint: checkpoint, created: previous?.created ?? 0,
            segments: headers.map {
                Manifest.Segment(number: $0.segment, epoch: $0.epoch, firstVersion: $0.firstVersion)
            })
        return OpenedStore(
            files: files, manifest: manifest, findings: findings + checkBeginning(manifest, files.manifest),
            isSalvaged: true)
    }
}

import FirnBytes
import FirnStorage
import Synchronization

extension Log {
    /// The checkpoint from which the store is opened; nil if the log holds everything.
    package var checkpoint: Checkpoint? { checkpoints.withLock { $0.live } }

    /// Every checkpoint that the store lists, oldest first; the live one last.
    package var listedCheckpoints: [Checkpoint] { checkpoints.withLock { $0.listed } }

    /// Every checkpoint that the manifest in force lists, oldest first. Another process's compactor may have replaced
    /// the checkpoints that this process knows.
    package var checkpointsInForce: [Checkpoint] {
        get throws(LogError) {
            let known = listedCheckpoints
            return try readingOn { manifest throws(LogError) in
                let ids = (manifest.earlier + (manifest.checkpoint.map { [$0] } ?? [])).map(\.id)
                return known.map(\.id) == ids ? known : try folder.readCheckpoints(manifest)
            }
        }
    }

    /// Approximately the number of bytes of the sealed segments with commits of the versions `after + 1 ... through`.
    /// It is 0 if the log was opened read-only.
    package func byteCount(after: UInt64, through: UInt64) -> Int {
        guard let manifest = writer?.tail.snapshot().manifest else { return 0 }
        return manifest.segments.filter { $0.isSealed && $0.lastVersion > after && $0.firstVersion <= through }
            .reduce(0) { $0 + Int($1.byteCount) }
    }

    /// Begins a file of the next checkpoint.
    ///
    /// - Parameter start: the offset in its mapping at which the file begins, a multiple of 64 KiB; 0 for a new
    ///   mapping.
    package func beginCheckpoint(start: Int) throws(LogError) -> CheckpointFileWriter {
        try writable().group.names?.checkFolders()
        try folder.createFolderIfAbsent(.checkpoints)
        let id = checkpoints.withLock { state in state.takeID() }
        guard let id else {
            throw LogError(
                .damage, path: folder.path(of: .checkpoints),
                detail: "the ids of its checkpoints have reached their limit; copy the store")
        }
        return try CheckpointFileWriter(folder: folder, storeID: recovery.storeID, id: id, start: start)
    }

    /// Opens a file of a checkpoint for reading.
    package func openCheckpointFile(_ file: Checkpoint.File) throws(LogError) -> CheckpointFileReader {
        try checkOpen()
        return try folder.reading(held).openCheckpointFile(file, recovery.storeID)
    }

    /// Adopts the checkpoint that another process has put into the manifest meanwhile, and skips file ids that are
    /// taken. The caller holds the compactor lock and the writer lock.
    package func adoptCheckpoint() throws(LogError) {
        let writer = try writing()
        writer.lock.assertHeld()
        let manifest = writer.tail.snapshot().manifest
        let known = checkpoints.withLock { $0.listed }
        var listed = known
        if known.last?.id != manifest.checkpoint?.id { listed = try folder.readCheckpoints(manifest) }
        // A file that no manifest lists was left by a crash, or is somebody else's and may have any number. Its number
        // is skipped, but not the numbers behind it.
        let taken = Set(try folder.checkpointIDs())
        writer.tail.checkpointByteCount.store(listed.last?.byteCount ?? 0, ordering: .relaxed)
        checkpoints.withLock { state in
            state.listed = listed
            state.nextID = max(state.nextID, (manifest.checkpoint?.id ?? 0) + 1)
            while taken.contains(state.nextID) { state.nextID += 1 }
        }
    }

    /// Seals the open segment if it holds a commit, so that what a checkpoint covers can be removed.
    package func sealSegment() throws(LogError) {
        let writer = try writing()
        let tail = writer.tail
        tail.begin()
        defer { tail.endAppending() }
        // The ages of frames decide what is removed, so they must be known up to now.
        tail.readClock()
        if tail.holdsCommits { try tail.roll() }
        writer.reserve.grow(for: tail)
    }

    /// Begins a segment with the schema of the checkpoint. Called if the log ended before the checkpoint, so that
    /// recovery has begun a segment without a schema. Afterwards, each segment with commits begins with its schema
    /// again.
    package func restoreSchema(_ bytes: [UInt8]) throws(LogError) {
        let tail = try writing().tail
        tail.begin()
        defer { tail.endAppending() }
        tail.setSchema(bytes)
        try tail.roll()
    }

    /// Makes `checkpoint` the one from which the store is opened, and drops from the manifest the segments that
    /// hold nothing after `oldest`. This is one replacement of the manifest. If it throws `.diskFull`, the store is
    /// unchanged.
    ///
    /// With any durability, the checkpoint's version is durable before the manifest names the checkpoint. Otherwise the
    /// log could end, after a power cut, before the version from which the store is opened.
    ///
    /// Files are removed by `removeUnneeded`, which may be called at any time.
    ///
    /// - Parameter kept: the checkpoints listed so far that stay listed, for past versions to be opened from.
    package func publish(
        _ checkpoint: Checkpoint, keepingVersionsAfter oldest: UInt64, and kept: [Checkpoint] = []
    ) throws(LogError) {
        let writer = try writing()
        let tail = writer.tail
        tail.begin()
        defer { tail.endAppending() }
        try writer.group.wait(for: checkpoint.version)
        var next = tail.manifest
        precondition(
            checkpoint.version >= next.checkpoint?.version ?? 0 && oldest <= checkpoint.version,
            "Firn: a checkpoint is not older than the one before it, and holds everything that the log drops")
        next.checkpoint = Manifest.Checkpoint(checkpoint)
        next.earlier = kept.map { Manifest.Checkpoint($0) }
        next.segments.removeAll { $0.isSealed && $0.lastVersion <= oldest }
        try tail.replaceManifest(next)
        checkpoints.withLock { $0.listed = kept + [checkpoint] }
        tail.checkpointByteCount.store(checkpoint.byteCount, ordering: .relaxed)
    }

    /// Whether a segment begins behind a version.
    package func hasSegment(after version: UInt64) -> Bool {
        writer?.tail.snapshot().manifest.segments.contains { $0.firstVersion == version + 1 } ?? false
    }

    /// Removes segments that the manifest no longer lists, and checkpoint files that the manifest does not need and
    /// that are not in `held`.
    ///
    /// Nothing is removed while another process is opening the store, because it may have read a manifest that lists
    /// the file. Nor is a file removed while a power cut could bring back a manifest that lists it. The next call
    /// removes it.
    ///
    /// Returns false in these cases: there may be something left to remove.
    @discardableResult
    package func removeUnneeded(held: Set<UInt64>) throws(LogError) -> Bool {
        if otherProcesses.contains(where: { $0.version == 0 }) { return false }
        let writer = try writable()
        try writer.group.names?.checkFolders()
        let manifest = writer.tail.snapshot().manifest
        // The manifest that this process knows may be newer than the page's generation: its writer died before it
        // synced the manifest's name. The process that makes the name durable then raises the page's generation.
        guard manifest.generation <= page.generation else { return false }
        let needed = checkpoints.withLock { state in
            // Files with ids above the newest checkpoint's are still being written.
            (ids: held.union(state.fileIDs), newest: state.live?.id ?? 0)
        }
        try Self.removeUnneeded(folder, manifest: manifest, needed: needed.ids, newest: needed.newest)
        return true
    }

    /// Punches holes into a checkpoint file: its blocks go back to the file system and read as zeros from then on.
    /// Returns false if the file system can't do that.
    ///
    /// The ranges must no longer be read by any version that is held, any checkpoint that the manifest lists, or
    /// any other process (see `isOnlyReader`).
    ///
    /// - Parameter ranges: offsets in the file, whole units of `holeByteCount`.
    package func deallocate(_ ranges: [Range<Int>], of file: Checkpoint.File) throws(LogError) -> Bool {
        let writer = try writable()
        try writer.group.names?.checkFolders()
        try folder.checkInForce(writer.tail.snapshot().manifest, mayBeLater: true)
        return try stored { () throws(StorageError) in
            let file = try folder.open(folder.checkpoint(file.id), .readWrite)
            defer { file.close() }
            for range in ranges {
                let range = isEncrypted ? CheckpointBlocks.hole(range) : range
                if !range.isEmpty, try !file.deallocate(range) { return false }
            }
            return true
        }
    }

    /// Whether the store is encrypted.
    package var isEncrypted: Bool { folder.isEncrypted }

    /// The unit of holes in checkpoint files, in bytes.
    package var holeByteCount: Int { isEncrypted ? CheckpointBlocks.textByteCount : FileRange.blockByteCount }

    static func removeUnneeded(
        _ folder: StoreFolder, manifest: Manifest, needed: Set<UInt64>, newest: UInt64
    ) throws(LogError) {
        let listed = Set(manifest.segments.map(\.segment))
        var unneeded: [StoreFileName] = []
        for name in try folder.list(.log) {
            if let number = StoreFolder.segmentNumber(of: name), !listed.contains(number),
                number < manifest.openSegment.segment
            {
                unneeded.append(StoreFileName(name, in: .log))
            }
        }
        for id in try folder.checkpointIDs() where !needed.contains(id) && id < newest {
            unneeded.append(folder.checkpoint(id))
        }
        if unneeded.isEmpty { return }
        try folder.checkInForce(manifest, mayBeLater: true)
        for name in unneeded { try folder.removeIfPresent(name) }
    }

    /// Approximately the bytes of frames written since the last checkpoint's version. When the log is opened, a segment
    /// that the checkpoint covers only in part counts in full. O(1).
    package var byteCountSinceCheckpoint: Int { writer?.byteCountSinceCheckpoint.load(ordering: .relaxed) ?? 0 }

    /// Subtracts the bytes that a checkpoint has covered.
    package func subtractByteCountSinceCheckpoint(_ byteCount: Int) {
        writer?.byteCountSinceCheckpoint.wrappingSubtract(byteCount, ordering: .relaxed)
    }

    /// The number of bytes of the segments with commits behind the checkpoint, whichever process wrote them. The next
    /// opening reads these segments. The caller holds the writer lock.
    package var byteCountBehindCheckpoint: Int {
        guard let writer else { return 0 }
        writer.lock.assertHeld()
        let (manifest, end) = writer.tail.extent
        let checkpoint = manifest.checkpoint?.version ?? 0
        let sealed = manifest.segments.filter { $0.isSealed && $0.lastVersion > checkpoint }
        return sealed.reduce(writer.group.writtenVersion > checkpoint ? end : 0) { $0 + Int($1.byteCount) }
    }

    /// The number of bytes of all segments. The length of the open segment is an estimate.
    package var segmentByteCount: Int {
        guard let tail = writer?.tail else { return 0 }
        let (manifest, end) = tail.extent
        return manifest.segments.dropLast().reduce(end) { $0 + Int($1.byteCount) }
    }
}

extension Manifest.Checkpoint {
    init(_ checkpoint: Checkpoint) {
        guard let end = checkpoint.end else {
            preconditionFailure("Firn: a checkpoint is listed before its file is finished")
        }
        self.init(
            id: checkpoint.id, version: checkpoint.version, byteCount: end.byteCount, crc: end.crc,
            salt: checkpoint.listedSalt)
    }
}

/// What a log knows about its checkpoints.
struct ListedCheckpoints {
    /// Oldest first; the last is the live one.
    var listed: [Checkpoint]
    /// The id for the next file.
    var nextID: UInt64

    /// Takes an id for a file; nil if there is none left that a manifest may list.
    mutating func takeID() -> UInt64? {
        guard nextID < LogLimits.number else { return nil }
        nextID += 1
        return nextID - 1
    }

    var live: Checkpoint? { listed.last }
    var fileIDs: Set<UInt64> { Set(listed.flatMap { $0.files.map(\.id) }) }
}

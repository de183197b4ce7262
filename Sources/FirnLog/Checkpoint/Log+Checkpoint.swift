import FirnBytes
import FirnStorage
import Synchronization

extension Log {
    /// The checkpoint that the store begins from; nil where the log holds everything.
    public var checkpoint: Checkpoint? { checkpoints.withLock { $0.live } }

    /// Every checkpoint that the store lists, oldest first; the live one last.
    public var listedCheckpoints: [Checkpoint] { checkpoints.withLock { $0.listed } }

    /// Every checkpoint that the manifest in force lists, oldest first. The compactor of another process may have replaced what this one knows.
    public var checkpointsInForce: [Checkpoint] {
        get throws(LogError) {
            let known = listedCheckpoints
            return try readingOn { manifest throws(LogError) in
                let ids = (manifest.earlier + (manifest.checkpoint.map { [$0] } ?? [])).map(\.id)
                return known.map(\.id) == ids ? known : try folder.readCheckpoints(manifest)
            }
        }
    }

    /// Bytes of the segments that hold commits of the versions `after + 1 ... through`, about.
    public func byteCount(after: UInt64, through: UInt64) -> Int {
        guard let manifest = writer?.tail.snapshot().manifest else { return 0 }
        return manifest.segments.filter { $0.isSealed && $0.lastVersion > after && $0.firstVersion <= through }
            .reduce(0) { $0 + Int($1.byteCount) }
    }

    /// Begins a file of the next checkpoint.
    ///
    /// - Parameter start: where in its space the file begins, a multiple of 64 KiB; 0 for a new space.
    public func beginCheckpoint(start: Int) throws(LogError) -> CheckpointFileWriter {
        _ = try writable()
        try folder.refuseLinks()
        try folder.createFolderIfAbsent(folder.checkpoints)
        let id = checkpoints.withLock { state in state.takeID() }
        guard let id else {
            throw LogError(
                .damage, path: folder.checkpoints,
                detail: "the numbers of its checkpoints have come to their end; copy the store")
        }
        return try CheckpointFileWriter(folder: folder, storeID: recovery.storeID, id: id, start: start)
    }

    /// Opens a file of a checkpoint for reading.
    public func openCheckpointFile(_ file: Checkpoint.File) throws(LogError) -> any StorageFile {
        try checkOpen()
        return try folder.reading(held).openCheckpointFile(file, recovery.storeID)
    }

    /// Takes note of the checkpoint that another process has put into the manifest since, and of the ids that files have got. By the holder of the compactor's lock, in its turn to write.
    public func adoptCheckpoint() throws(LogError) {
        let manifest = try writing().tail.snapshot().manifest
        let known = checkpoints.withLock { $0.listed }
        var listed = known
        if known.last?.id != manifest.checkpoint?.id { listed = try folder.readCheckpoints(manifest) }
        // A file that no manifest lists is what a crash left, or somebody else's, whose number may be as great as it
        // likes: it is passed over, and the numbers behind it are not lost.
        let taken = Set(try folder.checkpointIDs())
        checkpoints.withLock { state in
            state.listed = listed
            state.nextID = max(state.nextID, (manifest.checkpoint?.id ?? 0) + 1)
            while taken.contains(state.nextID) { state.nextID += 1 }
        }
    }

    /// Seals the open segment where it holds a commit, so that what a checkpoint covers can be removed.
    public func sealSegment() throws(LogError) {
        let tail = try writing().tail
        tail.begin()
        defer { tail.endAppending() }
        if tail.holdsCommits { try tail.roll() }
    }

    /// Begins a segment with the schema of the checkpoint, where recovery began one without any because the log had ended before
    /// the checkpoint. Then every segment says again what its changes mean.
    public func restoreSchema(_ bytes: [UInt8]) throws(LogError) {
        let tail = try writing().tail
        tail.begin()
        defer { tail.endAppending() }
        tail.setSchema(bytes)
        try tail.roll()
    }

    /// Makes `checkpoint` the one that the store begins from, and lets the segments go that hold nothing after `oldest`. One replacement of the manifest; where it throws with `.diskFull`,
    /// the store is what it was.
    ///
    /// Whatever the durability, the checkpoint's version is durable before the manifest names it: a manifest that were ahead of
    /// the synced log would, after a power cut, lead to a log that ends before the version that it begins from.
    ///
    /// Files are removed by `removeUnneeded`, which may be called at any time.
    ///
    /// - Parameter kept: the checkpoints listed so far that stay listed, for past versions to be opened from.
    public func publish(
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
            "a checkpoint follows the one before it, and what the log no longer holds is in it")
        next.checkpoint = Manifest.Checkpoint(checkpoint)
        next.earlier = kept.map { Manifest.Checkpoint($0) }
        next.segments.removeAll { $0.isSealed && $0.lastVersion <= oldest }
        try tail.replaceManifest(next)
        checkpoints.withLock { $0.listed = kept + [checkpoint] }
    }

    /// Removes segments that the manifest no longer lists, and files of checkpoints that it does not need and that are not in `held`.
    ///
    /// Nothing is removed while another process is just opening the store (it may have read a manifest that lists it), nor while a power cut could bring back a manifest that lists it. The next call does it.
    ///
    /// Returns false in these cases: there may be something left to remove.
    @discardableResult
    public func removeUnneeded(held: Set<UInt64>) throws(LogError) -> Bool {
        if otherProcesses.contains(where: { $0.version == 0 }) { return false }
        let manifest = try writable().tail.snapshot().manifest
        // A process that reads on may know a manifest whose writer has not synced its name yet, and may have died. Whoever makes the name durable raises the page's generation then.
        guard manifest.generation <= page.generation else { return false }
        let needed = checkpoints.withLock { state in
            // Ids from here on belong to files that are being written.
            (ids: held.union(state.fileIDs), newest: state.live?.id ?? 0)
        }
        try Self.removeUnneeded(folder, manifest, needed.ids, newest: needed.newest)
        return true
    }

    /// Gives blocks of a checkpoint's file back to the system, which read as zeros from then on; false where its file system can't.
    ///
    /// Nobody may read them any more: no version that is held, no checkpoint that the manifest lists, and no other process (see `isOnlyReader`).
    ///
    /// - Parameter ranges: in the file, of whole 4 KiB.
    public func deallocate(_ ranges: [Range<Int>], of file: Checkpoint.File) throws(LogError) -> Bool {
        _ = try writable()
        return try stored { () throws(StorageError) in
            let file = try folder.storage.open(folder.checkpoint(file.id), .readWrite)
            defer { file.close() }
            for range in ranges where try !file.deallocate(range) { return false }
            return true
        }
    }

    static func removeUnneeded(
        _ folder: StoreFolder, _ manifest: Manifest, _ needed: Set<UInt64>, newest: UInt64
    ) throws(LogError) {
        try folder.refuseLinks()
        let listed = Set(manifest.segments.map(\.segment))
        for name in try stored({ () throws(StorageError) in try folder.storage.list(folder.log) }) {
            if let number = StoreFolder.segmentNumber(of: name), !listed.contains(number),
                number < manifest.openSegment.segment
            {
                try folder.removeIfPresent(folder.log + "/" + name)
            }
        }
        for id in try folder.checkpointIDs() where !needed.contains(id) && id < newest {
            try folder.removeIfPresent(folder.checkpoint(id))
        }
    }

    /// Bytes of frames written since the last checkpoint's version, about: a segment that it covers in part counts whole when the log is opened. O(1).
    public var byteCountSinceCheckpoint: Int { sinceCheckpoint.load(ordering: .relaxed) }

    /// A checkpoint covers so many bytes of them.
    public func subtractByteCountSinceCheckpoint(_ byteCount: Int) {
        sinceCheckpoint.wrappingSubtract(byteCount, ordering: .relaxed)
    }

    /// Bytes of the segments that hold commits after the checkpoint, whoever wrote them: what the next opening reads. In this process's turn to write.
    public var byteCountBehindCheckpoint: Int {
        guard let writer else { return 0 }
        let (manifest, end) = writer.tail.extent
        let checkpoint = manifest.checkpoint?.version ?? 0
        let sealed = manifest.segments.filter { $0.isSealed && $0.lastVersion > checkpoint }
        return sealed.reduce(writer.group.writtenVersion > checkpoint ? end : 0) { $0 + Int($1.byteCount) }
    }

    /// Bytes of the segments, as the manifest and the open one's end have them.
    public var segmentByteCount: Int {
        guard let tail = writer?.tail else { return 0 }
        let (manifest, end) = tail.extent
        return manifest.segments.dropLast().reduce(end) { $0 + Int($1.byteCount) }
    }
}

extension Manifest.Checkpoint {
    init(_ checkpoint: Checkpoint) {
        let foot = checkpoint.encodeFooter()
        self.init(
            id: checkpoint.id, version: checkpoint.version,
            byteCount: UInt64(checkpoint.files[checkpoint.files.count - 1].byteCount + foot.count),
            crc: foot.suffix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) })
    }
}

/// What a log knows of checkpoints.
struct ListedCheckpoints {
    /// Oldest first; the last is the live one.
    var listed: [Checkpoint]
    /// The id that the next file gets.
    var nextID: UInt64

    /// An id for a file; nil where there is none left that a manifest may list.
    mutating func takeID() -> UInt64? {
        guard nextID < LogLimits.number else { return nil }
        nextID += 1
        return nextID - 1
    }

    var live: Checkpoint? { listed.last }
    var fileIDs: Set<UInt64> { Set(listed.flatMap { $0.files.map(\.id) }) }
}

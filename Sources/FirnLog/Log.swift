import FirnBytes
import FirnStorage
import Synchronization

/// The log of a store: the list of its commits, on disk.
///
/// Opening it recovers it (`recovery` says what was found). `replay` reads the commits back. `beginCommit` writes one, `waitUntilDurable` or `whenDurable`
/// make it durable, together with all others written meanwhile.
///
/// All calls may come from any thread, but one commit at a time may be begun: who calls holds a write ticket of his own. What changes here:
/// `isClosed` (atomic); the rest stands in `LogWriter`.
public final class Log: @unchecked Sendable {
    public let options: LogOptions
    public let recovery: RecoveryReport
    let folder: StoreFolder
    let locks: StoreLocks
    /// Held from `close` on while versions are read that outlive it. Written once, by whoever closes the log.
    nonisolated(unsafe) var reading: (any StorageLock)?
    let page: SharedPage
    /// The highest version that a log opened read-only has seen published. Atomic: it only rises.
    let seen: Atomic<UInt64>
    let writer: LogWriter?
    /// The schema at the end of a log that was opened read-only.
    let recoveredSchema: [UInt8]
    /// Its slot of the shared page; nil for a reader that could get none.
    let slot: Int?
    /// Whether a compactor of this opener runs. Atomic.
    let isCompacting = Atomic<Bool>(false)
    let isClosed = Atomic<Bool>(false)
    let checkpoints: Guarded<CheckpointState>
    let sinceCheckpoint: Atomic<Int>
    /// Differs from the process's where it has been forked since.
    let forkGeneration = FirnStorage.forkGeneration()

    init(
        options: LogOptions, recovery: RecoveryReport, folder: StoreFolder, locks: StoreLocks, page: SharedPage,
        schema: [UInt8], checkpoints listed: [Checkpoint], nextCheckpointID: UInt64, writer: LogWriter?,
        slot: Int?
    ) {
        self.slot = slot
        checkpoints = Guarded(CheckpointState(listed: listed, nextID: nextCheckpointID))
        sinceCheckpoint = Atomic(0)
        recoveredSchema = schema
        self.options = options
        self.recovery = recovery
        self.folder = folder
        self.locks = locks
        self.page = page
        seen = Atomic(recovery.lastVersion)
        self.writer = writer
    }

    deinit { try? close() }

    // MARK: Opening

    /// Opens the store at `options.folder`, or makes one where nothing (or an empty folder) is and writing is wanted.
    ///
    /// Cost: reading the newest segment, at most 64 MiB; everything with `verify: .everything`.
    public static func open(
        _ options: LogOptions, storage: any Storage, clock: any Clock = SystemClock.shared,
        randomness: any Randomness = SystemRandomness.shared
    ) throws(LogError) -> Log {
        precondition(
            options.segmentByteCount >= 4096 && options.segmentByteCount % LogLimits.frameAlignment == 0,
            "segmentByteCount is a multiple of 64 and at least 4096")
        precondition(
            options.partByteCount >= 64 && options.partByteCount <= LogLimits.payloadByteCount,
            "partByteCount is 64 ... \(LogLimits.payloadByteCount)")
        precondition(
            SegmentHeader.isSector(options.sectorByteCount), "sectorByteCount is 0 or a power of two, 512 ... 65,536")
        let folder = StoreFolder(path: options.folder, storage: storage)
        switch options.access {
        case .readOnly: return try openForReading(options, folder)
        case .readWrite(let wait): return try openForWriting(options, folder, clock, randomness, waitMilliseconds: wait)
        }
    }

    private static func checkVolume(_ path: String, _ storage: any Storage) throws(LogError) {
        let volume = try stored { () throws(StorageError) in try storage.volume(of: path) }
        if volume.isNetwork { throw LogError(.networkFileSystem(volume.fileSystem), path: path) }
    }

    private static func openForWriting(
        _ options: LogOptions, _ folder: StoreFolder, _ clock: any Clock, _ randomness: any Randomness,
        waitMilliseconds: Int
    ) throws(LogError) -> Log {
        let storage = folder.storage
        var found = try folder.find()
        if found == .nothing {
            try checkVolume(folder.parent, storage)
            try folder.createFolderIfAbsent(folder.path)
            try stored { () throws(StorageError) in try storage.syncFolder(folder.parent) }
        } else {
            try checkVolume(folder.path, storage)
        }
        let locks = StoreLocks(
            lock: try stored { () throws(StorageError) in try storage.lockFile(folder.lock) }, path: folder.path)
        do throws(LogError) {
            let deadline = SystemClock.shared.monotonic() + .nanoseconds(milliseconds: max(waitMilliseconds, 3))
            var pause: Int64 = 500_000
            while true {
                if try locks.tryLockWriter() {
                    // The first of those who have it open for writing keeps others from joining until all is recovered.
                    let isFirst = try locks.claimServing()
                    try locks.enter()
                    // Look again: another may have made the store while we waited.
                    if found != .store { found = try folder.find() }
                    let created = found != .store
                    if created { try create(folder, clock, randomness, sector: options.sectorByteCount) }
                    let log = try openLocked(
                        options, folder, clock, randomness, locks, created: created, isFirst: isFirst)
                    _ = try locks.serve()
                    return log
                }
                if let log = try join(options, folder, clock, locks) { return log }
                if SystemClock.shared.monotonic() >= deadline {
                    throw LogError(.locked(processID: SharedPage.writerProcess(folder)), path: folder.path)
                }
                restThread(nanoseconds: pause)
                pause = min(pause * 2, 20_000_000)
            }
        } catch {
            locks.leave()
            throw error
        }
    }

    /// Makes a store. It exists when the manifest does; whatever a crash leaves before that is taken for an empty folder.
    private static func create(
        _ folder: StoreFolder, _ clock: any Clock, _ randomness: any Randomness, sector: Int
    ) throws(LogError) {
        try folder.removeIfPresent(folder.newManifest)
        try folder.createFolderIfAbsent(folder.log)
        try folder.createFolderIfAbsent(folder.checkpoints)
        let manifest = Manifest(
            storeID: StoreID(randomness), features: sector > 0 ? [.sectors] : [], created: clock.now(),
            segments: [Manifest.Segment(segment: 1, epoch: 1, firstVersion: 1)])
        try makeFirstSegment(folder, manifest, schema: [], time: 0, sector: sector)
    }

    /// Writes a new store's only segment, and then its manifest.
    static func makeFirstSegment(
        _ folder: StoreFolder, _ manifest: Manifest, schema: [UInt8], time: Int64, sector: Int = 0
    ) throws(LogError) {
        let storage = folder.storage
        let first = manifest.openSegment.firstVersion
        let header = SegmentHeader(
            storeID: manifest.storeID, epoch: 1, segment: 1, chain: 0, firstVersion: first, mark: first - 1,
            sector: UInt32(sector))
        let path = folder.segment(1)
        try folder.removeIfPresent(path)
        let file = try stored { () throws(StorageError) in try storage.open(path, .create) }
        defer { file.close() }
        try folder.write(SegmentStart.encode(header, schema: schema, time: time).bytes, to: file, at: 0)
        try stored { () throws(StorageError) in
            try file.sync()
            try storage.syncFolder(folder.log)
            // The folders must be there before the manifest is.
            try storage.syncFolder(folder.path)
        }
        var renamed = false
        try folder.replaceManifest(nil, with: manifest, renamed: &renamed)
    }

    private static func openLocked(
        _ options: LogOptions, _ folder: StoreFolder, _ clock: any Clock, _ randomness: any Randomness,
        _ locks: StoreLocks, created: Bool, isFirst: Bool
    ) throws(LogError) -> Log {
        let storage = folder.storage
        let manifest = try folder.readManifest()
        let page = try SharedPage(folder, manifest.storeID)
        let isPageValid = page.isValid(epoch: manifest.epoch)
        let pageMark = isPageValid ? page.durableMark : 0
        var recovery = try Recovery.read(folder, manifest, pageMark: pageMark, verify: options.verify)
        var report = RecoveryReport(
            outcome: created ? .created : recovery.tornTail.map { .tornTail($0) } ?? .clean,
            lastVersion: recovery.lastVersion, lastTime: recovery.scan.lastTime, storeID: manifest.storeID,
            epoch: manifest.epoch, missingFromLog: recovery.missing)
        if isFirst {
            // Whatever a crash left between the manifest and the removal of what it no longer lists, or of a checkpoint that was never finished. Beside others it may be one that is being written.
            try removeUnneeded(folder, manifest, Set(recovery.checkpoints.flatMap { $0.files.map(\.id) }), newest: .max)
        }
        report.secondedCommits = try recovery.makeDurable(despite: isPageValid && page.failureMark != 0)
        report.epoch = recovery.manifest.epoch

        let segmentPath = folder.segment(recovery.manifest.openSegment.segment)
        let file = try stored { () throws(StorageError) in try storage.open(segmentPath, .readWrite) }
        let size = try stored { () throws(StorageError) in try file.size() }
        let isReserveGone = !makeReserve(folder, byteCount: options.reserveByteCount)
        page.prepare(
            epoch: recovery.manifest.epoch, durable: recovery.lastVersion, published: recovery.lastVersion,
            generation: recovery.manifest.generation, fresh: try locks.isAlone())
        let slot = try takeSlot(page, locks, folder, clock)
        page.writerProcess = UInt64(currentProcessID())
        let group = GroupCommit(
            file: file, version: recovery.lastVersion, page: page, publishesWhenWritten: options.durability != .full)
        let tail = LogTail(
            folder: folder, options: options, clock: clock, group: group, page: page, file: file,
            manifest: recovery.manifest, end: recovery.scan.end, filled: max(size, recovery.scan.end),
            chain: recovery.scan.chain, lastTime: recovery.scan.lastTime, schema: recovery.scan.schema ?? [],
            sector: recovery.sector, isReserveGone: isReserveGone)
        tail.markWritten = max(recovery.scan.mark, recovery.manifest.openSegment.firstVersion - 1)
        let lock = WriterLock(locks: locks, page: page, isReady: true, mayWait: options.usesThreads)
        let writer = LogWriter(group: group, tail: tail, lock: lock, follower: LogFollower(folder))
        try writer.keeper?.start()
        let log = Log(
            options: options, recovery: report, folder: folder, locks: locks, page: page,
            schema: [], checkpoints: recovery.checkpoints, nextCheckpointID: (recovery.checkpoint?.id ?? 0) + 1,
            writer: writer,
            slot: slot)
        log.sinceCheckpoint.store(log.segmentByteCount, ordering: .relaxed)
        return log
    }

    private static func openForReading(_ options: LogOptions, _ folder: StoreFolder) throws(LogError) -> Log {
        switch try folder.find() {
        case .nothing:
            throw LogError(
                .storage(StorageError(.notFound, operation: "open", path: folder.path)), path: folder.path,
                detail: "read-only opening makes no store; open it with `.readWrite` once, or check the path")
        case .empty:
            throw LogError(
                .notAStore, path: folder.path, detail: "it is an empty folder, and read-only opening makes nothing")
        case .store: break
        }
        let storage = folder.storage
        try checkVolume(folder.path, storage)
        let locks = StoreLocks(
            lock: try stored { () throws(StorageError) in try storage.lockFile(folder.lock) }, path: folder.path)
        do throws(LogError) {
            try locks.enter()
            var attempt = 0
            var slot: Int?
            while true {
                attempt += 1
                let manifest = try folder.readManifest()
                let page = try SharedPage(folder, manifest.storeID)
                let valid = page.isValid(epoch: manifest.epoch)
                if attempt == 1 {
                    // Only what is listed from here on is kept for this reader.
                    slot = readerSlot(page, locks)
                    continue
                }
                let isBeingOpened = try locks.isBeingOpened()
                let isServed = try locks.isServed()
                if isServed {
                    // The page tells how far to read, once recovery is over.
                    if valid, !isBeingOpened {
                        let report = RecoveryReport(
                            outcome: .clean, lastVersion: page.published, lastTime: 0, storeID: manifest.storeID,
                            epoch: manifest.epoch)
                        return Log(
                            options: options, recovery: report, folder: folder, locks: locks, page: page,
                            schema: [], checkpoints: try folder.readCheckpoints(manifest),
                            nextCheckpointID: 0, writer: nil, slot: slot)
                    }
                    if attempt > 2000 {
                        throw LogError(.locked(processID: SharedPage.writerProcess(folder)), path: folder.path)
                    }
                    restThread(nanoseconds: 2_000_000)
                    continue
                }
                let recovery: Recovery
                do throws(LogError) {
                    recovery = try Recovery.read(
                        folder, manifest, pageMark: valid ? page.durableMark : 0, verify: options.verify)
                } catch {
                    // A writer may have come meanwhile and changed what we read.
                    let now = try folder.readManifest()
                    let isServed = try locks.isServed()
                    guard now != manifest || isServed, attempt < 2000 else { throw error }
                    continue
                }
                // Without a writer, the disk may lack what no mark covers. A sync tells; but after a failed one nothing does, and
                // without the right to write the commits again only what the mark covers is shown.
                var last = recovery.lastVersion
                if last > recovery.durable {
                    let failed = valid && page.failureMark != 0
                    let reader = try SegmentReader(folder, manifest.openSegment, storeID: manifest.storeID)
                    if failed || (try? reader.sync()) == nil { last = recovery.durable }
                }
                let report = RecoveryReport(
                    outcome: recovery.tornTail.map { .tornTail($0) } ?? .clean,
                    lastVersion: last, lastTime: recovery.scan.lastTime, storeID: manifest.storeID,
                    epoch: manifest.epoch, missingFromLog: recovery.missing)
                return Log(
                    options: options, recovery: report, folder: folder, locks: locks, page: page,
                    schema: recovery.scan.schema ?? [], checkpoints: recovery.checkpoints, nextCheckpointID: 0,
                    writer: nil, slot: slot)
            }
        } catch {
            locks.leave()
            throw error
        }
    }

    /// A slot for a reader. Without one (there may be none, or the lock file may not be written) it reads all the same, but nobody waits for it.
    private static func readerSlot(_ page: SharedPage, _ locks: StoreLocks) -> Int? {
        (try? page.takeSlot(locks, processID: currentProcessID(), now: SystemClock.shared.now())) ?? nil
    }

    /// Makes the reserve, unless it is there; false where the disk has no room for it.
    static func makeReserve(_ folder: StoreFolder, byteCount: Int) -> Bool {
        guard byteCount > 0 else { return true }
        do throws(StorageError) {
            if let status = try folder.storage.status(folder.reserve), status.byteCount >= byteCount { return true }
            let available = try folder.storage.volume(of: folder.path).availableByteCount
            guard available > 2 * byteCount else { return false }
            try? folder.storage.remove(folder.reserve)
            let file = try folder.storage.open(folder.reserve, .create)
            defer { file.close() }
            let zeros = LogTail.zeros
            var offset = 0
            while offset < byteCount {
                let count = min(zeros.count, byteCount - offset)
                try file.write(UnsafeRawBufferPointer(rebasing: zeros[..<count]), at: offset)
                offset += count
            }
            return true
        } catch {
            try? folder.storage.remove(folder.reserve)
            return false
        }
    }
}

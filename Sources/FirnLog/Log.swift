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
    let page: SharedPage
    /// The highest version that a log opened read-only has seen published. Atomic: it only rises.
    let seen: Atomic<UInt64>
    /// The highest version that it has seen durable. Atomic: it only rises.
    let seenDurable: Atomic<UInt64>
    let writer: LogWriter?
    /// The schema at the end of a log that was opened read-only.
    let recoveredSchema: [UInt8]
    /// Its slot of the shared page; nil for a reader that could get none.
    let slot: Int?
    /// Whether the slot is still this opener's. Once the log is closed it may be another's.
    private let ownsSlot = Guarded(.innermost, true)
    /// For a reader who found nobody that has the store open for writing: the session that the page was of then.
    let unkeptSession: UInt64?
    /// What a log opened read-only needs while the store is opened; nobody else keeps it.
    private let fileReferences: Guarded<HeldLogFiles?>
    var held: HeldLogFiles? { fileReferences.withLock { $0 } }
    /// Whether a compactor of this opener runs. Atomic.
    let isCompacting = Atomic<Bool>(false)
    let isClosed = Atomic<Bool>(false)
    /// Atomic: it only rises, and `tellOthers` says so whenever it is called next.
    let hasCeasedReading = Atomic<Bool>(false)
    let checkpoints: Guarded<ListedCheckpoints>
    let sinceCheckpoint: Atomic<Int>
    /// Differs from the process's where it has been forked since.
    let forkMark = ForkMark()

    init(
        options: LogOptions, recovery: RecoveryReport, folder: StoreFolder, locks: StoreLocks, page: SharedPage,
        schema: [UInt8], checkpoints listed: [Checkpoint], nextCheckpointID: UInt64, writer: LogWriter?,
        slot: Int?, unkeptSession: UInt64? = nil, durable: UInt64? = nil, held: HeldLogFiles? = nil
    ) {
        self.slot = slot
        self.unkeptSession = unkeptSession
        fileReferences = Guarded(.innermost, held)
        checkpoints = Guarded(.innermost, ListedCheckpoints(listed: listed, nextID: nextCheckpointID))
        sinceCheckpoint = Atomic(0)
        recoveredSchema = schema
        self.options = options
        self.recovery = recovery
        self.folder = folder
        self.locks = locks
        self.page = page
        seen = Atomic(recovery.lastVersion)
        seenDurable = Atomic(durable ?? recovery.lastVersion)
        self.writer = writer
    }

    deinit { try? close() }

    /// Calls `body` with the slot, as long as it is this opener's.
    func withSlot(_ body: (Int) -> Void) {
        guard let slot else { return }
        ownsSlot.withLock { if $0 { body(slot) } }
    }

    /// Frees the slot, before its lock goes.
    func leaveSlot() {
        guard let slot else { return }
        ownsSlot.withLock { owns in
            if owns { page.freeSlot(slot) }
            owns = false
        }
    }

    /// What the log was opened with has been read: what was held for that goes.
    public func finishOpening() {
        // Closed outside of the lock.
        let held = fileReferences.withLock { held in
            defer { held = nil }
            return held
        }
        withExtendedLifetime(held) {}
    }

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
        let folder = StoreFolder(options, storage)
        switch options.access {
        case .readOnly: return try openForReading(options, folder)
        case .readWrite(let wait): return try openForWriting(options, folder, clock, randomness, waitMilliseconds: wait)
        }
    }

    static func checkVolume(_ path: String, _ storage: any Storage) throws(LogError) {
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
            // It may have been made by a process that died before its name was durable.
            if found != .store { try folder.syncParent() }
        }
        try folder.refuseLinks()
        let locks = try StoreLocks(folder)
        do throws(LogError) {
            let deadline = SystemClock.shared.monotonic() + .nanoseconds(milliseconds: max(waitMilliseconds, 3))
            var pause: Int64 = 500_000
            while true {
                if try locks.tryLockWriter() {
                    // The first of those who have it open for writing keeps others from joining until all is recovered.
                    let isFirst = try locks.beginRecovery()
                    try locks.enter()
                    // Look again: another may have made the store while we waited.
                    if found != .store { found = try folder.find() }
                    let created = found != .store
                    if created { try create(folder, clock, randomness, sector: options.sectorByteCount) }
                    let log = try openLocked(
                        options, folder, clock, randomness, locks, created: created, isFirst: isFirst)
                    _ = try locks.serve(stays: options.endsWithCheckpoint)
                    return log
                }
                if let log = try join(options, folder, clock, locks) { return log }
                if !options.usesThreads || SystemClock.shared.monotonic() >= deadline {
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
        try folder.removeUnfinishedCopy()
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
        let file = try stored { () throws(StorageError) in try folder.create(path) }
        defer { file.close() }
        try folder.write(SegmentPrologue.encode(header, schema: schema, time: time).bytes, to: file, at: 0)
        try stored { () throws(StorageError) in
            try file.sync()
            try storage.syncFolder(folder.log)
            // The folders must be there before the manifest is.
            try storage.syncFolder(folder.path)
        }
        try folder.replaceManifest(nil, with: manifest)
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
        // A writer takes its number off the page when all that it did is durable.
        let isDurable = isPageValid && page.writerProcess == 0 && !page.hasFailed
        // If this process dies behind a manifest that the page does not tell of, who gets the lock next recovers, too.
        page.writerProcess = UInt64(currentProcessID())
        if !isDurable { try recovery.renewManifest(page) }
        // A reader that is just opening the store needs what was listed when it came.
        if isFirst, !page.others(locks, but: nil).contains(where: { $0.version == 0 }) {
            // Whatever a crash left between the manifest and the removal of what it no longer lists, or of a checkpoint that was never finished. Beside others it may be one that is being written.
            // The manifest's name is durable: after a power cut the one before it would need what is removed here.
            try removeUnneeded(folder, manifest, Set(recovery.checkpoints.flatMap { $0.files.map(\.id) }), newest: .max)
        }
        // A copy that was finished may have been stopped before its mark was removed.
        if isFirst { try? folder.removeIfPresent(folder.copying) }
        report.rewrittenCommits = try recovery.makeDurable(page)
        report.epoch = recovery.manifest.epoch

        let segmentPath = folder.segment(recovery.manifest.openSegment.segment)
        let file = try stored { () throws(StorageError) in try storage.open(segmentPath, .readWrite) }
        let size = try stored { () throws(StorageError) in try file.size() }
        let isReserveGone = !makeReserve(folder, manifest.storeID, byteCount: options.reserveByteCount)
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
        let lock = WriterLock(locks: locks, page: page, isReady: true, mayWait: options.usesThreads, clock: clock)
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

    /// Makes the reserve, unless it is there; false where the disk has no room for it.
    ///
    /// It is filled with random bytes: on a file system that compresses, or keeps equal blocks once, zeros take no room, so none would be free when the reserve goes. They
    /// depend on the store's id alone, so that each store has its own and a simulation can be repeated.
    static func makeReserve(_ folder: StoreFolder, _ storeID: StoreID, byteCount: Int) -> Bool {
        guard byteCount > 0 else { return true }
        do throws(StorageError) {
            if let status = try folder.storage.status(folder.reserve), status.byteCount >= byteCount { return true }
            let available = try folder.storage.volume(of: folder.path).availableByteCount
            guard available > 2 * byteCount else { return false }
            try? folder.storage.remove(folder.reserve)
            let file = try folder.create(folder.reserve)
            defer { file.close() }
            var state = storeID.high ^ storeID.low
            var words = [UInt64](repeating: 0, count: min(byteCount + 7, 64 << 10) / 8)
            var offset = 0
            while offset < byteCount {
                // SplitMix64 (Steele, Lea and Flood 2014).
                for place in words.indices {
                    state &+= 0x9E37_79B9_7F4A_7C15
                    var word = state
                    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
                    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
                    words[place] = word ^ word >> 31
                }
                let count = min(words.count * 8, byteCount - offset)
                let failure: StorageError? = words.withUnsafeBytes { bytes in
                    do throws(StorageError) {
                        try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
                        return nil
                    } catch {
                        return error
                    }
                }
                if let failure { throw failure }
                offset += count
            }
            return true
        } catch {
            try? folder.storage.remove(folder.reserve)
            return false
        }
    }
}

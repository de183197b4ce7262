import FirnBytes
import FirnCrypto
import FirnStorage
import Synchronization

extension Log {
    /// Opens the store at `options.folder`. If it is opened for writing and there is nothing at the path, or an empty
    /// folder, creates it.
    ///
    /// Cost: reading the newest segment, at most 64 MiB; everything with `verify: .everything`.
    package static func open(
        _ options: LogOptions, storage: any Storage, clock: any Clock = SystemClock.shared,
        randomness: any Randomness = SystemRandomness.shared
    ) throws(LogError) -> Log {
        precondition(
            options.segmentByteCount >= 4096 && options.segmentByteCount % LogLimits.frameAlignment == 0,
            "Firn: segmentByteCount must be a multiple of 64 and at least 4096")
        precondition(
            options.partByteCount >= 64 && options.partByteCount <= LogLimits.payloadByteCount,
            "Firn: partByteCount must be 64 ... \(LogLimits.payloadByteCount)")
        let location = StoreLocation(options, storage, randomness: randomness)
        switch options.access {
        case .readOnly: return try openForReading(options, location)
        case .readWrite(let wait):
            return try openForWriting(
                options, location: location, clock: clock, randomness: randomness, waitMilliseconds: wait)
        }
    }

    static func checkVolume(_ folder: StoreFolder) throws(LogError) {
        try check(try stored(folder.root.volume()), folder.path)
    }

    private static func check(_ volume: Volume, _ path: String) throws(LogError) {
        if volume.isNetwork { throw LogError(.networkFileSystem(volume.fileSystem), path: path) }
    }

    private static func openForWriting(
        _ options: LogOptions, location: StoreLocation, clock: any Clock, randomness: any Randomness,
        waitMilliseconds: Int
    ) throws(LogError) -> Log {
        let present = try location.open()
        // A store that can't be encrypted is not made at all.
        if options.encryptionKey != nil, EncryptionAlgorithm.preferred == nil, try present?.find() != .store {
            throw LogError(.key(.unavailable), path: location.path)
        }
        let folder: StoreFolder
        if let present { folder = present } else { folder = try makeFolder(location) }
        var found = try folder.find()
        try checkVolume(folder)
        // A process that made the folder may have died before its name was durable.
        if present != nil, found != .store { try location.syncParent() }
        try folder.refuseLinks()
        let locks = try StoreLocks(folder)
        do throws(LogError) {
            let deadline = SystemClock.shared.monotonic() + .nanoseconds(milliseconds: max(waitMilliseconds, 3))
            var pause: Int64 = 500_000
            while true {
                if try locks.tryLockWriter() {
                    // The first opener for writing keeps others from joining until everything is recovered.
                    let isFirst = try locks.beginRecovery()
                    try locks.registerOpen()
                    try locks.lockFolder(
                        isFirst: isFirst, waitMilliseconds: options.usesThreads ? waitMilliseconds : 0)
                    // Another process may have made the store while this one waited.
                    if found != .store { found = try folder.find() }
                    let created = found != .store
                    if created {
                        try create(folder, clock: clock, randomness: randomness)
                    }
                    let log = try openLocked(
                        options, folder: folder, location: location, clock: clock, randomness: randomness, locks: locks,
                        created: created, isFirst: isFirst)
                    _ = try locks.registerWriter(writesFinalCheckpoint: options.endsWithCheckpoint)
                    return log
                }
                if let log = try join(options, folder: folder, clock: clock, locks: locks) { return log }
                if !options.usesThreads || SystemClock.shared.monotonic() >= deadline {
                    throw LogError(.locked(processID: SharedPage.writerProcess(folder)), path: folder.path)
                }
                sleepThread(nanoseconds: pause)
                pause = min(pause * 2, 20_000_000)
            }
        } catch {
            locks.releaseAll()
            throw error
        }
    }

    /// Makes the folder of a store.
    private static func makeFolder(_ location: StoreLocation) throws(LogError) -> StoreFolder {
        try check(
            try stored(location.storage.volume(of: location.parent)), location.parent)
        try location.makeFolder()
        guard let folder = try location.open() else {
            throw .replaced(location.path, "the folder that was just made is gone")
        }
        return folder
    }

    /// Makes a store. It exists as soon as its manifest does; whatever a crash leaves before that counts as an
    /// empty folder.
    private static func create(
        _ folder: StoreFolder, clock: any Clock, randomness: any Randomness
    ) throws(LogError) {
        try folder.removeUnfinishedCopy()
        try folder.removeIfPresent(folder.newManifest)
        try folder.createFolderIfAbsent(.log)
        try folder.createFolderIfAbsent(.checkpoints)
        let storeID = StoreID(randomness)
        let manifest = Manifest(
            storeID: storeID, encryption: try folder.makeKeys(for: storeID), created: clock.now(),
            segments: [Manifest.Segment(segment: 1, epoch: 1, firstVersion: 1)])
        try makeFirstSegment(folder, manifest, schema: [], time: 0)
    }

    /// Writes a new store's only segment, and then its manifest.
    static func makeFirstSegment(
        _ folder: StoreFolder, _ manifest: Manifest, schema: [UInt8], time: Int64
    ) throws(LogError) {
        let first = manifest.openSegment.firstVersion
        let header = SegmentHeader(
            storeID: manifest.storeID, epoch: 1, segment: 1, chain: 0, firstVersion: first, mark: first - 1,
            salt: folder.makeSalt())
        let name = folder.segment(1)
        try folder.removeIfPresent(name)
        let file = try stored(folder.create(name))
        defer { file.close() }
        let cipher = folder.cipher(header)
        try stored(
            file.write(SegmentPrologue.encode(header, schema: schema, time: time, cipher: cipher).bytes, at: 0))
        try stored(file.sync())
        try stored(folder.sync(.log))
        // The folders' names must be durable before the manifest exists.
        try stored(folder.sync(.store))
        var manifest = manifest
        manifest.segments = [Manifest.Segment(header)]
        try folder.replaceManifest(nil, with: manifest)
    }

    private static func openLocked(
        _ options: LogOptions, folder: StoreFolder, location: StoreLocation, clock: any Clock,
        randomness: any Randomness, locks: StoreLocks, created: Bool, isFirst: Bool
    ) throws(LogError) -> Log {
        let (manifest, previous) = try folder.readGenerations()
        let page = try SharedPage(folder, manifest.storeID, mayCreate: isFirst)
        let isPageValid = page.isValid(epoch: manifest.epoch)
        let pageMark = isPageValid ? page.durableMark : 0
        var recovery = try Recovery.read(
            folder, manifest, pageMark: pageMark, isCopied: page.isCertainlyCopied, verify: options.verify)
        var report = RecoveryReport(
            outcome: created ? .created : recovery.tornTail.map { .tornTail($0) } ?? .clean,
            lastVersion: recovery.lastVersion, lastTime: recovery.scan.lastTime, storeID: manifest.storeID,
            epoch: manifest.epoch, missingFromLog: recovery.missing)
        // A writer clears its process id on the page once everything that it did is durable.
        let isDurable = isPageValid && page.writerProcess == 0 && !page.hasFailed
        // If this process dies after a manifest change that the page does not show, the next holder recovers, too.
        page.writerProcess = UInt64(currentProcessID())
        // The process that changed the key has ended before the data key wrapped for the old one was gone.
        let holdsOldWrap = previous.map { $0.encryption != manifest.encryption } ?? false
        if !isDurable || holdsOldWrap { try recovery.renewManifest(page, location) }
        // A reader that is opening the store needs the files that were listed when it took its slot.
        if isFirst, !page.others(locks, but: nil).contains(where: { $0.version == 0 }) {
            // Removes files that a crash left: files that the manifest no longer lists, and checkpoints that were never
            // finished. If other processes have the store open, such a checkpoint may be one that is being written. The
            // manifest's name is durable by now. Otherwise, after a power cut, the manifest before it could come back,
            // and would need files that are removed here.
            try removeUnneeded(
                folder, manifest: recovery.manifest, needed: Set(recovery.checkpoints.flatMap { $0.files.map(\.id) }),
                newest: .max)
        }
        // A finished copy may have been stopped before its mark was removed.
        if isFirst { try? folder.removeIfPresent(folder.copying) }
        report.rewrittenCommits = try recovery.makeDurable(page)
        report.epoch = recovery.manifest.epoch

        let segment = folder.segment(recovery.manifest.openSegment.segment)
        let file = try stored(folder.open(segment, .readWrite))
        let size = try stored(file.size())
        let reserve = LogReserve(folder: folder, storeID: manifest.storeID, fixedByteCount: options.reserveByteCount)
        page.prepare(
            epoch: recovery.manifest.epoch, durable: recovery.lastVersion, published: recovery.lastVersion,
            generation: recovery.manifest.generation, fresh: try locks.isAlone())
        let slot = try takeSlot(page, locks: locks, folder: folder, clock: clock)
        page.writerProcess = UInt64(currentProcessID())
        let group = GroupCommit(
            file: file, version: recovery.lastVersion, page: page, publishesWhenWritten: options.durability != .full,
            names: try HeldNames(folder: folder, locks: locks, clock: clock))
        let tail = LogTail(
            folder: folder, options: options, clock: clock, group: group, page: page, file: file,
            cipher: try folder.cipher(of: file, recovery.manifest), manifest: recovery.manifest, end: recovery.scan.end,
            filled: max(size, recovery.scan.end), chain: recovery.scan.chain, lastTime: recovery.scan.lastTime,
            schema: recovery.scan.schema ?? [], isReserveGone: false)
        tail.checkpointByteCount.store(recovery.checkpoint?.byteCount ?? 0, ordering: .relaxed)
        tail.begin()
        tail.isReserveGone = !reserve.ensure(for: tail.storeByteCount)
        tail.markWritten = max(recovery.scan.mark, recovery.manifest.openSegment.firstVersion - 1)
        tail.endAppending()
        let lock = WriterLock(locks: locks, page: page, isReady: true, options, clock)
        let writer = LogWriter(group: group, tail: tail, lock: lock, follower: LogFollower(folder), reserve: reserve)
        // An idle log does not need its thread, unless its last mark is missing.
        if tail.markWritten < recovery.lastVersion { try writer.maintenance?.startIfNeeded() }
        let log = Log(
            options: options, recovery: report, folder: folder, locks: locks, page: page,
            schema: [], checkpoints: recovery.checkpoints, nextCheckpointID: (recovery.checkpoint?.id ?? 0) + 1,
            writer: writer, slot: slot, checkpointPosition: recovery.scan.sought)
        writer.byteCountSinceCheckpoint.store(log.segmentByteCount, ordering: .relaxed)
        return log
    }
}

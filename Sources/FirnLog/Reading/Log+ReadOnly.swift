import FirnStorage

/// Opening a store to read it, by somebody who may not be allowed to write anything.
///
/// Nothing is created, and no permission to write is needed: the store may be another user's, or lie on a volume that is mounted read-only. What this reader then can do depends on the files `lock` and `shared`:
///
/// | it can | `lock` | `shared` |
/// | --- | --- | --- |
/// | take a slot, so that writers keep what it has yet to read | writable | writable |
/// | see who writes, and keep blocks of checkpoints from being given back | readable | |
/// | see what is published while it has the store open | | readable |
///
/// - **Every reader** goes by the manifest that it has read first until the store is open (`HeldLogFiles`): one that
///   takes its place may list less. It looks whether the manifest is still the same when it knows how far to read; if
///   not, it begins anew.
/// - **Without a slot** segments may go that it has not read, and files of checkpoints that it has not opened. So it
///   opens all that opening needs at once. What it asks for later, and is gone, is `.versionNotHere`.
/// - **Without `lock`** it can't know whether somebody writes. It reads the log to its last whole commit, as if nobody did: all that was acknowledged as durable when it was opened is there, and
///   perhaps commits that are just being written. A writer may give blocks of a checkpoint back while this reader has an older one open: reading
///   them is reported as damage, and opening the store anew helps.
///
/// **What looks like damage** may be the work of a writer, and is looked at again. Where the manifest has changed, the reading begins anew. Else it may be torn: what was read first is of before a commit, what was read
/// then is of after it and speaks of that commit. Frames are written one after another, so a place that is passed over by later ones is whole by then; damage is what the next look finds at the same place.
/// - **Without `shared`** it sees the store as it was when it was opened, for good.
extension Log {
    /// How often opening begins anew because the store has changed meanwhile, at 2 ms each.
    private static let readingAttempts = 2000
    /// How many looks in a row must find the same place damaged, at 2 ms each, where a writer may be there, who may be about to replace the manifest or may have cut the log and written the place again;
    /// and where nobody is there any more.
    private static let damageLooks = (beside: 10, alone: 2)

    static func openForReading(_ options: LogOptions, _ folder: StoreFolder) throws(LogError) -> Log {
        switch try folder.find() {
        case .nothing:
            throw LogError(
                .storage(StorageError(.notFound, operation: "open", path: folder.path)), path: folder.path,
                detail: "read-only opening makes no store; open it with `.readWrite` once, or check the path")
        case .empty:
            throw LogError(
                .notAStore, path: folder.path, detail: "it is an empty folder, and read-only opening makes nothing")
        case .unfinishedCopy:
            throw LogError(
                .notAStore, path: folder.path,
                detail: "a copy was to be written there, which is not finished; write it again, or delete the folder")
        case .store: break
        }
        try checkVolume(folder.path, folder.storage)
        try folder.refuseLinks()
        let locks = try StoreLocks(reading: folder)
        do throws(LogError) {
            try locks.enter()
            // Only what is listed from here on is kept for this reader.
            let storeID = try folder.readManifest().storeID
            let slot = readerSlot(try SharedPage(reading: folder, storeID), locks)
            // Without threads nobody gets further while this one waits.
            let mostAttempts = options.usesThreads ? readingAttempts : 3
            var attempt = 0
            var damage: (error: LogError, looks: Int)?
            while true {
                attempt += 1
                let manifest = try folder.readManifest()
                do throws(LogError) {
                    if let log = try read(options, folder, locks, manifest, slot: slot) { return log }
                    // Somebody is recovering the store.
                    guard attempt < mostAttempts else {
                        throw LogError(.locked(processID: SharedPage.writerProcess(folder)), path: folder.path)
                    }
                    restThread(nanoseconds: 2_000_000)
                } catch {
                    guard error.isOfFiles, attempt < mostAttempts else { throw error }
                    if try folder.readManifest() != manifest {
                        damage = nil
                        continue
                    }
                    let looks = damage.map { error.isSamePlace(as: $0.error) ? $0.looks + 1 : 1 } ?? 1
                    damage = (error, looks)
                    let mayBeWritten = locks.areKnown ? try locks.isServed() : true
                    guard looks < (mayBeWritten ? damageLooks.beside : damageLooks.alone) else { throw error }
                    restThread(nanoseconds: 2_000_000)
                }
            }
        } catch {
            locks.leave()
            throw error
        }
    }

    /// One attempt. Nil where another process is just recovering the store.
    private static func read(
        _ options: LogOptions, _ folder: StoreFolder, _ locks: StoreLocks, _ manifest: Manifest, slot: Int?
    ) throws(LogError) -> Log? {
        let page = try SharedPage(reading: folder, manifest.storeID)
        let isPageValid = page.isValid(epoch: manifest.epoch)
        // Before the look for a writer: one that comes after it moves the session.
        let session = page.session
        let isBeingOpened = try locks.isBeingOpened()
        // Without the page it is of no use that somebody looks after it.
        let isLocked = try locks.isServed()
        let isServed = isLocked && page.isThere
        let recovery: Recovery?
        var report: RecoveryReport
        if isBeingOpened { return nil }
        if isServed {
            // The page tells how far to read.
            guard isPageValid else { return nil }
            recovery = nil
            report = RecoveryReport(
                outcome: .clean, lastVersion: page.published, lastTime: 0, storeID: manifest.storeID,
                epoch: manifest.epoch)
        } else {
            let read = try Recovery.read(
                folder, manifest, pageMark: isPageValid ? page.durableMark : 0, verify: options.verify)
            recovery = read
            // Where it can't be known whether somebody writes, a tail may be a commit on its way.
            report = RecoveryReport(
                outcome: locks.areKnown ? read.tornTail.map { .tornTail($0) } ?? .clean : .clean,
                lastVersion: read.lastVersion, lastTime: read.scan.lastTime, storeID: manifest.storeID,
                epoch: manifest.epoch, missingFromLog: read.missing)
            // Without a writer, the disk may lack what no mark covers. A sync tells; but after a writer's that failed
            // nothing does, and without the right to write the commits again only what its marks cover is shown. That
            // is all that it acknowledged.
            if read.lastVersion > read.durable {
                var hasLogFailed = page.isValid && page.hasLogFailed
                // The page of before counts while a take-over has not got to its end; else it may be a stale one.
                if hasLogFailed, !isPageValid { hasLogFailed = try read.uncutSegment() != nil }
                if hasLogFailed {
                    report.lastVersion = read.durable
                } else {
                    // Who took over, and died, may have left a manifest whose name is not durable. The one before it
                    // finds these commits in the segment before.
                    for entry in manifest.segments.suffix(2) {
                        try SegmentReader(folder, entry, storeID: manifest.storeID).syncWhatOthersWrote()
                    }
                }
            }
        }
        // What is read up to the page's word may be less than durable.
        let durable = isServed ? page.durableMark : report.lastVersion
        let checkpoints: [Checkpoint]
        if let recovery {
            checkpoints = recovery.checkpoints
        } else {
            checkpoints = try folder.readCheckpoints(manifest)
        }
        let held =
            slot == nil ? try HeldLogFiles(folder, manifest, checkpoints.last) : HeldLogFiles(manifest)
        // Otherwise what has been published since may lie in segments that it does not list.
        guard try folder.readManifest() == manifest else {
            throw LogError(.damage, path: folder.manifest, detail: "the store changes faster than it can be opened")
        }
        return Log(
            options: options, recovery: report, folder: folder, locks: locks, page: page,
            schema: recovery?.scan.schema ?? [], checkpoints: checkpoints, nextCheckpointID: 0, writer: nil, slot: slot,
            unkeptSession: isServed ? nil : session, durable: durable, held: held)
    }

    /// A slot for a reader. Without one (there may be none, or the files may not be this user's to write) it reads all the same, but nobody waits for it.
    private static func readerSlot(_ page: SharedPage, _ locks: StoreLocks) -> Int? {
        (try? page.takeSlot(locks, processID: currentProcessID(), now: SystemClock.shared.now())) ?? nil
    }
}

/// The manifest that a store is opened by to be read, whatever takes its place meanwhile. For a reader without a slot
/// also the files that opening needs, opened before anybody could remove them.
final class HeldLogFiles: Sendable {
    /// More segments than this behind the checkpoint are not held: descriptors are few.
    private static let segmentMax = 64

    let manifest: Manifest
    let files: [String: any StorageFile]

    /// For a reader with a slot: nothing is removed while it opens the store.
    init(_ manifest: Manifest) {
        self.manifest = manifest
        files = [:]
    }

    init(_ folder: StoreFolder, _ manifest: Manifest, _ checkpoint: Checkpoint?) throws(LogError) {
        self.manifest = manifest
        let start = checkpoint?.version ?? 0
        let needed = manifest.segments.filter { !$0.isSealed || $0.lastVersion > start }
        var paths = checkpoint?.files.map { folder.checkpoint($0.id) } ?? []
        if needed.count <= Self.segmentMax { paths += needed.map { folder.segment($0.segment) } }
        var files: [String: any StorageFile] = [:]
        for path in paths {
            files[path] = try stored { () throws(StorageError) in try folder.storage.open(path, .read) }
        }
        self.files = files
    }
}

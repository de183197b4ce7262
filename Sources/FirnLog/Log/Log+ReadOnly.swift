import FirnStorage

/// Opening a store read-only, by a user who may not be allowed to write anything.
///
/// Nothing is created, and no permission to write is needed: the store may be another user's, or be on a volume
/// that is mounted read-only. What such a reader can do depends on the files `lock` and `shared`:
///
/// | it can | `lock` | `shared` |
/// | --- | --- | --- |
/// | take a slot, so that writers keep what it has yet to read | writable | writable |
/// | see who writes, and prevent holes from being punched into checkpoints | readable | |
/// | see what is published while it has the store open | | readable |
///
/// - **Every reader** uses the first manifest that it has read until the store is open (`HeldLogFiles`): a newer
///   one may list less. When it knows how far to read, it checks whether the manifest is still the same; if not, it
///   starts again.
/// - **Without a slot**, segments that it has not read may be removed, and checkpoint files that it has not opened. So
///   it opens everything that opening needs at once. If it asks later for something that has been removed, that throws
///   `.versionNotHere`.
/// - **Without `lock`** it can't know whether another process writes. It reads the log to its last whole commit, as if
///   nobody wrote. It sees everything that was acknowledged as durable when it was opened, and perhaps commits that are
///   just being written. A writer may punch holes into a checkpoint while this reader has an older one open. Reading
///   the holes is reported as damage, and opening the store again helps.
/// - **Without `shared`** it always sees the store as it was when it was opened.
///
/// **What looks like damage** may be caused by a writer, and is checked again. If the manifest has changed, reading
/// starts again. If it has not, the view may be torn. Then the bytes read first are from before a commit, and the bytes
/// read later are from after it and refer to it. Frames are written one after another, so by then the frames before the
/// later ones are complete. Only what the next attempts find at the same offset is damage.
extension Log {
    /// How many times opening is attempted, at intervals of 2 ms, if the store has changed meanwhile.
    private static let readingAttempts = 2000
    /// How many attempts in a row, at intervals of 2 ms, must find damage at the same offset. The first number is for a
    /// store that another process may be writing. That process may be about to replace the manifest, or may have cut
    /// the log and written the same range again. The second is for a store that nobody writes.
    private static let damageAttempts = (beside: 10, alone: 2)

    static func openForReading(_ options: LogOptions, _ location: StoreLocation) throws(LogError) -> Log {
        guard let folder = try location.open() else {
            throw LogError(
                .storage(StorageError(.notFound, operation: "open", path: location.path)), path: location.path,
                detail: "opening read-only creates no store; open it once without `readOnly`, or check the path")
        }
        switch try folder.find() {
        case .empty:
            throw LogError(
                .notAStore, path: folder.path, detail: "it is an empty folder, and opening read-only creates nothing")
        case .unfinishedCopy:
            throw LogError(
                .notAStore, path: folder.path,
                detail: "it holds an unfinished copy of a store; copy the store again, or delete the folder")
        case .store: break
        }
        try checkVolume(folder)
        try folder.refuseLinks()
        let locks = try StoreLocks(reading: folder)
        do throws(LogError) {
            try locks.registerOpen()
            // Only files that are listed after the slot was taken are kept for this reader.
            let storeID = try folder.readManifest().storeID
            let slot = readerSlot(try SharedPage(reading: folder, storeID), locks)
            // Without threads, no other process makes progress while this one waits.
            let attemptLimit = options.usesThreads ? readingAttempts : 3
            var attempt = 0
            var damage: (error: LogError, count: Int)?
            while true {
                attempt += 1
                let manifest = try folder.readManifest()
                do throws(LogError) {
                    if let log = try read(options, folder: folder, locks: locks, manifest: manifest, slot: slot) {
                        return log
                    }
                    // Another process is recovering the store.
                    guard attempt < attemptLimit else {
                        throw LogError(.locked(processID: SharedPage.writerProcess(folder)), path: folder.path)
                    }
                    sleepThread(nanoseconds: 2_000_000)
                } catch {
                    guard error.mayBeStaleFile, attempt < attemptLimit else { throw error }
                    if try folder.readManifest() != manifest {
                        damage = nil
                        continue
                    }
                    let count = damage.map { error.isSameDamage(as: $0.error) ? $0.count + 1 : 1 } ?? 1
                    damage = (error, count)
                    let mayBeWritten = locks.areKnown ? try locks.isOpenForWriting() : true
                    guard count < (mayBeWritten ? damageAttempts.beside : damageAttempts.alone) else { throw error }
                    sleepThread(nanoseconds: 2_000_000)
                }
            }
        } catch {
            locks.releaseAll()
            throw error
        }
    }

    /// One attempt to open the store. Nil if another process is recovering it at this moment.
    private static func read(
        _ options: LogOptions, folder: StoreFolder, locks: StoreLocks, manifest: Manifest, slot: Int?
    ) throws(LogError) -> Log? {
        let page = try SharedPage(reading: folder, manifest.storeID)
        let isPageValid = page.isValid(epoch: manifest.epoch)
        // The session is read before looking for a writer: a writer that opens the store after that changes it.
        let session = page.session
        let isBeingOpened = try locks.isBeingOpened()
        // A reader without the page does not profit from a process that maintains it.
        let isLocked = try locks.isOpenForWriting()
        let isMaintained = isLocked && page.isMapped
        let recovery: Recovery?
        var report: RecoveryReport
        if isBeingOpened { return nil }
        if isMaintained {
            // The page says how far to read.
            guard isPageValid else { return nil }
            recovery = nil
            report = RecoveryReport(
                outcome: .clean, lastVersion: page.published, lastTime: 0, storeID: manifest.storeID,
                epoch: manifest.epoch)
        } else {
            let read = try Recovery.read(
                folder, manifest, pageMark: isPageValid ? page.durableMark : 0, isCopied: page.isCertainlyCopied,
                verify: options.verify)
            recovery = read
            // If it can't be known whether another process writes, a tail may be a commit that is being written.
            report = RecoveryReport(
                outcome: locks.areKnown ? read.tornTail.map { .tornTail($0.leftInPlace) } ?? .clean : .clean,
                lastVersion: read.lastVersion, lastTime: read.scan.lastTime, storeID: manifest.storeID,
                epoch: manifest.epoch, missingFromLog: read.missing)
            // If nobody writes, the disk may lack the commits that no durable mark covers. A sync makes sure that
            // they are on the disk, but not after a writer's sync has failed. A reader can't rewrite the commits,
            // so in that case it shows only what the writer's marks cover, which is everything that the writer
            // acknowledged.
            if read.lastVersion > read.durable {
                var hasLogFailed = page.isValid && page.hasLogFailed
                // A page of an earlier epoch counts only while a takeover is unfinished; otherwise it may be stale.
                if hasLogFailed, !isPageValid { hasLogFailed = try read.uncutSegment() != nil }
                if hasLogFailed {
                    report.lastVersion = read.durable
                } else {
                    // A process that took over and died may have left a manifest whose name is not durable. By the
                    // previous manifest, these commits are in the previous segment, so that is synced, too.
                    for entry in manifest.segments.suffix(2) {
                        try SegmentReader(folder, entry, storeID: manifest.storeID).syncWhatOthersWrote()
                    }
                }
            }
        }
        // The published version, up to which this log reads, may not be durable yet.
        let durable = isMaintained ? page.durableMark : report.lastVersion
        let checkpoints: [Checkpoint]
        if let recovery {
            checkpoints = recovery.checkpoints
        } else {
            checkpoints = try folder.readCheckpoints(manifest)
        }
        let held =
            slot == nil
            ? try HeldLogFiles(folder: folder, manifest: manifest, checkpoint: checkpoints.last)
            : HeldLogFiles(manifest)
        // If the manifest has changed, newly published commits may be in segments that `manifest` does not list.
        guard try folder.readManifest() == manifest else {
            throw LogError(
                .damage, path: folder.path(of: folder.manifest),
                detail: "the store changes faster than it can be opened")
        }
        return Log(
            options: options, recovery: report, folder: folder, locks: locks, page: page,
            schema: recovery?.scan.schema ?? [], checkpoints: checkpoints, nextCheckpointID: 0, writer: nil, slot: slot,
            unmaintainedSession: isMaintained ? nil : session, durable: durable, held: held,
            checkpointPosition: recovery?.scan.sought)
    }

    /// Takes a slot for a reader. There may be none: all may be taken, or the files may not be writable for this user.
    /// Then the reader reads all the same, but no process keeps files for it.
    private static func readerSlot(_ page: SharedPage, _ locks: StoreLocks) -> Int? {
        (try? page.takeSlot(locks, processID: currentProcessID(), now: SystemClock.shared.now())) ?? nil
    }
}

import FirnStorage

extension Log {
    /// Opens the store beside others who have it open for writing, without their lock: what they have published is read, and the log is as that of any process which is not writing at the
    /// moment. Nil where that is not possible just now: nobody has it open, or somebody is recovering it.
    static func join(
        _ options: LogOptions, _ folder: StoreFolder, _ clock: any Clock, _ locks: StoreLocks
    ) throws(LogError) -> Log? {
        guard try folder.find() == .store, try locks.isServed(), try locks.serve(stays: options.endsWithCheckpoint)
        else { return nil }
        var manifest = try folder.readManifest()
        let page = try SharedPage(folder, manifest.storeID)
        do throws(LogError) {
            // Each time another manifest may take the place of the one that is read.
            for _ in 1...8 {
                guard page.isValid(epoch: manifest.epoch) else { break }
                if let log = try join(options, folder, clock, locks, page) { return log }
                manifest = try folder.readManifest()
            }
        } catch {
            // What was read may have been cut, or taken over, while it was.
            guard try folder.readManifest() != manifest || !page.isValid(epoch: manifest.epoch) else { throw error }
        }
        try locks.stopServing()
        return nil
    }

    private static func join(
        _ options: LogOptions, _ folder: StoreFolder, _ clock: any Clock, _ locks: StoreLocks, _ page: SharedPage
    ) throws(LogError) -> Log? {
        try locks.enter()
        let slot = try takeSlot(page, locks, folder, clock)
        var log: Log?
        // Whoever has a slot and has read nothing keeps all others from removing files.
        defer {
            if log == nil {
                page.freeSlot(slot)
                // Where that fails the slot stays this opener's until it ends, and nothing is removed meanwhile.
                try? locks.unlockSlot(slot)
            }
        }
        log = try join(options, folder, clock, locks, page, slot)
        return log
    }

    /// Nil where another manifest took the place of the one that was read first: what it lists may be of later versions
    /// than the log was read through.
    private static func join(
        _ options: LogOptions, _ folder: StoreFolder, _ clock: any Clock, _ locks: StoreLocks, _ page: SharedPage,
        _ slot: Int
    ) throws(LogError) -> Log? {
        // Only what is listed from here on is kept for this opener, and all that it covers is published.
        let manifest = try folder.readManifest()
        let published = page.published
        let follower = LogFollower(folder)
        let first = manifest.segments.last { $0.firstVersion <= published + 1 } ?? manifest.segments[0]
        var (place, listed): (LogReadPosition, Manifest)
        do {
            (place, listed) = try follower.read(
                from: LogReadPosition(version: first.firstVersion - 1), manifest, through: published
            ) { _ in }
        } catch {
            throw error as! LogError  // the body throws nothing, and all else does so typed
        }
        _ = try follower.readMarks(&place, listed)
        guard listed == manifest else { return nil }
        let checkpoints = try folder.readCheckpoints(listed)
        let path = folder.segment(listed.openSegment.segment)
        let file = try stored { () throws(StorageError) in try folder.storage.open(path, .readWrite) }
        let group = GroupCommit(
            file: file, version: published, page: page, publishesWhenWritten: options.durability != .full)
        let tail = LogTail(
            folder: folder, options: options, clock: clock, group: group, page: page, file: file, manifest: listed,
            end: place.offset, filled: place.offset, chain: place.chain, lastTime: place.time,
            schema: place.schema ?? [], sector: place.sector, isReserveGone: false, isOurs: false)
        tail.markWritten = place.mark
        let lock = WriterLock(locks: locks, page: page, isReady: false, mayWait: options.usesThreads, clock: clock)
        let writer = LogWriter(group: group, tail: tail, lock: lock, follower: follower)
        try writer.keeper?.start()
        let report = RecoveryReport(
            outcome: .clean, lastVersion: published, lastTime: place.time, storeID: listed.storeID, epoch: listed.epoch)
        return Log(
            options: options, recovery: report, folder: folder, locks: locks, page: page, schema: [],
            checkpoints: checkpoints, nextCheckpointID: (checkpoints.last?.id ?? 0) + 1, writer: writer, slot: slot)
    }

    /// A slot of the shared page for an opener that writes.
    static func takeSlot(
        _ page: SharedPage, _ locks: StoreLocks, _ folder: StoreFolder, _ clock: any Clock
    ) throws(LogError) -> Int {
        guard let slot = try page.takeSlot(locks, processID: currentProcessID(), now: clock.now()) else {
            throw LogError(.tooManyProcesses, path: folder.path)
        }
        return slot
    }
}

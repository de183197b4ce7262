import FirnStorage

extension Log {
    /// Opens the store beside processes that have it open for writing, without waiting for the writer lock. The log
    /// reads what they have published. It is then in the state of any process that is not writing at the moment.
    /// Returns nil if that is not possible now: no process has the store open, or one is recovering it.
    static func join(
        _ options: LogOptions, folder: StoreFolder, clock: any Clock, locks: StoreLocks
    ) throws(LogError) -> Log? {
        guard try folder.find() == .store, try locks.isOpenForWriting(),
            try locks.registerWriter(writesFinalCheckpoint: options.endsWithCheckpoint)
        else { return nil }
        try locks.lockFolder(isFirst: false)
        var manifest = try folder.readManifest()
        let page: SharedPage
        do throws(LogError) { page = try SharedPage(folder, manifest.storeID, mayCreate: false) } catch {
            try locks.unregisterWriter()
            // The opener that held the byte may have been a first opener that failed before it made the page.
            if error.code == .replaced, try !locks.isOpenForWriting() { return nil }
            throw error
        }
        do throws(LogError) {
            // An attempt returns nil if another manifest replaces the one that it reads.
            for _ in 1...8 {
                guard page.isValid(epoch: manifest.epoch) else { break }
                if let log = try join(options, folder: folder, clock: clock, locks: locks, page: page) { return log }
                manifest = try folder.readManifest()
            }
        } catch {
            // A takeover may have cut or rewritten the log while it was read.
            guard try folder.readManifest() != manifest || !page.isValid(epoch: manifest.epoch) else { throw error }
        }
        try locks.unregisterWriter()
        return nil
    }

    private static func join(
        _ options: LogOptions, folder: StoreFolder, clock: any Clock, locks: StoreLocks, page: SharedPage
    ) throws(LogError) -> Log? {
        try locks.registerOpen()
        let slot = try takeSlot(page, locks: locks, folder: folder, clock: clock)
        var log: Log?
        // An opener that has a slot and has read nothing keeps all others from removing files.
        defer {
            if log == nil {
                page.freeSlot(slot)
                // If that fails, the slot stays this opener's until its lock file is closed, and no file is removed
                // meanwhile.
                try? locks.unlockSlot(slot)
            }
        }
        log = try join(options, folder: folder, clock: clock, locks: locks, page: page, slot: slot)
        return log
    }

    /// Nil if the manifest was replaced after it was first read. The checkpoints are from the first manifest, and the
    /// log that the new manifest lists may no longer reach back to them.
    private static func join(
        _ options: LogOptions, folder: StoreFolder, clock: any Clock, locks: StoreLocks, page: SharedPage,
        slot: Int
    ) throws(LogError) -> Log? {
        // From here on, files that the manifest lists are kept for this opener. The published version is read after the
        // manifest, so no listed checkpoint or sealed segment is ahead of it.
        let manifest = try folder.readManifest()
        let published = page.published
        let checkpoints: [Checkpoint]
        do { checkpoints = try folder.readCheckpoints(manifest) } catch {
            // A compactor that looked for other openers before this one came may have removed the files that it
            // replaced.
            guard try folder.readManifest() == manifest else { return nil }
            throw error
        }
        let follower = LogFollower(folder)
        let first = manifest.segments.last { $0.firstVersion <= published + 1 } ?? manifest.segments[0]
        var position = LogReadPosition(version: first.firstVersion - 1)
        var listed = manifest
        // The replay that opens the store begins behind the checkpoint's version, if this read passes it.
        var checkpointPosition: LogPosition?
        do {
            if let version = checkpoints.last?.version, version > position.version, version <= published {
                (position, listed) = try follower.read(from: position, listed, through: version) { _ in }
                checkpointPosition = LogPosition(position)
            }
            (position, listed) = try follower.read(from: position, listed, through: published) { _ in }
        } catch {
            throw error as! LogError  // the body throws nothing, and everything else throws only this type
        }
        _ = try follower.readMarks(&position, listed)
        guard listed == manifest else { return nil }
        let segment = folder.segment(listed.openSegment.segment)
        let file = try stored(folder.open(segment, .readWrite))
        let group = GroupCommit(
            file: file, version: published, page: page, publishesWhenWritten: options.durability != .full,
            names: try HeldNames(folder: folder, locks: locks, clock: clock))
        let tail = LogTail(
            folder: folder, options: options, clock: clock, group: group, page: page, file: file,
            cipher: try folder.cipher(of: file, listed), manifest: listed, end: position.offset,
            filled: position.offset, chain: position.chain, lastTime: position.time, schema: position.schema ?? [],
            isReserveGone: false, isWriter: false)
        tail.markWritten = position.mark
        tail.checkpointByteCount.store(checkpoints.last?.byteCount ?? 0, ordering: .relaxed)
        let lock = WriterLock(locks: locks, page: page, isReady: false, options, clock)
        let reserve = LogReserve(folder: folder, storeID: listed.storeID, fixedByteCount: options.reserveByteCount)
        let writer = LogWriter(group: group, tail: tail, lock: lock, follower: follower, reserve: reserve)
        let report = RecoveryReport(
            outcome: .clean, lastVersion: published, lastTime: position.time, storeID: listed.storeID,
            epoch: listed.epoch)
        return Log(
            options: options, recovery: report, folder: folder, locks: locks, page: page, schema: [],
            checkpoints: checkpoints, nextCheckpointID: (checkpoints.last?.id ?? 0) + 1, writer: writer, slot: slot,
            checkpointPosition: checkpointPosition)
    }

    /// Takes a slot of the shared page for an opener that writes.
    static func takeSlot(
        _ page: SharedPage, locks: StoreLocks, folder: StoreFolder, clock: any Clock
    ) throws(LogError) -> Int {
        guard let slot = try page.takeSlot(locks, processID: currentProcessID(), now: clock.now()) else {
            throw LogError(.tooManyProcesses, path: folder.path)
        }
        return slot
    }
}

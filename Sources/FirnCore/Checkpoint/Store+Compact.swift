import FirnLog
import FirnStorage

/// What a compaction did.
public struct CompactionReport: Sendable {
    /// The version of the checkpoint that the store now begins from.
    public let version: UInt64
    /// Bytes written.
    public let byteCount: Int
    /// Whether everything was written, or only what has changed since the checkpoint before.
    public let isWhole: Bool
}

extension Store {
    /// Writes a checkpoint of the newest version, removes the log before it, and frees the memory that only the log's versions took. Readers and the writer go on beside it; the writer waits for a
    /// few milliseconds while the manifest is replaced.
    ///
    /// Everything is written anew where more than a sixteenth of the checkpoint before is no longer reached, so that the files are about as small as they can be. While an older version is
    /// held, whose files stay, that is done by the rule alone, since all would lie there twice.
    ///
    /// Cost: O(what changed since the last checkpoint), or O(everything).
    ///
    /// - Throws: `.log(.diskFull)` where there is no room: the store is then what it was. Nil is returned where the store lies in memory, nothing was written since the last checkpoint, or another process writes one.
    @discardableResult
    public func compact() throws(StoreError) -> CompactionReport? {
        // Whoever holds an older version keeps its files: all would lie there twice.
        let share = versions.withLock({ $0.activeCount(without: nil) > 1 }) ? options.compaction.garbageShare : 1.0 / 16
        return try compact(garbageShare: share)
    }

    @discardableResult
    func compact(garbageShare: Double) throws(StoreError) -> CompactionReport? {
        try checkWritable()
        return try compactor.run { () throws(StoreError) in
            try writeCheckpoint(garbageShare: garbageShare, pace: nil)
        }
    }

    /// Whether the newest version is the pin's on another tree, so that the pin alone holds the old one.
    public func isSuperseded(_ pin: Pin) -> Bool {
        let newest = versions.published
        return newest.version == pin.version && newest.stamp != pin.stamp
    }

    /// Bytes of the checkpoint's files and of the log.
    public var fileByteCount: Int {
        guard let log else { return 0 }
        return (log.checkpoint?.byteCount ?? 0) + log.segmentByteCount
    }

    /// About how many bytes a compacted store has.
    public var usedByteCount: Int { liveStoredByteCount + heap.byteCount }

    /// About how many bytes of the checkpoint's files are still reached.
    private var liveStoredByteCount: Int {
        max((log?.checkpoint?.byteCount ?? 0) - storedGarbage.load(ordering: .relaxed), 0)
    }

    /// Why the last automatic checkpoint could not be written; nil while all is well. It is tried again after the next commits.
    public var compactionFailure: StoreError? { compactor.lastFailure }

    /// Asks for a checkpoint where the rule wants one, and for the removal of files that versions have let go. After each commit; costs three loads and compares.
    @inline(__always)
    func compactIfDue() {
        guard let log,
            log.byteCountSinceCheckpoint > options.compaction.logByteCount.least || heldFiles.hasReleased
                || heap.byteCount > options.transactionMemoryByteCount
        else { return }
        compactIfDue(log)
    }

    @inline(never)
    private func compactIfDue(_ log: Log) {
        let rule = options.compaction
        let live = liveStoredByteCount
        let isDue =
            rule.isDue(log: log.byteCountSinceCheckpoint, live: live) || rule.isAutomatic && isHeapDue(live: live)
        guard isDue || rule.isAutomatic && heldFiles.hasReleased, log.options.usesThreads else { return }
        compactor.start { [weak self] () throws(StoreError) in
            guard let self else { return }
            try compactor.run { () throws(StoreError) in
                guard isDue else { return try removeReleased() }
                _ = try writeCheckpoint(
                    garbageShare: rule.garbageShare,
                    pace: rule.bytesPerSecond > 0 ? Pace(bytesPerSecond: rule.bytesPerSecond) : nil)
            }
        }
    }

    /// Whether a checkpoint is wanted for the memory that the newest version takes: few bytes of the log may change many leaves, each of which is then on the heap or in scratch files.
    private func isHeapDue(live: Int) -> Bool {
        let limit = max(options.transactionMemoryByteCount, live / 4)
        // What only older versions need a checkpoint does not free.
        return heap.byteCount > limit && heap.byteCount - versions.withLock { $0.deadByteCount } > limit
    }

    /// Removes the files that versions have let go since the last time, unless another process is about it. The first commit after they did does so, too. A load where there are none.
    public func removeReleased() throws(StoreError) {
        guard let log, heldFiles.hasReleased else { return }
        heldFiles.takeReleased()
        _ = try withCompactorLock(log) { try removeUnneeded(log) }
    }

    /// Does it. One at a time: see `Compactor.run`. Nil also where another process does it.
    private func writeCheckpoint(garbageShare: Double, pace: Pace?) throws(StoreError) -> CompactionReport? {
        guard let log else { return nil }
        return try withCompactorLock(log) {
            let report = try writeCheckpoint(log, garbageShare: garbageShare, pace: pace)
            // The pin of what was written has gone, and with it, if nobody else lies on them, the files before.
            try removeUnneeded(log)
            return report
        } ?? nil
    }

    private func withCompactorLock<Result>(
        _ log: Log, _ body: () throws -> Result
    ) throws(StoreError) -> Result? {
        do {
            return try log.withCompactorLock(body)
        } catch let error as LogError {
            throw StoreError(error)
        } catch {
            throw error as! StoreError
        }
    }

    private func writeCheckpoint(_ log: Log, garbageShare: Double, pace: Pace?) throws(StoreError) -> CompactionReport?
    {
        try inTurn { () throws(LogError) in
            try log.adoptCheckpoint()
            // What the checkpoint covers must lie in sealed segments, to be removed.
            try log.sealSegment()
        }
        publish(through: log.publishedVersion)
        let pin = versions.pinForStore(.published)
        let since = log.byteCountSinceCheckpoint
        let garbage = storedGarbage.load(ordering: .relaxed)
        let previous = log.checkpoint
        let stored = previous?.byteCount ?? 0
        let isWasteful = Double(garbage) > Double(stored) * garbageShare
        if let previous, previous.version == pin.version, !isWasteful { return nil }
        let target = isWasteful ? nil : roomForAddition(to: pin.space, previous, stored)
        let written = try write(pin, log, adding: target, garbage: target == nil ? 0 : garbage, pace)
        let checkpoint = written.checkpoint
        let history = try neededByHistory(log)
        let needed = min(pin.version, history.after, log.oldestVersionNeededByOthers ?? .max)
        try inTurn { () throws(LogError) in
            try log.publish(checkpoint, keepingVersionsAfter: needed, and: history.kept)
        }
        log.subtractByteCountSinceCheckpoint(since)
        let file = checkpoint.files[checkpoint.files.count - 1]
        let space: NodeSpace
        if let target { space = target.space } else { space = try makeSpace(log, file.byteCount) }
        try space.add(file, log, options)
        heldFiles.retain([file.id])
        options.besideCompaction?()
        var rebase = Rebase(self, space: space, forwarding: written.forwarding)
        let alive = try rebase.run()
        withExtendedLifetime(pin) {}
        if let spiller, let stamp = versions.newestSpilledStamp { spiller.writeAgain(bornThrough: stamp) }
        if target == nil { storedGarbage.wrappingSubtract(garbage, ordering: .relaxed) }
        // What died while it was written is garbage in it from the beginning.
        let lost = Double(written.heapNodeCount - alive) / Double(max(written.forwarding.count, 1))
        storedGarbage.wrappingAdd(Int(lost * Double(file.byteCount)), ordering: .relaxed)
        announce(checkpoint.version)
        return CompactionReport(version: checkpoint.version, byteCount: file.byteCount, isWhole: target == nil)
    }

    /// Where in the present space a file may be added, unless everything is to be written to a new one.
    private func roomForAddition(
        to space: NodeSpace?, _ previous: Checkpoint?, _ stored: Int
    ) -> (space: NodeSpace, start: Int)? {
        // Where an earlier file could not be mapped, the space lacks it.
        guard let space, let previous, space.files == previous.files,
            previous.files.count < LogLimits.checkpointFileCount / 8,
            let start = space.nextStart(byteCount: heap.byteCount + heap.byteCount / 8 + (1 << 20))
        else { return nil }
        return (space, start)
    }

    private func makeSpace(_ log: Log, _ byteCount: Int) throws(StoreError) -> NodeSpace {
        let held = heldFiles
        do {
            return try NodeSpace(
                byteCount: NodeSpace.roomFor(byteCount), log: log, onDamage: options.onDamage
            ) { held.release($0) }
        } catch {
            throw StoreError(LogError(error))
        }
    }

    private func write(
        _ pin: Pin, _ log: Log, adding target: (space: NodeSpace, start: Int)?, garbage: Int, _ pace: Pace?
    ) throws(StoreError) -> (checkpoint: Checkpoint, forwarding: Forwarding, heapNodeCount: Int) {
        let file: CheckpointFileWriter
        do { file = try log.beginCheckpoint(start: target?.start ?? 0) } catch { throw StoreError(error) }
        var pace = pace
        let compactor = compactor
        var writer = CheckpointWriter(pin.snapshot, to: file, adding: target?.space) { (byteCount) throws(StoreError) in
            if compactor.isStopping {
                throw StoreError(.closed, "the store was closed while a checkpoint was being written")
            }
            pace?.rest(after: byteCount)
        }
        let root = try writer.write()
        let state = StoredVersion(
            root: Int(root & ~1), stamp: pin.stamp, garbage: garbage, schema: pin.snapshot.schema)
        do throws(LogError) {
            let checkpoint = try file.finish(
                version: pin.version, time: pin.time, earlier: target?.space.files ?? [], state: state.encode())
            return (checkpoint, writer.forwarding, writer.heapNodeCount)
        } catch {
            throw StoreError(error)
        }
    }

    private func removeUnneeded(_ log: Log) throws(StoreError) {
        heldFiles.takeReleased()
        do { try log.removeUnneeded(held: heldFiles.ids) } catch { throw StoreError(error) }
    }
}

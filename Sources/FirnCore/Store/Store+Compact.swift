import FirnLog
import FirnStorage

/// What a compaction did.
package struct CompactionReport: Sendable {
    /// The version of the checkpoint that the store now begins from.
    package let version: UInt64
    /// Bytes written.
    package let byteCount: Int
    /// Whether everything was written. Otherwise only what has changed since the checkpoint before was.
    package let isWhole: Bool
}

extension Store {
    /// Writes a checkpoint of the newest version, removes the log before it, and frees the memory that only the log's
    /// versions took.
    ///
    /// Readers and the writer continue meanwhile; the writer waits for a few milliseconds while the manifest is
    /// replaced.
    ///
    /// If more than a sixteenth of the checkpoint before is no longer reached, everything is written again, so that
    /// the files are about as small as they can be. But while an older version is held, its files stay, so everything
    /// would be stored twice. Then the compaction does only what the rule would do.
    ///
    /// Cost: O(what changed since the last checkpoint), or O(everything).
    ///
    /// If there is no space for that, only so much is moved at a time as there is space for, several times.
    ///
    /// - Throws: `.log(.diskFull)` if there is not even space for what has changed. Then the store is unchanged.
    /// - Returns: nil if the store is in memory, nothing was written since the last checkpoint, or another process is
    ///   writing one.
    @discardableResult
    package func compact() throws(StoreError) -> CompactionReport? {
        // The holder of an older version keeps its files, so everything would be stored twice.
        if versions.withLock({ $0.activeCount(without: nil) > 1 }) {
            return try compact(garbageShare: options.compaction.garbageShare, rewritesAll: false)
        }
        return try compact(garbageShare: 1.0 / 16)
    }

    /// - Parameter rewritesAll: whether everything is written again if the share is exceeded, and not only the parts
    ///   with the smallest live share.
    @discardableResult
    package func compact(garbageShare: Double, rewritesAll: Bool = true) throws(StoreError) -> CompactionReport? {
        try checkWritable()
        let start = clock.monotonic()
        let report = try compactor.run { () throws(StoreError) in
            try writeCheckpoint(CompactionOptions(garbageShare: garbageShare, rewritesAll: rewritesAll, limiter: nil))
        }
        compactor.spaceRetry.withLock { $0.noteSuccess() }
        noteCompaction(report, since: start)
        return report
    }

    func noteCompaction(_ report: CompactionReport?, since start: Int64) {
        if let report { options.onEvent?(.compacted(report, nanoseconds: clock.monotonic() - start)) }
    }

    /// How much a compaction writes, and how fast.
    struct CompactionOptions {
        /// The share of dead nodes that occupy blocks in the files, above which live nodes are written again.
        var garbageShare: Double
        var rewritesAll: Bool
        var limiter: RateLimiter?
    }

    /// Whether the pin's version is the newest one, but with another tree by now, so that only the pin holds the old
    /// tree.
    package func isSuperseded(_ pin: Pin) -> Bool {
        if versions.isPublishedTree(pin) { return false }
        let newest = versions.published
        return newest.version == pin.version && newest.stamp != pin.stamp
    }

    /// The bytes of the checkpoint's files and of the log.
    package var fileByteCount: Int {
        guard let log else { return 0 }
        return storedByteCount + log.segmentByteCount
    }

    /// About how many bytes a compacted store has.
    package var usedByteCount: Int { liveStoredByteCount + heap.byteCount }

    /// The bytes of the checkpoint's files, without the holes in them.
    private var storedByteCount: Int {
        max((log?.checkpoint?.byteCount ?? 0) - holeByteCount.load(ordering: .relaxed), 0)
    }

    /// About how many bytes of the checkpoint's files are still reached.
    var liveStoredByteCount: Int { max(storedByteCount - context.checkpointGarbage.load(ordering: .relaxed), 0) }

    /// Writes a checkpoint according to the rule. One at a time: see `Compactor.run`.
    @discardableResult
    func writeDueCheckpoint(_ rule: CompactionRule) throws(StoreError) -> CompactionReport? {
        try writeCheckpoint(
            CompactionOptions(
                garbageShare: rule.garbageShare, rewritesAll: false,
                limiter: rule.bytesPerSecond > 0 ? RateLimiter(bytesPerSecond: rule.bytesPerSecond) : nil))
    }

    /// Removes the files that versions have released since the last time, unless another process is doing that. The
    /// first commit after the release does it, too. Costs a load if there are none.
    package func removeReleased() throws(StoreError) {
        guard let log, fileReferences.hasReleased || mayPunchHoles else { return }
        fileReferences.takeReleased()
        _ = try withCompactorLock(log) {
            try removeUnneeded(log)
            try punchReleasedHoles(log)
        }
    }

    /// Writes a checkpoint, one at a time: see `Compactor.run`. Returns nil also if another process is writing one.
    private func writeCheckpoint(_ compaction: CompactionOptions) throws(StoreError) -> CompactionReport? {
        guard let log else { return nil }
        return try withCompactorLock(log) {
            var sum: CompactionReport?
            var steps = CompactionSteps(fileByteCount)
            repeat {
                var cleaning: CleaningPlan?
                let report: CompactionReport?
                do throws(StoreError) {
                    report = try writeCheckpoint(log, compaction: compaction, cleaning: &cleaning)
                } catch {
                    // The steps before have freed something.
                    if sum != nil, error.isDiskFull { break }
                    throw error
                }
                // The pin of the written version was released. If nobody else needs the files before, they can go now.
                try removeUnneeded(log)
                sum =
                    report.map {
                        CompactionReport(
                            version: $0.version, byteCount: $0.byteCount + (sum?.byteCount ?? 0), isWhole: $0.isWhole)
                    } ?? sum
                steps.note(cleaning, isShort: log.isShortOfSpace, fileByteCount)
            } while steps.goOn
            try restoreReserveIfShort(log)
            return sum
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

    /// - Parameter cleaning: set to what is moved.
    private func writeCheckpoint(
        _ log: Log, compaction: CompactionOptions, cleaning: inout CleaningPlan?
    ) throws(StoreError) -> CompactionReport? {
        let room = try makeRoom(log)
        try withWriteLock { () throws(LogError) in
            try log.adoptCheckpoint()
            // Only sealed segments can be removed, so the checkpoint must cover sealed segments only.
            try log.sealSegment()
        }
        publish(through: log.publishedVersion)
        let pin = versions.pinForStore(.published)
        let logByteCount = log.byteCountSinceCheckpoint
        let planned = try Faults.throwing { () throws(StoreError) in
            guard let plan = try self.plan(pin, log: log, compaction: compaction, room: room) else {
                return nil as (plan: CheckpointPlan, written: WrittenCheckpoint)?
            }
            return (plan, try write(pin, log: log, plan: plan, limiter: compaction.limiter))
        }
        guard let (plan, written) = planned else { return nil }
        cleaning = plan.addition?.cleaning
        let checkpoint = written.checkpoint
        let history = try neededByHistory(log)
        let needed = min(pin.version, history.after, log.oldestVersionNeededByOthers ?? .max)
        try withWriteLock { () throws(LogError) in
            try log.publish(checkpoint, keepingVersionsAfter: needed, and: history.kept)
        }
        notePublished(checkpoint, plan, stamp: pin.stamp)
        log.subtractByteCountSinceCheckpoint(logByteCount)
        let file = checkpoint.files[checkpoint.files.count - 1]
        let mapping: CheckpointMapping
        if let addition = plan.addition {
            mapping = addition.mapping
        } else {
            mapping = try makeMapping(log, file.byteCount)
        }
        try mapping.add(
            file, log: log, reading: options.checkpointReading,
            origin: CheckpointMapping.Origin(pin.snapshot.resolvedSchema, stamp: pin.stamp, isOpened: false))
        options.duringCompaction?()
        var rebase = Rebase(
            versions: versions, stamp: rebaseStamp, from: pin, to: mapping, nodes: written.nodes,
            forwarding: written.forwarding,
            moving: plan.addition?.cleaning)
        mapping.reach(file.id, from: rebase.stamp)
        try run(&rebase)
        if let spiller, let stamp = versions.newestSpilledStamp { spiller.writeAgain(bornThrough: stamp) }
        announce(checkpoint.version)
        try punchHoles(plan, log)
        garbageBefore.store(context.checkpointGarbage.load(ordering: .relaxed), ordering: .relaxed)
        spaceCheckAt.store(Store.spaceCheckByteCount, ordering: .relaxed)
        withExtendedLifetime(pin) {}
        return CompactionReport(
            version: checkpoint.version, byteCount: file.byteCount, isWhole: plan.addition == nil)
    }

    private struct WrittenCheckpoint {
        let checkpoint: Checkpoint
        let nodes: WrittenNodes
        let forwarding: Forwarding
    }

    private func makeMapping(_ log: Log, _ byteCount: Int) throws(StoreError) -> CheckpointMapping {
        do {
            return try CheckpointMapping(
                byteCount: CheckpointMapping.reservedByteCount(for: byteCount), log: log,
                fileReferences: fileReferences,
                onDamage: options.onDamage)
        } catch {
            throw StoreError(LogError(error))
        }
    }

    private func write(
        _ pin: Pin, log: Log, plan: CheckpointPlan, limiter: RateLimiter?
    ) throws(StoreError) -> WrittenCheckpoint {
        let addition = plan.addition
        let file: CheckpointFileWriter
        do { file = try log.beginCheckpoint(start: addition?.start ?? 0) } catch { throw StoreError(error) }
        var limiter = limiter
        let compactor = compactor
        var writer = CheckpointWriter(
            pin.snapshot, to: file, adding: addition?.mapping, moving: addition?.cleaning
        ) { (byteCount) throws(StoreError) in
            try compactor.checkNotStopped()
            if let end = limiter?.restEnd(after: byteCount) { compactor.rest(until: end) }
        }
        let root = try writer.write()
        // Without its footer the file is no checkpoint.
        try Faults.check()
        // A process that opens the store knows no suspects, so their bytes count as garbage until a walk finds them
        // alive.
        let state = CheckpointState(
            root: Int(root & ~1), stamp: pin.stamp, garbage: (addition?.garbageAfter ?? 0) + plan.suspectedByteCount,
            holes: addition?.holes ?? [], schema: pin.snapshot.schema)
        do throws(LogError) {
            let checkpoint = try file.finish(
                version: pin.version, time: pin.time, earlier: addition?.files ?? [], state: state.encode())
            return WrittenCheckpoint(
                checkpoint: checkpoint, nodes: writer.nodes(of: checkpoint.files[checkpoint.files.count - 1]),
                forwarding: writer.forwarding)
        } catch {
            throw StoreError(error)
        }
    }

    private func removeUnneeded(_ log: Log) throws(StoreError) {
        fileReferences.takeReleased()
        do throws(LogError) {
            // If files are left, the next commit tries again.
            if try !log.removeUnneeded(held: fileReferences.ids) { fileReferences.noteReleased() }
        } catch {
            throw StoreError(error)
        }
    }
}

import FirnLog
import FirnStorage

/// What a compaction did.
package struct CompactionReport: Sendable {
    /// The version of the checkpoint that the store now begins from.
    package let version: UInt64
    /// The number of bytes written.
    package let byteCount: Int
    /// Whether the whole version was written. If false, only its changes since the checkpoint before were.
    package let isWhole: Bool
}

/// What a checkpoint writes, and how fast.
struct CheckpointOptions {
    /// The share of dead nodes that occupy blocks in the files, above which live nodes are written again.
    var garbageShare: Double
    var rewritesAll: Bool
    var limiter: RateLimiter?
}

extension Compactor {
    /// Writes a checkpoint because somebody asks for it. Returns nil if there is nothing to write.
    func compact(_ compaction: CheckpointOptions) throws(StoreError) -> CompactionReport? {
        let start = clock.monotonic()
        let report = try thread.run { () throws(StoreError) in try writeCheckpoint(compaction) }
        state.spaceRetry.withLock { $0.noteSuccess() }
        noteReport(report, since: start)
        return report
    }

    func noteReport(_ report: CompactionReport?, since start: Int64) {
        if let report { options.onEvent?(.compacted(report, nanoseconds: clock.monotonic() - start)) }
    }

    /// Writes a checkpoint according to the rule. Only one is written at a time: see `CompactorThread.run`.
    @discardableResult
    func writeDueCheckpoint(_ rule: CompactionRule) throws(StoreError) -> CompactionReport? {
        try writeCheckpoint(
            CheckpointOptions(
                garbageShare: rule.garbageShare, rewritesAll: false,
                limiter: rule.bytesPerSecond > 0 ? RateLimiter(bytesPerSecond: rule.bytesPerSecond) : nil))
    }

    /// Removes the files that versions have released since the last time, unless another process is doing that. The
    /// first commit after the release does it, too. Costs two loads if there is nothing to do.
    func removeReleased() throws(StoreError) {
        guard let log = store.log, fileReferences.hasReleased || mayPunchHoles else { return }
        fileReferences.takeReleased()
        _ = try withCompactorLock(log) {
            try removeUnneeded(log)
            try punchReleasedHoles(log)
        }
    }

    /// Writes a checkpoint; only one is written at a time: see `CompactorThread.run`. Returns nil if there is nothing
    /// to write, or if another process is writing one.
    private func writeCheckpoint(_ compaction: CheckpointOptions) throws(StoreError) -> CompactionReport? {
        guard let log = store.log else { return nil }
        let report = try writeCheckpoints(log, compaction)
        // The heap is all the memory that an encrypted store has for new nodes.
        if report != nil, log.isEncrypted { NodeHeap.returnFreedMemory() }
        return report
    }

    private func writeCheckpoints(
        _ log: Log, _ compaction: CheckpointOptions
    ) throws(StoreError) -> CompactionReport? {
        try withCompactorLock(log) {
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
                // The pin of the written version was released. If nobody else needs the old files, they can be removed
                // now.
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

    /// - Parameter cleaning: set to the plan of the nodes that move.
    private func writeCheckpoint(
        _ log: Log, compaction: CheckpointOptions, cleaning: inout CleaningPlan?
    ) throws(StoreError) -> CompactionReport? {
        let room = try makeRoom(log)
        // What the checkpoint frees is what there is now. What commits add from here on is left for the next one.
        let (pin, logByteCount, garbage) = try store.withWriteLock { () throws(LogError) in
            try log.adoptCheckpoint()
            // Only sealed segments can be removed, so the checkpoint covers exactly the sealed segments. The manifest
            // of an encrypted store names the salt of the segment that follows.
            try log.sealSegment()
            return (
                versions.pinForStore(.tip), log.byteCountSinceCheckpoint,
                context.checkpointGarbage.load(ordering: .relaxed)
            )
        }
        store.publish(through: log.publishedVersion)
        let planned = try DamageRecord.throwing { () throws(StoreError) in
            guard let plan = try self.plan(pin, log: log, compaction: compaction, room: room) else {
                return nil as (plan: CheckpointPlan, written: WrittenCheckpoint)?
            }
            return (plan, try write(pin, log: log, plan: plan, limiter: compaction.limiter))
        }
        guard let (plan, written) = planned else { return nil }
        cleaning = plan.addition?.cleaning
        let checkpoint = written.checkpoint
        let history = try store.neededByHistory(log)
        let needed = min(pin.version, history.after, log.oldestVersionNeededByOthers ?? .max)
        try store.withWriteLock { () throws(LogError) in
            assert(log.hasSegment(after: checkpoint.version), "Firn: a checkpoint does not end where a segment ends")
            try log.publish(checkpoint, keepingVersionsAfter: needed, and: history.kept)
        }
        notePublished(checkpoint, plan, stamp: pin.stamp)
        log.subtractByteCountSinceCheckpoint(logByteCount)
        let file = checkpoint.ownFile
        let mapping: CheckpointMapping
        if let addition = plan.addition {
            mapping = addition.mapping
        } else {
            mapping = try makeMapping(log, file.byteCount)
        }
        try mapping.add(
            file, log: log, reading: store.checkpointReading,
            origin: CheckpointMapping.Origin(pin.snapshot.resolvedSchema, stamp: pin.stamp, isOpened: false))
        options.duringCompaction?()
        var rebase = Rebase(
            versions: versions, stamp: rebaseStamp, from: pin, to: mapping, nodes: written.nodes,
            forwarding: written.forwarding,
            moving: plan.addition?.cleaning)
        mapping.reach(file.id, from: rebase.stamp)
        try run(&rebase)
        if let spiller = store.spiller, let stamp = versions.newestSpilledStamp {
            spiller.writeAgain(bornThrough: stamp)
        }
        store.announce(checkpoint.version)
        try punchHoles(plan, log)
        state.garbageBefore.store(
            max(garbage + (plan.addition?.garbageAfter ?? 0) - plan.garbage, 0), ordering: .relaxed)
        state.spaceCheckAt.store(Compactor.spaceCheckByteCount, ordering: .relaxed)
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
            throw StoreError(error)
        }
    }

    private func write(
        _ pin: Pin, log: Log, plan: CheckpointPlan, limiter: RateLimiter?
    ) throws(StoreError) -> WrittenCheckpoint {
        let addition = plan.addition
        let file = try logged(log.beginCheckpoint(start: addition?.start ?? 0))
        var limiter = limiter
        let thread = thread
        var writer = CheckpointWriter(
            pin.snapshot, to: file, adding: addition?.mapping, moving: addition?.cleaning
        ) { (byteCount) throws(StoreError) in
            try thread.checkNotStopped()
            if let end = limiter?.restEnd(after: byteCount) { thread.rest(until: end) }
        }
        let root = try writer.write()
        // Damage is thrown before the footer is written: without its footer the file is no checkpoint.
        try DamageRecord.check()
        // A process that opens the store knows no suspects, so their bytes count as garbage until a walk finds them
        // alive.
        let state = CheckpointState(
            root: Int(root & ~1), stamp: pin.stamp, garbage: (addition?.garbageAfter ?? 0) + plan.suspectedByteCount,
            holes: addition?.holes ?? [], schema: pin.snapshot.schema)
        let checkpoint = try logged(
            file.finish(version: pin.version, time: pin.time, earlier: addition?.files ?? [], state: state.encode()))
        return WrittenCheckpoint(
            checkpoint: checkpoint, nodes: writer.nodes(of: checkpoint.ownFile),
            forwarding: writer.forwarding)
    }

    private func removeUnneeded(_ log: Log) throws(StoreError) {
        fileReferences.takeReleased()
        // If files are left, the next commit tries again.
        if try !logged(log.removeUnneeded(held: fileReferences.ids)) { fileReferences.noteReleased() }
    }
}

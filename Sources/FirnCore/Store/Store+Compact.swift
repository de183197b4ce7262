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
    /// held, whose files stay, what is done is what the rule would do, since all would lie there twice.
    ///
    /// Cost: O(what changed since the last checkpoint), or O(everything).
    ///
    /// - Throws: `.log(.diskFull)` where there is no room: the store is then what it was. Nil is returned where the store lies in memory, nothing was written since the last checkpoint, or another process writes one.
    @discardableResult
    public func compact() throws(StoreError) -> CompactionReport? {
        // Whoever holds an older version keeps its files: all would lie there twice.
        if versions.withLock({ $0.activeCount(without: nil) > 1 }) {
            return try compact(garbageShare: options.compaction.garbageShare, rewritesAll: false)
        }
        return try compact(garbageShare: 1.0 / 16)
    }

    /// - Parameter rewritesAll: whether all is written anew where the share is passed, and not the part of it alone of which the least is alive.
    @discardableResult
    package func compact(garbageShare: Double, rewritesAll: Bool = true) throws(StoreError) -> CompactionReport? {
        try checkWritable()
        return try compactor.run { () throws(StoreError) in
            try writeCheckpoint(CompactionOptions(garbageShare: garbageShare, rewritesAll: rewritesAll, pace: nil))
        }
    }

    /// How much a compaction does.
    struct CompactionOptions {
        /// The share of the files, that is dead and takes blocks, from which on what is alive is written anew.
        var garbageShare: Double
        var rewritesAll: Bool
        var pace: RateLimiter?
    }

    /// Whether the newest version is the pin's on another tree, so that the pin alone holds the old one.
    public func isSuperseded(_ pin: Pin) -> Bool {
        let newest = versions.published
        return newest.version == pin.version && newest.stamp != pin.stamp
    }

    /// Bytes of the checkpoint's files and of the log.
    public var fileByteCount: Int {
        guard let log else { return 0 }
        return storedByteCount + log.segmentByteCount
    }

    /// About how many bytes a compacted store has.
    public var usedByteCount: Int { liveStoredByteCount + heap.byteCount }

    /// Bytes of the checkpoint's files, without the holes in them.
    private var storedByteCount: Int {
        max((log?.checkpoint?.byteCount ?? 0) - holeByteCount.load(ordering: .relaxed), 0)
    }

    /// About how many bytes of the checkpoint's files are still reached.
    var liveStoredByteCount: Int { max(storedByteCount - checkpointGarbage.load(ordering: .relaxed), 0) }

    /// Why the last automatic checkpoint could not be written; nil while all is well. It is tried again after the next commits.
    public var compactionFailure: StoreError? { compactor.lastFailure }

    /// Asks for a checkpoint where the rule wants one, and for the removal of files that versions have let go. After each commit; costs four loads and compares.
    @inline(__always)
    func compactIfDue() {
        guard let log,
            log.byteCountSinceCheckpoint > options.compaction.logByteCount.least || fileReferences.hasReleased
                || deferredHoles.areMany || heap.byteCount > options.transactionMemoryByteCount
        else { return }
        compactIfDue(log)
    }

    @inline(never)
    private func compactIfDue(_ log: Log) {
        let rule = options.compaction
        let live = checkpointLiveByteCount.load(ordering: .relaxed)
        let isDue =
            rule.isDue(log: log.byteCountSinceCheckpoint, live: live) || rule.isAutomatic && isHeapDue(live: live)
        let hasReleased = rule.isAutomatic && (fileReferences.hasReleased || mayGiveBack)
        guard isDue || hasReleased, log.options.usesThreads else { return }
        compactor.start { [weak self] () throws(StoreError) in
            guard let self else { return }
            try compactor.run { () throws(StoreError) in
                guard isDue else { return try removeReleased() }
                try writeDueCheckpoint(rule)
            }
        }
    }

    /// Writes a checkpoint as the rule has it. One at a time: see `Compactor.run`.
    func writeDueCheckpoint(_ rule: CompactionRule) throws(StoreError) {
        _ = try writeCheckpoint(
            CompactionOptions(
                garbageShare: rule.garbageShare, rewritesAll: false,
                pace: rule.bytesPerSecond > 0 ? RateLimiter(bytesPerSecond: rule.bytesPerSecond) : nil))
    }

    /// Whether a checkpoint is wanted for the memory that the newest version takes: few bytes of the log may change many leaves, each of which is then on the heap or in scratch files.
    private func isHeapDue(live: Int) -> Bool {
        let limit = max(options.transactionMemoryByteCount, live / 4)
        // What only older versions need a checkpoint does not free.
        return heap.byteCount > limit && heap.byteCount - versions.withLock { $0.deadByteCount } > limit
    }

    /// Removes the files that versions have let go since the last time, unless another process is about it. The first commit after they did does so, too. A load where there are none.
    public func removeReleased() throws(StoreError) {
        guard let log, fileReferences.hasReleased || mayGiveBack else { return }
        fileReferences.takeReleased()
        _ = try withCompactorLock(log) {
            try removeUnneeded(log)
            try giveBackReleased(log)
        }
    }

    /// Does it. One at a time: see `Compactor.run`. Nil also where another process does it.
    private func writeCheckpoint(_ effort: CompactionOptions) throws(StoreError) -> CompactionReport? {
        guard let log else { return nil }
        return try withCompactorLock(log) {
            let report = try writeCheckpoint(log, effort)
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

    private func writeCheckpoint(_ log: Log, _ effort: CompactionOptions) throws(StoreError) -> CompactionReport? {
        try inTurn { () throws(LogError) in
            try log.adoptCheckpoint()
            // What the checkpoint covers must lie in sealed segments, to be removed.
            try log.sealSegment()
        }
        publish(through: log.publishedVersion)
        let pin = versions.pinForStore(.published)
        let since = log.byteCountSinceCheckpoint
        let planned = try Faults.throwing { () throws(StoreError) in
            guard let plan = try self.plan(pin, log, effort) else {
                return nil as (plan: CheckpointPlan, written: WrittenCheckpoint)?
            }
            return (plan, try write(pin, log, plan, effort.pace))
        }
        guard let (plan, written) = planned else { return nil }
        let checkpoint = written.checkpoint
        let history = try neededByHistory(log)
        let needed = min(pin.version, history.after, log.oldestVersionNeededByOthers ?? .max)
        try inTurn { () throws(LogError) in
            try log.publish(checkpoint, keepingVersionsAfter: needed, and: history.kept)
        }
        published(checkpoint, plan, stamp: pin.stamp)
        log.subtractByteCountSinceCheckpoint(since)
        let file = checkpoint.files[checkpoint.files.count - 1]
        let mapping: CheckpointMapping
        if let addition = plan.addition {
            mapping = addition.mapping
        } else {
            mapping = try makeSpace(log, file.byteCount)
        }
        try mapping.add(
            file, log, options, CheckpointMapping.Origin(pin.snapshot.reference, stamp: pin.stamp, isOpened: false))
        options.besideCompaction?()
        var rebase = Rebase(
            self, from: pin, to: mapping, written.nodes, written.forwarding, moving: plan.addition?.cleaning)
        mapping.reach(file.id, from: rebase.stamp)
        try rebase.run()
        if let spiller, let stamp = versions.newestSpilledStamp { spiller.writeAgain(bornThrough: stamp) }
        announce(checkpoint.version)
        try giveBack(plan, log)
        withExtendedLifetime(pin) {}
        return CompactionReport(
            version: checkpoint.version, byteCount: file.byteCount, isWhole: plan.addition == nil)
    }

    private struct WrittenCheckpoint {
        let checkpoint: Checkpoint
        let nodes: WrittenNodes
        let forwarding: Forwarding
    }

    private func makeSpace(_ log: Log, _ byteCount: Int) throws(StoreError) -> CheckpointMapping {
        do {
            return try CheckpointMapping(
                byteCount: CheckpointMapping.roomFor(byteCount), log: log, fileReferences: fileReferences,
                onDamage: options.onDamage)
        } catch {
            throw StoreError(LogError(error))
        }
    }

    private func write(
        _ pin: Pin, _ log: Log, _ plan: CheckpointPlan, _ pace: RateLimiter?
    ) throws(StoreError) -> WrittenCheckpoint {
        let addition = plan.addition
        let file: CheckpointFileWriter
        do { file = try log.beginCheckpoint(start: addition?.start ?? 0) } catch { throw StoreError(error) }
        var pace = pace
        let compactor = compactor
        var writer = CheckpointWriter(
            pin.snapshot, to: file, adding: addition?.mapping, moving: addition?.cleaning
        ) { (byteCount) throws(StoreError) in
            try compactor.checkGoingOn()
            if let end = pace?.restEnd(after: byteCount) { compactor.rest(until: end) }
        }
        let root = try writer.write()
        // Without its foot the file is none.
        try Faults.check()
        // Who opens the store knows no suspects: what they take is garbage until a walk finds them alive.
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
            // The next commit tries again.
            if try !log.removeUnneeded(held: fileReferences.ids) { fileReferences.noteReleased() }
        } catch {
            throw StoreError(error)
        }
    }
}

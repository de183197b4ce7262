import FirnLog
import FirnStorage
import Synchronization

/// What the next checkpoint writes, and what it releases.
struct CheckpointPlan {
    /// A file that is added to the files of the checkpoint before.
    struct Addition {
        let mapping: CheckpointMapping
        /// The offset in the mapping at which the file begins.
        let start: Int
        /// The files that stay.
        let files: [Checkpoint.File]
        /// The files in which nothing is needed any more.
        let droppedFiles: [Checkpoint.File]
        /// The holes in the files that stay.
        let holes: [Range<Int>]
        let cleaning: CleaningPlan?
        /// The bytes of dead nodes outside of holes after the file is written.
        let garbageAfter: Int
    }

    /// Nil if everything is written again, to a new mapping.
    let addition: Addition?
    /// The bytes of dead nodes outside of holes when the plan was made.
    let garbage: Int
    /// The bytes of the dictionaries that may be dead, if no walk has checked them.
    var suspectedByteCount = 0
}

/// How the blocks of dead nodes are punched.
///
/// A node of a checkpoint's file may become zeros when none of these reads it:
/// - a version that is held here (`FreeSpaceMap.reclaim`);
/// - the checkpoint from which the store would be recovered;
/// - a checkpoint that is kept for the past, or from which a past version is being read;
/// - another process.
///
/// So a compaction
///
/// 1. makes holes of the nodes that the version that it writes does not reach, unless another one of these may read the
///    file;
/// 2. writes the checkpoint, which lists the holes, and publishes it;
/// 3. checks these others once more, and punches those blocks that no version here reaches. The first commit after a
///    version was released punches the rest.
///
/// A crash between 2 and 3 leaves blocks that are listed as holes; the first compaction after it punches them.
extension Compactor {
    /// If a checkpoint has more files than this, some are cleared.
    private static let wantedFileCount = 64

    /// Decides what to write; nil if nothing has to be written.
    ///
    /// - Parameter room: how many bytes may be written.
    func plan(
        _ pin: Pin, log: Log, compaction: CheckpointOptions, room: Int
    ) throws(StoreError) -> CheckpointPlan? {
        guard let mapping = pin.mapping, let previous = log.checkpoint, mapping.files == previous.files,
            previous.files.count < LogLimits.checkpointFileCount / 8
        else {
            // This is the first checkpoint, or another process wrote the last one, or a file of it could not be mapped.
            return CheckpointPlan(addition: nil, garbage: context.checkpointGarbage.load(ordering: .relaxed))
        }
        let punchesHoles = log.isOnlyReader && !state.cannotPunchHoles.load(ordering: .relaxed)
        reclaim(mapping)
        let holes = punchesHoles ? try findHoles(in: mapping, pin, log) : mapping.withDead { $0.holes }
        let returned = FreeSpaceMap.returnedByteCount(of: holes, blockByteCount: state.blockByteCount)
        let grown = returned - state.holeByteCount.load(ordering: .relaxed)
        let garbage = context.checkpointGarbage.load(ordering: .relaxed)
        let waiting = mapping.withDead { $0.waitingByteCount(besides: holes).outside }
        let suspected = mapping.withDead { $0.suspectedByteCount(before: pin.stamp) }
        let share = compaction.garbageShare * Double(previous.byteCount - returned)
        var isWasteful = Double(garbage - grown - waiting) > share
        let isLong = previous.files.count > Compactor.wantedFileCount
        // The checkpoint's version may still have its tree on the heap, if its rebase failed after publishing.
        if previous.version == pin.version, pin.snapshot.root.isOnDisk, !isWasteful, grown <= 0 {
            try punchHoles(in: mapping, log)
            return nil
        }
        let writesWhole = (compaction.rewritesAll || !punchesHoles) && fitsWhole(room)
        if isWasteful, writesWhole { return CheckpointPlan(addition: nil, garbage: garbage) }
        var cleaning: CleaningPlan?
        let mayBeWasteful = Double(garbage + suspected - grown - waiting) > share
        if isWasteful || mayBeWasteful || isLong && punchesHoles {
            cleaning = try CleaningPlan(
                pin.snapshot, in: mapping, besides: holes,
                clearing: { dead in
                    // The walk has found the dead dictionaries, too.
                    isWasteful = isWasteful || Double(dead - waiting) > share
                    // Without holes, moving frees nothing.
                    if isWasteful, !punchesHoles { return 0 }
                    // This clears a quarter of the share more than needed, so that not every compaction has to clear
                    // something.
                    return isWasteful || isLong ? dead - waiting - Int(share * 3 / 4) : 0
                },
                fileCount: isLong && punchesHoles ? Compactor.wantedFileCount / 2 : nil, room: roomForMoving(room),
                by: thread)
            if isWasteful, writesWhole { return CheckpointPlan(addition: nil, garbage: garbage) }
        }
        return CheckpointPlan(
            addition: addition(to: mapping, pin: pin, holes: holes, cleaning: cleaning, garbage: garbage - grown),
            garbage: garbage,
            suspectedByteCount: cleaning == nil ? suspected : 0)
    }

    private func addition(
        to mapping: CheckpointMapping, pin: Pin, holes: [Range<Int>], cleaning: CleaningPlan?, garbage: Int
    ) -> CheckpointPlan.Addition? {
        let moved = cleaning?.moved.reduce(0) { $0 + $1.count } ?? 0
        let byteCount = heap.byteCount + heap.byteCount / 8 + moved + moved / 8 + (1 << 20)
        guard let start = mapping.nextStart(byteCount: byteCount) else { return nil }
        let files = mapping.files
        var (kept, dropped): ([Checkpoint.File], [Checkpoint.File]) = ([], [])
        mapping.withDead { dead in
            for range in cleaning?.unknown ?? [] { dead.add(range, after: pin.stamp) }
            for file in files {
                if dead.isFree(file.nodes) { dropped.append(file) } else { kept.append(file) }
            }
        }
        func isDropped(_ hole: Range<Int>) -> Bool { dropped.contains { $0.range.contains(hole.lowerBound) } }
        let remaining = holes.filter { !isDropped($0) }
        // The bytes of the dropped files, less what the file system got back for their holes.
        let droppedByteCount =
            dropped.reduce(0) { $0 + $1.nodes.count }
            - FreeSpaceMap.returnedByteCount(of: holes.filter(isDropped), blockByteCount: state.blockByteCount)
        return CheckpointPlan.Addition(
            mapping: mapping, start: start, files: kept, droppedFiles: dropped, holes: remaining, cleaning: cleaning,
            garbageAfter: max((cleaning?.deadByteCount ?? garbage) + moved - droppedByteCount, 0))
    }

    /// Finds the holes that a checkpoint of the pin's version may list.
    private func findHoles(in mapping: CheckpointMapping, _ pin: Pin, _ log: Log) throws(StoreError) -> [Range<Int>] {
        let readable = readableByOthers(of: mapping, try store.neededByHistory(log).kept)
        return mapping.withDead { dead in
            dead.findHoles(before: pin.stamp) { range in !readable.contains { $0.contains(range.lowerBound) } }
        }
    }

    /// Marks nodes as free if no version reaches them any more.
    private func reclaim(_ mapping: CheckpointMapping) {
        mapping.reclaim(active: versions.withLock { $0.entries.filter { $0.mapping === mapping }.map(\.stamp) })
    }

    /// Returns the ranges of the files in a mapping from which a past version may be read.
    private func readableByOthers(of mapping: CheckpointMapping, _ kept: [Checkpoint]) -> [Range<Int>] {
        let ids = Set(kept.flatMap { $0.files.map(\.id) })
        return mapping.files.filter { ids.contains($0.id) || fileReferences.isShared($0.id) }
            .map(\.range)
    }

    /// Notes that the store begins from a checkpoint from now on. `stamp` is the stamp of the checkpoint's version. It
    /// is called only after publishing, because a hole in a checkpoint that is never published may be live in the one
    /// before.
    func notePublished(_ checkpoint: Checkpoint, _ plan: CheckpointPlan, stamp: UInt64) {
        state.liveByteCount.store(
            Compactor.liveByteCount(
                of: checkpoint, holes: plan.addition?.holes ?? [], blockByteCount: state.blockByteCount,
                garbage: plan.addition?.garbageAfter ?? 0),
            ordering: .relaxed)
        guard let addition = plan.addition else {
            context.checkpointGarbage.wrappingSubtract(plan.garbage, ordering: .relaxed)
            state.holeByteCount.store(0, ordering: .relaxed)
            return
        }
        addition.mapping.withDead { dead in
            dead.holes = addition.holes
            if addition.cleaning != nil { dead.dropSuspects(before: stamp) }
        }
        state.holeByteCount.store(
            FreeSpaceMap.returnedByteCount(of: addition.holes, blockByteCount: state.blockByteCount), ordering: .relaxed
        )
        context.checkpointGarbage.wrappingAdd(addition.garbageAfter - plan.garbage, ordering: .relaxed)
    }

    /// Returns the bytes of the nodes that a checkpoint's version reaches.
    static func liveByteCount(
        of checkpoint: Checkpoint, holes: [Range<Int>], blockByteCount: Int, garbage: Int
    ) -> Int {
        max(
            checkpoint.byteCount - FreeSpaceMap.returnedByteCount(of: holes, blockByteCount: blockByteCount) - garbage,
            0)
    }

    /// Unmaps the files that the published checkpoint has dropped, and punches its holes.
    func punchHoles(_ plan: CheckpointPlan, _ log: Log) throws(StoreError) {
        guard let addition = plan.addition else { return }
        do throws(StorageError) { try addition.mapping.remove(addition.droppedFiles) } catch {
            throw StoreError(error)
        }
        try punchHoles(in: addition.mapping, log)
    }

    /// Punches the blocks of holes that no version reaches. The live checkpoint lists these holes.
    private func punchHoles(in mapping: CheckpointMapping, _ log: Log) throws(StoreError) {
        guard log.isOnlyReader, !state.cannotPunchHoles.load(ordering: .relaxed) else { return }
        reclaim(mapping)
        let readable = readableByOthers(of: mapping, log.listedCheckpoints.dropLast())
        let blocks = mapping.withDead { $0.blocksToPunch }
        for file in mapping.files where !readable.contains(file.range) {
            let own = blocks.filter { file.range.contains($0.lowerBound) }
            if own.isEmpty { continue }
            do throws(LogError) {
                let ranges = own.map { $0.lowerBound - file.start..<($0.upperBound - file.start) }
                guard try log.deallocate(ranges, of: file) else {
                    return state.cannotPunchHoles.store(true, ordering: .relaxed)
                }
            } catch {
                throw StoreError(error)
            }
            mapping.withDead { $0.notePunched(own) }
        }
        state.deferredHoles.set(
            mapping.withDead { $0.waitingByteCount(besides: $0.holes).inHoles }, behind: oldestStamp(in: mapping))
    }

    private func oldestStamp(in mapping: CheckpointMapping) -> UInt64 {
        versions.withLock { table in table.entries.first { $0.mapping === mapping }?.stamp ?? .max }
    }

    /// Whether punching is worth its system calls: many blocks were waiting for a version that has been released since.
    var mayPunchHoles: Bool {
        guard state.deferredHoles.areMany, let mapping = versions.published.mapping else { return false }
        return state.deferredHoles.blocker != oldestStamp(in: mapping)
    }

    /// Punches the blocks that were waiting for versions which have been released since the last time.
    func punchReleasedHoles(_ log: Log) throws(StoreError) {
        guard let mapping = versions.published.mapping, mapping.files == log.checkpoint?.files else { return }
        try punchHoles(in: mapping, log)
    }
}

/// The bytes of holes that wait for versions to be released. Written by the compactor, and read by every commit.
struct DeferredHoles: ~Copyable {
    private let byteCount = Atomic<Int>(0)
    private let stamp = Atomic<UInt64>(0)

    func set(_ byteCount: Int, behind stamp: UInt64) {
        self.byteCount.store(byteCount, ordering: .relaxed)
        self.stamp.store(stamp, ordering: .relaxed)
    }

    @inline(__always) var areMany: Bool { byteCount.load(ordering: .relaxed) >= 64 << 10 }
    /// The stamp of the oldest version in the mapping at the time when holes were last punched.
    var blocker: UInt64 { stamp.load(ordering: .relaxed) }
}

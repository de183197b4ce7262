import FirnLog
import FirnStorage
import Synchronization

/// What the next checkpoint writes, and what it lets go.
struct CheckpointPlan {
    /// A file that is added to those of the checkpoint before.
    struct Addition {
        let mapping: CheckpointMapping
        /// Where in the space it begins.
        let start: Int
        /// The files that stay, and those in which nothing is needed any more.
        let files: [Checkpoint.File]
        let droppedFiles: [Checkpoint.File]
        /// Where in the files that stay nothing is to be read.
        let holes: [Range<Int>]
        let cleaning: CleaningPlan?
        /// Bytes of dead nodes outside of holes once it is written.
        let garbageAfter: Int
    }

    /// Nil where everything is written anew, to a space of its own.
    let addition: Addition?
    /// Bytes of dead nodes outside of holes when it was made.
    let garbage: Int
    /// Bytes of the dictionaries that may be dead, which no walk has looked for.
    var suspectedByteCount = 0
}

/// How the blocks of dead nodes are given back.
///
/// A node of a checkpoint's file may become zeros when none of these reads it: a version that is held here (`FreeSpaceMap.settle`), the checkpoint that the store would be recovered from, one that is kept for
/// its past or that a past version is being read from, another process. So a compaction
///
/// 1. makes holes of what the version that it writes does not reach, unless one of the others may read the file;
/// 2. writes the checkpoint, which lists the holes, and publishes it;
/// 3. looks at the others once more, and gives those blocks back that no version here reaches. The rest goes with the first commit after a version was let go.
///
/// A crash between 2 and 3 leaves blocks that are listed as holes; the first compaction after it gives them back.
extension Store {
    /// Files that grow to more than so many are made fewer.
    private static let wantedFileCount = 64

    /// Decides what to write; nil where nothing has to be.
    func plan(_ pin: Pin, _ log: Log, _ effort: CompactionOptions) throws(StoreError) -> CheckpointPlan? {
        guard let mapping = pin.mapping, let previous = log.checkpoint, mapping.files == previous.files,
            previous.files.count < LogLimits.checkpointFileCount / 8
        else {
            // The first, or there is one by another process, or the space lacks a file that could not be mapped.
            return CheckpointPlan(addition: nil, garbage: checkpointGarbage.load(ordering: .relaxed))
        }
        let givesBack = log.isOnlyReader && !keepsBlocks.load(ordering: .relaxed)
        settle(mapping)
        let holes = givesBack ? try dug(in: mapping, pin, log) : mapping.withDead { $0.holes }
        let grown = FreeSpaceMap.blockByteCount(of: holes) - holeByteCount.load(ordering: .relaxed)
        let garbage = checkpointGarbage.load(ordering: .relaxed)
        let waiting = mapping.withDead { $0.waitingByteCount(besides: holes).outside }
        let suspected = mapping.withDead { $0.suspectedByteCount(before: pin.stamp) }
        let share = effort.garbageShare * Double(previous.byteCount - FreeSpaceMap.blockByteCount(of: holes))
        var isWasteful = Double(garbage - grown - waiting) > share
        let isLong = previous.files.count > Store.wantedFileCount
        // The version may be the checkpoint's and yet lie on the heap: its rebase failed once it was published.
        if previous.version == pin.version, pin.snapshot.root.isOnDisk, !isWasteful, grown <= 0 {
            try giveBack(in: mapping, log)
            return nil
        }
        if isWasteful, effort.rewritesAll || !givesBack { return CheckpointPlan(addition: nil, garbage: garbage) }
        var cleaning: CleaningPlan?
        let mayBeWasteful = Double(garbage + suspected - grown - waiting) > share
        if isWasteful || mayBeWasteful || isLong && givesBack {
            cleaning = try CleaningPlan(
                pin.snapshot, in: mapping, besides: holes,
                clearing: { dead in
                    // The walk has found the dictionaries that are dead, too.
                    isWasteful = isWasteful || Double(dead - waiting) > share
                    // A quarter more than needed, so that not every compaction has to.
                    return isWasteful || isLong ? dead - waiting - Int(share * 3 / 4) : 0
                },
                fileCount: isLong && givesBack ? Store.wantedFileCount / 2 : nil, by: compactor)
            if isWasteful, effort.rewritesAll || !givesBack { return CheckpointPlan(addition: nil, garbage: garbage) }
        }
        return CheckpointPlan(
            addition: addition(to: mapping, pin, holes, cleaning, garbage - grown), garbage: garbage,
            suspectedByteCount: cleaning == nil ? suspected : 0)
    }

    private func addition(
        to mapping: CheckpointMapping, _ pin: Pin, _ holes: [Range<Int>], _ cleaning: CleaningPlan?, _ garbage: Int
    ) -> CheckpointPlan.Addition? {
        let moved = cleaning?.moved.reduce(0) { $0 + $1.count } ?? 0
        let room = heap.byteCount + heap.byteCount / 8 + moved + moved / 8 + (1 << 20)
        guard let start = mapping.nextStart(byteCount: room) else { return nil }
        let files = mapping.files
        var (stay, dropped): ([Checkpoint.File], [Checkpoint.File]) = ([], [])
        mapping.withDead { dead in
            for range in cleaning?.unknown ?? [] { dead.add(range, after: pin.stamp) }
            for file in files {
                if dead.isFree(file.nodes) { dropped.append(file) } else { stay.append(file) }
            }
        }
        func isGone(_ hole: Range<Int>) -> Bool { dropped.contains { $0.range.contains(hole.lowerBound) } }
        let left = holes.filter { !isGone($0) }
        // What the files that go had outside of holes.
        let garbageGone =
            dropped.reduce(0) { $0 + $1.nodes.count } - FreeSpaceMap.blockByteCount(of: holes.filter(isGone))
        return CheckpointPlan.Addition(
            mapping: mapping, start: start, files: stay, droppedFiles: dropped, holes: left, cleaning: cleaning,
            garbageAfter: max((cleaning?.deadByteCount ?? garbage) + moved - garbageGone, 0))
    }

    /// The holes that a checkpoint of the pin's version may list.
    private func dug(in mapping: CheckpointMapping, _ pin: Pin, _ log: Log) throws(StoreError) -> [Range<Int>] {
        let readable = readableByOthers(of: mapping, try neededByHistory(log).kept)
        return mapping.withDead { dead in
            dead.dug(before: pin.stamp) { range in !readable.contains { $0.contains(range.lowerBound) } }
        }
    }

    /// Frees what no version reaches any more.
    private func settle(_ mapping: CheckpointMapping) {
        mapping.settle(active: versions.withLock { $0.entries.filter { $0.mapping === mapping }.map(\.stamp) })
    }

    /// Where in a space those files lie that a past version may be read from.
    private func readableByOthers(of mapping: CheckpointMapping, _ kept: [Checkpoint]) -> [Range<Int>] {
        let ids = Set(kept.flatMap { $0.files.map(\.id) })
        return mapping.files.filter { ids.contains($0.id) || fileReferences.isShared($0.id) }
            .map(\.range)
    }

    /// The checkpoint, of a version with a stamp, is the one that the store begins from. (A hole of one that never was
    /// may be part of the one before.)
    func published(_ checkpoint: Checkpoint, _ plan: CheckpointPlan, stamp: UInt64) {
        checkpointLiveByteCount.store(
            Store.liveByteCount(
                of: checkpoint, holes: plan.addition?.holes ?? [], garbage: plan.addition?.garbageAfter ?? 0),
            ordering: .relaxed)
        guard let addition = plan.addition else {
            checkpointGarbage.wrappingSubtract(plan.garbage, ordering: .relaxed)
            holeByteCount.store(0, ordering: .relaxed)
            return
        }
        addition.mapping.withDead { dead in
            dead.holes = addition.holes
            if addition.cleaning != nil { dead.dropSuspects(before: stamp) }
        }
        holeByteCount.store(FreeSpaceMap.blockByteCount(of: addition.holes), ordering: .relaxed)
        checkpointGarbage.wrappingAdd(addition.garbageAfter - plan.garbage, ordering: .relaxed)
    }

    /// Bytes of the nodes that a checkpoint's version reaches.
    static func liveByteCount(of checkpoint: Checkpoint, holes: [Range<Int>], garbage: Int) -> Int {
        max(checkpoint.byteCount - FreeSpaceMap.blockByteCount(of: holes) - garbage, 0)
    }

    /// Gives back what the checkpoint that was published needs no more.
    func giveBack(_ plan: CheckpointPlan, _ log: Log) throws(StoreError) {
        guard let addition = plan.addition else { return }
        do throws(StorageError) { try addition.mapping.remove(addition.droppedFiles) } catch {
            throw StoreError(LogError(error))
        }
        try giveBack(in: addition.mapping, log)
    }

    /// Gives the blocks of holes back that no version reaches. The live checkpoint lists them.
    private func giveBack(in mapping: CheckpointMapping, _ log: Log) throws(StoreError) {
        guard log.isOnlyReader, !keepsBlocks.load(ordering: .relaxed) else { return }
        settle(mapping)
        let readable = readableByOthers(of: mapping, log.listedCheckpoints.dropLast())
        let blocks = mapping.withDead { $0.blocksToGive }
        for file in mapping.files where !readable.contains(file.range) {
            let own = blocks.filter { file.range.contains($0.lowerBound) }
            if own.isEmpty { continue }
            do throws(LogError) {
                let ranges = own.map { $0.lowerBound - file.start..<($0.upperBound - file.start) }
                guard try log.deallocate(ranges, of: file) else {
                    return keepsBlocks.store(true, ordering: .relaxed)
                }
            } catch {
                throw StoreError(error)
            }
            mapping.withDead { $0.give(own) }
        }
        deferredHoles.set(
            mapping.withDead { $0.waitingByteCount(besides: $0.holes).inHoles }, behind: oldestStamp(in: mapping))
    }

    private func oldestStamp(in mapping: CheckpointMapping) -> UInt64 {
        versions.withLock { table in table.entries.first { $0.mapping === mapping }?.stamp ?? .max }
    }

    /// Whether a version was let go that held blocks back which would be worth the calls.
    var mayGiveBack: Bool {
        guard deferredHoles.areMany, let mapping = versions.published.mapping else { return false }
        return deferredHoles.blocker != oldestStamp(in: mapping)
    }

    /// Gives back what versions have held that were let go since the last time.
    func giveBackReleased(_ log: Log) throws(StoreError) {
        guard let mapping = versions.published.mapping, mapping.files == log.checkpoint?.files else { return }
        try giveBack(in: mapping, log)
    }
}

/// Blocks of holes that wait for versions to be let go. Written by the compactor, and read by every commit.
struct DeferredHoles: ~Copyable {
    private let byteCount = Atomic<Int>(0)
    private let stamp = Atomic<UInt64>(0)

    func set(_ byteCount: Int, behind stamp: UInt64) {
        self.byteCount.store(byteCount, ordering: .relaxed)
        self.stamp.store(stamp, ordering: .relaxed)
    }

    @inline(__always) var areMany: Bool { byteCount.load(ordering: .relaxed) >= 64 << 10 }
    /// The stamp of the oldest version in the space when it was looked for blocks to give back.
    var blocker: UInt64 { stamp.load(ordering: .relaxed) }
}

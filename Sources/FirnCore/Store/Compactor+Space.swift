import FirnLog
import FirnStorage

/// What the compactor does when the disk has little space left.
///
/// - The log may not grow as long: a checkpoint is due once it would free a sixteenth of the available space.
/// - After the disk was full, a checkpoint is due as soon as it frees something and fits.
/// - A checkpoint takes the space of the reserve if it then fits for certain: afterwards there is more space than
///   before.
/// - Live nodes are moved only as far as there is space for them. The nodes whose moving frees most come first, and the
///   blocks that it frees are punched before more nodes move.
extension Compactor {
    /// After this many more bytes of log, the free disk space is checked again.
    static let spaceCheckByteCount = 64 << 10
    /// The bytes that a checkpoint must free to be worth its writes: after the disk was full, and if it has little
    /// space.
    private static let worthwhile = (full: 64 << 10, scarce: 512 << 10)
    /// What a checkpoint needs besides its nodes: a segment, a manifest, headers and footers.
    private static let extraByteCount = 128 << 10
    /// With more free space than this, the disk does not have little space, whatever happened before.
    private static let plentyByteCount = 1 << 30

    /// An upper bound of the bytes that a checkpoint has to write: the size of the newest version's nodes on the heap.
    /// In the file they are shorter.
    private var unwrittenByteCount: Int {
        let dead = versions.withLock { $0.deadByteCount }
        return max(heap.byteCount - dead, 0)
    }

    /// Whether the free disk space must be checked to know if a checkpoint is due. Costs two loads.
    @inline(__always)
    func mayBeShortOfSpace(_ log: Log) -> Bool {
        log.isShortOfSpace || log.byteCountSinceCheckpoint > state.spaceCheckAt.load(ordering: .relaxed)
    }

    /// Whether a checkpoint is due because of what it would free.
    func isDueForSpace(_ log: Log) -> Bool {
        guard mayBeShortOfSpace(log) else { return false }
        let grown = log.byteCountSinceCheckpoint
        state.spaceCheckAt.store(grown + Self.spaceCheckByteCount, ordering: .relaxed)
        let space = log.diskSpace
        if space.available > Self.plentyByteCount {
            log.noteSpace()
            return false
        }
        guard !keepsPast(log) else { return false }
        let garbage = context.checkpointGarbage.load(ordering: .relaxed)
        let freed = grown + max(garbage - state.garbageBefore.load(ordering: .relaxed), 0)
        if log.isShortOfSpace { return freed > Self.worthwhile.full && mayFit(unwrittenByteCount, space) }
        return freed > max(Self.worthwhile.scarce, space.available / 16)
    }

    /// Whether past versions are retained: then a checkpoint does not free the log, and its own file may stay, too.
    private func keepsPast(_ log: Log) -> Bool {
        let retained = store.history.retained + ((try? log.retentionsOfOthers) ?? [])
        return retained.contains { $0 != .none && $0 != .versions(1) }
    }

    /// Whether a checkpoint that writes nodes of `byteCount` bytes can fit. In the file they take a quarter at least.
    private func mayFit(_ byteCount: Int, _ space: DiskSpace) -> Bool {
        byteCount / 4 < space.available || byteCount < space.available + space.reserve - Self.extraByteCount
    }

    /// The most bytes that a checkpoint would need now, and how many are available.
    func spaceNeeds(_ log: Log) -> (needed: Int, space: Int) { (unwrittenByteCount, log.diskSpace.available) }

    /// Whether a checkpoint may be tried now, after others have failed because the disk was full.
    func mayRetry(_ log: Log) -> Bool {
        guard state.spaceRetry.withLock({ $0.hasFailed }) else { return true }
        let (now, (needed, space)) = (clock.monotonic(), spaceNeeds(log))
        return state.spaceRetry.withLock { $0.isDue(at: now, needed: needed, space: space) }
    }

    /// Notes that a checkpoint failed because the disk was full, and returns when the next one may be tried. It may be
    /// tried at once if much of the missing space has become free since the failed one began.
    ///
    /// - Parameter needs: the space that it needed, and the space that it found.
    func noteFullDisk(_ log: Log, _ needs: (needed: Int, space: Int)) -> Int64 {
        let (now, today) = (clock.monotonic(), spaceNeeds(log))
        return state.spaceRetry.withLock { retry in
            retry.noteFailure(at: now, needed: needs.needed, space: needs.space)
            return retry.isDue(at: now, needed: today.needed, space: today.space) ? now : retry.notBefore
        }
    }

    /// Returns how many bytes a checkpoint may take. Frees the reserve if the checkpoint is sure to fit with it, but
    /// not without it. If the checkpoint only may fit, the reserve stays.
    ///
    /// - Throws: `.diskFull` if it can't fit. Nothing has changed then.
    func makeRoom(_ log: Log) throws(StoreError) -> Int {
        let (needed, space) = (unwrittenByteCount + Self.extraByteCount, log.diskSpace)
        guard needed >= space.available else { return space.available - Self.extraByteCount }
        if needed < space.available + space.reserve {
            try store.withWriteLock { () throws(LogError) in _ = try log.useReserve() }
            return log.diskSpace.available - Self.extraByteCount
        }
        guard mayFit(needed, space) else {
            throw StoreError(
                LogError(
                    .diskFull, path: log.options.folder,
                    detail: "a checkpoint needs up to \(needed) bytes, and there are \(space.available)"))
        }
        return space.available - Self.extraByteCount
    }

    /// How many bytes of live nodes a checkpoint may move. (The nodes that lead to them move, too.)
    func roomForMoving(_ room: Int) -> Int { max(room - unwrittenByteCount, 0) / 2 }

    /// Whether everything can be written again: the nodes in the files, besides those on the heap.
    func fitsWhole(_ room: Int) -> Bool { liveStoredByteCount + unwrittenByteCount < room }

    /// Makes the reserve again after a checkpoint on a disk that was full, if there is space.
    func restoreReserveIfShort(_ log: Log) throws(StoreError) {
        guard log.isShortOfSpace else { return }
        let isComplete = try store.withWriteLock { () throws(LogError) in try log.restoreReserve() }
        if isComplete { log.noteSpace() }
    }
}

/// Decides whether a compaction on a disk with little space goes on with another checkpoint.
///
/// The nodes that one checkpoint moves are dead in the old location once it is published. So the next checkpoint frees
/// them, and that makes room for moving more.
struct CompactionSteps {
    /// The fewest bytes that the store has had, and how many steps since then have not made it smaller.
    private var least: Int
    private var idleCount = 0
    private var isShort = false
    private(set) var goOn = false

    init(_ byteCount: Int) { least = byteCount }

    /// - Parameters:
    ///   - cleaning: the plan of the nodes that the step has moved; nil if it moved none.
    ///   - isShort: whether the disk has been full.
    ///   - byteCount: the bytes of the store after the step.
    mutating func note(_ cleaning: CleaningPlan?, isShort: Bool, _ byteCount: Int) {
        let isCut = cleaning?.isCut ?? false
        self.isShort = self.isShort || isShort || isCut
        if byteCount < least {
            least = byteCount
            idleCount = 0
        } else {
            idleCount += 1
        }
        goOn = self.isShort && (isCut || !(cleaning?.moved.isEmpty ?? true)) && idleCount < 3
    }
}

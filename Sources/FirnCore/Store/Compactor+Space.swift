import FirnLog
import FirnStorage

/// What the compactor does when the disk has little space left.
///
/// - The log may not grow as long: a checkpoint is due once it would free a sixteenth of what is free.
/// - After the disk was full, a checkpoint is due as soon as it frees something and fits.
/// - It takes the space of the reserve if it then fits for certain: afterwards there is more space than before.
/// - Live nodes are moved only as far as there is space for them, those first that free most, and what that frees is
///   punched before the next are moved.
extension Compactor {
    /// After so many more bytes of log, the space on the disk is asked for again.
    static let spaceCheckByteCount = 64 << 10
    /// A checkpoint that frees less is not worth its writes, if the disk has been full and if it has not.
    private static let worthwhile = (full: 64 << 10, scarce: 512 << 10)
    /// What a checkpoint needs besides its nodes: a segment, a manifest, headers and footers.
    private static let extraByteCount = 128 << 10
    /// More free space than this is not little, whatever happened before.
    private static let plentyByteCount = 1 << 30

    /// At most how many bytes the nodes take that a checkpoint has to write: those on the heap that the newest version
    /// reaches. In the file they are shorter.
    private var unwrittenByteCount: Int {
        let dead = versions.withLock { $0.deadByteCount }
        return max(heap.byteCount - dead, 0)
    }

    /// Whether the space on the disk must be asked for to know if a checkpoint is due. Two loads.
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

    /// How many bytes a checkpoint would need now at most, and how many there are.
    func spaceNeeds(_ log: Log) -> (needed: Int, space: Int) { (unwrittenByteCount, log.diskSpace.available) }

    /// Whether a checkpoint may be tried now, after others have failed because the disk was full.
    func mayRetry(_ log: Log) -> Bool {
        guard state.spaceRetry.withLock({ $0.hasFailed }) else { return true }
        let (now, (needed, space)) = (clock.monotonic(), spaceNeeds(log))
        return state.spaceRetry.withLock { $0.isDue(at: now, needed: needed, space: space) }
    }

    /// Notes that a checkpoint failed because the disk was full, and returns when the next one may be tried. That is at
    /// once if much of what was missing has come since the failed one began.
    ///
    /// - Parameter needs: what it needed and found.
    func noteFullDisk(_ log: Log, _ needs: (needed: Int, space: Int)) -> Int64 {
        let (now, today) = (clock.monotonic(), spaceNeeds(log))
        return state.spaceRetry.withLock { retry in
            retry.noteFailure(at: now, needed: needs.needed, space: needs.space)
            return retry.isDue(at: now, needed: today.needed, space: today.space) ? now : retry.notBefore
        }
    }

    /// Returns how many bytes a checkpoint may take. Takes the reserve if it fits only with that, and then certainly.
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

    /// After a checkpoint on a disk that was full: the reserve is made again, if there is space.
    func restoreReserveIfShort(_ log: Log) throws(StoreError) {
        guard log.isShortOfSpace else { return }
        var isComplete = false
        try store.withWriteLock { () throws(LogError) in isComplete = try log.restoreReserve() }
        if isComplete { log.noteSpace() }
    }
}

/// Decides whether a compaction on a disk with little space goes on with another checkpoint.
///
/// What one checkpoint moves is dead once it is published, so the next one frees it, and that makes room for moving
/// more.
struct CompactionSteps {
    /// The fewest bytes that the store has had, and how many steps have not made it smaller since.
    private var least: Int
    private var idleCount = 0
    private var isShort = false
    private(set) var goOn = false

    init(_ byteCount: Int) { least = byteCount }

    /// - Parameters:
    ///   - cleaning: what the step has moved; nil if nothing.
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

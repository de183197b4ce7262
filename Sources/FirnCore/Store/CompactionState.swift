import FirnStorage
import Synchronization

/// The state that a store's compactor keeps between checkpoints. It consists of the thread that the compactor works on,
/// and of how many bytes of the checkpoint's files are live, dead and in holes. Each member is thread-safe by itself.
final class CompactionState: Sendable {
    let thread = CompactorThread()
    /// The bytes of the nodes that the checkpoint's version reaches: how much data there is, for the compaction rule.
    let liveByteCount: Atomic<Int>
    /// The bytes that the file system got back for holes in the checkpoint's files, or gets back as soon as no version
    /// needs them.
    let holeByteCount: Atomic<Int>
    /// The garbage in the checkpoint's files that the last compaction left of what there was when it began.
    let garbageBefore: Atomic<Int>
    let deferredHoles = DeferredHoles()
    /// Set if the file system can't punch holes.
    let cannotPunchHoles = Atomic<Bool>(false)
    /// When to retry a checkpoint for which there was no space.
    let spaceRetry = Guarded<SpaceRetry>(.innermost, SpaceRetry())
    /// The bytes of log since the last checkpoint above which the free disk space is checked.
    let spaceCheckAt = Atomic<Int>(Compactor.spaceCheckByteCount)

    /// The unit of holes in the checkpoint's files, in bytes.
    let blockByteCount: Int

    /// - Parameter start: the checkpoint that the store begins with; nil if there is none.
    init(from start: CheckpointBase?, blockByteCount: Int) {
        self.blockByteCount = blockByteCount
        guard let start else {
            liveByteCount = Atomic(0)
            holeByteCount = Atomic(0)
            garbageBefore = Atomic(0)
            return
        }
        let state = start.state
        liveByteCount = Atomic(
            Compactor.liveByteCount(
                of: start.checkpoint, holes: state.holes, blockByteCount: blockByteCount,
                garbage: state.garbage))
        holeByteCount = Atomic(FreeSpaceMap.returnedByteCount(of: state.holes, blockByteCount: blockByteCount))
        garbageBefore = Atomic(state.garbage)
    }
}

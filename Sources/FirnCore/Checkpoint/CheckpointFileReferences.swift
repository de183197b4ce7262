import FirnStorage
import Synchronization

/// The files of checkpoints that some space of this store has open: they stay, though a newer checkpoint needs them no more, until no version reaches into them.
///
/// A file may be in more than one space, so they are counted. The lock is that of `Guarded`; the atomic is for commits, which ask whether there may be something to remove.
final class CheckpointFileReferences: Sendable {
    private let counts = Guarded<[UInt64: Int]>(.innermost, [:])
    private let released = Atomic<Bool>(false)

    /// Whether a file was let go by the last space since the last `takeReleased`, or one from before is still to be
    /// removed.
    @inline(__always) var hasReleased: Bool { released.load(ordering: .relaxed) }

    /// Who calls it looks at `ids` afterwards, and removes what is not there.
    func takeReleased() { released.store(false, ordering: .sequentiallyConsistent) }

    /// What was let go could not be removed yet.
    func noteReleased() { released.store(true, ordering: .sequentiallyConsistent) }

    var ids: Set<UInt64> { counts.withLock { Set($0.keys) } }

    func retain(_ ids: [UInt64]) {
        counts.withLock { counts in for id in ids { counts[id, default: 0] += 1 } }
    }

    func release(_ ids: [UInt64]) {
        let isLast = counts.withLock { counts in
            var isLast = false
            for id in ids {
                let left = (counts[id] ?? 1) - 1
                counts[id] = left == 0 ? nil : left
                if left == 0 { isLast = true }
            }
            return isLast
        }
        if isLast { noteReleased() }
    }

    /// Whether more than one space has the file open, or is just opening it.
    func isShared(_ id: UInt64) -> Bool { counts.withLock { $0[id] ?? 0 > 1 } }
}

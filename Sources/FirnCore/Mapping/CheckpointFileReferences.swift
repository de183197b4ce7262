import FirnStorage
import Synchronization

/// Counts in how many mappings of this store each checkpoint file is open. An open file is kept until no version
/// reaches into it, even if a newer checkpoint no longer needs it.
///
/// The counts have a lock of their own (`Guarded`). Commits read only the atomic, which says whether there may be a
/// file to remove.
final class CheckpointFileReferences: Sendable {
    /// The number of mappings by the file's number. The map is linear because a checkpoint has few files.
    private let counts = Guarded<LinearMap<UInt64, Int>>(.innermost, LinearMap())
    private let released = Atomic<Bool>(false)

    /// Whether, since the last `takeReleased`, some file was released by its last mapping, or a released file could not
    /// be removed.
    @inline(__always) var hasReleased: Bool { released.load(ordering: .relaxed) }

    /// Clears `hasReleased`. The caller then reads `ids` and removes all checkpoint files that are not among them.
    func takeReleased() { released.store(false, ordering: .sequentiallyConsistent) }

    /// Sets `hasReleased` again, because a released file could not be removed yet.
    func noteReleased() { released.store(true, ordering: .sequentiallyConsistent) }

    var ids: Set<UInt64> { counts.withLock { Set($0.keys) } }
    var isEmpty: Bool { counts.withLock { $0.isEmpty } }

    func retain(_ ids: [UInt64]) {
        counts.withLock { counts in for id in ids { counts[id] = (counts[id] ?? 0) + 1 } }
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

    /// Whether more than one mapping has the file open, or is just opening it.
    func isShared(_ id: UInt64) -> Bool { counts.withLock { $0[id] ?? 0 > 1 } }
}

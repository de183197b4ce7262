import FirnStorage
import Synchronization

/// Counts which files of checkpoints are open in some mapping of this store. Such a file is kept, although a newer
/// checkpoint no longer needs it, until no version reaches into it.
///
/// A file may be open in more than one mapping, so the mappings are counted. `Guarded` holds the lock; the atomic is
/// for commits, which ask whether there may be something to remove.
final class CheckpointFileReferences: Sendable {
    /// By the file's number. A checkpoint has few files.
    private let counts = Guarded<LinearMap<UInt64, Int>>(.innermost, LinearMap())
    private let released = Atomic<Bool>(false)

    /// Whether the last mapping has released a file since the last `takeReleased`, or a file that was released
    /// earlier has still to be removed.
    @inline(__always) var hasReleased: Bool { released.load(ordering: .relaxed) }

    /// Clears `hasReleased`. The caller then reads `ids`, and removes the files that are not among them.
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

import FirnStorage
import Synchronization

/// A store's memory in scratch files: for what transactions make while the heap is full, or, where versions may be written out (`ActiveVersionPolicy.spill`), for all nodes.
///
/// Chunks and blobs lie apart from all else: they are nearly all of the bytes, mostly written once and read in order. The few others (leaves, indexes, inner nodes) are touched again and again in no order, and
/// would each bring their neighbours back from the disk.
///
/// `lock` guards `outage`.
final class SpillHeap: @unchecked Sendable {
    let place: ScratchFolder
    /// Whether all nodes are made here.
    let takesAll: Bool
    /// Chunks and blobs.
    let values: SpillPool
    /// All other nodes.
    let structure: SpillPool

    private let lock = Lock(.spillHeap)
    /// Why nodes could not be made here, and the least stamp of one.
    private var outage: (error: StorageError, since: UInt64)?
    /// Nodes that had to be made on the heap although all are to be made here.
    private let outside = Atomic<Int>(0)

    init(_ place: ScratchFolder, takesAll: Bool) {
        self.place = place
        self.takesAll = takesAll
        values = SpillPool(place, isRandom: false)
        structure = SpillPool(place, isRandom: true)
    }

    var arenaCount: Int { values.arenaCount + structure.arenaCount }
    var usedPageCount: Int { values.usedPageCount + structure.usedPageCount }

    /// Leaves a transaction's pages that are not full to the next.
    func keep(_ cursors: SpillCursors) {
        values.keep(cursors.values)
        structure.keep(cursors.structure)
    }

    /// Leaves nothing to the next transaction. Two loads where there is nothing.
    func dropIdle() {
        values.dropIdle()
        structure.dropIdle()
    }

    /// See `SpillPool.writeOut`.
    func writeOut(
        bornThrough stamp: UInt64, again: Bool = false, while isWanted: () -> Bool
    ) throws(StorageError) {
        try values.writeOut(bornThrough: stamp, again: again, while: isWanted)
        try structure.writeOut(bornThrough: stamp, again: again, while: isWanted)
    }

    // MARK: Nodes on the heap for want of room

    /// A node with `stamp` could not be made here.
    func countOutside(_ error: StorageError, stamp: UInt64) {
        lock.withLock {
            let before = outside.wrappingAdd(1, ordering: .relaxed).oldValue
            outage = (error, before == 0 ? stamp : min(stamp, outage?.since ?? stamp))
        }
    }

    /// Nodes on the heap are free.
    func subtractOutside(_ count: Int) {
        if count > 0 { outside.wrappingSubtract(count, ordering: .relaxed) }
    }

    /// Why a version with `stamp` can't be written out, as it may need nodes on the heap; nil where it can be. It heals when these have gone.
    func obstacle(stamp: UInt64) -> StorageError? {
        guard outside.load(ordering: .relaxed) > 0 else { return nil }
        return lock.withLock { outage.flatMap { stamp >= $0.since ? $0.error : nil } }
    }
}

/// Where a transaction makes its nodes.
struct SpillCursors {
    var values = SpillCursor()
    var structure = SpillCursor()
}

/// Where a store's scratch files lie, and when a transaction goes there.
final class ScratchFolder: Sendable {
    let storage: any Storage
    let folder: String
    /// Bytes of nodes on the heap, in all, beyond which a transaction spills.
    let threshold: Int

    init(storage: any Storage, folder: String, threshold: Int) {
        self.storage = storage
        self.folder = folder
        self.threshold = threshold
    }

    /// Removes what a process that died between making a scratch file and removing its name has left. Only for who is alone: others may be between the two.
    func removeLeftovers() throws(StorageError) {
        for name in try storage.list(folder) where ScratchName.matches(name) {
            let path = "\(folder)/\(name)"
            guard try !storage.isLink(path), try storage.status(path)?.kind == .file else { continue }
            do throws(StorageError) { try storage.remove(path) } catch  where error.code == .notFound {
                // Its maker lives, and was quicker.
            }
        }
    }
}

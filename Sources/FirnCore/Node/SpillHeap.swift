import FirnStorage
import Synchronization

/// A store's memory in scratch files. It holds the nodes that transactions make while the heap is full, or all nodes
/// if versions may be spilled (`ActiveVersionPolicy.spill`).
///
/// Chunks and blobs are kept apart from all other nodes. They are nearly all of the bytes, and are mostly written once
/// and read in order. The few other nodes (leaves, indexes, inner nodes) are accessed again and again in no order. If
/// they lay among chunks, each access would read neighbouring chunks back from the disk, too.
///
/// `lock` guards `outage`.
final class SpillHeap: @unchecked Sendable {
    let scratchFolder: ScratchFolder
    /// Whether all nodes are made here.
    let holdsAllNodes: Bool
    /// Chunks and blobs.
    let values: SpillPool
    /// All other nodes.
    let structure: SpillPool

    private let lock = Lock(.spillHeap)
    /// The error that prevented making nodes here, and the least stamp of a node that is on the heap because of it.
    private var outage: (error: StorageError, since: UInt64)?
    /// The number of nodes that are on the heap although all nodes should be made here.
    private let heapNodeCount = Atomic<Int>(0)

    init(_ folder: ScratchFolder, holdsAllNodes: Bool) {
        scratchFolder = folder
        self.holdsAllNodes = holdsAllNodes
        values = SpillPool(folder, isRandom: false)
        structure = SpillPool(folder, isRandom: true)
    }

    var arenaCount: Int { values.arenaCount + structure.arenaCount }
    var usedPageCount: Int { values.usedPageCount + structure.usedPageCount }

    /// Keeps a transaction's pages that are not full for the next transaction.
    func keep(_ cursors: SpillCursors) {
        values.keep(cursors.values)
        structure.keep(cursors.structure)
    }

    /// Gives up the pages that were kept for the next transaction. Costs two loads if there are none.
    func closeIdle() {
        values.closeIdle()
        structure.closeIdle()
    }

    /// See `SpillPool.writeOut`.
    func writeOut(
        bornThrough stamp: UInt64, again: Bool = false, while isWanted: () -> Bool
    ) throws(StorageError) {
        try values.writeOut(bornThrough: stamp, again: again, while: isWanted)
        try structure.writeOut(bornThrough: stamp, again: again, while: isWanted)
    }

    // MARK: Nodes on the heap because no scratch file could be made

    /// Counts a node with `stamp` that could not be made here.
    func countHeapNode(_ error: StorageError, stamp: UInt64) {
        lock.withLock {
            let before = heapNodeCount.wrappingAdd(1, ordering: .relaxed).oldValue
            outage = (error, before == 0 ? stamp : min(stamp, outage?.since ?? stamp))
        }
    }

    /// Subtracts nodes on the heap that were freed.
    func subtractHeapNodes(_ count: Int) {
        if count > 0 { heapNodeCount.wrappingSubtract(count, ordering: .relaxed) }
    }

    /// The error that prevents spilling a version with `stamp`, because the version may need nodes on the heap; nil if
    /// it can be spilled. The obstacle is gone once those nodes are freed.
    func obstacle(stamp: UInt64) -> StorageError? {
        guard heapNodeCount.load(ordering: .relaxed) > 0 else { return nil }
        return lock.withLock { outage.flatMap { stamp >= $0.since ? $0.error : nil } }
    }
}

/// The pages in which a transaction makes its nodes.
struct SpillCursors {
    var values = SpillCursor()
    var structure = SpillCursor()
}

/// The folder of a store's scratch files, and the number of bytes beyond which a transaction uses them.
final class ScratchFolder: Sendable {
    let folder: any StorageFolder
    /// The number of bytes of all nodes on the heap beyond which a transaction makes its nodes in scratch files.
    let threshold: Int

    init(_ folder: any StorageFolder, threshold: Int) {
        self.folder = folder
        self.threshold = threshold
    }

    /// Removes scratch files whose process died between making the file and removing its name. The caller must be the
    /// only user of the folder, because another process may be between these two steps.
    func removeLeftovers() throws(StorageError) {
        for name in try folder.list() where ScratchName.matches(name) {
            guard try folder.status(name)?.kind == .file else { continue }
            do throws(StorageError) { try folder.remove(name) } catch  where error.code == .notFound {
                // Its process is alive, and removed the name first.
            }
        }
    }
}

import FirnLog
import FirnStorage

/// Compacts a store: decides when a checkpoint is due, and what is written, moved and freed. A compactor is made for
/// one task; what is kept from one task to the next is the store's `CompactionState`.
///
/// Only one checkpoint is written at a time: see `CompactorThread.run`.
struct Compactor {
    let store: Store

    var state: CompactionState { store.compaction }
    var thread: CompactorThread { state.thread }
    var versions: VersionTable { store.versions }
    var heap: NodeHeap { store.heap }
    var context: TransactionContext { store.context }
    var options: StoreOptions { store.options }
    var clock: any Clock { store.clock }
    var fileReferences: CheckpointFileReferences { store.fileReferences }

    /// The bytes of the checkpoint's files and of the log.
    var fileByteCount: Int {
        guard let log = store.log else { return 0 }
        return storedByteCount + log.segmentByteCount
    }

    /// The bytes of the checkpoint's files, without the holes in them.
    private var storedByteCount: Int {
        max((store.log?.checkpoint?.byteCount ?? 0) - state.holeByteCount.load(ordering: .relaxed), 0)
    }

    /// About how many bytes of the checkpoint's files are still reached.
    var liveStoredByteCount: Int { max(storedByteCount - context.checkpointGarbage.load(ordering: .relaxed), 0) }
}

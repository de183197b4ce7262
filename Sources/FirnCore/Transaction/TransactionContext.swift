import FirnLog
import Synchronization

/// The state that all write transactions of one store share.
///
/// Each member is thread-safe by itself, except for `workspace`, which only the holder of the write lock uses.
final class TransactionContext: Sendable {
    let heap: NodeHeap
    /// The store's log; nil for a store in memory.
    let log: Log?
    /// The last stamp that was assigned. Only the holder of the write lock takes a new one.
    let stamps: Atomic<UInt64>
    /// The bytes of on-disk nodes that the newest version no longer reaches and that still occupy disk blocks.
    let checkpointGarbage: Atomic<Int>
    nonisolated(unsafe) let workspace = TransactionWorkspace()
    /// The bytes by which a transaction's nodes grow between two flushes (`StreamedInserts`); `.max` for a store in
    /// memory.
    let streamedByteCount: Int
    /// Called with the damage that a getter meets, before it stops the program.
    let onDamage: (@Sendable (StoreDamage) -> Void)?

    init(
        _ heap: NodeHeap, _ log: Log?, stamp: UInt64, checkpointGarbage: Int, streamedByteCount: Int,
        onDamage: (@Sendable (StoreDamage) -> Void)?
    ) {
        self.heap = heap
        self.log = log
        stamps = Atomic(stamp)
        self.checkpointGarbage = Atomic(checkpointGarbage)
        self.streamedByteCount = log == nil ? .max : streamedByteCount
        self.onDamage = onDamage
    }

    func nextStamp() -> UInt64 { stamps.wrappingAdd(1, ordering: .relaxed).newValue }
}

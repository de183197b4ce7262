import FirnCore
import FirnStorage

/// A write transaction that a realm has open. Belongs to the realm's thread, queue or actor.
struct OpenTransaction {
    let transaction: WriteTransaction
    /// Whether it was begun asynchronously: then its end waits for no disk.
    let isAsync: Bool
    /// When it was opened, in nanoseconds of the monotonic clock.
    let beganAt = SystemClock.shared.monotonic()
    /// The inserter that `add` uses, kept from call to call.
    var inserter: ObjectInserter?

    init(_ transaction: WriteTransaction, isAsync: Bool) {
        self.transaction = transaction
        self.isAsync = isAsync
    }
}

import FirnCore
import FirnStorage

/// A write transaction that a realm has open. Belongs to the realm's thread, queue or actor.
struct OpenTransaction {
    let transaction: WriteTransaction
    /// Whether it was begun asynchronously. If so, its end waits for no disk.
    let isAsync: Bool
    /// When it was opened, in nanoseconds of the monotonic clock.
    let beganAt = SystemClock.shared.monotonic()
    /// The call that began it; nil if the program did not call `write` or `beginWrite` for it.
    let callSite: CallSite?
    /// The inserter that `add` uses, kept from call to call.
    var inserter: ObjectInserter?
    /// The realm itself, as long as its transaction keeps it alive.
    var keptRealm: _RealmInstance?

    init(_ transaction: WriteTransaction, isAsync: Bool, at callSite: CallSite?) {
        self.transaction = transaction
        self.isAsync = isAsync
        self.callSite = callSite
    }
}

import FirnLog
import FirnStorage
import Synchronization

/// The store's thread that waits for what other processes do: they have published something, which it applies; they want to write, and it gives the writer's lock up if no transaction
/// does so at its end. It sleeps on the shared page's word, and looks at nothing in between.
///
/// It holds the store for as long as it does something for it, and the page's word only while it sleeps: so it keeps no store open.
///
/// `isStopping` and `threadID` are atomic; `thread` is set before others know of the follower, and only read then.
final class StoreFollower: @unchecked Sendable {
    private let waiter: Log.PublishWaiter
    private let isStopping = Atomic<Bool>(false)
    private let threadID = Atomic<UInt64>(0)
    private var thread: StorageThread?
    private weak let store: Store?

    init(_ store: Store, _ waiter: Log.PublishWaiter) {
        self.store = store
        self.waiter = waiter
    }

    func start() throws(StorageError) {
        thread = try StorageThread.start(name: "firn-follow") { [self] in run() }
    }

    /// Ends the thread. Waits for its end where that makes sense: not on the thread itself, which may be the last to hold the store.
    func stop(waits: Bool) {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        waiter.wakeAll()
        if waits, threadID.load(ordering: .acquiring) != currentThreadID() { thread?.join() }
    }

    private func run() {
        threadID.store(currentThreadID(), ordering: .releasing)
        while true {
            let ticket = waiter.ticket
            guard !isStopping.load(ordering: .sequentiallyConsistent), attend() else { return }
            waiter.wait(ticket)
        }
    }

    /// False where the store is gone. Not inlined, so that the store is let go before the thread sleeps.
    @inline(never)
    private func attend() -> Bool {
        guard let store else { return false }
        store.attendToOthers()
        return true
    }
}

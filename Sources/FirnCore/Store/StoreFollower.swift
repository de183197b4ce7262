import FirnLog
import FirnStorage
import Synchronization

/// The store's thread that waits for other processes.
///
/// - When they have published something, it applies that.
/// - When they want to write, it releases the writer lock, unless a transaction does so at its end.
///
/// It sleeps on the shared page's wake word, and checks nothing in between. It holds the store only while it works for
/// it. While it sleeps, it holds only the wake word, so it keeps no store open.
///
/// `isStopping` and `threadID` are atomic. `thread` is set before the follower is shared, and only read afterwards.
final class StoreFollower: @unchecked Sendable {
    private let waiter: Log.PublishWaiter
    private let isStopping = Atomic<Bool>(false)
    private let threadID = Atomic<UInt64>(0)
    private var thread: StorageThread?
    private let store: WeakReference<Store>

    init(_ store: WeakReference<Store>, _ waiter: Log.PublishWaiter) {
        self.store = store
        self.waiter = waiter
    }

    func start() throws(StorageError) {
        thread = try StorageThread.start(name: "firn-follow") { [self] in run() }
    }

    /// Ends the thread, and waits for its end if `waits` is set. It does not wait on the thread itself, which may be
    /// the last to hold the store.
    func stop(waits: Bool) {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        waiter.wakeAll()
        if waits, threadID.load(ordering: .acquiring) != currentThreadID() { thread?.join() }
    }

    private func run() {
        threadID.store(currentThreadID(), ordering: .releasing)
        while true {
            let ticket = waiter.ticket
            guard !isStopping.load(ordering: .sequentiallyConsistent), handleEvents() else { return }
            waiter.wait(ticket)
        }
    }

    /// Does what is due. Returns false if the store was released. Not inlined, so that the reference to the store is
    /// released before the thread sleeps.
    @inline(never)
    private func handleEvents() -> Bool {
        guard let store = store.object else { return false }
        store.handleOtherProcesses()
        return true
    }
}

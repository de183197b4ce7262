import FirnLog
import FirnStorage
import Synchronization

/// How a store is opened.
public struct StoreOptions: Sendable {
    /// Where and how its log lies; nil for a store in memory, which is gone when it is closed.
    public var log: LogOptions?
    /// Bytes of nodes on the heap, of all versions together, beyond which what a transaction makes goes to a scratch file in the store's folder. Stores in memory never spill. A store compacts itself
    /// when the newest version has more than this, and more than a quarter of the live data, outside of its checkpoint.
    public var transactionMemoryByteCount = 1 << 30
    /// A transaction is refused while more versions than this are active: held by something in this or another process, or the newest. At least 1; nil for no limit.
    public var maximumNumberOfActiveVersions: Int?
    /// A transaction is refused while held versions retain more memory than this, in all processes, beyond what the newest version needs. Nil for no limit.
    public var maximumRetainedByteCount: Int?
    /// What a transaction does that is refused by these two.
    public var activeVersionPolicy = ActiveVersionPolicy.fail
    /// False reads the pieces of a checkpoint that are needed into memory instead of mapping its files: for a volume whose device may vanish, as reading a mapping of it would then stop the
    /// program.
    public var readsByMapping = true
    /// Told of damage that a getter meets, before the program stops: a getter can't throw. Called on the thread that met it; it must not use the store.
    public var onDamage: (@Sendable (StoreDamage) -> Void)?
    /// When a checkpoint is written.
    public var compaction = CompactionRule()
    /// Bytes by which a transaction's nodes grow between hand-outs of `StreamedInserts`. Copying the last leaf each time costs a fiftieth of it.
    package var streamedByteCount = 4 << 20
    /// Bytes of the log that opening a retained version reads at most, about: for so many a checkpoint is kept.
    package var historyCheckpointByteCount = 256 << 20
    /// Called while a compaction runs, between writing the checkpoint and putting it in the place of what it was written from.
    var besideCompaction: (@Sendable () -> Void)?
    /// Called before what versions need is written out; what it throws is what the disk would.
    var besideSpill: (@Sendable () throws(StorageError) -> Void)?
    /// Which past versions stay openable.
    public var historyRetention = HistoryRetention.none

    public init(log: LogOptions?) { self.log = log }
}

/// A store: its versions, its log, and the one lock under which it is written.
///
/// Any thread may pin, read and wait; transactions follow one another. A commit goes: write lock → changeset → log → version table (the *tip*) → lock given
/// up → durable → published. So the next writer begins on the tip while the disk still works, and nobody sees what is not durable.
///
/// * `versions` (guarded by its own lock) knows every active version, and publishes them in order.
/// * `queue` is the write lock.
/// * `limit`, `policy`, `postponed` and `spiller` are about what versions may be held: see `Store+Limits`.
/// * `stamps` counts up; only the holder of the write lock draws from it.
/// * `workspace` is the write lock's holder's.
/// * `listeners` is guarded by `listenerLock`; they are called outside of all locks, on the thread that published; two such threads may
///   call them at once.
/// * `history` (guarded by itself) keeps what past versions need.
public final class Store: Sendable {
    public let heap: NodeHeap
    package let log: Log?
    let versions: VersionTable
    let queue = WriteQueue()
    let changeJournal = ChangeJournal()
    let limit: VersionLimit
    let policy: ActiveVersionPolicy
    let postponed = PostponedWrites()
    private let waitingForTurn = RequestsForTurn()
    /// Writes versions out that are held; nil where the policy is another one.
    let spiller: VersionSpiller?
    let history = History()
    let clock: any Clock
    /// `.max` for a store in memory.
    let streamedByteCount: Int
    let options: StoreOptions
    let stamps: Atomic<UInt64>
    /// Bytes of nodes in the checkpoint's space that the newest version no longer reaches and that take blocks.
    let checkpointGarbage: Atomic<Int>
    /// Bytes of the nodes that the checkpoint's version reaches: how much data there is, for the rule.
    let checkpointLiveByteCount: Atomic<Int>
    let deferredHoles = DeferredHoles()
    /// Bytes of blocks in the checkpoint's files that were given back, or are as soon as no version holds them.
    let holeByteCount = Atomic<Int>(0)
    /// Set where the file system can't give blocks back.
    let keepsBlocks = Atomic<Bool>(false)
    let fileReferences: CheckpointFileReferences
    let compactor = Compactor()
    nonisolated(unsafe) let workspace = TransactionWorkspace()
    /// What another process has made of the schema that this one can't go on with. Guarded by `queue`.
    nonisolated(unsafe) var refusedSchema: StoreError?
    private let listenerLock = Lock(.innermost)
    nonisolated(unsafe) private var listeners: [(id: Int, body: @Sendable (UInt64) -> Void)] = []
    nonisolated(unsafe) private var nextListener = 0
    private let closing = Atomic<Bool>(false)
    private let closed = Atomic<Bool>(false)
    /// Set once, before anybody else knows of the store; nil where no other process can write to it, or no threads are wanted.
    nonisolated(unsafe) private var follower: StoreFollower?
    /// What recovery did; nil for a store in memory.
    public var recovery: RecoveryReport? { log?.recovery }
    public let isReadOnly: Bool

    /// Opens a store, creating it where there is none, and brings it to its last durable version.
    public convenience init(
        _ options: StoreOptions, storage: any Storage, clock: any Clock = SystemClock.shared,
        randomness: any Randomness = SystemRandomness.shared
    ) throws(StoreError) {
        let limit = try VersionLimit(options)
        var log: Log?
        if var logOptions = options.log {
            // A block of a changeset is never split further, and may be as long as this.
            logOptions.partByteCount = max(logOptions.partByteCount, Limits.partByteCount)
            logOptions.endsWithCheckpoint = options.compaction.isAutomatic
            do { log = try Log.open(logOptions, storage: storage, clock: clock, randomness: randomness) } catch {
                throw StoreError(error)
            }
        }
        var heap = NodeHeap()
        if let logOptions = options.log, logOptions.access != .readOnly {
            let place = ScratchFolder(
                storage: storage, folder: logOptions.folder, threshold: options.transactionMemoryByteCount)
            do throws(StorageError) {
                // Others' files would be removed while they are made.
                if log?.isAlone ?? true { try place.removeLeftovers() }
            } catch {
                throw StoreError(LogError(.storage(error), path: logOptions.folder))
            }
            heap = NodeHeap(SpillHeap(place, takesAll: options.activeVersionPolicy == .spill))
        }
        let fileReferences = CheckpointFileReferences()
        var start: CheckpointBase?
        if let log, let checkpoint = log.checkpoint {
            start = try CheckpointBase(checkpoint, log, options, fileReferences)
        }
        self.init(
            log: log, options, limit, isReadOnly: options.log?.access == .readOnly, heap: heap, clock: clock,
            start: start, fileReferences: fileReferences)
        retain(options.historyRetention)
        guard let log else { return }
        try replay(log)
        // What the checksums can't tell: whether it is a store at all that Firn could have written.
        if options.log?.verify == .everything { try verify() }
        log.finishOpening()
        reportHeld(to: log)
        if !isReadOnly, options.log?.usesThreads ?? false {
            let follower = StoreFollower(self, log.publishWaiter)
            do throws(StorageError) { try follower.start() } catch {
                throw StoreError(LogError(.storage(error), path: log.options.folder))
            }
            self.follower = follower
        }
    }

    deinit { if !isForked { follower?.stop(waits: false) } }

    /// A store in memory that begins with a checkpoint of a log, which it does not write.
    convenience init(
        past checkpoint: Checkpoint, of log: Log, _ options: StoreOptions, _ fileReferences: CheckpointFileReferences
    ) throws(StoreError) {
        // Once they are counted, a compaction leaves its files as they are; one that has let it go before may have given blocks back.
        let files = checkpoint.files.map(\.id)
        fileReferences.retain(files)
        defer { fileReferences.release(files) }
        let isListed: Bool
        do throws(LogError) { isListed = try log.checkpointsInForce.contains(checkpoint) } catch {
            throw StoreError(error)
        }
        guard isListed else {
            throw StoreError(
                .versionNotRetained, "the checkpoint of version \(checkpoint.version) has just been let go")
        }
        let start = try CheckpointBase(checkpoint, log, options, fileReferences)
        self.init(
            log: nil, StoreOptions(log: nil), try VersionLimit(StoreOptions(log: nil)), isReadOnly: false,
            heap: NodeHeap(), clock: ManualClock(now: checkpoint.time), start: start, fileReferences: fileReferences)
    }

    private init(
        log: Log?, _ options: StoreOptions, _ limit: VersionLimit, isReadOnly: Bool, heap: NodeHeap,
        clock: any Clock, start: CheckpointBase?, fileReferences: CheckpointFileReferences
    ) {
        self.log = log
        self.options = options
        self.limit = limit
        policy = options.activeVersionPolicy
        streamedByteCount = log == nil ? .max : options.streamedByteCount
        self.heap = heap
        let usesThreads = options.log?.usesThreads ?? false
        spiller = heap.spill.flatMap {
            $0.takesAll ? VersionSpiller($0, usesThread: usesThreads, options.besideSpill) : nil
        }
        self.clock = clock
        self.isReadOnly = isReadOnly
        self.fileReferences = fileReferences
        if let start {
            stamps = Atomic(start.stored.stamp)
            checkpointGarbage = Atomic(start.stored.garbage)
            holeByteCount.store(FreeSpaceMap.blockByteCount(of: start.stored.holes), ordering: .relaxed)
            checkpointLiveByteCount = Atomic(
                Store.liveByteCount(
                    of: start.checkpoint, holes: start.stored.holes, garbage: start.stored.garbage))
            versions = VersionTable(
                root: start.mapping.ref(to: start.stored.root).node, stamp: start.stored.stamp,
                version: start.checkpoint.version, time: start.checkpoint.time,
                reference: ResolvedSchema(start.stored.schema), mapping: start.mapping, heap: heap)
            return
        }
        checkpointGarbage = Atomic(0)
        checkpointLiveByteCount = Atomic(0)
        let writer = NodeWriter(stamp: 1)
        if let spill = heap.spill { writer.spill(to: spill, heapByteCount: 0) }
        let root = RootNode.make(tables: 0, writer)
        heap.account(nodes: 1, bytes: root.node.byteCount)
        writer.dispose().deallocate()
        stamps = Atomic(1)
        versions = VersionTable(
            root: root.node, stamp: 1, version: 0, time: clock.now(), reference: ResolvedSchema(StoreSchema()),
            mapping: nil,
            heap: heap)
    }

    // MARK: Versions

    /// Pins the newest published version. O(1).
    public func pin(file: StaticString = #fileID, line: UInt = #line) -> Pin {
        pin(at: CallSite(file, line))
    }

    public func pin(at place: CallSite) -> Pin {
        if isForked { stopInForkedChild("a store") }
        return versions.pinPublished(at: place)
    }

    /// The number of the newest published version.
    public var publishedVersion: UInt64 { versions.published.version }

    /// The schema of the newest version.
    public var schema: StoreSchema { versions.tip.reference.schema }

    /// Waits until pins show the newest schema. Costs two loads where they do.
    ///
    /// - Throws: where the version that brought it could not be published.
    public func waitUntilSchemaIsPublished() throws(StoreError) {
        let tip = versions.tip
        if versions.published.reference !== tip.reference { try waitUntilPublished(tip.version) }
    }

    /// Whether a transaction runs in this process. Another thread may begin or end one at any time.
    public var isBeingWritten: Bool { queue.isHeld }

    /// Every version that something holds, and the newest published one, oldest first.
    public var activeVersions: [ActiveVersion] { versions.active }

    func nextStamp() -> UInt64 { stamps.wrappingAdd(1, ordering: .relaxed).newValue }

    func stamp(of pin: Pin) -> UInt64 { pin.stamp }

    // MARK: Writing

    /// Begins a transaction on the newest version written, waiting for those that came before.
    ///
    /// - Throws: also `.tooManyActiveVersions`, at once or after waiting, as the policy has it.
    public func beginWrite(file: StaticString = #fileID, line: UInt = #line) throws(StoreError) -> WriteTransaction {
        try beginWrite(replacing: nil, at: CallSite(file, line))
    }

    /// - Parameter own: a pin that the caller will let go once it has the transaction, and which therefore doesn't count against the limit.
    public func beginWrite(replacing own: Pin?, at place: CallSite) throws(StoreError) -> WriteTransaction {
        var deadline: Int64?
        while true {
            try checkWritable()
            try takeTurn()
            if let transaction = try makeTransaction(replacing: own, at: place) { return transaction }
            try waitForHolders(replacing: own, &deadline)
        }
    }

    /// Calls `ready` with a transaction once it is this caller's turn, on an arbitrary thread: within the call, on a thread that ends another transaction, or on one of the store's. Any number may
    /// wait; each costs O(1).
    public func requestWrite(
        file: StaticString = #fileID, line: UInt = #line,
        _ ready: @escaping @Sendable (Result<WriteTransaction, StoreError>) -> Void
    ) {
        request(PostponedWrites.Request(place: CallSite(file, line), ready: ready))
    }

    func request(_ request: PostponedWrites.Request) {
        do { try checkWritable() } catch { return request.ready(.failure(error)) }
        if let log, !log.isWriting { return beginOnThread(request) }
        queue.request { [self] in
            // Another process may have its turn by now.
            if let log, !log.isWriting || log.shouldGiveUpWriting && log.isTurnOver {
                queue.release()
                return beginOnThread(request)
            }
            do throws(StoreError) {
                if let made = try makeTransaction(replacing: nil, at: request.place) {
                    nonisolated(unsafe) let transaction = made
                    request.ready(.success(transaction))
                } else {
                    try postpone(request)
                }
            } catch {
                request.ready(.failure(error))
            }
        }
    }

    /// Where other processes have to be waited for, a thread is made to do it for all requests that come meanwhile.
    private func beginOnThread(_ request: PostponedWrites.Request) {
        guard waitingForTurn.add(request) else { return }
        do throws(StorageError) {
            try StorageThread.start(name: "firn-write") { [self] in
                while let requests = waitingForTurn.takeAll() { begin(requests[...]) }
            }
        } catch {
            let failure = StoreError(LogError(.storage(error), path: log?.options.folder ?? ""))
            while let requests = waitingForTurn.takeAll() {
                for request in requests { request.ready(.failure(failure)) }
            }
        }
    }

    /// Waits for this process's turn, and queues all but the first request then.
    private func begin(_ requests: ArraySlice<PostponedWrites.Request>) {
        var requests = requests
        while let request = requests.popFirst() {
            do throws(StoreError) {
                nonisolated(unsafe) let transaction = try beginWrite(replacing: nil, at: request.place)
                for other in requests { self.request(other) }
                return request.ready(.success(transaction))
            } catch {
                request.ready(.failure(error))
            }
        }
    }

    /// The queue is held; it is given up where this throws, or gives nil because more is held than the limit allows.
    private func makeTransaction(replacing own: Pin?, at place: CallSite) throws(StoreError) -> WriteTransaction? {
        do { try checkWritable() } catch {
            queue.release()
            throw error
        }
        guard let pin = pinBase(replacing: own, at: place) else {
            // Other processes may wait for their turn, which is not this transaction's to use.
            endTransaction()
            return nil
        }
        return WriteTransaction(store: self, base: pin, stamp: nextStamp())
    }

    /// Gives the write lock up. If other processes wait to write, the follower sees to them where the caller won't (`letOthersWriteIfAsked`).
    func endTransaction(wakesFollower: Bool = true) {
        queue.release()
        if wakesFollower, let log, log.shouldGiveUpWriting { log.publishWaiter.wakeAll() }
    }

    var isClosed: Bool { closed.load(ordering: .acquiring) }

    private let forkMark = ForkMark()

    /// Whether this process was forked off the one that opened the store: its locks may be held by threads that have stayed there.
    var isForked: Bool { forkMark.isForked }

    func checkOpen() throws(StoreError) {
        // A store with files tells it by its log.
        if isForked, log == nil {
            throw StoreError(
                .closed,
                "this process was forked off the one that opened the store; open another there, or use exec")
        }
        if closed.load(ordering: .acquiring) { throw StoreError(.closed, "the store has been closed; open it again") }
    }

    func checkWritable() throws(StoreError) {
        try checkOpen()
        if isReadOnly {
            throw StoreError(.readOnly, "the store was opened read-only; open it for writing to change it")
        }
        // A forked child is told before it waits for a lock whose owner is a thread of its parent's.
        do { try log?.checkWritable() } catch { throw StoreError(error) }
    }

    // MARK: Publishing

    /// A listener's registration; it ends when this goes.
    public final class Listener: Sendable {
        private let store: Store
        private let id: Int

        fileprivate init(store: Store, id: Int) {
            self.store = store
            self.id = id
        }

        deinit { if !store.isForked { store.removeListener(id) } }
    }

    /// Calls `body` with the number of each newly published version, outside of all locks, on the thread that published it. It must be quick, and may not write.
    public func onPublish(_ body: @escaping @Sendable (UInt64) -> Void) -> Listener {
        listenerLock.withLock {
            nextListener += 1
            listeners.append((nextListener, body))
            return Listener(store: self, id: nextListener)
        }
    }

    private func removeListener(_ id: Int) {
        // What its closure captures is released outside of the lock.
        let gone = listenerLock.withLock { () -> (@Sendable (UInt64) -> Void)? in
            guard let place = listeners.firstIndex(where: { $0.id == id }) else { return nil }
            return listeners.remove(at: place).body
        }
        withExtendedLifetime(gone) {}
    }

    /// Publishes what is durable, and tells the listeners.
    func publish(through version: UInt64) {
        guard let entry = versions.publish(through: version) else { return }
        announce(entry.version)
    }

    /// Tells the listeners of a version, or of another tree for it.
    func announce(_ version: UInt64) {
        let bodies = listenerLock.withLock { listeners.map(\.body) }
        LockRank.expectNone("those that listen to the store are called")
        for body in bodies { body(version) }
    }

    /// Waits for running writes, makes everything durable and closes the log. Versions that are pinned stay readable.
    ///
    /// If the log has grown since the last checkpoint, one is written first (`CompactionRule.closingLogByteCount`), so that the next opening has next to nothing
    /// to replay. That takes as long as writing what has changed; what the disk has no room for stays in the log.
    ///
    /// - Throws: what kept the log from becoming durable, or the checkpoint from being written, but for a full disk. The store is closed all the same.
    public func close() throws(StoreError) {
        // In a forked child the write lock may be held by a thread that has stayed with the parent.
        if isForked { return closed.store(true, ordering: .releasing) }
        guard !closing.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var failure: StoreError?
        // Before anything that takes long, as the process may end meanwhile.
        do throws(StoreError) { try syncWhatIsOwed() } catch { failure = error }
        do throws(StoreError) { try writeClosingCheckpoint() } catch {
            // The log holds everything, and the next opening reads it.
            if case .log(let cause) = error.code, cause.code == .diskFull {} else { failure = error }
        }
        closed.store(true, ordering: .releasing)
        try closeLog()
        if let failure { throw failure }
    }

    private func closeLog() throws(StoreError) {
        follower?.stop(waits: true)
        versions.endWaiting()
        compactor.stop()
        spiller?.stop()
        queue.acquire()
        defer { queue.release() }
        guard let log else { return }
        // The slot may be another process's at once. Pins that are let go later report to nobody.
        versions.withLock { $0.report = nil }
        // What is held reads on in files that another opener could otherwise give blocks of back.
        do { try log.close(isRead: !fileReferences.ids.isEmpty) } catch { throw StoreError(error) }
    }
}

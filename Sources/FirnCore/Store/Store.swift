import FirnLog
import FirnStorage
import Synchronization

/// A store: its versions, its log, and the one lock under which it is written.
///
/// Any thread may pin, read and wait; transactions follow one another. A commit's steps are: write lock → changeset →
/// log → version table (the *tip*) → release of the write lock → durable → published. So the next writer begins from
/// the tip while the disk still works, and nobody sees what is not durable.
///
/// * `versions` (guarded by its own lock) holds every active version, and publishes them in order.
/// * `queue` is the write lock.
/// * `limit`, `policy`, `postponed` and `spiller` limit which versions may be held: see `Store+Limits`.
/// * `context` is the state that the store's transactions share.
/// * `compaction` is the state of its compactor (`Compactor`).
/// * `listeners` (guarded by itself) are called for each published version.
/// * `history` (guarded by itself) keeps what past versions need.
package final class Store: TransactionOwner {
    package let heap: NodeHeap
    package let log: Log?
    let versions: VersionTable
    let queue = WriteQueue()
    let changeJournal = ChangeJournal()
    let limit: VersionLimit
    let policy: ActiveVersionPolicy
    let postponed = PostponedWrites()
    let waitingRequests = WaitingRequests()
    /// How many transactions wait for holders to release versions.
    let waitingForHolders = Atomic<Int>(0)
    /// Writes out versions that are held; nil unless the policy is `.spill`.
    let spiller: VersionSpiller?
    let history = History()
    let clock: any Clock
    let options: StoreOptions
    /// The state that the store's transactions share.
    let context: TransactionContext
    let fileReferences: CheckpointFileReferences
    /// How the files of the store's checkpoints are read.
    let checkpointReading: CheckpointReading
    let compaction: CompactionState
    /// The reference that threads which work for the store use, so that they keep no store open.
    let reference = WeakReference<Store>()
    /// Set when another process has changed the schema in a way that this process can't follow. Guarded by `queue`.
    nonisolated(unsafe) var refusedSchema: StoreError?
    let listeners = Listeners()
    let closing = Atomic<Bool>(false)
    let closed = Atomic<Bool>(false)
    /// Set once, before the store is shared. Nil for a store in memory, for one that is opened read-only, and for one
    /// that uses no threads.
    nonisolated(unsafe) var follower: StoreFollower?
    /// What recovery did; nil for a store in memory.
    package var recovery: RecoveryReport? { log?.recovery }
    package let isReadOnly: Bool
    /// Identifies the store's folder among all folders on this machine; nil for a store in memory.
    package var folderIdentity: FileIdentity? { log?.storageFolder.identity }
    /// The store in its present state, to be deleted only if the state is still the same. Nil if the store has no
    /// files, or is opened read-only.
    package var seenStore: SeenStore? { log?.seenStore }

    /// The key with which the store was opened; nil if it is not encrypted.
    package var encryptionKey: EncryptionKey? { log?.options.encryptionKey }

    /// Opens a store at its last durable version. Creates the store if it does not exist.
    package convenience init(
        _ options: StoreOptions, storage: any Storage, clock: any Clock = SystemClock.shared,
        randomness: any Randomness = SystemRandomness.shared
    ) throws(StoreError) {
        let limit = try options.versionLimit()
        var log: Log?
        if var logOptions = options.log {
            // A block of a changeset is never split further, and may be this long.
            logOptions.partByteCount = max(logOptions.partByteCount, Limits.partByteCount)
            logOptions.endsWithCheckpoint = options.compaction.isAutomatic
            log = try logged(Log.open(logOptions, storage: storage, clock: clock, randomness: randomness))
        }
        var heap = NodeHeap()
        // With a key nothing is mapped to a scratch file: the system writes such a file out whenever it likes.
        if let log, let logOptions = options.log, logOptions.access != .readOnly, !log.isEncrypted {
            let scratchFolder = ScratchFolder(log.storageFolder, threshold: options.transactionMemoryByteCount)
            do throws(StorageError) {
                // If others have the store open, this could remove files that they are just making.
                if log.isAlone { try scratchFolder.removeLeftovers() }
            } catch {
                throw StoreError(lasting: error)
            }
            heap = NodeHeap(SpillHeap(scratchFolder, holdsAllNodes: options.activeVersionPolicy == .spill))
        }
        let fileReferences = CheckpointFileReferences()
        let reading = options.makeCheckpointReading()
        var start: CheckpointBase?
        if let log, let checkpoint = log.checkpoint {
            start = try CheckpointBase(
                checkpoint: checkpoint, log: log, reading: reading, fileReferences: fileReferences)
        }
        self.init(
            log: log, options, limit, isReadOnly: options.log?.access == .readOnly, heap: heap, clock: clock,
            start: start, fileReferences: fileReferences, reading: reading)
        reference.begin(self)
        retain(options.historyRetention)
        guard let log else { return }
        try replay(log)
        // This checks what checksums can't show: whether Firn could have written the store at all.
        if options.log?.verify == .everything { try verify() }
        log.finishOpening()
        reportHeld(to: log)
        if !isReadOnly, options.log?.usesThreads ?? false {
            let follower = StoreFollower(reference, log.publishWaiter)
            do throws(StorageError) { try follower.start() } catch {
                throw StoreError(lasting: error)
            }
            self.follower = follower
        }
        reportClockChange()
    }

    deinit {
        if isForked { return }
        reference.end()
        follower?.stop(waits: false)
    }

    /// Makes a store in memory that begins with what a checkpoint of a log holds, under the number before the
    /// checkpoint's (see `HistoryBase.open`). It does not write to that log.
    convenience init(
        past checkpoint: Checkpoint, of log: Log, _ reading: CheckpointReading,
        _ fileReferences: CheckpointFileReferences
    ) throws(StoreError) {
        // Once its files are counted, compactions leave them as they are. But a compaction that released this
        // checkpoint earlier may already have punched holes in them.
        let files = checkpoint.files.map(\.id)
        fileReferences.retain(files)
        defer { fileReferences.release(files) }
        let isListed = try logged(log.checkpointsInForce.contains(checkpoint))
        guard isListed else {
            throw StoreError(
                .versionNotRetained, "the checkpoint of version \(checkpoint.version) has just been released")
        }
        let start = try CheckpointBase(
            checkpoint: checkpoint, log: log, reading: reading, fileReferences: fileReferences)
        self.init(
            log: nil, StoreOptions(log: nil), VersionLimit(), isReadOnly: false,
            heap: NodeHeap(), clock: ManualClock(now: checkpoint.time), start: start,
            startVersion: max(checkpoint.version, 1) - 1, fileReferences: fileReferences, reading: reading)
    }

    private init(
        log: Log?, _ options: StoreOptions, _ limit: VersionLimit, isReadOnly: Bool, heap: NodeHeap,
        clock: any Clock, start: CheckpointBase?, startVersion: UInt64? = nil,
        fileReferences: CheckpointFileReferences, reading: CheckpointReading
    ) {
        self.log = log
        self.options = options
        self.limit = limit
        policy = options.activeVersionPolicy
        self.heap = heap
        let usesThreads = options.log?.usesThreads ?? false
        spiller = heap.spill.flatMap {
            $0.holdsAllNodes ? VersionSpiller($0, usesThread: usesThreads, options.duringSpill) : nil
        }
        self.clock = clock
        self.isReadOnly = isReadOnly
        self.fileReferences = fileReferences
        checkpointReading = reading
        compaction = CompactionState(from: start, blockByteCount: log?.holeByteCount ?? FileRange.blockByteCount)
        if let start {
            context = TransactionContext(
                heap, log, stamp: start.state.stamp, checkpointGarbage: start.state.garbage,
                streamedByteCount: options.streamedByteCount, onDamage: options.onDamage)
            versions = VersionTable(
                root: start.mapping.ref(to: start.state.root).node, stamp: start.state.stamp,
                version: startVersion ?? start.checkpoint.version, time: start.checkpoint.time,
                resolvedSchema: ResolvedSchema(start.state.schema), mapping: start.mapping, heap: heap)
            return
        }
        let writer = NodeWriter(stamp: 1)
        if let spill = heap.spill { writer.spill(to: spill, heapByteCount: 0) }
        let root = RootNode.make(tables: 0, writer)
        heap.account(nodes: 1, bytes: root.node.byteCount)
        writer.dispose().deallocate()
        context = TransactionContext(
            heap, log, stamp: 1, checkpointGarbage: 0, streamedByteCount: options.streamedByteCount,
            onDamage: options.onDamage)
        versions = VersionTable(
            root: root.node, stamp: 1, version: 0, time: clock.now(), resolvedSchema: ResolvedSchema(StoreSchema()),
            mapping: nil, heap: heap)
    }

    // MARK: Versions

    /// Pins the newest published version. O(1).
    package func pin(file: StaticString = #fileID, line: UInt = #line) -> Pin {
        pin(at: CallSite(file, line))
    }

    package func pin(at callSite: CallSite) -> Pin {
        if isForked { stopInForkedChild("a store") }
        return versions.pinPublished(at: callSite)
    }

    /// Pins the newest published version in place of the version that `own` pins. If the caller has the only reference
    /// to that pin, moves it, which allocates nothing.
    package func pin(replacing own: inout Pin?, at callSite: CallSite) -> Pin {
        if isForked { stopInForkedChild("a store") }
        let own = OwnPin(&own)
        guard own.isOnlyReference, let pin = own.pin else { return versions.pinPublished(at: callSite) }
        versions.moveToPublished(pin, at: callSite)
        return pin
    }

    /// The number of the newest published version.
    package var publishedVersion: UInt64 { versions.publishedVersion }

    /// The schema of the newest version.
    package var schema: StoreSchema { versions.tip.resolvedSchema.schema }

    /// Waits until pins show the newest schema. If they do already, costs taking the version table's lock twice.
    ///
    /// - Throws: if the version that introduced it could not be published.
    package func waitUntilSchemaIsPublished() throws(StoreError) {
        let tip = versions.tip
        if versions.published.resolvedSchema !== tip.resolvedSchema { try waitUntilPublished(tip.version) }
    }

    /// Whether a transaction runs in this process. Another thread may begin or end one at any time.
    package var isBeingWritten: Bool { queue.isHeld }

    /// Whether other writers wait, in this process or in another one.
    package var isWriteAwaited: Bool { queue.hasWaiters || log?.shouldReleaseWriting ?? false }

    /// Every version that something holds, and the newest published one, oldest first.
    package var activeVersions: [ActiveVersion] { versions.active }

    var isClosed: Bool { closed.load(ordering: .acquiring) }

    private let forkMark = ForkMark()

    /// Whether this process was forked off the one that opened the store. Then threads that exist only in the parent
    /// may hold its locks.
    var isForked: Bool { forkMark.isForked }

    func checkOpen() throws(StoreError) {
        // In a store with files, the log reports this.
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
        // A forked child gets this error before it would wait for a lock that a thread of its parent holds.
        try logged(log?.checkWritable())
    }
}

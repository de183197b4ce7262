import CFirn
import FirnCore
import FirnStorage
import Foundation
import Synchronization

/// What all `Realm` values of one store on one thread, queue or actor share: the version that they show, and the
/// running transaction.
///
/// Everything here belongs to that thread, queue or actor; a frozen instance never changes and may be read by any
/// thread. The exceptions say so. It lives as long as a `Realm` value, an accessor, a collection or a notification
/// token of it does.
///
/// It is public only because the requirements of public protocols name it; it has no public members.
public final class _RealmInstance {
    let shared: SharedStore
    let configuration: Realm.Configuration
    /// The thread, queue or actor that it belongs to; nil if it is frozen.
    let scheduler: Scheduler?
    let schema: SchemaBinding
    /// The call that made it: the call site of its pins, if no other call asked for them.
    let openedAt: CallSite
    /// What accessors read. Replaced by `invalidate()`, after which the old accessors keep the old one.
    private(set) var core: UnsafeMutablePointer<firn_realm_core_t>
    /// Cores on which accessors from before an `invalidate()` are counted.
    var deadCores: [UnsafeMutablePointer<firn_realm_core_t>] = []
    /// How often it was invalidated; collections from before are recognised by it.
    private(set) var invalidationCount = 0
    /// The pin of the version shown; nil until the first read.
    @exclusivity(unchecked) private(set) var pin: Pin?
    @exclusivity(unchecked) private(set) var transaction: WriteTransaction?
    /// Holds the instance while accessors live, which hold no reference of their own. See `RealmInstance+Lifetime`.
    var keptAlive: _RealmInstance?
    /// What the caches, the waker and the scheduler's turns know the instance by.
    let reference = WeakReference<_RealmInstance>()
    /// Set when the thread that it belongs to has ended. Atomic: threads that release accessors elsewhere read it.
    let hasEnded = Atomic<Bool>(false)
    /// Whether a turn is scheduled that subtracts what was released on other threads. Atomic: those threads read it.
    let isCountingScheduled = Atomic<Bool>(false)
    /// Whether it is registered to end with its thread.
    var isRegisteredForThreadEnd = false
    private let forkMark = ForkMark()
    let observers = SubscriptionList()
    var autorefresh: Bool
    /// The class that was looked up last, because the same one is looked up again and again.
    private var lastType: ObjectIdentifier?
    /// Tells Swift's Observation framework what is read and what changes; nil until something is tracked.
    var propertyTracker: PropertyTracker?
    // For notifications, see `RealmInstance+Notifying`.
    var waker: RealmWaker?
    var listener: Store.Listener?
    var isDelivering = false
    /// Whether a turn is due again: it fell into a transaction, or found an observer at work.
    @exclusivity(unchecked) var isTurnDue = false
    /// The newest version that realm observers know of.
    @exclusivity(unchecked) var announcedVersion: UInt64 = 0
    /// The frozen instance of the version shown, once it was asked for: it holds what this instance holds.
    @exclusivity(unchecked) var frozenNow: _RealmInstance?
    /// The inserter that `add` uses in the running transaction.
    @exclusivity(unchecked) var inserter: ObjectInserter?
    /// What the realm itself changed, as long as an observer that wants old values has not been called for it.
    @exclusivity(unchecked) var ownChanges: [(version: UInt64, changes: ChangeSummary)] = []
    /// The migration that shows its old or its new objects through this instance; nil for the realms of an
    /// application. Set before anybody sees the instance.
    var migration: MigrationRun?
    /// The asynchronous writes, once there was one.
    var asyncWrites: AsyncWrites?
    /// The realm's newest asynchronous commit, as long as it may not be durable: see `RealmInstance+AsyncWriting`.
    @exclusivity(unchecked) var ahead: Pin?
    /// Whether the running transaction was begun asynchronously: then its end waits for no disk.
    private var beganAsync = false
    /// When the running transaction began, in nanoseconds of the monotonic clock.
    private(set) var enteredAt: Int64 = 0
    private var lastBinding: Unmanaged<TableBinding>?
    /// Where the object was found that was looked up last, because the next one is often in the same leaf.
    var lastLeaf = LastLeaf()
    /// The schema that the classes were last compared with, and the result.
    private var comparedSchema: ResolvedSchema?
    private var writesInPlace = false

    var store: Store { shared.store }
    var isFrozen: Bool { scheduler == nil }
    var isInTransaction: Bool { transaction != nil }

    /// A live instance for `scheduler`, or a frozen one that shows `pin`.
    init(
        shared: SharedStore, configuration: Realm.Configuration, schema: SchemaBinding, scheduler: Scheduler?,
        pin: Pin?, at callSite: CallSite
    ) {
        self.shared = shared
        self.configuration = configuration
        self.schema = schema
        self.scheduler = scheduler
        openedAt = callSite
        self.pin = pin
        autorefresh = scheduler != nil
        core = _RealmInstance.makeCore()
        core.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        core.pointee.generation = 1
        core.pointee.stamp = scheduler == nil ? FIRN_STAMP_FROZEN : FIRN_STAMP_READ_ONLY
        if let scheduler, scheduler.isThread {
            core.pointee.thread = scheduler.isCurrent ? firn_thread_number() : .max
            // The main queue's jobs may run on a thread that does other work after them. From the beginning a release
            // there checks which queue it runs on (see `changeThread`).
            let isShared = if case .main = scheduler.kind { !Thread.isMainThread } else { false }
            core.pointee.counter = isShared ? .max : core.pointee.thread
            core.pointee.mask = .max
        }
        if let pin { core.pointee.root = NodeRef(pin.snapshot.root).word }
        reference.begin(self)
    }

    deinit {
        reference.end()
        scheduler?.forget(reference)
        transaction?.cancel()
        for core in deadCores + [core] { firn_core_free(core) }
    }

    private static func makeCore() -> UnsafeMutablePointer<firn_realm_core_t> {
        keepParentsRealms()
        guard let core = firn_core_make() else { fatalError("Firn: no memory is left for a realm") }
        return core
    }

    /// Makes a forked child keep its parent's realms, which it neither uses nor cleans up. Called each time: a child
    /// that is forked during the first use of a lazy global would wait for it for ever.
    private static func keepParentsRealms() {
        firn_core_set_retain_at_fork { owner in _ = Unmanaged<_RealmInstance>.fromOpaque(owner).retain() }
    }

    /// The instance of a managed row.
    @inline(__always)
    static func of(_ row: _Row) -> _RealmInstance {
        Unmanaged<_RealmInstance>.fromOpaque(row.core.unsafelyUnwrapped.pointee.owner.unsafelyUnwrapped)
            .takeUnretainedValue()
    }

    // MARK: Confinement

    /// Stops the program on the wrong thread, queue or actor.
    @inline(__always)
    func check() {
        if core.pointee.mask != 0 {
            if core.pointee.thread != firn_thread_id() { changeThread() }
        } else if let scheduler {
            scheduler.check()
        }
    }

    /// Moves the realm to the calling thread, if the main queue's jobs have moved there. Stops the program on any
    /// other wrong thread.
    @inline(never)
    private func changeThread() {
        if isForked { stopInForkedChild() }
        // A migration's realm stays on the thread of its block.
        guard migration == nil, case .main? = scheduler?.kind, scheduler?.isCurrent ?? false else {
            stopOnWrongThread()
        }
        // The thread may go on to other work while the main queue's next job runs on another one. What it releases
        // then is not the realm's own work. So from now on a release checks which queue it runs on.
        moveCores(to: firn_thread_number())
    }

    /// Moves the realm to a thread, or with `.max` to none. From then on no thread's number shows that a release is
    /// the realm's own work.
    func moveCores(to thread: UInt64) {
        for core in deadCores + [core] {
            core.pointee.thread = thread
            core.pointee.counter = .max
        }
    }

    /// Whether this process was forked off the one that made the instance.
    var isForked: Bool { forkMark.isForked }

    // MARK: The version shown

    /// The version shown, or the running transaction's state. The first read pins the newest version.
    var snapshot: Snapshot {
        if let transaction { return transaction.snapshot }
        return shownPin.snapshot
    }

    /// The pin of the version shown.
    var shownPin: Pin { pin ?? show(at: openedAt) }

    /// Begins to show the newest version.
    @discardableResult
    func show(at callSite: CallSite) -> Pin {
        let pin = newestPin(at: callSite)
        show(pin)
        // If there are realm observers, the next turn notifies them: the realm was invalidated since they were added.
        if observers.realmObservers.isEmpty { announcedVersion = max(announcedVersion, pin.version) }
        return pin
    }

    /// Shows another version: accessors find their rows again.
    func show(_ pin: Pin?) {
        let snapshot = pin?.snapshot
        if let snapshot { compare(snapshot.resolvedSchema) }
        self.pin = pin
        frozenNow = nil
        core.pointee.root = snapshot.map { NodeRef($0.root).word } ?? 0
        core.pointee.generation &+= 1
        if core.pointee.released != 0 { subtractReleases() }
    }

    /// A pin of the newest version that the realm may show: the newest published one, or its own later commit.
    func newestPin(at callSite: CallSite) -> Pin {
        unpublished?.again(at: callSite) ?? store.pin(at: callSite)
    }

    /// Shows the newest version that the realm may show. If nothing but the realm holds what it shows, and no commit of
    /// its own is on its way, this allocates nothing.
    func showNewest(at callSite: CallSite) {
        frozenNow = nil
        show(ahead == nil ? store.pin(replacing: &pin, at: callSite) : newestPin(at: callSite))
    }

    /// Runs `body`, which calls an observer for a version older than the one shown. Meanwhile the realm shows that
    /// version, so that the observer's indices are those of what it reads.
    func showing(_ older: Pin, _ body: () -> Void) {
        guard let shown = pin, shown.version > older.version, !isInTransaction else { return body() }
        show(older)
        body()
        // The block may have written, or invalidated the realm. Or it has waited for the realm's own commit, which was
        // shown, and the disk has failed.
        let exists = ahead != nil || shown.version <= store.publishedVersion
        if exists, !isInTransaction, let pin, pin.version < shown.version { show(shown) }
    }

    /// Checks whether the realm's classes can show a version with a schema, which another opener of the store may
    /// have changed.
    @inline(__always)
    private func compare(_ resolvedSchema: ResolvedSchema) {
        if resolvedSchema !== comparedSchema { compareClasses(resolvedSchema) }
    }

    @inline(never)
    private func compareClasses(_ resolvedSchema: ResolvedSchema) {
        let (fit, table) = schema.fit(resolvedSchema.schema)
        if fit == .none {
            fatalError(
                "Firn: the store was migrated while a realm was open whose class \(table?.info.name ?? "") can't show it any more. Release all realms and objects of the store before it is opened with a higher schemaVersion."
            )
        }
        writesInPlace = fit == .inPlace
        comparedSchema = resolvedSchema
    }

    /// A class's table in the version shown; nil if that version is older than the class.
    func table(_ binding: TableBinding) -> TableView? {
        let snapshot = snapshot
        guard binding.table.index < snapshot.resolvedSchema.schema.tables.count else { return nil }
        return snapshot.table(binding.table)
    }

    /// A pin of exactly what is shown, uncommitted changes included: for iterating while writing.
    func pinShown() -> Pin {
        if let transaction { return transaction.pinSnapshot() }
        return shownPin
    }

    /// The table binding of a class. Stops the program if the realm does not have the class.
    @inline(__always)
    func binding(of type: ObjectBase.Type) -> TableBinding {
        uncountedBinding(of: type).takeUnretainedValue()
    }

    /// The same without counting a reference, which lives as long as the realm. The realms of several threads share
    /// their bindings, so that threads that counted at each look-up would wait for each other.
    @inline(__always)
    func uncountedBinding(of type: ObjectBase.Type) -> Unmanaged<TableBinding> {
        if lastType == ObjectIdentifier(type), let lastBinding { return lastBinding }
        return .passUnretained(findBinding(type))
    }

    @inline(never)
    private func findBinding(_ type: ObjectBase.Type) -> TableBinding {
        guard let binding = schema.table(of: type) else {
            fatalError(
                "Firn: the realm has no class \(type.className()). Add it to Configuration.objectTypes, or register it with Realm.register before opening."
            )
        }
        // Many threads read frozen instances, so these remember nothing.
        if !isFrozen {
            lastType = ObjectIdentifier(type)
            lastBinding = .passUnretained(binding)
        }
        return binding
    }

    /// The binding of a class that another realm of the store has bound. Stops the program if this realm does not have
    /// the class.
    func binding(like other: TableBinding) -> TableBinding {
        schema.table(other.table) === other ? other : binding(of: other.info.type)
    }

    // MARK: Transactions

    /// Begins a transaction, and shows its state.
    func enter(at callSite: CallSite) throws(StoreError) {
        enter(try store.beginWrite(replacing: OwnPin(&pin), at: callSite), async: false)
    }

    /// Shows the state of a transaction that has begun.
    func enter(_ transaction: WriteTransaction, async: Bool = true) {
        self.transaction = transaction
        beganAsync = async
        enteredAt = SystemClock.shared.monotonic()
        pin = transaction.base
        frozenNow = nil
        compare(transaction.resolvedSchema)
        transaction.attach(core, writesInPlace: writesInPlace)
        core.pointee.generation &+= 1
    }

    /// Commits the running transaction. Returns also the version that it began from, if there is an observer. Without
    /// one, only the realm holds that version from then on.
    func commitTransaction(pins: Bool) throws(StoreError) -> (CommittedVersion, base: Pin?) {
        guard let transaction else { preconditionFailure("Firn: there is no transaction to commit") }
        let base = observers.hasNone ? nil : transaction.base
        return (try transaction.commit(pins: pins), base)
    }

    /// Ends a transaction that made no version of its own, and shows the newest version, which is never older than
    /// the one that the transaction began from, unless it began asynchronously.
    func leaveTransaction(base: UInt64) {
        if !beganAsync { waitUntilPublished(base) }
        leaveTransaction()
        propertyTracker?.undone()
    }

    /// Waits until a version is published, or can't be.
    private func waitUntilPublished(_ version: UInt64) {
        guard store.publishedVersion < version else { return }
        // Another thread's commit is on its way to the disk. If it fails, its version never existed, and the realm
        // returns to what is published.
        ignoringError { () throws(StoreError) in try store.waitUntilPublished(version) }
    }

    /// Undoes the running transaction, if there is one, without showing anything else instead. Returns the version
    /// that it began from.
    func abandonTransaction() -> UInt64? {
        guard let transaction else { return nil }
        let base = transaction.base.version
        inserter = nil
        self.transaction = nil
        transaction.cancel()
        return base
    }

    /// Stops showing the running transaction's state. The transaction goes on.
    func releaseTransaction() {
        inserter = nil
        transaction?.detachAccessors()
        transaction = nil
    }

    /// Ends the transaction, and shows the newest version.
    func leaveTransaction() {
        let callSite = pin?.callSite ?? openedAt
        inserter = nil
        transaction = nil
        core.pointee.stamp = FIRN_STAMP_READ_ONLY
        showNewest(at: callSite)
        // An observer that was made in a transaction which began asynchronously knows its base.
        if beganAsync, let pin { announcedVersion = min(announcedVersion, pin.version) }
        wakeIfDue()
        asyncWrites?.askForLock()
    }

    /// The running transaction. Stops the program if there is none.
    func writing(_ what: @autoclosure () -> String) -> WriteTransaction {
        check()
        guard let transaction else { stopOutsideOfWrite(what()) }
        return transaction
    }

    @inline(never)
    private func stopOutsideOfWrite(_ what: String) -> Never {
        if isFrozen { fatalError("Firn: can't \(what): it is frozen. Thaw it and write to the live one.") }
        if configuration.readOnly {
            fatalError("Firn: can't \(what): the realm was opened read-only. Open it for writing.")
        }
        fatalError(
            "Firn: can't \(what) outside of a write transaction. Do it within realm.write { } or after beginWrite().")
    }

    /// Releases the version shown; accessors made so far stay invalid, and results empty.
    func invalidate() {
        check()
        stopIfMigrating("invalidate a realm")
        // The next read must not show less than what the transaction began from.
        let base = abandonTransaction()
        if let base { waitUntilPublished(base) }
        let old = core
        core = _RealmInstance.makeCore()
        core.pointee.owner = old.pointee.owner
        core.pointee.generation = old.pointee.generation &+ 1
        core.pointee.thread = old.pointee.thread
        core.pointee.counter = old.pointee.counter
        core.pointee.mask = old.pointee.mask
        core.pointee.stamp = FIRN_STAMP_READ_ONLY
        deadCores.append(old)
        invalidationCount += 1
        old.pointee.root = 0
        old.pointee.stamp = FIRN_STAMP_READ_ONLY
        old.pointee.generation &+= 1
        show(nil)
        subtractReleases()
        // Observers continue from the version that they know.
        if !observers.isEmpty { isTurnDue = true }
        wakeIfDue()
        asyncWrites?.askForLock()
        if base != nil { propertyTracker?.undone() }
    }
}

import CFirn
import FirnCore
import FirnStorage
import Synchronization

/// What all `Realm` values of one store on one thread, queue or actor share: the version that they show, and the running transaction.
///
/// Everything here belongs to that thread, queue or actor; a frozen one never changes and may be read by any thread. The exceptions are named where they stand.
/// It lives as long as a `Realm` value, an accessor, a collection or a notification token of it does.
public final class RealmInstance {
    let shared: SharedStore
    let configuration: Realm.Configuration
    /// Where it belongs; nil when frozen.
    let scheduler: Scheduler?
    let schema: SchemaBinding
    /// The call that made it: what its pins show where no other call asked for them.
    let openedAt: CallPlace
    /// What accessors read. Replaced by `invalidate()`, which leaves the old accessors with the old one.
    private(set) var core: UnsafeMutablePointer<firn_realm_core_t>
    /// Cores that accessors from before an `invalidate()` count on.
    private var deadCores: [UnsafeMutablePointer<firn_realm_core_t>] = []
    /// The version shown; nil until the first read.
    private(set) var pin: Pin?
    private(set) var transaction: WriteTransaction?
    /// Holds the instance while accessors live: they hold no reference of their own.
    private var keptAlive: RealmInstance?
    /// Accessors that went on another thread. Atomic: they can't be counted off there.
    private let foreignReleases = Atomic<Int>(0)
    let observers = ObserverList()
    var autorefresh: Bool
    /// The class asked for last, as the same one is asked for again and again.
    private var lastType: ObjectIdentifier?
    // Notifying, see `RealmInstance+Notifying`.
    var waker: RealmWaker?
    var listener: Store.Listener?
    var isDelivering = false
    /// The frozen instance of the version shown, once it was asked for: it holds what this one holds.
    var frozenNow: RealmInstance?
    /// What `add` works with in the running transaction.
    var adding: Creation?
    /// What the realm itself changed, while an observer that wants old values has not been told.
    var ownNotes: [(version: UInt64, notes: ChangeNotes)] = []
    private unowned(unsafe) var lastBinding: TableBinding?

    var store: Store { shared.store }
    var isFrozen: Bool { scheduler == nil }
    var isInTransaction: Bool { transaction != nil }

    /// A live instance for `scheduler`, or a frozen one that shows `pin`.
    init(
        _ shared: SharedStore, _ configuration: Realm.Configuration, _ schema: SchemaBinding, scheduler: Scheduler?,
        pin: Pin?, at place: CallPlace
    ) {
        self.shared = shared
        self.configuration = configuration
        self.schema = schema
        self.scheduler = scheduler
        openedAt = place
        self.pin = pin
        autorefresh = scheduler != nil
        core = .allocate(capacity: 1)
        core.initialize(to: firn_realm_core_t())
        core.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        core.pointee.generation = 1
        // No node bears 0, nor the largest number: so nothing is written in place outside of a transaction.
        core.pointee.stamp = scheduler == nil ? 0 : .max
        if let scheduler, scheduler.isThread {
            core.pointee.thread = scheduler.isCurrent ? UInt(firn_thread_id()) : 0
            core.pointee.mask = .max
        }
        if let pin { core.pointee.root = NodeRef(pin.snapshot.root).word }
    }

    deinit {
        transaction?.cancel()
        for core in deadCores + [core] { core.deallocate() }
    }

    @inline(__always)
    static func of(_ row: _Row) -> RealmInstance {
        Unmanaged<RealmInstance>.fromOpaque(row.core.unsafelyUnwrapped.pointee.owner.unsafelyUnwrapped)
            .takeUnretainedValue()
    }

    // MARK: Confinement

    /// Stops the program where this is the wrong thread, queue or actor.
    @inline(__always)
    func check() {
        if core.pointee.mask != 0 {
            if core.pointee.thread != UInt(firn_thread_id()) { changeThread() }
        } else if let scheduler {
            scheduler.check()
        }
    }

    /// The main queue's jobs may have gone over to another thread, and the realm with them. Stops the program on any other wrong thread.
    @inline(never)
    private func changeThread() {
        guard case .main? = scheduler?.kind, scheduler?.isCurrent ?? false else { stopOnWrongThread() }
        for core in deadCores + [core] { core.pointee.thread = UInt(firn_thread_id()) }
    }

    // MARK: The version shown

    /// The version shown, or the running transaction's state. The first read pins the newest version.
    var snapshot: Snapshot {
        if let transaction { return transaction.snapshot }
        return shownPin.snapshot
    }

    /// The pin of the version shown.
    var shownPin: Pin {
        if let pin { return pin }
        let pin = store.pin(at: openedAt)
        show(pin)
        return pin
    }

    /// Shows another version: accessors find themselves again.
    func show(_ pin: Pin?) {
        self.pin = pin
        frozenNow = nil
        core.pointee.root = pin.map { NodeRef($0.snapshot.root).word } ?? 0
        core.pointee.generation &+= 1
        if foreignReleases.load(ordering: .relaxed) != 0 { countForeignReleases() }
    }

    /// A class's table in what is shown; nil where the version is older than the class.
    func table(_ binding: TableBinding) -> TableView? {
        let snapshot = snapshot
        guard binding.table.index < snapshot.reference.schema.tables.count else { return nil }
        return snapshot.table(binding.table)
    }

    /// A pin of exactly what is shown, uncommitted changes included: for iterating while writing.
    func pinShown() -> Pin {
        if let transaction { return transaction.pinState() }
        return shownPin
    }

    /// Where a class's objects lie. Stops the program where the realm has no such class.
    @inline(__always)
    func binding(of type: ObjectBase.Type) -> TableBinding {
        if lastType == ObjectIdentifier(type), let lastBinding { return lastBinding }
        return findBinding(type)
    }

    @inline(never)
    private func findBinding(_ type: ObjectBase.Type) -> TableBinding {
        guard let binding = schema.table(of: type) else {
            fatalError(
                "Firn: the realm has no class \(type.className()). Add it to Configuration.objectTypes, or register it with Realm.register before opening."
            )
        }
        // Frozen instances are read by many threads, so they remember nothing.
        if !isFrozen {
            lastType = ObjectIdentifier(type)
            lastBinding = binding
        }
        return binding
    }

    // MARK: Transactions

    func enter(_ transaction: WriteTransaction) {
        self.transaction = transaction
        pin = transaction.base
        frozenNow = nil
        transaction.core = core
        core.pointee.generation &+= 1
    }

    /// The transaction has ended; shows the newest version.
    func leaveTransaction() {
        let place = pin?.place ?? openedAt
        adding = nil
        transaction = nil
        core.pointee.stamp = .max
        show(store.pin(at: place))
    }

    /// The running transaction. Stops the program where there is none.
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

    /// Drops the version shown; accessors made so far are invalid for good.
    func invalidate() {
        check()
        if let transaction {
            adding = nil
            self.transaction = nil
            transaction.cancel()
        }
        let old = core
        deadCores.append(old)
        core = .allocate(capacity: 1)
        core.initialize(to: old.pointee)
        core.pointee.accessors = 0
        core.pointee.stamp = .max
        old.pointee.root = 0
        old.pointee.stamp = .max
        old.pointee.generation &+= 1
        show(nil)
    }

    // MARK: Accessors alive

    @inline(__always)
    func retainAccessor(_ row: _Row) {
        let core = row.core.unsafelyUnwrapped
        guard core.pointee.mask != 0 else {
            _ = Unmanaged.passUnretained(self).retain()
            return
        }
        core.pointee.accessors &+= 1
        if core.pointee.accessors == 1 { keptAlive = self }
    }

    /// The last accessor that counted on a core has gone.
    fileprivate func lastAccessorWent() {
        var total = core.pointee.accessors
        for core in deadCores { total += core.pointee.accessors }
        guard total == 0 else { return }
        for core in deadCores { core.deallocate() }
        deadCores = []
        // The last use of `self`: this may be the last reference.
        keptAlive = nil
    }

    fileprivate func releaseFromElsewhere() {
        // The count belongs to the owning thread, which is told once for all that gather until it is there.
        guard foreignReleases.wrappingAdd(1, ordering: .releasing).oldValue == 0 else { return }
        nonisolated(unsafe) let instance = self
        scheduler?.schedule { instance.countForeignReleases() }
    }

    fileprivate func countForeignReleases() {
        let gone = foreignReleases.exchange(0, ordering: .acquiring)
        guard gone > 0 else { return }
        core.pointee.accessors &-= Int64(gone)
        if core.pointee.accessors <= 0 { lastAccessorWent() }
    }
}

/// Counts an accessor or collection off its core.
func releaseAccessor(_ core: UnsafeMutablePointer<firn_realm_core_t>) {
    guard let owner = core.pointee.owner else { return }
    let instance = Unmanaged<RealmInstance>.fromOpaque(owner)
    if core.pointee.mask == 0 {
        instance.release()
    } else if core.pointee.thread == UInt(firn_thread_id()) {
        core.pointee.accessors &-= 1
        if core.pointee.accessors == 0 { instance.takeUnretainedValue().lastAccessorWent() }
    } else {
        instance.takeUnretainedValue().releaseFromElsewhere()
    }
}

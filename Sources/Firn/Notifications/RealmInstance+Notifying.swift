import FirnCore
import FirnStorage
import Synchronization

/// Wakes a realm when a version is published, on whatever thread that happens.
final class RealmWaker: @unchecked Sendable {
    // Unchecked because of the instance, which is only touched on its own scheduler.
    private weak var instance: RealmInstance?
    private let scheduler: Scheduler
    // Atomic: one turn serves all versions published before it.
    private let isScheduled = Atomic<Bool>(false)

    init(_ instance: RealmInstance, _ scheduler: Scheduler) {
        self.instance = instance
        self.scheduler = scheduler
    }

    func wake() {
        guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        scheduler.schedule { [self] in
            isScheduled.store(false, ordering: .releasing)
            instance?.turn()
        }
    }
}

extension RealmInstance {
    /// From now on the realm is woken when a version is published.
    func startListening() {
        guard waker == nil, let scheduler, !configuration.readOnly else { return }
        let waker = RealmWaker(self, scheduler)
        self.waker = waker
        listener = store.onPublish { _ in waker.wake() }
    }

    /// A turn of the realm's run loop, queue or actor after something was published.
    func turn() {
        guard !isInTransaction else {
            isTurnDue = true
            return
        }
        // After `invalidate()` nothing is shown, but observers go on.
        if pin == nil, !observers.isEmpty { show(store.pin(at: openedAt)) }
        if autorefresh {
            moveToNewest(at: openedAt)
        } else if let pin, store.publishedVersion > pin.version {
            notifyRealm(.refreshRequired)
        }
        announce()
        deliver(mayBegin: true)
    }

    /// Has a turn that was dropped come again.
    func wakeIfDue() {
        guard isTurnDue else { return }
        isTurnDue = false
        waker?.wake()
    }

    /// Tells realm observers of a version that is shown without their having been told: a transaction that was cancelled has advanced to it.
    private func announce() {
        guard let pin, pin.version > announcedVersion else { return }
        announcedVersion = pin.version
        notifyRealm(.didChange)
    }

    /// Advances, and tells observers what is due. Returns whether there was something newer.
    @discardableResult
    func refresh(at place: CallSite) -> Bool {
        guard !isFrozen, !isInTransaction, !isDelivering else { return false }
        // What other processes have written and can't be shown here is thrown by `tryRefresh()`, and by the next write and opening.
        _ = Result { () throws(StoreError) in try store.catchUp() }
        return advance(at: place)
    }

    /// As `refresh`, but throws where other processes have written what can't be shown here.
    func tryRefresh(at place: CallSite) throws -> Bool {
        guard !isFrozen, !isInTransaction, !isDelivering else { return false }
        try storing { store throws(StoreError) in try store.catchUp() }
        return advance(at: place)
    }

    @discardableResult
    func advance(at place: CallSite) -> Bool {
        let moved = moveToNewest(at: place)
        deliver(mayBegin: false)
        return moved
    }

    @discardableResult
    private func moveToNewest(at place: CallSite) -> Bool {
        // A realm that has read nothing yet has nothing to advance; its first read takes the newest.
        guard let pin, store.publishedVersion > pin.version else {
            moveToEqual()
            return false
        }
        show(store.pin(at: place))
        announce()
        return true
    }

    /// After a compaction: the same version on the new tree, so that the old one is free. Nobody sees a difference.
    func moveToEqual() {
        guard !isFrozen, !isInTransaction, let pin, store.isSuperseded(pin) else { return }
        let equal = store.pin(at: pin.place)
        guard equal.version == pin.version else { return }
        show(equal)
        for observation in observers.active { observation.moveToEqual(equal) }
    }

    /// Tells each observer what it does not know yet.
    private func deliver(mayBegin: Bool) {
        delivering {
            for observation in observers.active {
                // A block may have begun a write; the others are told when it has ended.
                if isInTransaction {
                    isTurnDue = true
                    break
                }
                observation.deliver(mayBegin: mayBegin)
            }
        }
        if ownNotes.isEmpty { return }
        let oldest = observers.active.filter(\.wantsOldValues).map(\.last.version).min() ?? .max
        ownNotes.removeAll { $0.version <= oldest }
    }

    /// Runs what calls blocks that are told of changes: `refresh` does nothing in them.
    private func delivering(_ body: () -> Void) {
        let wasDelivering = isDelivering
        isDelivering = true
        defer { isDelivering = wasDelivering }
        body()
    }

    private func notifyRealm(_ notification: Realm.Notification, skipping tokens: [NotificationToken] = []) {
        func call() {
            for observation in observers.realmObservers
            where observation.isActive && !tokens.contains(where: { $0.observer === observation }) {
                LockRank.expectNone("an observer is called")
                observation.block(notification, Realm(self))
            }
        }
        switch notification {
        case .didChange: delivering(call)
        // Whoever is told that a refresh is required may refresh at once.
        case .refreshRequired: call()
        }
    }

    /// The realm's own transaction is published: realm observers are told at once, the others at the next turn.
    func committedOwn(_ committed: CommittedVersion, from base: Pin, skipping tokens: [NotificationToken]) {
        guard let pin else { return }
        // The version shown may be a later one of another writer, which was published at the same time. Otherwise its
        // pin is preferred, as it may lie on the newer tree of a compaction.
        if let own = pin.version == committed.number ? pin : committed.pin {
            if let observer = observers.active.first(where: \.wantsOldValues) {
                ownNotes.append((own.version, observer.claim.changes(from: base, to: own)))
            }
            // What another writer had written before, published or not, is not the transaction's to hide.
            delivering { for token in tokens { (token.observer as? DataSubscription)?.hide(own, from: base) } }
        }
        // A realm observer is told that there is something, not what: it can't be told of another writer's part alone.
        let hasOthers = base.version > announcedVersion || pin.version > committed.number
        // Who has published it may be another thread, which has yet to wake this realm. What the caller does next on its
        // run loop or queue must find the observers told.
        waker?.wake()
        announcedVersion = max(announcedVersion, pin.version)
        notifyRealm(.didChange, skipping: hasOthers ? [] : tokens)
    }

    /// Whether the realm itself made a change to a property after a version, up to another.
    func isOwnChange(
        _ table: TableID, _ key: Int64, _ column: Int, after version: UInt64, through last: UInt64
    ) -> Bool {
        ownNotes.contains {
            $0.version > version && $0.version <= last
                && ($0.notes.tables[table]?.modified[key]?.contains(column) ?? false)
        }
    }

    /// The version that a new observer begins from. Stops the program where nothing can be observed.
    func pinForObserving(at place: CallSite) -> Pin {
        check()
        if isFrozen { fatalError("Firn: what is frozen never changes, so it can't be observed. Observe the live one.") }
        if configuration.readOnly {
            fatalError("Firn: a realm that was opened read-only never changes, so nothing of it can be observed.")
        }
        if let transaction {
            guard !transaction.hasChanges else {
                fatalError(
                    "Firn: an observer can't be added in a write transaction that has changed something. Add it before, or after the commit."
                )
            }
            return transaction.base.again(at: place)
        }
        return shownPin.again(at: place)
    }

    /// Where a new observer begins. From now on the notes of what is written are kept for it. Stops the program as `pinForObserving` does.
    func startObserving(at place: CallSite) -> SubscriptionStart {
        let pin = pinForObserving(at: place)
        return SubscriptionStart(pin: pin, claim: store.makeChangeCursor(after: pin.version))
    }

    /// Stops the program where blocks could never be called.
    func checkDelivery() {
        guard let scheduler, scheduler.canDeliver else {
            fatalError(
                "Firn: this thread has no running run loop, so an observer's block could never be called. Pass a queue to observe(on:), or observe on the main thread."
            )
        }
    }

    /// Runs `body` with this store's instance on a queue, there, for an observer that was made here.
    func onQueue(_ queue: Scheduler, from start: SubscriptionStart, _ body: @escaping (RealmInstance) -> Void) {
        nonisolated(unsafe) let body = body
        let shared = shared
        let schema = schema
        nonisolated(unsafe) let configuration = configuration
        queue.schedule {
            shared.beginObserving(configuration, schema, queue, from: start, body)
        }
    }

    /// An observer that was made in another realm begins in this one. If this one shows something older than what was
    /// seen there, it advances, as it may not do so by itself.
    func reach(_ start: SubscriptionStart) {
        if let pin, pin.version < start.pin.version, !isInTransaction { advance(at: openedAt) }
    }

    /// Enters an observation and has it told at the next turn.
    func add(_ observation: DataSubscription, _ token: NotificationToken) {
        guard token.keep(observation) else { return }
        observers.add(observation, token)
        // A queue's or actor's realm may have been opened for the observer alone; it goes on from where that begins. An
        // observer that was made in a transaction may begin from a version that is not published yet, which no other
        // realm shows.
        if pin == nil {
            let last = observation.last
            show(last.version > store.publishedVersion ? store.pin(at: last.place) : last.again(at: last.place))
        }
        waker?.wake()
    }
}

extension Realm {
    /// Calls `block` whenever the realm shows newer data: at once when it commits a write, and when it advances.
    ///
    /// - Returns: a token to be held as long as the block shall be called.
    public func observe(
        _ block: @escaping (_ notification: Notification, _ realm: Realm) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) -> NotificationToken {
        // It holds no version: it is told that there is one, not what changed. But the realm must show one, or it would have nothing to advance from.
        let pin = instance.pinForObserving(at: CallSite(file, line))
        if instance.observers.realmObservers.isEmpty {
            instance.announcedVersion = max(instance.announcedVersion, pin.version)
        }
        let token = NotificationToken()
        let observation = RealmSubscription(instance, block)
        guard token.keep(observation) else { return token }
        instance.observers.add(observation, token)
        return token
    }
}

extension SharedStore {
    /// Gives `body` the realm of a scheduler that the caller is on, for an observer that was made in another realm.
    ///
    /// Does nothing if the store was migrated meanwhile: what was to be observed has gone then.
    func beginObserving(
        _ configuration: Realm.Configuration, _ schema: SchemaBinding, _ scheduler: Scheduler,
        from start: SubscriptionStart, _ body: (RealmInstance) -> Void
    ) {
        guard let instance = instanceIfUsable(configuration, schema, scheduler, at: start.pin.place) else { return }
        instance.startListening()
        instance.reach(start)
        body(instance)
    }
}

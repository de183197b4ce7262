import FirnCore
import FirnStorage

extension _RealmInstance {
    /// Makes the store wake the realm whenever a version is published.
    func startListening() {
        guard let scheduler, !configuration.readOnly else { return }
        observers.startListening(to: store) { RealmWaker(self, scheduler) }
    }

    /// A turn of the realm's run loop, queue or actor after something was published.
    func turn() {
        guard !isInTransaction else {
            observers.isTurnDue = true
            return
        }
        showForObservers(at: openedAt)
        if autorefresh {
            moveToNewest(at: openedAt)
        } else if let pin, store.publishedVersion > pin.version {
            notifyRealm(.refreshRequired)
        }
        showingPublished {
            announce()
            deliver(mayBegin: true)
        }
    }

    /// Notifies realm observers of the version shown, if they have not been notified of it: cancelling a transaction
    /// may have advanced the realm.
    private func announce() {
        guard let pin, pin.version > observers.announcedVersion, !isAhead else { return }
        observers.noteAnnounced(pin.version)
        notifyRealm(.didChange)
    }

    /// Advances, and shows observers what is due. Returns whether there was something newer.
    @discardableResult
    func refresh(at site: CallSite) -> Bool {
        guard mayRefresh else { return false }
        // Changes of other processes that can't be shown here are ignored. `tryRefresh()`, the next write and the next
        // opening throw an error for them.
        ignoringError { () throws(StoreError) in try store.catchUp() }
        return beginOrAdvance(at: site)
    }

    /// Whether a refresh does anything.
    var mayRefresh: Bool { !isFrozen && !isInTransaction && !observers.isDelivering }

    /// Does what `refresh` does, but throws if other processes have written something that can't be shown here.
    func tryRefresh(at site: CallSite) throws -> Bool {
        guard mayRefresh else { return false }
        try withStore { store throws(StoreError) in try store.catchUp() }
        return beginOrAdvance(at: site)
    }

    /// Advances. If the realm has read nothing yet, it shows the version that is newest now. The caller expects this
    /// version, and not the one that is newest at the realm's first read.
    func beginOrAdvance(at site: CallSite) -> Bool {
        guard pin == nil else { return advance(at: site) }
        show(at: site)
        showingPublished {
            // There are observers if the realm was invalidated since it last read something.
            announce()
            deliver(mayBegin: false)
        }
        return true
    }

    /// Advances a realm that shows something, and shows observers what is due.
    ///
    /// - Parameter mayBegin: whether observers that have shown nothing yet make their first call.
    @discardableResult
    func advance(at site: CallSite, mayBegin: Bool = false) -> Bool {
        let moved = moveToNewest(at: site)
        showingPublished { deliver(mayBegin: mayBegin) }
        return moved
    }

    /// Shows observers what is due, first calls included, because the realm begins a write. A first call after the
    /// write would include its changes, and the observer would not learn which they were.
    func showBeforeWrite(at site: CallSite) {
        showForObservers(at: site)
        advance(at: site, mayBegin: true)
        if observers.hasNone { return }
        // A block may have added an observer, whose first call is due as well. Blocks may go on adding observers
        // without end, so after 16 rounds the others wait for the next turn.
        for _ in 0..<16 {
            guard !isInTransaction, !isAhead, observers.active.contains(where: \.awaitsFirstCall) else { break }
            showingPublished { deliver(mayBegin: true) }
        }
    }

    /// Shows the newest version if the realm shows none, as after `invalidate()`, and has observers, which continue.
    private func showForObservers(at site: CallSite) {
        if pin == nil, !observers.isEmpty { show(newestPin(at: site)) }
    }

    @discardableResult
    private func moveToNewest(at site: CallSite) -> Bool {
        // A realm that has read nothing yet has nothing to advance from. Its first read shows the newest version. Only
        // the number is kept, since a second reference to the pin would prevent it from being moved.
        guard let shown = pin?.version, store.publishedVersion > shown else {
            moveToEqual()
            return false
        }
        showNewest(at: site)
        announce()
        return true
    }

    /// After a compaction, shows the same version on the new tree, so that the old tree can be freed. The application
    /// sees no difference.
    func moveToEqual() {
        guard !isFrozen, !isInTransaction, let pin, store.isSuperseded(pin) else { return }
        let equal = store.pin(at: pin.callSite)
        guard equal.version == pin.version else { return }
        show(equal)
        for subscription in observers.active { subscription.moveToEqual(equal) }
    }

    /// Shows each observer what it has not been shown yet.
    private func deliver(mayBegin: Bool) {
        if observers.hasNone, !observers.hasOwnChanges { return }
        observers.delivering {
            for subscription in observers.active {
                // A block may have begun a write. The other observers are called when that write has ended. If the
                // write was committed asynchronously, they are called at the turn after it is published.
                if isInTransaction || isAhead {
                    observers.isTurnDue = observers.isTurnDue || isInTransaction
                    break
                }
                subscription.deliver(mayBegin: mayBegin)
            }
        }
        observers.forgetShownOwnChanges()
    }

    private func notifyRealm(_ notification: Realm.Notification, skipping tokens: [NotificationToken] = []) {
        if observers.hasNone { return }
        func call() {
            for subscription in observers.realmObservers
            where subscription.isActive && !tokens.contains(where: { $0.observer === subscription }) {
                LockRank.expectNone("an observer is called")
                subscription.block(notification, Realm(self))
            }
        }
        switch notification {
        case .didChange: observers.delivering(call)
        // A block that is called because a refresh is required may refresh at once.
        case .refreshRequired: call()
        }
    }

    /// Notifies observers after the realm's own transaction is published: realm observers at once, the others at the
    /// next turn.
    ///
    /// - Parameter base: the version that the transaction began from; nil if there is no observer.
    func committedOwn(_ committed: CommittedVersion, from base: Pin?, skipping tokens: [NotificationToken]) {
        guard let pin else { return }
        guard let base else {
            observers.noteAnnounced(pin.version)
            return
        }
        // The realm may show a later version of another writer, which was published at the same time. Otherwise its
        // own pin is preferred, because it may be on the newer tree of a compaction.
        if let own = pin.version == committed.number ? pin : committed.pin {
            observers.keepOwnChanges(of: own, from: base)
            // Changes that another writer wrote before, published or not, are not hidden by this transaction.
            observers.delivering {
                for token in tokens { (token.observer as? DataSubscription)?.skip(own, from: base) }
            }
        }
        // A realm observer learns only that something has changed. So if another writer has changed something too, the
        // tokens' observers are notified as well.
        let hasOthers = base.version > observers.announcedVersion || pin.version > committed.number
        // Another thread may have published the version, and may not have woken this realm yet. Observers must have
        // been called before the caller's next work on its run loop or queue.
        observers.wake()
        observers.noteAnnounced(pin.version)
        notifyRealm(.didChange, skipping: hasOthers ? [] : tokens)
    }

    /// The version that a new observer begins from. Stops the program if nothing can be observed.
    func pinForObserving(at site: CallSite) -> Pin {
        check()
        if isFrozen {
            stopProgram("what is frozen never changes, so it can't be observed. Observe the live one.")
        }
        if configuration.readOnly {
            stopProgram("a realm that was opened read-only never changes, so nothing of it can be observed.")
        }
        if let transaction {
            guard !transaction.hasChanges else {
                stopProgram(
                    "an observer can't be added in a write transaction that has changed something. Add it before, or after the commit."
                )
            }
            return transaction.base.again(at: site)
        }
        waitForOwnCommit()
        return shownPin.again(at: site)
    }

    /// The version that a new observer begins from, and the cursor that keeps the change summaries of all later
    /// versions. From now on they are kept for the observer. Stops the program as `pinForObserving` does.
    func startObserving(at site: CallSite) -> SubscriptionStart {
        let pin = pinForObserving(at: site)
        return SubscriptionStart(pin: pin, cursor: store.makeChangeCursor(after: pin.version))
    }

    /// Stops the program if the thread could never call the observer's block.
    func checkDelivery() {
        guard let scheduler, scheduler.canDeliver else {
            stopProgram(
                "this thread has no running run loop, so an observer's block could never be called. Pass a queue to observe(on:), or observe on the main thread."
            )
        }
    }

    /// Runs `body` on a queue, with the queue's instance of this store, for an observer that was made in this realm.
    ///
    /// If this realm is the queue's own, `body` runs at once. If `body` ran later, a write that this realm begins now
    /// would come before the observer's first call.
    func onQueue(_ queue: Scheduler, from start: SubscriptionStart, _ body: @escaping (_RealmInstance) -> Void) {
        if scheduler?.key == queue.key { return body(self) }
        nonisolated(unsafe) let body = body
        let shared = shared
        let (schema, configuration) = (schema, configuration)
        queue.async {
            shared.beginObserving(configuration, schema: schema, scheduler: queue, from: start, body)
        }
    }

    /// Prepares this realm for an observer that was made in another realm. If this realm shows an older version than
    /// that realm showed, it advances, because it may not do so by itself.
    func catchUp(with start: SubscriptionStart) {
        if let pin, pin.version < start.pin.version, !isInTransaction { advance(at: openedAt) }
    }

    /// Adds an observer and wakes the realm, which calls it at the next turn.
    func add(_ subscription: DataSubscription, _ token: NotificationToken) {
        guard token.keep(subscription) else { return }
        observers.add(subscription, token)
        // A queue's or actor's realm may have been opened only for the observer. It then shows the observer's first
        // version. An observer that was made in a transaction may begin from a version that is not published yet, which
        // no other realm shows.
        if pin == nil {
            let last = subscription.last
            show(last.version > store.publishedVersion ? store.pin(at: last.callSite) : last.again(at: last.callSite))
        }
        observers.wake()
    }

    /// Adds an observer of the realm itself. It holds no version, because it learns only that something has changed.
    /// But the realm must show a version, or it would have nothing to advance from.
    func add(_ subscription: RealmSubscription, _ token: NotificationToken, at site: CallSite) {
        let pin = pinForObserving(at: site)
        if observers.realmObservers.isEmpty { observers.noteAnnounced(pin.version) }
        if token.keep(subscription) { observers.add(subscription, token) }
    }
}

extension Realm {
    /// Calls `block` whenever the realm shows newer data: at once when it commits a write, and when it advances.
    ///
    /// ```swift
    /// token = realm.observe { notification, realm in
    ///     if notification == .didChange { print(realm.objects(Dog.self).count) }
    /// }
    /// ```
    ///
    /// The block is called on the realm's thread, queue or actor. It is called before `write` or `commitWrite` returns,
    /// and whenever newer data is found:
    ///
    /// - within `refresh()`;
    /// - at the beginning of a write;
    /// - at a turn of the run loop, queue or actor.
    ///
    /// There is no first call. On a thread without a run loop the block is called only within the thread's own calls.
    /// If `autorefresh` is off, the block is also called with `.refreshRequired` when there is newer data to refresh
    /// to.
    ///
    /// Cost: O(1) for each commit. The block learns that something changed, not what, so the observer holds no version
    /// and nothing is compared.
    ///
    /// To be called on the realm's thread, queue or actor. Stops the program elsewhere, if the realm is frozen or was
    /// opened read-only, and in a transaction that has changed something.
    ///
    /// - Parameters:
    ///   - block: is called with the reason and the realm.
    ///   - file: the call site's file.
    ///   - line: the call site's line.
    /// - Returns: a token to be held as long as the block is to be called.
    public func observe(
        _ block: @escaping NotificationBlock, file: StaticString = #fileID, line: UInt = #line
    ) -> NotificationToken {
        let token = NotificationToken()
        instance.add(RealmSubscription(instance, block), token, at: CallSite(file, line))
        return token
    }
}

extension SharedStore {
    /// Calls `body` with the realm of a scheduler that the caller is on, for an observer that was made in another
    /// realm.
    ///
    /// Does nothing if the store was migrated meanwhile, because the observed data is gone then.
    func beginObserving(
        _ configuration: Realm.Configuration, schema: SchemaBinding, scheduler: Scheduler,
        from start: SubscriptionStart, _ body: (_RealmInstance) -> Void
    ) {
        guard
            let instance = instanceIfUsable(configuration, schema: schema, scheduler: scheduler, at: start.pin.callSite)
        else { return }
        instance.startListening()
        instance.catchUp(with: start)
        body(instance)
    }
}

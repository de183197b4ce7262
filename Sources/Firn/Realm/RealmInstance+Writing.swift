import CFirn
import FirnCore
import FirnStorage

/// The transaction that the realm has open: how it begins, and how it ends for the realm. It was committed or undone,
/// and the realm shows the newest version (`leaveTransaction`). It is undone, and nothing is shown instead
/// (`cancelTransaction`). Or it goes on without the realm (`releaseTransaction`).
extension _RealmInstance {
    /// Begins a transaction on the newest version, once what is due has been delivered.
    func beginWrite(at callSite: CallSite) throws {
        check()
        if isFrozen {
            stopProgram("a frozen realm can't be written. Thaw it and write to the live one.", at: callSite)
        }
        if configuration.readOnly {
            stopProgram("the realm was opened read-only. Open it for writing.", at: callSite)
        }
        stopIfInTransaction(at: callSite)
        showBeforeWrite(at: callSite)
        // A block may have begun one and left it open. This thread would wait for itself.
        stopIfInTransaction(at: callSite)
        if let scheduler { shared.makeWay(here: scheduler) }
        if store.isBeingWritten, let scheduler, shared.isWritten(here: scheduler) {
            stopForOwnTransaction(at: callSite)
        }
        try storing(configuration.fileURL, enter(at: callSite))
    }

    /// Stops the program: another realm of the store, opened here with other classes, is in a transaction.
    @inline(never)
    private func stopForOwnTransaction(at callSite: CallSite) -> Never {
        stopProgram(
            "a write would wait for itself: another realm of the same store, opened with other objectTypes or for another queue, is in a write transaction on this thread, queue or actor. Commit or cancel that first, or use one realm for both.",
            at: callSite)
    }

    private func stopIfInTransaction(at callSite: CallSite) {
        guard isInTransaction else { return }
        stopProgram(
            "the realm is in a write transaction already. Commit or cancel it before beginning another.",
            at: callSite)
    }

    /// Commits the running transaction, and shows the newest version.
    func commitWrite(withoutNotifying tokens: [NotificationToken]) throws {
        check()
        stopIfMigrating("commit a write")
        guard let base = running?.transaction.base.version, let began = running?.beganAt else {
            stopProgram("commitWrite() without a write transaction. Call beginWrite() first.")
        }
        observers.checkTokens(tokens, of: self)
        let (start, callSite) = (SystemClock.shared.monotonic(), pin?.callSite)
        do throws(StoreError) {
            let (committed, base) = try commitTransaction(pins: !tokens.isEmpty || observers.wantOldValues)
            shared.monitor.published(since: start)
            leaveTransaction(.committed)
            committedOwn(committed, from: base, skipping: tokens)
        } catch {
            let error = Realm.Error(error, configuration.fileURL)
            // The transaction may be based on an asynchronous commit of this realm, which is not published any more
            // either.
            if error.code == .writeFailed { shown.ahead = nil }
            leaveTransaction(.undone(showingAtLeast: base))
            throw error
        }
        shared.monitor.commits(to: store, began: began, now: start, at: callSite)
    }

    /// Undoes the running transaction, and shows the newest version.
    func cancelWrite() {
        check()
        stopIfMigrating("cancel a write")
        guard let transaction else {
            stopProgram("cancelWrite() without a write transaction. Call beginWrite() first.")
        }
        let base = transaction.base.version
        transaction.cancel()
        leaveTransaction(.undone(showingAtLeast: base))
    }

    // MARK: Its beginning and its ends

    /// Begins a transaction, and shows its state.
    func enter(at callSite: CallSite) throws(StoreError) {
        enter(try store.beginWrite(replacing: shown.takeOwnPin(), at: callSite), async: false, at: callSite)
    }

    /// Shows the state of a transaction that has begun.
    func enter(_ transaction: WriteTransaction, async: Bool = true, at callSite: CallSite? = nil) {
        running = OpenTransaction(transaction, isAsync: async, at: callSite)
        shown.show(transaction, as: schema)
        transaction.attach(core, writesInPlace: shown.writesInPlace)
        core.pointee.generation &+= 1
    }

    /// Commits the running transaction, and leaves it open. Also returns the version that it began from, if there is an
    /// observer. Without an observer, only the realm holds that version from then on.
    private func commitTransaction(pins: Bool) throws(StoreError) -> (CommittedVersion, base: Pin?) {
        guard let transaction else { preconditionFailure("Firn: there is no transaction to commit") }
        let base = observers.hasNone ? nil : transaction.base
        return (try transaction.commit(pins: pins), base)
    }

    /// How a transaction has ended.
    enum TransactionOutcome {
        /// It has made a version.
        case committed
        /// It has made no version. The realm then shows at least the given version, if the transaction's end may wait
        /// for that.
        case undone(showingAtLeast: UInt64?)
    }

    /// Ends the transaction, which was committed or undone, and shows the newest version.
    func leaveTransaction(_ outcome: TransactionOutcome) {
        guard let isAsync = running?.isAsync else { preconditionFailure("Firn: there is no transaction to leave") }
        if case .undone(let version?) = outcome, !isAsync { waitUntilPublished(version) }
        let callSite = pin?.callSite ?? openedAt
        // From here only the realm holds the version that the transaction began from, unless there is an observer. So
        // the realm's pin can be moved, instead of making another one.
        running = nil
        core.pointee.stamp = FIRN_STAMP_READ_ONLY
        showNewest(at: callSite)
        // If a realm observer was made in an asynchronous transaction, the transaction's base counts as announced,
        // though the realm may show an older version now.
        if isAsync, let pin { observers.forgetAnnounced(after: pin.version) }
        observers.wakeIfDue()
        asyncWrites?.askForLock()
        if case .undone = outcome { observers.propertyTracker?.undone() }
    }

    /// Lets the open transaction keep the realm until the current turn of the run loop, block of the queue or job of
    /// the actor ends. `try! Realm().beginWrite()` keeps no `Realm` value, and the program's next line may well be
    /// `try! Realm().create(…)`. On Apple's platforms the autorelease pool keeps the realm for it.
    ///
    /// Outside of a turn, block or job, the transaction ends with the last reference to its realm. A pool's thread must
    /// not keep the write lock for ever, nor must a main thread that runs no run loop.
    func keepForTransaction() {
        guard let scheduler, scheduler.isInTurn else { return }
        running?.keptRealm = self
        if isTurnEndScheduled { return }
        isTurnEndScheduled = scheduler.schedule(for: reference) { instance in
            instance.isTurnEndScheduled = false
            instance.running?.keptRealm = nil
        }
        if !isTurnEndScheduled { running?.keptRealm = nil }
    }

    /// Undoes the open transaction of a realm that is freed, or whose thread ends, and logs that.
    func loseTransaction() {
        guard let running else { return }
        _ = cancelTransaction()
        if let callSite = running.callSite, !isForked { shared.monitor.lostTransaction(begunAt: callSite) }
    }

    /// Undoes the running transaction, if there is one, without showing anything else instead. Returns the version
    /// that it began from.
    func cancelTransaction() -> UInt64? {
        guard let transaction else { return nil }
        let base = transaction.base.version
        running = nil
        transaction.cancel()
        return base
    }

    /// Stops showing the running transaction's state. The transaction goes on.
    func releaseTransaction() {
        running?.transaction.detachAccessors()
        running = nil
    }

    /// Waits until a version is published, or can't be.
    func waitUntilPublished(_ version: UInt64) {
        guard store.publishedVersion < version else { return }
        // Another thread's commit is on its way to the disk. If it fails, its version never existed, and the realm
        // returns to what is published.
        ignoringError { () throws(StoreError) in try store.waitUntilPublished(version) }
    }

    // MARK: In it

    /// The running transaction. Stops the program if there is none.
    func writing(_ what: @autoclosure () -> String) -> WriteTransaction {
        check()
        guard let transaction else { stopOutsideOfWrite(what()) }
        return transaction
    }

    @inline(never)
    private func stopOutsideOfWrite(_ what: String) -> Never {
        if isFrozen { stopProgram("can't \(what): it is frozen. Thaw it and write to the live one.") }
        if configuration.readOnly {
            stopProgram("can't \(what): the realm was opened read-only. Open it for writing.")
        }
        stopProgram(
            "can't \(what) outside of a write transaction. Do it within realm.write { } or after beginWrite().")
    }
}

import FirnCore
import FirnStorage

/// What a realm shows while its own commit is on its way to the disk.
///
/// An asynchronous commit is shown by its realm at once (`ahead`), and by nobody else. Freezing and making an observer
/// wait until it is durable. Existing observers are called then. If the disk fails, the realm returns to what is
/// durable.
extension _RealmInstance {
    /// The asynchronous writes, made at the first access.
    var writes: AsyncWrites {
        if let asyncWrites { return asyncWrites }
        let made = AsyncWrites(self)
        asyncWrites = made
        return made
    }

    /// Commits the running transaction without waiting for the disk, and shows it. Returns its version, which is
    /// published later (`commitEnded`), and when the commit began.
    func commitWithoutWaiting() throws(StoreError) -> (version: UInt64, start: Int64) {
        guard let began = running?.beganAt, let transaction else {
            preconditionFailure("Firn: there is no transaction to commit")
        }
        let (start, callSite) = (SystemClock.shared.monotonic(), pin?.callSite)
        let base = observers.hasNone ? nil : transaction.base
        let committed: CommittedVersion
        do throws(StoreError) { committed = try transaction.commitWithoutWaiting(pins: true) } catch {
            leaveTransaction(.undone(showingAtLeast: nil))
            throw error
        }
        shown.ahead = committed.pin
        leaveTransaction(.committed)
        if let base, let own = committed.pin {
            observers.keepOwnChanges(of: own, from: base)
        } else {
            observers.noteAnnounced(committed.number)
        }
        shared.monitor.commits(to: store, began: began, now: start, at: callSite)
        return (committed.number, start)
    }

    /// Called when a version that the realm has committed is durable, or never will be.
    func commitEnded(_ version: UInt64, _ result: Result<Void, StoreError>) {
        guard let ahead = shown.ahead, version <= ahead.version else { return }
        switch result {
        case .success: if version == ahead.version { shown.ahead = nil }
        case .failure: dropAhead()
        }
    }

    /// Waits until the version shown is durable, before code that passes it to others.
    func waitForOwnCommit() {
        guard let ahead = unpublished else { return }
        let isPublished = (try? store.waitUntilPublished(ahead.version)) != nil
        if !isPublished { dropAhead() }
    }

    /// Shows the newest published version instead of a commit that has failed.
    private func dropAhead() {
        shown.ahead = nil
        let published = store.publishedVersion
        if !isInTransaction, let pin, pin.version > published { showNewest(at: pin.callSite) }
        observers.forgetAnnounced(after: published)
        observers.forgetOwnChanges(after: published)
        // Observers are called for the versions that were published before the failed commit.
        observers.wake()
        // If a transaction is open, it fails, too, and its end reports what was read in it and before.
        if !isInTransaction { observers.propertyTracker?.undone() }
    }

    /// Whether the realm shows its own commit, which is not durable yet.
    var isAhead: Bool {
        guard let pin, let unpublished else { return false }
        return pin.version == unpublished.version
    }

    /// The realm's newest commit, shown or not, if it is on its way to the disk.
    var unpublished: Pin? { shown.unpublished(in: store) }

    /// Runs `body` while the realm shows nothing that is not published.
    func showingPublished(_ body: () -> Void) {
        guard isAhead, let pin else { return body() }
        showing(store.pin(at: pin.callSite), body)
    }

    /// Stops the program if the caller is on no actor, or if the realm belongs to none and is not frozen.
    func checkActor(_ isolation: (any Actor)?, _ what: String, instead: String) {
        guard isolation != nil, isFrozen || scheduler?.isActor ?? false else {
            stopProgram(
                "\(what) needs a realm of the main actor or of another actor, and to be called there. Use \(instead)."
            )
        }
    }

    /// Stops the program if nothing can be written asynchronously here.
    func checkAsyncWriting(_ what: String) {
        check()
        stopIfMigrating("write asynchronously")
        if isFrozen {
            stopProgram("\(what) on a frozen realm, which can't be written. Thaw it and write to the live one.")
        }
        if configuration.readOnly {
            stopProgram("\(what) on a realm that was opened read-only. Open it for writing.")
        }
        guard let scheduler, scheduler.canDeliver else {
            stopProgram(
                "this thread has no running run loop, so \(what) could never run its block. Use write(_:), or a realm of the main thread, a queue or an actor."
            )
        }
    }
}

extension SharedStore {
    /// Withdraws the requests for the write lock that realms on the caller's thread, queue or actor have made. The
    /// caller is about to wait for the lock.
    @inline(__always)
    func makeWay(here own: Scheduler) {
        if writeRequests.count.load(ordering: .relaxed) != 0 { withdrawRequests(here: own) }
    }

    @inline(never)
    private func withdrawRequests(here own: Scheduler) {
        for instance in live(here: own) { instance.asyncWrites?.makeWay() }
    }
}

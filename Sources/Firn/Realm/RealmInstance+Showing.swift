import FirnCore

/// The version that the realm shows, or the running transaction's state.
extension _RealmInstance {
    /// The snapshot shown: the version's or the running transaction's. The first read pins the newest version.
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
        if observers.realmObservers.isEmpty { observers.noteAnnounced(pin.version) }
        return pin
    }

    /// Shows another version: accessors find their rows again.
    func show(_ pin: Pin?) {
        shown.show(pin, as: schema)
        cores.show(root: pin.map { NodeRef($0.snapshot.root).word } ?? 0)
        if core.pointee.released != 0 { subtractReleases() }
    }

    /// A pin of the newest version that the realm may show: the newest published one, or its own later commit.
    func newestPin(at callSite: CallSite) -> Pin {
        unpublished?.again(at: callSite) ?? store.pin(at: callSite)
    }

    /// Shows the newest version that the realm may show. If nothing but the realm holds what it shows, and no commit of
    /// its own is on its way, this allocates nothing.
    func showNewest(at callSite: CallSite) {
        show(shown.ahead == nil ? shown.newestPin(of: store, at: callSite) : newestPin(at: callSite))
    }

    /// Runs `body`, which calls an observer for a version older than the one shown. Meanwhile the realm shows that
    /// version, so that the observer's indices are those of what it reads.
    func showing(_ older: Pin, _ body: () -> Void) {
        guard let newer = pin, newer.version > older.version, !isInTransaction else { return body() }
        show(older)
        body()
        // The block may have written, or invalidated the realm. Or it has waited for the realm's own commit (`newer`),
        // and the disk has failed.
        let exists = shown.ahead != nil || newer.version <= store.publishedVersion
        if exists, !isInTransaction, let pin, pin.version < newer.version { show(newer) }
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

    /// Releases the version shown; accessors made so far stay invalid, and results empty.
    func invalidate() {
        check()
        stopIfMigrating("invalidate a realm")
        // The next read must not show less than what the transaction began from.
        let base = cancelTransaction()
        if let base { waitUntilPublished(base) }
        cores.replace()
        show(nil)
        subtractReleases()
        // Observers continue from the version that they know.
        if !observers.isEmpty { observers.isTurnDue = true }
        observers.wakeIfDue()
        asyncWrites?.askForLock()
        if base != nil { observers.propertyTracker?.undone() }
    }
}

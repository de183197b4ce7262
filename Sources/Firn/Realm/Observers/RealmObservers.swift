import FirnCore
import FirnStorage

/// The observers of a realm, and the versions that they know of. Belongs to the realm's thread, queue or actor.
final class RealmObservers {
    private struct Entry<Kind: Subscription> {
        weak var subscription: Kind?
        weak var token: NotificationToken?
    }
    @exclusivity(unchecked) private var entries: [Entry<DataSubscription>] = []
    @exclusivity(unchecked) private var realmEntries: [Entry<RealmSubscription>] = []
    /// Reports to Swift's Observation framework what is read and what changes; nil until something is tracked.
    var propertyTracker: PropertyTracker?
    /// The newest version that realm observers know of.
    @exclusivity(unchecked) private(set) var announcedVersion: UInt64 = 0
    /// The realm's own changes for which an observer that wants old values has not been called yet.
    @exclusivity(unchecked) private var ownChanges: [(version: UInt64, changes: ChangeSummary)] = []
    /// Whether blocks are being called with changes.
    private(set) var isDelivering = false
    /// Whether a turn is due at the next `wakeIfDue()`, for example because a transaction prevented the last one.
    @exclusivity(unchecked) var isTurnDue = false
    private var waker: RealmWaker?
    private var listener: Store.Listener?

    func add(_ subscription: DataSubscription, _ token: NotificationToken) {
        entries.append(Entry(subscription: subscription, token: token))
    }

    func add(_ subscription: RealmSubscription, _ token: NotificationToken) {
        realmEntries.append(Entry(subscription: subscription, token: token))
    }

    var isEmpty: Bool { active.isEmpty && realmObservers.isEmpty }

    /// Whether no observer is listed, not even one that has ended. It is cheap, because each commit and each refresh
    /// reads it.
    var hasNone: Bool { entries.isEmpty && realmEntries.isEmpty }

    /// Whether any observer wants old values, so that the realm has to remember which changes are its own.
    var wantOldValues: Bool { active.contains(where: \.wantsOldValues) }

    /// Ends all observers: none is called any more, and none holds a version, even if its token still exists. The realm
    /// is not woken any more.
    func end() {
        let tokens = entries.map(\.token) + realmEntries.map(\.token)
        entries = []
        realmEntries = []
        for token in tokens { token?.invalidate() }
        stopListening()
    }

    /// The observers of data that are still active.
    var active: [DataSubscription] {
        entries.isEmpty ? [] : Self.active(&entries)
    }

    var realmObservers: [RealmSubscription] {
        realmEntries.isEmpty ? [] : Self.active(&realmEntries)
    }

    /// The entries' observers that are still active; the others are removed from the list.
    private static func active<Kind>(_ entries: inout [Entry<Kind>]) -> [Kind] {
        // The observers are released last, because the release may run a `deinit` of the application that adds another
        // observer to the list.
        let all = entries.map(\.subscription)
        let isActive = all.map { $0?.isActive ?? false }
        let active = zip(all, isActive).compactMap { $1 ? $0 : nil }
        if active.count < entries.count { entries = zip(entries, isActive).compactMap { $1 ? $0 : nil } }
        withExtendedLifetime(all) {}
        return active
    }

    /// Stops the program if a token is not one of this realm's.
    func checkTokens(_ tokens: [NotificationToken], of realm: _RealmInstance) {
        for token in tokens {
            if let observer = token.observer, observer.realm !== realm {
                stopProgram(
                    "withoutNotifying: was given a token of another realm or thread. Give tokens of the realm that is written."
                )
            }
        }
    }

    // MARK: Waking the realm

    /// Makes the store wake the realm whenever a version is published.
    func startListening(to store: Store, _ makeWaker: () -> RealmWaker) {
        guard self.waker == nil else { return }
        let waker = makeWaker()
        self.waker = waker
        listener = store.onPublish { _ in waker.wake() }
    }

    /// From now on, neither a published version nor `wake()` wakes the realm.
    func stopListening() {
        listener = nil
        waker = nil
    }

    /// Schedules a turn of the realm, which shows observers what is due.
    func wake() { waker?.wake() }

    /// Wakes the realm if a turn was skipped.
    func wakeIfDue() {
        guard isTurnDue else { return }
        isTurnDue = false
        wake()
    }

    /// Runs code that calls blocks with changes. In these blocks `refresh` does nothing.
    func delivering(_ body: () -> Void) {
        let wasDelivering = isDelivering
        isDelivering = true
        defer { isDelivering = wasDelivering }
        body()
    }

    // MARK: What observers know

    /// Notes that realm observers know of a version.
    func noteAnnounced(_ version: UInt64) { announcedVersion = max(announcedVersion, version) }

    /// Notes that realm observers know of no version after this one.
    func forgetAnnounced(after version: UInt64) { announcedVersion = min(announcedVersion, version) }

    /// Remembers the realm's own changes in a commit, if an observer wants old values.
    func keepOwnChanges(of own: Pin, from base: Pin) {
        guard let observer = active.first(where: \.wantsOldValues) else { return }
        ownChanges.append((own.version, observer.cursor.changes(from: base, to: own)))
    }

    /// Whether any of the realm's own changes are remembered.
    var hasOwnChanges: Bool { !ownChanges.isEmpty }

    /// Whether the realm itself changed a property after one version, up to and including another.
    func isOwnChange(
        _ table: TableID, key: Int64, column: Int, after version: UInt64, through last: UInt64
    ) -> Bool {
        ownChanges.contains {
            $0.version > version && $0.version <= last
                && ($0.changes.tables[table]?.modified[key]?.contains(column) ?? false)
        }
    }

    /// Forgets the realm's own changes for which all observers that want old values have been called.
    func forgetShownOwnChanges() {
        if ownChanges.isEmpty { return }
        let oldest = active.filter(\.wantsOldValues).map(\.last.version).min() ?? .max
        ownChanges.removeAll { $0.version <= oldest }
    }

    /// Forgets the realm's own changes after a version. The commits after it have failed.
    func forgetOwnChanges(after version: UInt64) { ownChanges.removeAll { $0.version > version } }
}

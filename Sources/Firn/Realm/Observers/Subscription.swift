import FirnCore
import FirnStorage
import Synchronization

/// One observer of one realm.
///
/// Belongs to its realm's thread, queue or actor, where its block is called. Only `end` may be called on any thread.
/// Its token holds it; its realm has only a weak reference to it.
class Subscription {
    unowned let realm: _RealmInstance
    /// Keeps the realm alive; nil if the realm itself holds the observer.
    private let keptRealm: _RealmInstance?
    // Atomic: a token may be released on any thread.
    private let hasEnded = Atomic<Bool>(false)
    /// Wakes the task that waits for changes (`AwaitedChanges`); nil for an observer with a block. Set before any other
    /// code can use the observer. May be called on any thread.
    var wake: (@Sendable () -> Void)?

    init(_ realm: _RealmInstance, keepsRealm: Bool = true) {
        self.realm = realm
        keptRealm = keepsRealm ? realm : nil
    }

    var isActive: Bool { !hasEnded.load(ordering: .acquiring) }

    func end() {
        hasEnded.store(true, ordering: .releasing)
        wake?()
    }
}

/// The version that an observer begins from, and the cursor that keeps the change summaries of all versions after it.
/// Made by the call that makes the observer, so that it misses nothing after that.
struct SubscriptionStart: Sendable {
    let pin: Pin
    let cursor: ChangeCursor
}

/// An observer of data. It knows the version that it was last shown, and how to show the next one. It pins the version
/// shown last, with the call site of the call that made the observer.
class DataSubscription: Subscription {
    /// What an active observer holds until it ends.
    private struct Progress {
        /// The version that was shown last.
        var last: Pin
        /// Keeps the change summaries of the versions after `last`.
        let cursor: ChangeCursor
        /// The realm's own commits that are hidden from this observer (`withoutNotifying`), oldest first, each with the
        /// version before it. An entry is kept only while an earlier version is still to be shown.
        var hidden: [(base: Pin, committed: Pin)] = []
    }
    /// Nil once there is nothing more to show.
    private var progress: Progress?
    private var isRunning = false
    private var isPulled = false
    private var isDueAgain = false
    /// Whether the observer is to be shown the state that it begins from, at the next turn.
    var wantsInitial: Bool { false }
    /// Whether its block is to be called with that state. False if changes are awaited, since these are only shown by
    /// `pull`.
    var awaitsFirstCall: Bool { wantsInitial && wake == nil }

    init(_ realm: _RealmInstance, from start: SubscriptionStart, keepsRealm: Bool = true) {
        progress = Progress(last: start.pin, cursor: start.cursor)
        super.init(realm, keepsRealm: keepsRealm)
    }

    private var current: Progress {
        guard let progress else { preconditionFailure("Firn: an observer that has ended has no version") }
        return progress
    }

    /// The version that was last shown. The observer must be active.
    var last: Pin { current.last }
    var cursor: ChangeCursor { current.cursor }

    /// Moves the pin of the version shown last to the tree by which a compaction has replaced the old one.
    func moveToEqual(_ pin: Pin) {
        guard let progress, progress.last.version == pin.version else { return }
        self.progress?.last = pin.again(at: progress.last.callSite)
    }

    /// Ends the observer, because there is nothing more to show. From now on it holds no version and no change
    /// summaries, however long its token is kept.
    func finish() {
        end()
        progress = nil
    }

    /// Shows what is due now to an observer whose changes are awaited, if the realm shows a published version.
    func pull() {
        realm.check()
        // The turn after the transaction wakes the waiting task. If the realm shows a commit that is not published yet,
        // the realm is woken when it is published.
        guard !realm.isInTransaction else { return realm.observers.isTurnDue = true }
        guard !realm.isAhead else { return }
        isPulled = true
        realm.observers.delivering { deliver(mayBegin: true) }
        isPulled = false
    }

    /// Shows the observer what has changed up to the version that its realm shows. An observer whose changes are
    /// awaited is only woken.
    func deliver(mayBegin: Bool) {
        if let wake, !isPulled { return wake() }
        guard isActive, !isReentrant(), let shown = realm.pin else { return }
        if wantsInitial {
            guard mayBegin else { return }
            let new = shown.again(at: last.callSite)
            run(new) { begin(new) }
        } else if skipHiddenVersions(), !realm.isAhead, let shown = realm.pin {
            deliver(through: shown)
        }
    }

    /// Shows the changes up to a version to an observer whose first call is over. That version may be older than the
    /// one that the realm shows.
    private func deliver(through pin: Pin) {
        guard isActive, !wantsInitial, pin.version > last.version, !isReentrant() else { return }
        let new = pin.again(at: last.callSite)
        let old = last
        let summary = cursor.changes(from: old, to: new)
        run(new) { notify(summary, from: old, to: new) }
    }

    private func run(_ new: Pin, _ body: () -> Void) {
        LockRank.expectNone("an observer is called")
        take(new)
        isRunning = true
        body()
        isRunning = false
        if isDueAgain {
            isDueAgain = false
            realm.observers.wake()
        }
    }

    /// True while the block runs, because the block is not called within itself. The observer is due again at the next
    /// turn.
    private func isReentrant() -> Bool {
        if isRunning { isDueAgain = true }
        return isRunning
    }

    private func take(_ pin: Pin) {
        progress?.last = pin
        cursor.advance(to: pin.version)
    }

    // MARK: Versions that are not shown

    /// Treats a version that the realm has committed as already shown, without calling the block. What others had
    /// written up to `base` is shown first: at once, or at the next turn if the block is running.
    func skip(_ committed: Pin, from base: Pin) {
        guard isActive, !wantsInitial, let progress else { return }
        let committed = committed.again(at: progress.last.callSite)
        if let end = progress.hidden.indices.last, progress.hidden[end].committed.version == base.version {
            self.progress?.hidden[end].committed = committed
        } else {
            self.progress?.hidden.append((base.again(at: progress.last.callSite), committed))
        }
        skipHiddenVersions()
    }

    /// Skips the hidden versions. Returns false if that has to wait; the observer is due again then.
    @discardableResult
    private func skipHiddenVersions() -> Bool {
        while isActive, let next = progress?.hidden.first {
            if next.base.version > last.version {
                if isReentrant() || isBlockedByWrite() { return false }
                // The block may itself hide more versions and skip the first entry, so look at it again.
                realm.showing(next.base) { deliver(through: next.base) }
            } else {
                progress?.hidden.removeFirst()
                skip(to: next.committed)
            }
        }
        return !isBlockedByWrite()
    }

    /// Whether a block has left a write open. The observer is called when that write has ended.
    private func isBlockedByWrite() -> Bool {
        if realm.isInTransaction { realm.observers.isTurnDue = true }
        return realm.isInTransaction
    }

    private func skip(to pin: Pin) {
        guard pin.version > last.version else { return }
        take(pin.again(at: last.callSite))
        skipped(last)
    }

    // Each kind of observer overrides these.
    func begin(_ pin: Pin) {}
    func notify(_ summary: ChangeSummary, from old: Pin, to new: Pin) {}
    func skipped(_ pin: Pin) {}
    /// Whether the observer wants old values, so that the realm remembers which changes are its own.
    var wantsOldValues: Bool { false }
}

/// An observer of the realm itself. It is called at once, and is shown no versions, so it holds none.
final class RealmSubscription: Subscription {
    let block: (Realm.Notification, Realm) -> Void

    init(_ realm: _RealmInstance, _ block: @escaping (Realm.Notification, Realm) -> Void) {
        self.block = block
        super.init(realm)
    }
}

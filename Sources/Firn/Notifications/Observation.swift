import FirnCore
import FirnStorage
import Synchronization

/// One observer of one realm.
///
/// Belongs to its realm's thread, queue or actor, where its block is called; only `end` may come from elsewhere. Its token holds it, its realm only knows it.
class Observer {
    let realm: RealmInstance
    // Atomic: a token may be let go on any thread.
    private let hasEnded = Atomic<Bool>(false)

    init(_ realm: RealmInstance) { self.realm = realm }

    var isActive: Bool { !hasEnded.load(ordering: .acquiring) }

    func end() { hasEnded.store(true, ordering: .releasing) }
}

/// Where an observer begins: the version, and the claim on the notes of all versions after it. Made by the call that makes the observer, so that nothing after it is missed.
struct ObservationStart: Sendable {
    let pin: Pin
    let claim: NoteClaim
}

/// An observer of data: which version it was told of last, and how it is told of the next. It holds that version, in the name of the call that made it.
class Observation: Observer {
    /// The version that was told of last.
    private(set) var last: Pin
    /// Keeps the notes of the versions after it.
    let claim: NoteClaim
    private var isRunning = false
    private var isDueAgain = false
    /// Whether it is told of the state it begins with, at the next turn.
    var wantsInitial: Bool { false }

    init(_ realm: RealmInstance, from start: ObservationStart) {
        last = start.pin
        claim = start.claim
        super.init(realm)
    }

    /// What was told of last, on the tree that a compaction has put in the place of its own.
    func moveToEqual(_ pin: Pin) {
        if last.version == pin.version { last = pin.again(at: last.place) }
    }

    /// Tells the observer what has changed up to the version that its realm shows.
    func deliver(mayBegin: Bool) {
        guard isActive, !isRefused(), let shown = realm.pin else { return }
        if wantsInitial {
            guard mayBegin else { return }
            let new = shown.again(at: last.place)
            run(new) { begin(new) }
        } else {
            deliver(through: shown)
        }
    }

    /// Tells an observer that has begun what has changed up to a version that may be older than the one shown.
    func deliver(through pin: Pin) {
        guard isActive, !wantsInitial, pin.version > last.version, !isRefused() else { return }
        let new = pin.again(at: last.place)
        let old = last
        let notes = claim.changes(from: old, to: new)
        run(new) { notify(notes, from: old, to: new) }
    }

    private func run(_ new: Pin, _ body: () -> Void) {
        LockRank.expectNone("an observer is called")
        last = new
        claim.advance(to: new.version)
        isRunning = true
        body()
        isRunning = false
        if isDueAgain {
            isDueAgain = false
            realm.waker?.wake()
        }
    }

    /// True while the block runs, which is not called within itself. It is told at the next turn.
    private func isRefused() -> Bool {
        if isRunning { isDueAgain = true }
        return isRunning
    }

    /// Takes a version as told of.
    func skip(to pin: Pin) {
        guard !wantsInitial, pin.version > last.version else { return }
        last = pin.again(at: last.place)
        claim.advance(to: pin.version)
        skipped(last)
    }

    // What the kinds of observers do.
    func begin(_ pin: Pin) {}
    func notify(_ notes: ChangeNotes, from old: Pin, to new: Pin) {}
    func skipped(_ pin: Pin) {}
    /// Whether old values are wanted, so that the realm remembers which changes are its own.
    var wantsOldValues: Bool { false }
}

/// The observers of a realm. Belongs to the realm's thread, queue or actor.
final class ObserverList {
    private struct Entry<Kind: Observer> {
        weak var observation: Kind?
        weak var token: NotificationToken?
    }
    private var entries: [Entry<Observation>] = []
    private var realmEntries: [Entry<RealmObservation>] = []

    func add(_ observation: Observation, _ token: NotificationToken) {
        entries.append(Entry(observation: observation, token: token))
    }

    func add(_ observation: RealmObservation, _ token: NotificationToken) {
        realmEntries.append(Entry(observation: observation, token: token))
    }

    var isEmpty: Bool { active.isEmpty && realmObservers.isEmpty }

    /// Ends them all: nothing is told any more, and no version is held for them, whoever still has their tokens.
    func end() {
        let tokens = entries.map(\.token) + realmEntries.map(\.token)
        entries = []
        realmEntries = []
        for token in tokens { token?.invalidate() }
    }

    /// The observers that still are.
    var active: [Observation] {
        let active = entries.compactMap(\.observation).filter(\.isActive)
        if active.count < entries.count { entries.removeAll { !($0.observation?.isActive ?? false) } }
        return active
    }

    var realmObservers: [RealmObservation] {
        let active = realmEntries.compactMap(\.observation).filter(\.isActive)
        if active.count < realmEntries.count { realmEntries.removeAll { !($0.observation?.isActive ?? false) } }
        return active
    }

    /// Stops the program where a token is none of this realm's.
    func checkTokens(_ tokens: [NotificationToken], of realm: RealmInstance) {
        for token in tokens {
            if let observer = token.observer, observer.realm !== realm {
                fatalError(
                    "Firn: withoutNotifying: was given a token of another realm or thread. Give tokens of the realm that is written."
                )
            }
        }
    }
}

/// An observer of the realm itself. It is told on the spot, and of no versions, so it holds none.
final class RealmObservation: Observer {
    let block: (Realm.Notification, Realm) -> Void

    init(_ realm: RealmInstance, _ block: @escaping (Realm.Notification, Realm) -> Void) {
        self.block = block
        super.init(realm)
    }
}

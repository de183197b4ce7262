import FirnCore
import FirnStorage

/// A carrier that one thread leaves for others to take.
final class Handover<Confined: ThreadConfined>: Sendable {
    // A lock, because several threads may read, take and replace the carrier at once. The old carrier is released
    // outside of it.
    private let content: Guarded<Carrier<Confined>?>

    init(_ carrier: Carrier<Confined>?) { content = Guarded(.innermost, carrier) }

    var carrier: Carrier<Confined>? { content.withLock { $0 } }

    func exchange(_ new: Carrier<Confined>?) -> Carrier<Confined>? { content.exchange(new) }

    /// Replaces a carrier, unless another one is there meanwhile.
    func replace(_ old: Carrier<Confined>, by new: Carrier<Confined>?) {
        content.withLock { content in
            if content === old { content = new }
        }
    }
}

/// Something in a frozen realm, to be moved to a live one of another thread.
final class Carrier<Confined: ThreadConfined>: @unchecked Sendable {
    // Sound because nothing here changes, and what belongs to a frozen realm may be used on any thread.
    private let content: Confined
    /// The frozen realm.
    let realm: _RealmInstance
    private let origin: Origin

    /// The state of the realm that the source belonged to.
    private enum Origin {
        case live
        case transaction
        case frozen
    }

    /// Stops the program if the source is unmanaged or gone, and on the wrong thread.
    init(_ source: Confined, at callSite: CallSite) {
        guard let realm = source.realm?.instance else {
            stopProgram(
                "what is unmanaged has no thread, so there is no reference to it. Hand it over as it is.",
                at: callSite)
        }
        if !realm.isFrozen { realm.check() }
        if source.isInvalidated {
            stopProgram(
                "there is no reference to what is gone: it was deleted, or its realm was invalidated.",
                at: callSite)
        }
        origin = realm.isFrozen ? .frozen : realm.isInTransaction ? .transaction : .live
        // The running transaction's state is no version, so the version before it is used. Nothing is read from that:
        // it only carries the content.
        let frozen = realm.transaction.map {
            realm.shared.frozen(realm.configuration, schema: realm.schema, pin: $0.base, at: callSite)
        }
        self.realm = frozen ?? realm.freeze("what a reference refers to", at: callSite)
        content = source._moved(to: self.realm)
    }

    /// The same thing in a live realm; nil if it is not there, or if the realm is of another store. `isGone` says that
    /// no later version has it either.
    func unload(in other: _RealmInstance, at callSite: CallSite) -> (content: Confined?, isGone: Bool) {
        if realm.isForked { realm.stopInForkedChild() }
        guard realm.shared === other.shared else { return (nil, false) }
        if let shown = other.pin {
            if origin == .transaction || shown.version < realm.shownPin.version { other.refresh(at: callSite) }
        } else if origin == .live {
            other.begin(with: realm.shownPin)
        }
        let moved = content._moved(to: other)
        guard moved.isInvalidated else { return (moved, false) }
        // The realm may show an older version: while it calls observers it does not advance.
        return (nil, origin != .transaction && other.shownPin.version >= realm.shownPin.version)
    }
}

extension _RealmInstance {
    /// Shows a version, if nothing has been read yet. It is not shown if the realm, or an observer, knows a newer
    /// version.
    fileprivate func begin(with start: Pin) {
        guard pin == nil, observers.isEmpty, start.version >= observers.announcedVersion else { return }
        show(start.again(at: openedAt))
        observers.noteAnnounced(start.version)
        guard store.publishedVersion > start.version else { return }
        observers.isTurnDue = true
        observers.wakeIfDue()
    }
}

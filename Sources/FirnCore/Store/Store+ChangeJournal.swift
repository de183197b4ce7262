import FirnStorage

/// The notes of recent versions, kept while an observer is behind them.
///
/// `lock` guards all of it. A **keeper** is an observer's claim: the version up to which it has been told; notes after the lowest claim are kept.
final class ChangeJournal: @unchecked Sendable {
    private let lock = Lock(.innermost)
    /// Ascending. Each tells what changed from version `after` to `version`; that is more than one step where other processes' commits were applied together.
    private var notes: [(after: UInt64, version: UInt64, notes: ChangeSummary)] = []
    private var claims: [Int: UInt64] = [:]
    private var nextClaim = 0

    var isWanted: Bool { lock.withLock { !claims.isEmpty } }

    func keep(_ new: ChangeSummary, after: UInt64, _ version: UInt64) {
        lock.withLock { notes.append((after, version, new)) }
    }

    func claim(after version: UInt64) -> Int {
        lock.withLock {
            nextClaim += 1
            claims[nextClaim] = version
            return nextClaim
        }
    }

    func move(_ claim: Int, to version: UInt64) {
        lock.withLock {
            claims[claim] = version
            trim()
        }
    }

    func drop(_ claim: Int) {
        lock.withLock {
            claims[claim] = nil
            trim()
        }
    }

    private func trim() {
        guard let lowest = claims.values.min() else { return notes.removeAll() }
        let kept = notes.firstIndex { $0.version > lowest } ?? notes.count
        notes.removeFirst(kept)
    }

    /// The notes of the versions `after + 1 ... through` in one; nil where they were not kept from there on.
    func composed(after: UInt64, through: UInt64) -> ChangeSummary? {
        let parts = lock.withLock { notes.filter { $0.version > after && $0.version <= through } }
        var result = ChangeSummary()
        var reached = after
        for part in parts {
            guard part.after == reached else { return nil }
            reached = part.version
            result.append(part.notes)
        }
        return reached == through ? result : nil
    }
}

/// An observer's claim on the notes of every version after the one it has seen.
public final class ChangeCursor: Sendable {
    private let store: Store
    private let id: Int

    fileprivate init(_ store: Store, _ id: Int) {
        self.store = store
        self.id = id
    }

    /// What changed between two versions. Where the notes of some version between them were not kept (it was written before the claim was made), the two are
    /// compared by their values instead.
    public func changes(from old: Pin, to new: Pin) -> ChangeSummary {
        precondition(old.version <= new.version, "Firn: changes are shown forwards")
        return store.changeJournal.composed(after: old.version, through: new.version)
            ?? old.snapshot.difference(to: new.snapshot)
    }

    /// The observer has seen `version`: notes up to it are no longer kept for it.
    public func advance(to version: UInt64) { store.changeJournal.move(id, to: version) }

    deinit { if !store.isForked { store.changeJournal.drop(id) } }
}

extension Store {
    /// From now on the notes of every version after `version` are kept.
    public func makeChangeCursor(after version: UInt64) -> ChangeCursor {
        ChangeCursor(self, changeJournal.claim(after: version))
    }

    var keepsChangeSummaries: Bool { changeJournal.isWanted }

    func keep(_ notes: ChangeSummary, after: UInt64, _ version: UInt64) {
        changeJournal.keep(notes, after: after, version)
    }
}

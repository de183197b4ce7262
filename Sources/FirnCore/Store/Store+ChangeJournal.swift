import FirnStorage

/// The change summaries of recent versions, kept while an observer has yet to see them.
///
/// `lock` guards all of it. Each change cursor has a **position**: the version up to which its observer has been shown
/// the changes. Summaries after the lowest position are kept.
final class ChangeJournal: @unchecked Sendable {
    private let lock = Lock(.innermost)
    /// Ascending. Each has what changed from version `after` to `version`. That is more than one step if commits of
    /// other processes were applied together.
    private var summaries: [(after: UInt64, version: UInt64, summary: ChangeSummary)] = []
    private var positions: [Int: UInt64] = [:]
    private var lastCursor = 0
    /// What `composed` has returned for versions up to `lastThrough`, by the version that each begins after. So
    /// observers that have seen the same version share one summary. Those for other versions are composed again.
    private var lastComposed: [UInt64: ChangeSummary] = [:]
    private var lastThrough: UInt64 = 0

    var isWanted: Bool { lock.withLock { !positions.isEmpty } }

    func keep(_ new: ChangeSummary, after: UInt64, _ version: UInt64) {
        lock.withLock { summaries.append((after, version, new)) }
    }

    func addCursor(after version: UInt64) -> Int {
        lock.withLock {
            lastCursor += 1
            positions[lastCursor] = version
            return lastCursor
        }
    }

    func move(_ cursor: Int, to version: UInt64) {
        _ = lock.withLock {
            positions[cursor] = version
            return trim()
        }
    }

    func remove(_ cursor: Int) {
        _ = lock.withLock {
            positions[cursor] = nil
            return trim()
        }
    }

    /// Drops what no cursor needs any more. Returns it, so that the caller releases it outside of the lock.
    private func trim() -> [ChangeSummary] {
        let lowest = positions.values.min() ?? .max
        let unneeded =
            summaries.prefix { $0.version <= lowest }.map(\.summary) + lastComposed.filter { $0.key < lowest }.values
        summaries.removeFirst(summaries.firstIndex { $0.version > lowest } ?? summaries.count)
        lastComposed = lastComposed.filter { $0.key >= lowest }
        return unneeded
    }

    /// Returns one summary of the versions `after + 1 ... through`; nil if some of them were not kept.
    func composed(after: UInt64, through: UInt64) -> ChangeSummary? {
        let (known, parts) = lock.withLock {
            if lastThrough == through, let known = lastComposed[after] {
                return (known as ChangeSummary?, summaries[..<0])
            }
            let first = summaries.firstIndex { $0.version > after } ?? summaries.count
            return (nil, summaries[first...].prefix { $0.version <= through })
        }
        if let known { return known }
        var result = ChangeSummary()
        var reached = after
        for part in parts {
            guard part.after == reached else { return nil }
            reached = part.version
            result.append(part.summary)
        }
        guard reached == through else { return nil }
        _ = lock.withLock {
            var unneeded: [UInt64: ChangeSummary] = [:]
            if lastThrough != through {
                swap(&unneeded, &lastComposed)
                lastThrough = through
            }
            lastComposed[after] = result
            return unneeded
        }
        return result
    }
}

/// Keeps the change summaries of every version after the one that an observer has seen.
package final class ChangeCursor: Sendable {
    private let store: Store
    private let id: Int

    fileprivate init(_ store: Store, _ id: Int) {
        self.store = store
        self.id = id
    }

    /// Returns what changed between two versions. If the summary of some version between them was not kept (it was
    /// written before the cursor was made), the two are compared by their values instead.
    package func changes(from old: Pin, to new: Pin) -> ChangeSummary {
        precondition(old.version <= new.version, "Firn: changes can only be read forwards")
        return store.changeJournal.composed(after: old.version, through: new.version)
            ?? old.snapshot.difference(to: new.snapshot)
    }

    /// Notes that the observer has seen `version`: summaries up to it are no longer kept for the observer.
    package func advance(to version: UInt64) { store.changeJournal.move(id, to: version) }

    deinit { if !store.isForked { store.changeJournal.remove(id) } }
}

extension Store {
    /// Makes a cursor. From now on the change summary of every version after `version` is kept.
    package func makeChangeCursor(after version: UInt64) -> ChangeCursor {
        ChangeCursor(self, changeJournal.addCursor(after: version))
    }

    var keepsChangeSummaries: Bool { changeJournal.isWanted }

    func keep(_ summary: ChangeSummary, after: UInt64, _ version: UInt64) {
        changeJournal.keep(summary, after: after, version)
    }
}

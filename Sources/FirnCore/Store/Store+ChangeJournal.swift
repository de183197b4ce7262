import FirnStorage

/// The change summaries of recent versions, kept while an observer has yet to see them.
///
/// `lock` guards all of it. Each change cursor has a **position**: the version up to which its observer has been shown
/// the changes. Summaries after the lowest position are kept. Moving a cursor costs O(1); if it was the last one at its
/// position, O(positions).
final class ChangeJournal: @unchecked Sendable {
    private let lock = Lock(.innermost)
    /// In ascending order. Each has what changed from version `after` to `version`. That is more than one step if
    /// commits of other processes were applied together, or if summaries were joined.
    private var summaries: [(after: UInt64, version: UInt64, summary: ChangeSummary)] = []
    /// The position of each cursor.
    private var positions: [Int: UInt64] = [:]
    /// How many cursors are at each position.
    private var cursorCounts: [UInt64: Int] = [:]
    private var lastCursor = 0
    /// Summaries of several versions together, by the version after which each begins, so that observers that have seen
    /// the same version share one. A summary ends with the newest version that was requested. It is kept while a cursor
    /// is at the version after which it begins.
    private var composed: [UInt64: Composed] = [:]

    private typealias Composed = (through: UInt64, summary: ChangeSummary)
    /// What is to be released outside of the lock.
    private typealias Dropped = (summaries: [ChangeSummary], composed: Composed?)

    var isWanted: Bool { lock.withLock { !positions.isEmpty } }

    /// Up to this number, all summaries are kept separate. Beyond it, neighbouring ones are joined. So an observer that
    /// is shown nothing for long costs memory for the objects that change and the edits of lists, not for each commit.
    /// Changes since the version between two joined summaries can only be found by comparing, which misses assignments
    /// of equal values. So summaries are not joined at a version that an observer has been shown, or may yet be shown
    /// because somebody holds it.
    private static let limit = 64

    /// - Parameter active: returns the versions that somebody holds or may yet hold, in ascending order.
    func keep(_ new: ChangeSummary, after: UInt64, _ version: UInt64, active: () -> [UInt64] = { [] }) {
        let isFull = lock.withLock {
            summaries.append((after, version, new))
            return summaries.count > Self.limit
        }
        guard isFull else { return }
        // This is read before the lock is taken: a version that nobody holds any more is never held again.
        let active = active()
        func isActive(_ version: UInt64) -> Bool {
            let index = active.firstIndex(notBelow: version)
            return index < active.count && active[index] == version
        }
        // The summary is returned, so that what it holds is released outside of the lock.
        _ = lock.withLock { () -> ChangeSummary? in
            guard
                let index = summaries.indices.dropLast().first(where: {
                    summaries[$0].version == summaries[$0 + 1].after && cursorCounts[summaries[$0].version] == nil
                        && !isActive(summaries[$0].version)
                })
            else { return nil }
            let next = summaries.remove(at: index + 1)
            summaries[index].summary.append(next.summary)
            summaries[index].version = next.version
            return next.summary
        }
    }

    /// For tests.
    var summaryCount: Int { lock.withLock { summaries.count } }

    func addCursor(after version: UInt64) -> Int {
        lock.withLock {
            lastCursor += 1
            positions[lastCursor] = version
            cursorCounts[version, default: 0] += 1
            return lastCursor
        }
    }

    func move(_ cursor: Int, to version: UInt64) {
        _ = lock.withLock { () -> Dropped? in
            cursorCounts[version, default: 0] += 1
            return positions.updateValue(version, forKey: cursor).flatMap(leave)
        }
    }

    func remove(_ cursor: Int) {
        _ = lock.withLock { positions.removeValue(forKey: cursor).flatMap(leave) }
    }

    /// Counts a cursor that has left a position. Drops what no cursor needs any more, and returns it.
    private func leave(_ position: UInt64) -> Dropped? {
        let count = cursorCounts[position, default: 0] - 1
        guard count <= 0 else {
            cursorCounts[position] = count
            return nil
        }
        cursorCounts[position] = nil
        let lowest = cursorCounts.keys.min() ?? .max
        let unneeded = summaries.prefix { $0.version <= lowest }.map(\.summary)
        summaries.removeFirst(unneeded.count)
        return (unneeded, composed.removeValue(forKey: position))
    }

    /// Returns one summary of the versions `after + 1 ... through`. It is composed of the summaries of these versions,
    /// or else by `compare`, once for all cursors at `after`.
    func changes(after: UInt64, through: UInt64, orElse compare: () -> ChangeSummary) -> ChangeSummary {
        let (known, parts) = lock.withLock {
            if let known = composed[after], known.through == through {
                return (known.summary as ChangeSummary?, summaries[..<0])
            }
            let first = summaries.firstIndex { $0.version > after } ?? summaries.count
            return (nil, summaries[first...].prefix { $0.version <= through })
        }
        if let known { return known }
        let result = Self.compose(parts, after: after, through: through) ?? compare()
        let replaced = lock.withLock { () -> Composed? in
            // If the last cursor at `after` has moved meanwhile, nobody needs the result again.
            guard cursorCounts[after] != nil else { return nil }
            // Another thread may have been faster, or may have asked for a newer version.
            if let known = composed[after], known.through >= through { return known }
            return composed.updateValue((through, result), forKey: after)
        }
        return replaced?.through == through ? replaced?.summary ?? result : result
    }

    /// Returns the summary of consecutive parts; nil if they do not cover the versions `after + 1 ... through`.
    private static func compose(
        _ parts: ArraySlice<(after: UInt64, version: UInt64, summary: ChangeSummary)>, after: UInt64, through: UInt64
    ) -> ChangeSummary? {
        var result = ChangeSummary()
        var reached = after
        for part in parts {
            guard part.after == reached else { return nil }
            reached = part.version
            result.append(part.summary)
        }
        return reached == through ? result : nil
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

    /// Returns what changed between two versions. The summary of a version that was written before the cursor was made
    /// may not have been kept. If a summary between the two versions is missing, they are compared by their values
    /// instead.
    package func changes(from old: Pin, to new: Pin) -> ChangeSummary {
        precondition(old.version <= new.version, "Firn: changes can only be read forwards")
        return store.changeJournal.changes(after: old.version, through: new.version) {
            old.snapshot.difference(to: new.snapshot)
        }
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
        changeJournal.keep(summary, after: after, version) { versions.activeVersions }
    }
}

import FirnTestSupport
import Testing

@testable import FirnCore

@Suite(.timeLimit(.minutes(20))) struct ChangeSummaryTests {
    /// If each deletion looked at each list, this would take hours.
    @Test func manyDeletionsAfterManyListsAreComposed() {
        let count: Int64 = 200_000
        let table = TableID(0)
        var summary = ChangeSummary()
        summary.tables[table] = TableSummary()
        for key in 0..<count {
            summary.tables[table]?.scripts[.init(key: key, column: 1)] = ListScript([.insert(0, .null)])
        }
        var next = ChangeSummary()
        next.tables[table] = TableSummary()
        // Every tenth key belongs to an object with a list; the other deleted objects have none.
        for key in 0..<count {
            next.tables[table]?.deleted.insert(key % 10 == 0 ? key : key + count)
        }
        summary.append(next)
        let lists = summary.tables[table]?.scripts.keys.map(\.key) ?? []
        #expect(Set(lists) == Set((0..<count).filter { $0 % 10 != 0 }))
        #expect(summary.tables[table]?.deleted.count == Int(count))
    }
}

/// The journal gives an observer the composition of the summaries of the versions between, whatever the journal
/// remembers of other observers.
@Suite(.timeLimit(.minutes(20))) struct ChangeJournalTests {
    private static let table = TableID(0)

    /// A version that inserts an object of its own number, assigns a column of the object before, edits a list of
    /// that one and of object 0, and deletes an older object now and then.
    private static func summary(_ version: UInt64) -> ChangeSummary {
        var table = TableSummary()
        let key = Int64(version)
        table.inserted.insert(key)
        table.modified[key - 1, default: ColumnSet()].insert(Int(version % 5))
        for edited in [0, key - 1] {
            table.scripts[.init(key: edited, column: 1)] = ListScript([.insert(0, .int(key))])
        }
        if version % 3 == 0 { table.deleted.insert(key - 3) }
        var result = ChangeSummary()
        result.tables[Self.table] = table
        return result
    }

    private func expected(after: UInt64, through: UInt64) -> ChangeSummary {
        var result = ChangeSummary()
        for version in after..<through { result.append(Self.summary(version + 1)) }
        return result
    }

    private func isSame(_ a: ChangeSummary?, _ b: ChangeSummary) -> Bool {
        guard let a, a.tables.count == b.tables.count else { return false }
        return b.tables.allSatisfy { id, table in
            a.tables[id].map {
                $0.inserted == table.inserted && $0.deleted == table.deleted && $0.modified == table.modified
                    && $0.scripts == table.scripts
            } ?? false
        }
    }

    @Test(
        "each observer gets its own versions' changes, however the others move",
        arguments: 1...20 as ClosedRange<UInt64>)
    func composed(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let journal = ChangeJournal()
        var newest: UInt64 = 10
        var observers: [(cursor: Int, version: UInt64)] = []
        for _ in 0..<400 {
            switch random.below(4) {
            case 0 where observers.count < 6: observers.append((journal.addCursor(after: newest), newest))
            case 1 where !observers.isEmpty && random.below(4) == 0:
                journal.remove(observers.remove(at: random.below(observers.count)).cursor)
            case 2 where !observers.isEmpty:
                let index = random.below(observers.count)
                let (cursor, version) = observers[index]
                let through = version + UInt64(random.below(Int(newest - version) + 1))
                #expect(
                    isSame(
                        composed(journal, after: version, through: through), expected(after: version, through: through))
                )
                // Others ask for the same versions, too.
                for other in observers where other.version <= through {
                    #expect(
                        isSame(
                            composed(journal, after: other.version, through: through),
                            expected(after: other.version, through: through)))
                }
                journal.move(cursor, to: through)
                observers[index].version = through
            default:
                if journal.isWanted { journal.keep(Self.summary(newest + 1), after: newest, newest + 1) }
                if observers.isEmpty || journal.isWanted { newest += 1 }
            }
        }
    }

    /// If each observer composed them again, this would take hours.
    @Test("observers of the same version share one summary of many versions") func shared() {
        let journal = ChangeJournal()
        let cursors = (0..<5_000).map { _ in journal.addCursor(after: 0) }
        let newest: UInt64 = 50_000
        for version in 0..<newest { journal.keep(Self.summary(version + 1), after: version, version + 1) }
        for _ in cursors {
            #expect(composed(journal, after: 0, through: newest)?.tables[Self.table]?.inserted.isEmpty == false)
        }
        journal.move(cursors[0], to: newest)
        #expect(isSame(composed(journal, after: 0, through: newest), expected(after: 0, through: newest)))
    }

    @Test("changes that were not kept are not made up") func gaps() {
        let journal = ChangeJournal()
        let cursor = journal.addCursor(after: 5)
        journal.keep(Self.summary(7), after: 6, 7)
        #expect(composed(journal, after: 5, through: 7) == nil)
        #expect(isSame(composed(journal, after: 6, through: 7), expected(after: 6, through: 7)))
        #expect(composed(journal, after: 6, through: 8) == nil)
        journal.move(cursor, to: 7)
        #expect(composed(journal, after: 6, through: 7) == nil, "nobody is behind it any more, so it is not kept")
    }

    @Test("two versions are compared once for all observers of the first") func comparedOnce() {
        let journal = ChangeJournal()
        let cursors = (0..<100).map { _ in journal.addCursor(after: 5) }
        var comparisons = 0
        func changes(through: UInt64) -> ChangeSummary {
            journal.changes(after: 5, through: through) {
                comparisons += 1
                return Self.summary(through)
            }
        }
        for through in [6, 7] as [UInt64] {
            for _ in cursors { #expect(isSame(changes(through: through), Self.summary(through))) }
        }
        #expect(comparisons == 2)
        // Only the newest is kept.
        #expect(isSame(changes(through: 6), Self.summary(6)))
        #expect(isSame(changes(through: 7), Self.summary(7)))
        #expect(comparisons == 3)
        for cursor in cursors { journal.move(cursor, to: 7) }
        #expect(isSame(changes(through: 7), Self.summary(7)))
        #expect(comparisons == 4, "what no observer needs is not kept")
    }

    /// What a journal composes of what it has kept; nil if it has to compare.
    /// An observer that is shown nothing for long costs no summary for each version, and is still shown everything; one
    /// that has been shown a version between is shown what follows it.
    @Test func oldSummariesBecomeOne() {
        let journal = ChangeJournal()
        let (late, early) = (journal.addCursor(after: 0), journal.addCursor(after: 0))
        func summary(_ key: Int64) -> ChangeSummary {
            var summary = ChangeSummary()
            summary.tables[TableID(0)] = TableSummary()
            summary.tables[TableID(0)]?.assign(1, of: key)
            return summary
        }
        for version in 1...1000 {
            journal.keep(summary(Int64(version)), after: UInt64(version - 1), UInt64(version))
            if version == 300 { journal.move(early, to: 300) }
        }
        #expect(journal.summaryCount <= 66)
        #expect(composed(journal, after: 0, through: 1000)?.tables[TableID(0)]?.modified.count == 1000)
        #expect(composed(journal, after: 300, through: 1000)?.tables[TableID(0)]?.modified.keys.min() == 301)
        // A version in what has become one is reached by comparing.
        #expect(composed(journal, after: 0, through: 200) == nil)
        #expect(composed(journal, after: 0, through: 990)?.tables[TableID(0)]?.modified.count == 990)
        journal.remove(late)
        #expect(composed(journal, after: 300, through: 1000)?.tables[TableID(0)]?.modified.count == 700)
        journal.remove(early)
        #expect(journal.summaryCount == 0)
    }

    /// A version that somebody holds may yet be shown: what was assigned before it and after it stays apart.
    @Test func summariesStayApartAtVersionsThatAreHeld() {
        let journal = ChangeJournal()
        let cursor = journal.addCursor(after: 0)
        let held: [UInt64] = [3, 200, 201, 900]
        for version in 1...1000 as ClosedRange<UInt64> {
            journal.keep(Self.summary(version), after: version - 1, version) { held }
        }
        #expect(journal.summaryCount <= 66 + 2 * held.count)
        for version in held {
            let before = composed(journal, after: 0, through: version)
            let after = composed(journal, after: version, through: 1000)
            #expect(isSame(before, expected(after: 0, through: version)))
            #expect(isSame(after, expected(after: version, through: 1000)))
        }
        #expect(composed(journal, after: 0, through: 300) == nil)
        journal.remove(cursor)
    }

    private func composed(_ journal: ChangeJournal, after: UInt64, through: UInt64) -> ChangeSummary? {
        var isCompared = false
        let changes = journal.changes(after: after, through: through) {
            isCompared = true
            return ChangeSummary()
        }
        return isCompared ? nil : changes
    }
}

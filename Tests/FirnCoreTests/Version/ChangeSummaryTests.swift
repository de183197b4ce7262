import Testing

@testable import FirnCore

@Suite(.timeLimit(.minutes(20))) struct ChangeSummaryTests {
    /// Were each deletion to look at each list, this would take hours.
    @Test func manyDeletionsAfterManyListsAreComposed() {
        let count: Int64 = 200_000
        let table = TableID(0)
        var notes = ChangeSummary()
        notes.tables[table] = TableSummary()
        for key in 0..<count {
            notes.tables[table]?.scripts[.init(key: key, column: 1)] = ListScript([.insert(0, .null)])
        }
        var next = ChangeSummary()
        next.tables[table] = TableSummary()
        // Of the lists' objects every tenth; the others have none.
        for key in 0..<count {
            next.tables[table]?.deleted.insert(key % 10 == 0 ? key : key + count)
        }
        notes.append(next)
        let lists = notes.tables[table]?.scripts.keys.map(\.key) ?? []
        #expect(Set(lists) == Set((0..<count).filter { $0 % 10 != 0 }))
        #expect(notes.tables[table]?.deleted.count == Int(count))
    }
}

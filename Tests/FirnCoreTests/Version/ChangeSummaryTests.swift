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

import FirnStorage
import ForgedStores
import Testing

@testable import FirnCore

/// Appends commits to a valid log, as `ForgedReplayTests` does. They assign mixed values that no release writes.
@Suite("A mixed value that no release writes is still stored as a mixed value", .timeLimit(.minutes(20)))
struct ForgedMixedTests {
    private static let column = Int(ForgedReplayTests.column(.mixed))

    /// Opens the base store with a forged update of one mixed value, and expects that value, and all others
    /// unchanged.
    private func expect(_ value: Value, of key: Int64, after run: [UInt8]) throws {
        func open(_ storage: MemoryStorage) throws -> Store {
            try Store(BaseStore.options(), storage: storage, clock: ManualClock())
        }
        func values(_ store: Store) -> [Value?] {
            let view = store.pin().snapshot.table(BaseStore.any)
            return (0..<Int64(12)).map { view.value(Self.column, of: $0) }
        }
        let base = try open(BaseStore.made.storage(replacing: [:]))
        var expected = values(base)
        expected[Int(key)] = value
        try base.close()
        let block = ForgedReplayTests.block(
            7, ForgedReplayTests.update(0, column: UInt8(Self.column), key: key, values: run))
        let forgery = ForgedReplayTests.Forgery("a mixed value", blocks: block)
        let storage = try BaseStore.made.storage(appendingCommit: forgery.input)
        for round in 0..<3 {
            let store = try open(storage)
            #expect(values(store) == expected, "round \(round)")
            store._checkInvariants()
            if round == 1 { _ = try store.compact() }
            try store.verify()
            try store.close()
        }
    }

    @Test("a link to the column's own target", arguments: [2, 7, 11] as [Int64]) func link(key: Int64) throws {
        let bytes: [UInt8] = [11, 5, 0, 0, 0, 0, 0, 0, 0]
        try expect(.link(5), of: key, after: [ForgedReplayTests.mixed] + ForgedReplayTests.run(9) + bytes)
    }

    @Test("null, whether or not the property is nullable") func null() throws {
        #expect(!BaseStore.schema.tables[0].columns[Self.column].isNullable)
        try expect(.null, of: 3, after: [ForgedReplayTests.mixed | 0x40, 1] + ForgedReplayTests.run(0))
    }
}

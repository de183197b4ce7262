import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Rows are written to the log before their transaction ends. Reading them back gives their state at the end of the
/// transaction, whatever happened to them after they were flushed.
@Suite(.timeLimit(.minutes(20))) struct StreamedInsertsTests {
    /// As many rows as three leaves hold.
    private static let many = 3 * Limits.rowsPerLeaf

    /// New objects with values of 12 KB. They fill six parts before the transaction ends, more than the queue of
    /// parts holds.
    private static let long = StoreScript.create(0, many, longData: 12_000)

    /// Runs each body in a transaction, then opens the store again and checks it.
    private func check(_ bodies: [StoreScript.Body]) throws {
        let storage = MemoryStorage()
        let script = StoreScript([.commit(StoreScript.schema)] + bodies.map { .commit($0) } + [.reopen]) {
            $0.segmentByteCount = 8 << 20
        }
        if let error = script.run(on: storage) { throw error }
        try script.check(try StoreScript.open(script.options, storage), "at the end")
    }

    private func expectFlushed(_ isExpected: Bool = true) -> StoreScript.Body {
        { _, transaction in #expect((transaction.streamed?.end(of: TableID(0)) != nil) == isExpected) }
    }

    private func all(_ bodies: StoreScript.Body...) -> StoreScript.Body {
        { script, transaction in for body in bodies { try body(script, transaction) } }
    }

    @Test func alternatingRowsOfTwoTables() throws {
        try check([
            StoreScript.create(0, 10),
            all(
                StoreScript.create(0, Self.many), StoreScript.create(1, Self.many), StoreScript.create(0, Self.many),
                expectFlushed(), StoreScript.create(1, 20)),
            StoreScript.set(0, 3),
        ])
    }

    @Test func rowsThatAreChangedAfterwards() throws {
        try check([
            all(StoreScript.create(0, Self.many), expectFlushed(), StoreScript.set(0, 3), StoreScript.set(0, 4)),
            StoreScript.create(0, 2),
        ])
    }

    @Test func listsThatAreEditedAfterwards() throws {
        try check([all(StoreScript.create(0, Self.many), expectFlushed(), StoreScript.editLists)])
    }

    @Test func rowsThatAreDeletedAfterwards() throws {
        try check([
            all(StoreScript.create(0, Self.many), expectFlushed(), StoreScript.delete(0, 3)),
            all(StoreScript.create(0, Self.many), StoreScript.delete(0, Self.many)),
        ])
    }

    /// Then no leaf is left whose stamp would show the change.
    @Test func rowsThatAreAllDeletedAfterwards() throws {
        try check([
            all(
                StoreScript.create(0, Self.many), expectFlushed(),
                { script, transaction in
                    transaction.deleteAll(TableID(0))
                    script.oracle.deleteAll(0)
                })
        ])
    }

    @Test func rowsThatAreChangedBetweenTwoFlushes() throws {
        try check([
            all(
                StoreScript.create(0, Self.many), expectFlushed(), StoreScript.set(0, 3),
                StoreScript.create(0, Self.many))
        ])
    }

    @Test func aSchemaChangeAfterwards() throws {
        try check([
            all(StoreScript.create(0, Self.many), expectFlushed(), StoreScript.wider, StoreScript.create(0, 4))
        ])
    }

    @Test func transactionSnapshotsInBetween() throws {
        try check([
            all(
                StoreScript.create(0, Self.many), expectFlushed(),
                { script, transaction in
                    let (pin, kept) = (transaction.pinSnapshot(), script.oracle)
                    try StoreScript.create(0, Self.many)(script, transaction)
                    let fault = kept.check(pin.snapshot, "a snapshot before a flush")
                    #expect(fault == nil)
                })
        ])
    }

    /// Nothing of the transaction remains in the log, and the next version gets its number.
    @Test func aCancelledTransaction() throws {
        let storage = MemoryStorage()
        let script = StoreScript(
            [
                .commit(StoreScript.schema), .commit(StoreScript.create(0, 3)), .cancel(Self.long),
                .commit(StoreScript.set(0, 3)), .reopen,
            ]) { $0.segmentByteCount = 8 << 20 }
        if let error = script.run(on: storage) { throw error }
        #expect(script.begun == 3)
        let log = try storage.status("/store/log/0000000001.segment")?.byteCount
        #expect(try #require(log) < 64 << 10)
    }

    /// What was written before the disk was full is removed, and the next commit fits again.
    @Test func aDiskThatFillsDuringTheTransaction() throws {
        let storage = SimulatedStorage(seed: 3)
        let script = StoreScript([.commit(StoreScript.schema), .commit(StoreScript.create(0, 3))]) {
            $0.segmentByteCount = 8 << 20
            $0.reserveByteCount = 0
        }
        if let error = script.run(on: storage) { throw error }
        let store = try StoreScript.open(script.options, storage)
        let before = script.oracle
        let transaction = try store.beginWrite()
        storage.inject(
            SimulatedFault(.noSpace, number: 28, residue: .some, times: 1000) {
                $0.operation == .write && $0.path.hasSuffix("segment")
            })
        try Self.long(script, transaction)
        #expect(transaction.streamed?.sink.failure?.code == .diskFull)
        #expect(logCode { try transaction.commit() } == .diskFull)
        storage.removeFaults()
        let fault = before.check(store.pin().snapshot, "after a full disk")
        #expect(fault == nil)
        let small = try store.beginWrite()
        script.oracle = before
        try StoreScript.create(0, 1)(script, small)
        try small.commit()
    }
}

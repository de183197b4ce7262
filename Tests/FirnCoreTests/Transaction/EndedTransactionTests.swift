import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A transaction that has ended accepts no changes: the program stops before anything is read or written that no
/// longer belongs to the transaction.
@Suite(.timeLimit(.minutes(20))) struct EndedTransactionTests {
    @Test(arguments: 0..<5, [false, true]) func changingAnEndedTransactionStops(use: Int, isCommitted: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [use, isCommitted] in
            let store = try Store.open(on: MemoryStorage())
            let first = try store.beginWrite()
            try first.makeTable(
                "Thing",
                [
                    ColumnSchema(name: "id", type: .int),
                    ColumnSchema(name: "texts", type: .string, collection: .list),
                ])
            try first.endRow(first.beginRow(TableID(0)))
            try first.commit()
            let transaction = try store.beginWrite()
            transaction.set(TableID(0), column: 0, key: 0, to: .int(1))
            if isCommitted { try transaction.commit() } else { transaction.cancel() }
            switch use {
            case 0: transaction.set(TableID(0), column: 0, key: 0, to: .int(2))
            case 1: _ = transaction.beginRow(TableID(0))
            case 2: transaction.edit(TableID(0), column: 1, key: 0) { $0.append(.string("x")) }
            case 3: transaction.delete(TableID(0), 0)
            default: _ = transaction.ownCell(TableID(0), column: 0, key: 0)
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("a transaction was changed that has ended"), "the message was: \(text)")
    }
}

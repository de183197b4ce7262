import FirnStorage
import ForgedStores
import Testing

@testable import FirnCore

/// A transaction is not disturbed by a damaged table that it does not use.
@Suite(.timeLimit(.minutes(20))) struct DamagedTableTests {
    private static func storage() throws -> MemoryStorage {
        var files = try StoreFiles.made { transaction in
            for _ in 0..<3 { try BaseStore.add(transaction, table: BaseStore.any, values: [:]) }
            for id in 0..<3 { try BaseStore.add(transaction, table: BaseStore.person, values: [0: .int(Int64(id))]) }
        }
        try files.forge { bytes in
            let root = try #require(StoreFiles.nodes(bytes, .root).first).lowerBound
            let table = StoreFiles.target(bytes, root + 32 + 8 * BaseStore.any.index)
            // The table has other columns than the schema says.
            Forging.put(Forging.get(bytes, offset: table + 56, UInt32.self) + 1, into: &bytes, offset: table + 56)
        }
        return try files.storage()
    }

    private static func open(_ storage: MemoryStorage) throws -> Store {
        try Store(BaseStore.options(), storage: storage, clock: ManualClock())
    }

    /// Once the log has a commit, nothing that could be damaged may be read: the program would stop.
    @Test func aCommitAfterACancelledTransactionDoesNotReadTheDamagedTable() async {
        await #expect(processExitsWith: .success) {
            let storage = try DamagedTableTests.storage()
            var store = try DamagedTableTests.open(storage)
            let cancelled = try store.beginWrite()
            try BaseStore.add(cancelled, table: BaseStore.person, values: [0: .int(100)])
            cancelled.cancel()
            for id in 101..<Int64(103) {
                let transaction = try store.beginWrite()
                try BaseStore.add(transaction, table: BaseStore.person, values: [0: .int(id)])
                try transaction.commit()
            }
            try store.close()
            store = try DamagedTableTests.open(storage)
            let table = store.pin().snapshot.table(BaseStore.person)
            // The key that the cancelled transaction assigned is not assigned again.
            precondition(table.firstKey(primaryKeyInt: 101) == 4 && table.firstKey(primaryKeyInt: 102) == 5)
            try store.close()
        }
    }

    /// An iterator in a transaction holds a transaction snapshot.
    @Test func aTransactionSnapshotDoesNotReadTheDamagedTable() async {
        await #expect(processExitsWith: .success) {
            let store = try DamagedTableTests.open(try DamagedTableTests.storage())
            let transaction = try store.beginWrite()
            for id in 200..<Int64(203) {
                try BaseStore.add(transaction, table: BaseStore.person, values: [0: .int(id)])
                let state = transaction.pinSnapshot()
                transaction.set(BaseStore.person, column: 1, key: 1, to: .string("name \(id)"))
                transaction.set(BaseStore.person, column: 1, key: id - 197, to: .string("new \(id)"))
                precondition(state.snapshot.table(BaseStore.person).value(1, of: id - 197) == .string(""))
            }
            try transaction.commit()
            let table = store.pin().snapshot.table(BaseStore.person)
            precondition(table.value(1, of: 1) == .string("name 202") && table.value(1, of: 5) == .string("new 202"))
            try store.close()
        }
    }

    /// A transaction that changes other objects does not need the last leaf.
    @Test func aCommitToOtherObjectsDoesNotReadTheLastLeaf() throws {
        var files = try StoreFiles.made { transaction in
            for id in 0..<800 { try BaseStore.add(transaction, table: BaseStore.person, values: [0: .int(Int64(id))]) }
        }
        files.forge { bytes in
            for leaf in StoreFiles.nodes(bytes, .leaf)
            where Forging.get(bytes, offset: leaf.lowerBound + 20, UInt32.self) == UInt32(32) {
                Forging.put(
                    Forging.get(bytes, offset: leaf.lowerBound + 48, UInt32.self) + 1, into: &bytes,
                    offset: leaf.lowerBound + 48)
            }
        }
        let store = try files.open()
        let transaction = try store.beginWrite()
        transaction.set(BaseStore.person, column: 2, key: 5, to: .string("another"))
        try transaction.commit()
        #expect(store.pin().snapshot.table(BaseStore.person).value(2, of: 5) == .string("another"))
        let other = try store.beginWrite()
        other.set(BaseStore.person, column: 2, key: 790, to: .string("another"))
        #expect(throws: StoreError.self) { try other.commit() }
        try store.close()
    }

    /// A transaction that uses the damaged table throws.
    @Test func usingTheDamagedTableThrows() throws {
        let store = try Self.open(try Self.storage())
        let transaction = try store.beginWrite()
        transaction.set(BaseStore.any, column: 0, key: 0, to: .bool(true))
        #expect(throws: StoreError.self) { try transaction.commit() }
        try store.close()
    }
}

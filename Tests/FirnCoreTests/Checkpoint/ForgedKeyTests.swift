import FirnStorage
import FuzzTargets
import Testing

@testable import FirnCore

@Suite("Keys that the log can't tell are given to no object", .timeLimit(.minutes(20)))
struct ForgedKeyTests {
    /// People, all in one leaf.
    private static func files() throws -> StoreFiles {
        try StoreFiles.made { transaction in
            for id in 0..<256 { try BaseStore.add(transaction, BaseStore.person, [0: .int(Int64(id))]) }
        }
    }

    private static func files(nextKey: Int64) throws -> StoreFiles {
        var files = try Self.files()
        files.forge { bytes in
            for table in StoreFiles.nodes(bytes, .table) where Forging.get(bytes, table.lowerBound + 48) == UInt64(256)
            {
                Forging.put(UInt64(nextKey), &bytes, table.lowerBound + 48)
            }
        }
        return files
    }

    private static func add(_ store: Store, _ id: Int64) throws {
        let transaction = try store.beginWrite()
        do { try BaseStore.add(transaction, BaseStore.person, [0: .int(id)]) } catch {
            transaction.cancel()
            throw error
        }
        try transaction.commit()
    }

    /// A changeset can't name them, so the store would not open again.
    @Test("a next key behind all that there are", arguments: [1 << 62, 1 << 62 - 1] as [Int64])
    func noKeysLeft(next: Int64) throws {
        let storage = try Self.files(nextKey: next).storage()
        let store = try Store(BaseStore.options(), storage: storage, clock: ManualClock())
        for _ in 0..<2 {
            let error = #expect(throws: StoreError.self) { try Self.add(store, 1000) }
            #expect(error?.description.contains("all keys") == true, "\(error as Any)")
        }
        // What hands out no key goes on.
        let transaction = try store.beginWrite()
        transaction.set(BaseStore.person, 3, 3, .int(1))
        try transaction.commit()
        try store.close()
        let again = try Store(BaseStore.options(), storage: storage, clock: ManualClock())
        #expect(again.pin().snapshot.table(BaseStore.person).value(3, of: 3) == .int(1))
        try again.close()
    }

    @Test("the last key there is is handed out, logged and read again") func lastKey() throws {
        let lastKey: Int64 = 1 << 62 - 2
        let storage = try Self.files(nextKey: lastKey).storage()
        var store = try Store(BaseStore.options(), storage: storage, clock: ManualClock())
        try Self.add(store, 1000)
        #expect(throws: StoreError.self) { try Self.add(store, 1001) }
        try store.close()
        store = try Store(BaseStore.options(), storage: storage, clock: ManualClock())
        #expect(store.pin().snapshot.table(BaseStore.person).firstKey(primaryKeyInt: 1000) == lastKey)
        _ = try store.compact()
        try store.verify()
        #expect(throws: StoreError.self) { try Self.add(store, 1001) }
        try store.close()
    }

    @Test("keys of a leaf that count on beyond the last one") func keysBeyondTheLast() throws {
        var files = try Self.files()
        try files.forge { bytes in
            let leaf = try #require(StoreFiles.nodes(bytes, .leaf).last).lowerBound
            #expect(Forging.get(bytes, leaf + 40, UInt64.self) == 0)
            Forging.put(UInt64(1 << 62 - 255), &bytes, leaf + 32)
        }
        let store = try files.open()
        let error = #expect(throws: StoreError.self) { try store.verify() }
        #expect(error?.description.contains("first key") == true, "\(error as Any)")
        try store.close()
    }
}

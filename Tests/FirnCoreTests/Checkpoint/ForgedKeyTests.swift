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

    enum Passing: CaseIterable {
        /// Objects of the last leaf have keys that the table has yet to hand out.
        case last
        /// So have those of the first one, and the inner node leads to it.
        case first
    }

    /// A row that is taken for one which no version has seen is written in place: here over the references of a chunk
    /// in the checkpoint.
    @Test("a next key that objects have passed", arguments: Passing.allCases, [false, true])
    func passed(_ passing: Passing, isHeld: Bool) throws {
        var files = try StoreFiles.made { transaction in
            for id in 0..<400 {
                try BaseStore.add(
                    transaction, BaseStore.person, [0: .int(Int64(id)), 2: .string("kind \(id)")])
            }
        }
        files.forge { bytes in
            for table in StoreFiles.nodes(bytes, .table) where Forging.get(bytes, table.lowerBound + 48) == UInt64(400)
            {
                if passing == .last { Forging.put(UInt64(5), &bytes, table.lowerBound + 48) }
            }
            if passing == .last { return }
            for leaf in StoreFiles.nodes(bytes, .leaf)
            where Forging.get(bytes, leaf.lowerBound + 20, UInt32.self) == UInt32(256) {
                Forging.put(UInt64(500), &bytes, leaf.lowerBound + 32)
            }
            for inner in StoreFiles.nodes(bytes, .rowInner) {
                Forging.put(UInt64(1000), &bytes, inner.lowerBound + 32 + 8)
            }
        }
        let key: Int64 = passing == .last ? 390 : 510
        let store = try files.open()
        let pin = store.pin()
        let before = pin.snapshot.table(BaseStore.person).value(2, of: key)
        #expect(before == .string(passing == .last ? "kind 390" : "kind 10"))
        let transaction = try store.beginWrite()
        transaction.set(BaseStore.person, 8, key - 1, .bool(true))
        let held = isHeld ? transaction.pinState() : nil
        transaction.set(BaseStore.person, 2, key, .string("another"))
        #expect(pin.snapshot.table(BaseStore.person).value(2, of: key) == before)
        withExtendedLifetime(held) {}
        let error = #expect(throws: StoreError.self) { try transaction.commit() }
        #expect(error?.description.contains("the key") == true, "\(error as Any)")
        #expect(pin.snapshot.table(BaseStore.person).value(2, of: key) == before)
    }

    @Test("rows of the last (sub-)version's are written in place, and no others") func fresh() throws {
        let store = try Self.files().open()
        let transaction = try store.beginWrite()
        #expect(!transaction.isFresh(BaseStore.person, 255))
        try BaseStore.add(transaction, BaseStore.person, [0: .int(256)])
        #expect(transaction.isFresh(BaseStore.person, 256) && !transaction.isFresh(BaseStore.person, 255))
        let pin = transaction.pinState()
        #expect(!transaction.isFresh(BaseStore.person, 256))
        try BaseStore.add(transaction, BaseStore.person, [0: .int(257)])
        #expect(transaction.isFresh(BaseStore.person, 257) && !transaction.isFresh(BaseStore.person, 256))
        withExtendedLifetime(pin) {}
        transaction.cancel()
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

import FirnStorage
import ForgedStores
import Testing

@testable import FirnCore

@Suite("No object gets a key that the log can't express", .timeLimit(.minutes(20)))
struct ForgedKeyTests {
    /// People, all in one leaf.
    private static func files() throws -> StoreFiles {
        try StoreFiles.made { transaction in
            for id in 0..<256 { try BaseStore.add(transaction, table: BaseStore.person, values: [0: .int(Int64(id))]) }
        }
    }

    private static func files(nextKey: Int64) throws -> StoreFiles {
        var files = try Self.files()
        files.forge { bytes in
            for table in StoreFiles.nodes(bytes, .table)
            where Forging.get(bytes, offset: table.lowerBound + 48) == UInt64(256) {
                Forging.put(UInt64(nextKey), into: &bytes, offset: table.lowerBound + 48)
            }
        }
        return files
    }

    private static func add(_ store: Store, _ id: Int64) throws {
        let transaction = try store.beginWrite()
        do { try BaseStore.add(transaction, table: BaseStore.person, values: [0: .int(id)]) } catch {
            transaction.cancel()
            throw error
        }
        try transaction.commit()
    }

    /// A changeset can't express such keys, so the store would not open again.
    @Test("a next key beyond all possible keys", arguments: [1 << 62, 1 << 62 - 1] as [Int64])
    func noKeysLeft(next: Int64) throws {
        let storage = try Self.files(nextKey: next).storage()
        let store = try Store(BaseStore.options(), storage: storage, clock: ManualClock())
        for _ in 0..<2 {
            let error = #expect(throws: StoreError.self) { try Self.add(store, 1000) }
            #expect(error?.description.contains("all possible object keys") == true, "\(error as Any)")
        }
        // A transaction that assigns no key continues to work.
        let transaction = try store.beginWrite()
        transaction.set(BaseStore.person, column: 3, key: 3, to: .int(1))
        try transaction.commit()
        try store.close()
        let again = try Store(BaseStore.options(), storage: storage, clock: ManualClock())
        #expect(again.pin().snapshot.table(BaseStore.person).value(3, of: 3) == .int(1))
        try again.close()
    }

    @Test("the greatest possible key is assigned, logged and read again") func lastKey() throws {
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
        /// Objects of the last leaf have keys that the table has yet to assign.
        case last
        /// Objects of the first leaf also have such keys, and the inner node leads to them.
        case first
        /// Objects of the first leaf also have such keys, and it becomes the last leaf once all other objects are
        /// deleted.
        case emptied
        /// The same; and if some of the others remain, both leaves are merged into one whose keys do not ascend.
        case joined
    }

    /// A row that is assumed to be new, so that no version has seen it, is written in place: here over the references
    /// of a chunk in the checkpoint.
    @Test("a next key that is below the keys of objects", arguments: Passing.allCases, [false, true])
    func passed(_ passing: Passing, isHeld: Bool) throws {
        var files = try StoreFiles.made { transaction in
            for id in 0..<(passing == .joined ? 300 : 400) {
                try BaseStore.add(
                    transaction, table: BaseStore.person, values: [0: .int(Int64(id)), 2: .string("kind \(id)")])
            }
            if passing == .joined {
                for key in (100..<256).reversed() { transaction.delete(BaseStore.person, Int64(key)) }
            }
        }
        files.forge { bytes in
            if passing == .last {
                for table in StoreFiles.nodes(bytes, .table)
                where Forging.get(bytes, offset: table.lowerBound + 48) == UInt64(400) {
                    Forging.put(UInt64(5), into: &bytes, offset: table.lowerBound + 48)
                }
                return
            }
            for leaf in StoreFiles.nodes(bytes, .leaf)
            where [100, 256].contains(Forging.get(bytes, offset: leaf.lowerBound + 20, UInt32.self))
                && Forging.get(bytes, offset: leaf.lowerBound + 32, Int64.self) == 0
            {
                Forging.put(UInt64(500), into: &bytes, offset: leaf.lowerBound + 32)
            }
            guard passing == .first else { return }
            for inner in StoreFiles.nodes(bytes, .rowInner) {
                Forging.put(UInt64(1000), into: &bytes, offset: inner.lowerBound + 32 + 8)
            }
        }
        // Positions before and behind the end of the last leaf.
        let positions =
            switch passing {
            case .last: [390]
            case .first, .emptied: [10, 200]
            case .joined: [10, 50]
            }
        for position in positions { try check(files, passing: passing, isHeld: isHeld, position: position) }
    }

    private func check(_ files: StoreFiles, passing: Passing, isHeld: Bool, position: Int) throws {
        let store = try files.open()
        let pin = store.pin()
        let before = Self.kinds(pin)
        #expect(before[position] == .string("kind \(position)"))
        let transaction = try store.beginWrite()
        switch passing {
        case .last: transaction.set(BaseStore.person, column: 8, key: 300, to: .bool(true))
        case .first: transaction.set(BaseStore.person, column: 8, key: 509, to: .bool(true))
        case .emptied: for key in (256..<400).reversed() { transaction.delete(BaseStore.person, Int64(key)) }
        case .joined: transaction.delete(BaseStore.person, 299)
        }
        let held = isHeld ? transaction.pinSnapshot() : nil
        let location = transaction.table(BaseStore.person).location(at: position)
        let key = location.leaf.key(location.row)
        #expect(key >= transaction.table(BaseStore.person).nextKey)
        transaction.set(BaseStore.person, column: 2, key: key, to: .string("another"))
        #expect(Self.kinds(pin) == before)
        withExtendedLifetime(held) {}
        try transaction.commit()
        #expect(Self.kinds(pin) == before)
        #expect(Self.kinds(store.pin())[position] == .string("another"))
    }

    private static func kinds(_ pin: Pin) -> [Value] {
        let table = pin.snapshot.table(BaseStore.person)
        return (0..<table.count).map {
            let location = table.location(at: $0)
            return table.value(2, leaf: location.leaf, row: location.row)
        }
    }

    @Test("only rows added after the last transaction snapshot are written in place") func fresh() throws {
        let store = try Self.files().open()
        // These follow a full leaf of the checkpoint, in a leaf that has free rows.
        for id in 256..<276 { try Self.add(store, Int64(id)) }
        let transaction = try store.beginWrite()
        func isFresh(_ key: Int64) throws -> Bool {
            let location = try #require(transaction.table(BaseStore.person).find(key))
            return transaction.isFresh(BaseStore.person, column: 2, leaf: location.leaf, row: location.row)
        }
        #expect(try !isFresh(275))
        try BaseStore.add(transaction, table: BaseStore.person, values: [0: .int(276)])
        #expect(try isFresh(276) && !isFresh(275))
        var pin: Pin? = transaction.pinSnapshot()
        #expect(try !isFresh(276))
        try BaseStore.add(transaction, table: BaseStore.person, values: [0: .int(277)])
        #expect(try isFresh(277) && !isFresh(276))
        withExtendedLifetime(pin) {}
        pin = nil
        #expect(try isFresh(277) && isFresh(276) && !isFresh(275))
        transaction.cancel()
        try store.close()
    }

    @Test("consecutive keys of a leaf that run beyond the greatest possible key") func keysBeyondTheLast() throws {
        var files = try Self.files()
        try files.forge { bytes in
            let leaf = try #require(StoreFiles.nodes(bytes, .leaf).last).lowerBound
            #expect(Forging.get(bytes, offset: leaf + 40, UInt64.self) == 0)
            Forging.put(UInt64(1 << 62 - 255), into: &bytes, offset: leaf + 32)
        }
        let store = try files.open()
        let error = #expect(throws: StoreError.self) { try store.verify() }
        #expect(error?.description.contains("first key") == true, "\(error as Any)")
        try store.close()
    }
}

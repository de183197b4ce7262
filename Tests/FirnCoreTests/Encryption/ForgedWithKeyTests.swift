#if Encryption
    import FirnStorage
    import FirnTestSupport
    import ForgedStores
    import Testing

    @testable import FirnCore

    /// Somebody with the key has forged a store: each block is authentic, but what it says is wrong.
    @Suite(.timeLimit(.minutes(20)), .disabled(if: TestEnvironment.hasKey)) struct ForgedWithKeyTests {
        private static let person = BaseStore.person

        private static func open(_ checkpoint: [UInt8], decryptedByteCount: Int?) throws -> Store {
            try Store(
                KeyedStore.options(decryptedByteCount: decryptedByteCount),
                storage: KeyedStore.storage(checkpoint: checkpoint, commits: []), clock: ManualClock())
        }

        private static func name(_ store: Store, _ key: Int64) throws(StoreError) -> Value? {
            let pin = store.pin()
            return try DamageRecord.throwing { () throws(StoreError) in pin.snapshot.table(person).value(1, of: key) }
        }

        @Test(arguments: [nil, 0] as [Int?]) func aStoreThatIsNotForgedIsWhatItWas(decryptedByteCount: Int?) throws {
            let store = try Self.open(BaseStore.made.checkpoint, decryptedByteCount: decryptedByteCount)
            for key in 0..<Int64(600) where !(100..<140).contains(key) {
                #expect(try Self.name(store, key) == .string("Person \(key * 7919 % 1000) of many"))
            }
            try store.verify()
            try store.close()
        }

        /// A leaf claims the bytes of the next leaf, too. Reading it changes nothing in the next one, which was checked
        /// before and is in use.
        @Test(arguments: [nil, 0] as [Int?]) func aNodeThatIsTooLongDestroysNoOther(decryptedByteCount: Int?) throws {
            var bytes = BaseStore.made.checkpoint
            let leaves = StoreFiles.nodes(bytes, .leaf)
            let first = try #require(
                zip(leaves, leaves.dropFirst()).first { $0.count == $1.count && $0.upperBound == $1.lowerBound }?.0)
            Forging.put(UInt32(2 * first.count), into: &bytes, offset: first.lowerBound + 28)
            var manifest = BaseStore.made.manifest
            Forging.sealCheckpoint(&bytes, in: &manifest)
            let store = try Self.open(bytes, decryptedByteCount: decryptedByteCount)
            let key: Int64 = 300
            let before = try #require(try Self.name(store, key))
            #expect(throws: StoreError.self) { try Self.name(store, 0) }
            #expect(try Self.name(store, key) == before)
            try store.close()
        }
    }
#endif

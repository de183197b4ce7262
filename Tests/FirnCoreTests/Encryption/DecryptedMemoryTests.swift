#if Encryption
    import FirnStorage
    import FirnTestSupport
    import Foundation
    import ForgedStores
    import Synchronization
    import Testing

    @testable import FirnCore
    @testable import FirnCrypto
    @testable import FirnLog

    /// What is decrypted of checkpoints takes no more memory than `StoreOptions.decryptedMemoryByteCount` says, and is
    /// what was written.
    @Suite(.timeLimit(.minutes(20)), .disabled(if: TestEnvironment.hasKey)) struct DecryptedMemoryTests {
        private static let table = TableID(0)
        private static let limit = 1 << 20
        private static let rowCount = 6000

        private static func options(limit: Int?) -> StoreOptions {
            var log = LogOptions(folder: BaseStore.folder, verify: .directory)
            log.usesThreads = false
            log.reserveByteCount = 0
            log.encryptionKey = [UInt8](repeating: 5, count: 64).withUnsafeBytes { EncryptionKey($0) }
            var options = StoreOptions(log: log)
            options.compaction.isAutomatic = false
            options.decryptedMemoryByteCount = limit
            return options
        }

        private static func open(_ storage: any Storage, limit: Int? = limit) throws -> Store {
            try Store(options(limit: limit), storage: storage, clock: ManualClock())
        }

        // MARK: Values of each form

        private static let columns = [
            ColumnSchema(name: "id", type: .int), ColumnSchema(name: "score", type: .double),
            ColumnSchema(name: "group", type: .int, isNullable: true, isIndexed: true),
            ColumnSchema(name: "name", type: .string, isIndexed: true),
            ColumnSchema(name: "kind", type: .string), ColumnSchema(name: "note", type: .string),
            ColumnSchema(name: "data", type: .data), ColumnSchema(name: "numbers", type: .int, collection: .list),
            ColumnSchema(name: "words", type: .string, collection: .list),
        ]

        private static func values(_ id: Int, _ generation: Int = 0) -> [Value] {
            let seed = id &* 2_654_435_761 &+ generation &* 40_503
            func text(_ count: Int) -> String {
                var state = UInt64(bitPattern: Int64(seed)) | 1
                return String(
                    decoding: (0..<count).map { _ -> UInt8 in
                        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                        return 97 + UInt8(state >> 33 % 26)
                    }, as: UTF8.self)
            }
            return [
                .int(Int64(id)), .double(Double(seed)), id % 7 == 0 ? .null : .int(Int64(seed % 50)),
                .string("\(text(12))-\(id)"), .string("kind \(seed & 7)"),
                .string(String(repeating: "abc ", count: seed & 31)),
                .data(Array(text(id % 50 == 0 ? 40_000 : 60).utf8)),
                .list((0..<id % 5 * (id % 100 == 0 ? 900 : 1)).map { .int(Int64(seed &+ $0)) }),
                .list((0..<id % 4).map { .string(id % 60 == 0 ? text(3000) : "word \($0)") }),
            ]
        }

        private static func fill(_ storage: any Storage) throws {
            let store = try open(storage)
            let transaction = try store.beginWrite()
            try transaction.changeSchema(
                to: StoreSchema(tables: [TableSchema(name: "Record", primaryKey: 0, columns: columns)]))
            for id in 0..<rowCount {
                var row = transaction.beginRow(table)
                for (column, value) in values(id).enumerated() {
                    transaction.fill(&row, column: column, value: value)
                }
                try transaction.endRow(row)
            }
            try transaction.commit()
            _ = try store.compact()
            try store.close()
        }

        /// Compares all values, and finds each object by its indexes.
        private static func check(_ store: Store, changed: Set<Int> = []) throws {
            try DamageRecord.throwing { () throws(StoreError) in
                let pin = store.pin()
                let view = pin.snapshot.table(table)
                #expect(view.count == rowCount)
                view.forEachLeaf { leaf, _ in
                    for row in 0..<leaf.count {
                        let id = Int(leaf.key(row))
                        for (column, value) in values(id, changed.contains(id) ? 1 : 0).enumerated()
                        where view.value(column, leaf: leaf, row: row) != value && !DamageRecord.isSet {
                            Issue.record("property \(column) of \(id)")
                        }
                    }
                    return true
                }
                for id in stride(from: 0, to: rowCount, by: 7) {
                    #expect(view.firstKey(primaryKeyInt: Int64(id)) == Int64(id))
                }
                withExtendedLifetime(pin) {}
            }
        }

        private static func memory(_ store: Store) -> DecryptedMemory { store.checkpointReading.decryptedMemory }

        private static func checkLimit(_ store: Store) {
            #expect(memory(store).keptByteCount <= limit / 2)
            #expect(memory(store).blockByteCount <= 1 << 20)
        }

        @Test func aStoreBeyondTheLimitIsReadAndWritten() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            let store = try Self.open(storage)
            let checkpoint = try #require(store.log?.checkpoint)
            #expect(checkpoint.files.reduce(0) { $0 + $1.byteCount } > 4 * Self.limit)
            for _ in 1...2 {
                try Self.check(store)
                Self.checkLimit(store)
            }
            #expect(Self.memory(store).keptByteCount > Self.limit / 4)
            try store.verify()
            // Changes here and there, a compaction that adds, one that moves nodes, and one that writes all again.
            var changed: Set<Int> = []
            for start in [0, 100, 201, 1, 5999] {
                let transaction = try store.beginWrite()
                for id in stride(from: start, to: Self.rowCount, by: start > 5000 ? 1 : 300) {
                    for (column, value) in Self.values(id, 1).enumerated().dropFirst() {
                        transaction.set(Self.table, column: column, key: Int64(id), to: value)
                    }
                    changed.insert(id)
                }
                try transaction.commit()
                _ = try store.compact(garbageShare: start == 201 ? 0 : start == 1 ? 0.01 : 1, rewritesAll: start == 1)
                try Self.check(store, changed: changed)
                Self.checkLimit(store)
            }
            try store.verify()
            try store.close()
            let again = try Self.open(storage)
            try Self.check(again, changed: changed)
            Self.checkLimit(again)
            try again.close()
        }

        @Test func withoutALimitEverythingIsKept() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            let store = try Self.open(storage, limit: nil)
            try Self.check(store)
            let kept = Self.memory(store).keptByteCount
            #expect(kept > 4 * Self.limit && Self.memory(store).blockByteCount <= 1 << 20)
            try Self.check(store)
            #expect(Self.memory(store).keptByteCount == kept)
            try store.close()
        }

        /// What a mapping kept no longer counts once the mapping is gone.
        @Test func whatIsReleasedCountsNoLonger() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            let store = try Self.open(storage, limit: nil)
            let memory = Self.memory(store)
            try Self.check(store)
            #expect(memory.keptByteCount > 0)
            let transaction = try store.beginWrite()
            for id in 0..<Self.rowCount {
                transaction.set(Self.table, column: 1, key: Int64(id), to: .double(0))
            }
            try transaction.commit()
            _ = try store.compact(garbageShare: 0)
            // One block of the new mapping holds what the rebase has read.
            #expect(memory.keptByteCount == DecryptedMemory.blockByteCount)
            try store.close()
        }

        /// What was kept of nodes that no version reaches any more does not count either, though others of their file
        /// are still read.
        @Test func whatIsFreeCountsNoLonger() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            let store = try Self.open(storage, limit: nil)
            let mapping = try #require(store.versions.published.mapping)
            let memory = Self.memory(store)
            try Self.check(store)
            let kept = memory.keptByteCount
            for value in 1...2 {
                let transaction = try store.beginWrite()
                for id in 0..<Self.rowCount / 2 {
                    transaction.set(Self.table, column: 6, key: Int64(id), to: .data([UInt8(value)]))
                }
                try transaction.commit()
                _ = try store.compact(garbageShare: 10)
            }
            #expect(store.versions.published.mapping === mapping)
            #expect(memory.keptByteCount < kept && memory.keptByteCount > kept / 4)
            try store.close()
        }

        @Test func manyThreadsReadBeyondTheLimit() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            let store = try Self.open(storage)
            let failures = Atomic<Int>(0)
            let group = DispatchGroup()
            for _ in 0..<6 {
                group.enter()
                Thread.detachNewThread {
                    defer { group.leave() }
                    do { try Self.check(store) } catch { failures.add(1, ordering: .relaxed) }
                }
            }
            #expect(group.wait(timeout: .testTimeout) == .success)
            #expect(failures.load(ordering: .relaxed) == 0)
            Self.checkLimit(store)
            try store.close()
        }

        /// An encrypted store writes no nodes to scratch files. So a transaction waits for a checkpoint if there are
        /// too many on the heap, and they never take much more than twice the limit.
        @Test func transactionsThatAreFasterThanTheCompactorWait() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            var options = Self.options(limit: Self.limit)
            options.compaction.isAutomatic = true
            options.transactionMemoryByteCount = 1 << 20
            let store = try Store(options, storage: storage, clock: ManualClock())
            let checkpoint = store.log?.checkpoint?.version
            var most = 0
            for round in 0..<30 {
                let transaction = try store.beginWrite()
                for id in 200 * round..<200 * (round + 1) {
                    transaction.set(Self.table, column: 6, key: Int64(id), to: .data([UInt8](repeating: 1, count: 900)))
                }
                try transaction.commit()
                most = max(most, store.heap.byteCount)
            }
            #expect(most > options.transactionMemoryByteCount && most < 3 * options.transactionMemoryByteCount)
            #expect(store.log?.checkpoint?.version ?? 0 > checkpoint ?? 0)
            try store.close()
        }

        /// A block is authenticated each time it is decrypted: what was right once is refused when it is changed.
        @Test func aBlockThatIsChangedLaterIsRefused() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            let store = try Self.open(storage, limit: 0)
            try Self.check(store)
            let path = BaseStore.folder + "/checkpoint/0000000001.checkpoint"
            let file = try storage.open(path, .readWrite)
            try file.write([try file.read(1, at: 200_000)[0] ^ 1], at: 200_000)
            file.close()
            let error = #expect(throws: StoreError.self) { try Self.check(store) }
            #expect(error?.code == .damage && error?.description.contains("somebody with the store's key") == true)
        }
    }
#endif

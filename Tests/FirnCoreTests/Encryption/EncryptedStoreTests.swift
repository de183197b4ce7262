#if Encryption
    import FirnBytes
    import FirnStorage
    import FirnTestSupport
    import ForgedStores
    import Testing

    @testable import FirnCore
    @testable import FirnCrypto
    @testable import FirnLog

    /// Stores that are opened with a key: what they hold is read again, and by nobody else.
    @Suite(.timeLimit(.minutes(20)), .disabled(if: TestEnvironment.hasKey)) struct EncryptedStoreTests {
        private static let table = TableID(0)
        private static let rowCount = 40

        private static func key(_ byte: UInt8) -> EncryptionKey {
            [UInt8](repeating: byte, count: EncryptionKey.byteCount).withUnsafeBytes { EncryptionKey($0)! }
        }

        private static func options(
            _ key: EncryptionKey?, _ algorithm: EncryptionAlgorithm? = .preferred
        ) -> StoreOptions {
            var log = LogOptions(folder: BaseStore.folder, verify: .everything)
            log.usesThreads = false
            log.reserveByteCount = 0
            log.encryptionKey = key
            log.encryptionAlgorithm = algorithm
            var options = StoreOptions(log: log)
            options.compaction.isAutomatic = false
            return options
        }

        private static func open(_ storage: any Storage, _ key: EncryptionKey? = key(1)) throws -> Store {
            try Store(options(key), storage: storage, clock: ManualClock())
        }

        /// A value that stands out among other bytes.
        private static func text(_ id: Int) -> String { "classified-\(id)-material" }

        private static func add(_ ids: Range<Int>, to store: Store) throws {
            let transaction = try store.beginWrite()
            for id in ids {
                var row = transaction.beginRow(table)
                transaction.fill(&row, column: 0, value: .int(Int64(id)))
                transaction.fill(&row, column: 1, value: .string(text(id)))
                try transaction.endRow(row)
            }
            try transaction.commit()
        }

        /// Makes a store with rows in a checkpoint, in a sealed segment and in the open one, and closes it.
        private static func fill(
            _ storage: any Storage, _ key: EncryptionKey? = key(1), _ algorithm: EncryptionAlgorithm? = .preferred,
            randomness: any Randomness = SystemRandomness.shared
        ) throws {
            let store = try Store(
                options(key, algorithm), storage: storage, clock: ManualClock(), randomness: randomness)
            let transaction = try store.beginWrite()
            try transaction.makeTable(
                "HiddenClass",
                [ColumnSchema(name: "hiddenId", type: .int), ColumnSchema(name: "hiddenText", type: .string)])
            try transaction.commit()
            try add(0..<rowCount - 2, to: store)
            _ = try store.compact()
            try add(rowCount - 2..<rowCount - 1, to: store)
            try store.log?.sealSegment()
            try add(rowCount - 1..<rowCount, to: store)
            try store.close()
        }

        /// The texts of a store, by id.
        private static func texts(_ store: Store) throws -> [String] {
            try DamageRecord.throwing { () throws(StoreError) in
                let rows = store.pin().snapshot.table(table)
                return (0..<rowCount).map { id in
                    guard let key = rows.firstKey(primaryKeyInt: Int64(id)),
                        case .string(let text) = rows.value(1, of: key)
                    else { return "" }
                    return text
                }
            }
        }

        private static let allTexts = (0..<rowCount).map(text)

        @Test(arguments: EncryptionAlgorithm.allCases)
        func whatWasWrittenIsReadAgain(algorithm: EncryptionAlgorithm) throws {
            let storage = MemoryStorage()
            try Self.fill(storage, Self.key(1), algorithm)
            for _ in 1...2 {
                let store = try Self.open(storage)
                #expect(try Self.texts(store) == Self.allTexts)
                try store.verify()
                _ = try store.compact()
                #expect(try Self.texts(store) == Self.allTexts)
                try store.close()
            }
        }

        /// The key, no key where there is one, and a key where there is none: three errors, and nothing has changed.
        @Test func aKeyThatDoesNotFitIsTold() throws {
            let (encrypted, plain) = (MemoryStorage(), MemoryStorage())
            try Self.fill(encrypted)
            try Self.fill(plain, nil)
            for (storage, key, problem) in [
                (encrypted, Self.key(2), .wrong), (encrypted, nil, .missing), (plain, Self.key(1), .notEncrypted),
            ] as [(MemoryStorage, EncryptionKey?, LogError.KeyProblem)] {
                let before = try StoreFiles(storage).files
                for access in [LogOptions.Access.readWrite(waitMilliseconds: 0), .readOnly] {
                    var options = Self.options(key)
                    options.log?.access = access
                    #expect(logCode { _ = try Store(options, storage: storage, clock: ManualClock()) } == .key(problem))
                }
                #expect(try StoreFiles(storage).files == before)
            }
            _ = try Self.open(encrypted).close()
            _ = try Self.open(plain, nil).close()
        }

        /// Neither a name nor a value is among the bytes of an encrypted store; all are in a plain one.
        @Test func noNameAndNoValueCanBeRead() throws {
            func found(_ key: EncryptionKey?) throws -> Int {
                let storage = MemoryStorage()
                try Self.fill(storage, key)
                let files = try StoreFiles(storage).files.values
                // Compression leaves at least this much of one of them.
                let sought = ["HiddenClass", "hiddenId", "hiddenText", "classified-", "-material"]
                return sought.filter { text in files.contains { $0.contains(Array(text.utf8)) } }.count
            }
            #expect(try found(nil) == 5)
            #expect(try found(Self.key(1)) == 0)
        }

        /// The bits of each byte that are changed: a random one (nil), or with `FIRN_SLOW` each of them.
        private static let changedBits: [Int?] = TestEnvironment.value("FIRN_SLOW") == nil ? [nil] : Array(0..<8)

        /// A bit of each byte of every file. The store is refused, or it opens and is what it was. One loss is
        /// possible: of commits that no mark confirms, and then it is reported. No byte is without meaning, so no
        /// change passes unnoticed, except on the page that processes share, which holds no data.
        @Test(arguments: changedBits) func aChangedBitIsNoticed(only: Int?) throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            let made = try StoreFiles(storage)
            var random = SeededRandom(seed: 45)
            for (path, bytes) in made.files.sorted(by: { $0.key < $1.key }) {
                for offset in bytes.indices {
                    let bit = only ?? random.below(8)
                    let place = "\(path), bit \(bit) of byte \(offset)"
                    var changed = made
                    changed.files[path]![offset] ^= 1 << UInt8(bit)
                    guard let store = try? Self.open(changed.storage()) else { continue }
                    let texts = try Self.texts(store)
                    if case .tornTail = store.recovery?.outcome {
                        #expect(texts.dropLast() == Self.allTexts.dropLast(), "\(place)")
                    } else {
                        #expect(texts == Self.allTexts, "\(place)")
                        let isNoticed = (try? store.verify()) == nil || store.recovery?.outcome != .clean
                        #expect(isNoticed || path.hasSuffix("/shared"), "\(place): nobody is told")
                    }
                    try store.close()
                }
            }
        }

        /// Two copies of a store that have gone their own ways: a commit, a compaction at the same version, and what
        /// `goOn` does with ids from the second argument on.
        private static func copies(
            _ goOn: (Store, Int) throws -> Void
        ) throws -> (own: StoreFiles, other: StoreFiles) {
            let storage = MemoryStorage()
            try fill(storage)
            let start = try StoreFiles(storage)
            func continued(from id: Int) throws -> StoreFiles {
                let storage = try start.storage()
                let store = try open(storage)
                try add(id..<id + 1, to: store)
                _ = try store.compact()
                try goOn(store, id)
                try store.close()
                return try StoreFiles(storage)
            }
            return (try continued(from: 100), try continued(from: 200))
        }

        /// Files of a store and of its copy, which has the same keys, are exchanged after each has gone its own way.
        @Test func aFileOfACopyIsRefused() throws {
            let (own, other) = try Self.copies { store, id in
                try Self.add(id + 1..<id + 2, to: store)
                try store.log?.sealSegment()
                try Self.add(id + 2..<id + 3, to: store)
            }
            let names = own.files.keys.filter { $0.contains("/log/") || $0.contains("/checkpoint/") }.sorted()
            #expect(names == other.files.keys.filter { $0.contains("/log/") || $0.contains("/checkpoint/") }.sorted())
            for name in names where own.files[name] != other.files[name] {
                var mixed = own
                mixed.files[name] = other.files[name]
                #expect(throws: StoreError.self, "\(name)") {
                    try Self.open(mixed.storage()).verify()
                }
            }
        }

        /// Of two copies that went their own ways and were compacted at the same version, one gets the log of the
        /// other. It begins with the right version, but follows other data.
        @Test func theLogOfACopyIsRefused() throws {
            var (own, other) = try Self.copies { store, id in try Self.add(id + 1..<id + 2, to: store) }
            let logs = own.files.keys.filter { $0.contains("/log/") }
            #expect(logs.count == 1 && logs == other.files.keys.filter { $0.contains("/log/") })
            for name in logs { own.files[name] = other.files[name] }
            own.files[BaseStore.folder + "/shared"] = nil
            #expect(throws: StoreError.self) { try Self.open(own.storage()) }
        }

        /// The key changes, and nothing else. The next opener still sees what the page said before.
        @Test func aChangeOfTheKeyThatChangesNothingLeavesThePageAsItWas() throws {
            let storage = SimulatedStorage(seed: 5)
            try Self.fill(storage)
            let process = storage.disk.newProcess()
            func page() throws -> SharedPage {
                let folder = StoreFolder(try process.openFolder(BaseStore.folder))
                return try SharedPage(folder, try folder.readManifest(needsKey: false).storeID, mayCreate: true)
            }
            // A writer that died before the manifest's name was durable has left this.
            try page().writerProcess = 77
            process.inject(
                SimulatedFault(.noSpace, number: 28, residue: .some, times: 1) {
                    $0.operation == .create && $0.path.hasSuffix("manifest.new")
                })
            #expect(
                logCode {
                    try Store.changeKey(BaseStore.folder, from: Self.key(1), to: Self.key(2), storage: process)
                } == .diskFull)
            #expect(process.faultCount == 1)
            #expect(try page().writerProcess == 77)
            _ = try Self.open(process).close()
            try Store.changeKey(BaseStore.folder, from: Self.key(1), to: Self.key(2), storage: process)
            #expect(try page().writerProcess == 0)
        }

        /// A power cut has come between the two replacements of the manifest, and the page does not say so. The next
        /// opener makes up for the second one.
        @Test func theOldKeysWrapIsGoneAfterTheNextOpening() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            var folder = StoreFolder(try storage.openFolder(BaseStore.folder))
            folder.keyRing = KeyRing(Self.key(1), randomness: SystemRandomness.shared)
            let first = try folder.readManifest()
            let keys = try #require(try folder.keys(first))
            var second = first
            second.generation += 1
            second.encryption = keys.wrap(for: Self.key(2), salt: SystemRandomness.shared.bytes(32))
            try storage.remove(BaseStore.folder + "/manifest")
            let file = try storage.open(BaseStore.folder + "/manifest", .create)
            try file.write(second.encode(keys) + first.encode(keys), at: 0)
            file.close()
            _ = try Self.open(storage, Self.key(2)).close()
            let bytes = try storage.bytes(BaseStore.folder + "/manifest")
            let (current, previous) = try bytes.withUnsafeBytes { try Manifest.decode(file: $0, path: "") }
            #expect(current.encryption == second.encryption && previous?.encryption == second.encryption)
        }

        /// Those who could read the store's files before its key was changed still can.
        @Test func aChangeOfTheKeyKeepsTheModeOfTheManifest() throws {
            let folder = TemporaryFolder()
            let path = folder.path + "/store"
            var options = Self.options(Self.key(1))
            options.log?.folder = path
            options.log?.fileMode = FileMode(0o640)
            try Store(options, storage: PosixStorage.shared, clock: ManualClock()).close()
            try Store.changeKey(path, from: Self.key(1), to: Self.key(2), storage: PosixStorage.shared)
            #expect(try PosixStorage.shared.status(path + "/manifest")?.mode == FileMode(0o640))
            options.log?.encryptionKey = Self.key(2)
            try Store(options, storage: PosixStorage.shared, clock: ManualClock()).close()
        }

        /// What a power cut leaves of commits is recovered under the key, in a new segment with a key of its own.
        @Test(arguments: 1...40 as ClosedRange<UInt64>) func aPowerCutLosesNothing(seed: UInt64) throws {
            let storage = SimulatedStorage(seed: seed)
            try Self.fill(storage)
            let store = try Self.open(storage)
            try Self.add(100..<101, to: store)
            let process = storage.disk.afterPowerCut(seed: seed, .seeded).newProcess()
            let again = try Self.open(process)
            #expect(try Self.texts(again) == Self.allTexts)
            #expect(again.pin().snapshot.table(Self.table).firstKey(primaryKeyInt: 100) != nil)
            try Self.add(101..<102, to: again)
            try again.close()
            let last = try Self.open(process)
            #expect(last.pin().snapshot.table(Self.table).firstKey(primaryKeyInt: 101) != nil)
        }

        @Test func anotherKeyOpensAStoreWhoseKeyWasChanged() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            let before = try StoreFiles(storage).files
            try Store.changeKey(BaseStore.folder, from: Self.key(1), to: Self.key(2), storage: storage)
            let after = try StoreFiles(storage).files
            #expect(before.keys.filter { before[$0] != after[$0] } == [BaseStore.folder + "/manifest"])
            #expect(logCode { _ = try Self.open(storage) } == .key(.wrong))
            let store = try Self.open(storage, Self.key(2))
            #expect(try Self.texts(store) == Self.allTexts)
            let open = logCode {
                try Store.changeKey(BaseStore.folder, from: Self.key(2), to: Self.key(3), storage: storage)
            }
            guard case .locked = open else { throw LogError(.closed, path: "the key of an open store was changed") }
            try store.close()
            // Of two that change the same key, the second is told.
            #expect(
                logCode { try Store.changeKey(BaseStore.folder, from: Self.key(3), to: Self.key(4), storage: storage) }
                    == .key(.wrong))
        }

        /// Whatever fails while the key is changed, one of the two keys opens the store, with all data. It is the new
        /// one if the change has said so, and the old one if the disk was full at the beginning.
        @Test(arguments: [StorageError.Code.noSpace, .io, .tooManyOpenFiles])
        func aChangeOfTheKeyThatFailsAnywhereLocksNobodyOut(code: StorageError.Code) throws {
            var outcomes: Set<String> = []
            var index = 0
            var hadFault = true
            while hadFault {
                let storage = SimulatedStorage(seed: UInt64(index))
                try Self.fill(storage)
                let process = storage.disk.newProcess()
                let (first, number) = (process.callCount + index, Int32(code == .noSpace ? 28 : code == .io ? 5 : 24))
                process.inject(
                    SimulatedFault(code, number: number, residue: .some, times: 1) { $0.index == first })
                var problem: LogError.Code?
                do {
                    try Store.changeKey(BaseStore.folder, from: Self.key(1), to: Self.key(2), storage: process)
                } catch {
                    guard case .log(let inner) = error.code else { throw error }
                    problem = inner.code
                }
                hadFault = process.faultCount > 0
                process.removeFaults()
                for after in [storage.disk.newProcess(), storage.disk.afterPowerCut(seed: 7, .seeded).newProcess()] {
                    let opens = [1, 2].filter { key in
                        (try? Self.open(after, Self.key(key)).close()) != nil
                    }
                    #expect(opens.count == 1, "call \(index): \(opens)")
                    if problem == nil || problem == .key(.oldRemains) { #expect(opens == [2], "call \(index)") }
                    if problem == .diskFull { #expect(opens == [1], "call \(index)") }
                    if let key = opens.first {
                        let store = try Self.open(after, Self.key(key))
                        #expect(try Self.texts(store) == Self.allTexts)
                        try store.close()
                    }
                }
                outcomes.insert(problem.map { "\($0)".prefix(20) }.map(String.init) ?? "changed")
                index += 1
            }
            #expect(outcomes.count > 1 && outcomes.contains("changed"))
        }

        @Test func aCopyHasItsOwnKeyOrNone() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            for key in [nil, Self.key(1), Self.key(9)] {
                let store = try Self.open(storage)
                let copies = MemoryStorage()
                try Store.writeCopy(of: store.pin(), to: BaseStore.folder, encryptionKey: key, storage: copies)
                try store.close()
                let copy = try Self.open(copies, key)
                #expect(try Self.texts(copy) == Self.allTexts)
                try copy.close()
            }
        }

        /// Blocks in which nothing lives any more are punched, as zeros that no key opens, and are never read.
        @Test func holesAreNotRead() throws {
            let storage = SimulatedStorage(seed: 1)
            let count = 40_000
            var store = try Self.open(storage)
            let transaction = try store.beginWrite()
            try transaction.makeTable(
                "HiddenClass",
                [ColumnSchema(name: "hiddenId", type: .int), ColumnSchema(name: "hiddenText", type: .string)])
            try transaction.commit()
            try Self.add(0..<count, to: store)
            _ = try store.compact()
            for round in 0..<6 {
                let transaction = try store.beginWrite()
                let rows = transaction.base.snapshot.table(Self.table)
                // Some objects stay in each part, so that not everything is written again.
                let keys = (round * 6000..<round * 6000 + 5000).compactMap { rows.firstKey(primaryKeyInt: Int64($0)) }
                transaction.delete(Self.table, keys)
                try transaction.commit()
                _ = try store.compact()
                if round == 3 {
                    try store.close()
                    store = try Self.open(storage)
                }
            }
            #expect(storage.disk.count(.deallocate, suffix: "checkpoint") > 0)
            try store.verify()
            try store.close()
            let again = try Self.open(storage)
            let rows = again.pin().snapshot.table(Self.table)
            let left = (0..<count).filter { $0 % 6000 >= 5000 || $0 >= 36_000 }
            #expect(rows.count == left.count)
            for id in left where id % 97 == 0 {
                let key = try #require(rows.firstKey(primaryKeyInt: Int64(id)))
                #expect(rows.value(1, of: key) == .string(Self.text(id)))
            }
        }

        /// A deletion that the disk has no space for is written again, in the reserve's place. It is encrypted once.
        @Test func aFullDiskTakesADeletion() throws {
            let storage = SimulatedStorage(seed: 3)
            var options = Self.options(Self.key(1))
            options.log?.reserveByteCount = 256 << 10
            options.log?.durability = .none  // no log space is preallocated
            let store = try Store(options, storage: storage, clock: ManualClock())
            let transaction = try store.beginWrite()
            try transaction.makeTable(
                "HiddenClass",
                [ColumnSchema(name: "hiddenId", type: .int), ColumnSchema(name: "hiddenText", type: .string)])
            try transaction.commit()
            try Self.add(0..<2000, to: store)
            storage.disk.capacity = storage.disk.usedByteCount
            let deletion = try store.beginWrite()
            deletion.deleteAll(Self.table)
            try deletion.commit()
            #expect(try storage.status(BaseStore.folder + "/reserve") == nil)
            storage.disk.capacity = nil
            try store.close()
            let again = try Self.open(storage)
            #expect(again.pin().snapshot.table(Self.table).count == 0)
        }

        /// The stores kept with the tests, one for each algorithm, open as they always did. `FIRN_WRITE_GOLDEN` makes
        /// the test write them again.
        @Test(arguments: EncryptionAlgorithm.allCases) func aStoreThatWasKeptOpens(algorithm: EncryptionAlgorithm)
            throws
        {
            let folder =
                String(#filePath.dropLast("Encryption/EncryptedStoreTests.swift".utf8.count))
                + "Golden/store-encrypted-\(algorithm.rawValue)"
            let files = [
                "manifest", "log/0000000002.segment", "log/0000000003.segment", "checkpoint/0000000001.checkpoint",
            ]
            if TestEnvironment.value("FIRN_WRITE_GOLDEN") != nil {
                let storage = MemoryStorage()
                let seed = UInt64(algorithm.rawValue)
                try Self.fill(storage, Self.key(1), algorithm, randomness: SeededRandomness(seed: seed))
                for name in ["", "/log", "/checkpoint"] { try PosixStorage.shared.createFolder(folder + name) }
                for name in files {
                    let file = try PosixStorage.shared.open(folder + "/" + name, .create)
                    try file.write(storage.bytes(BaseStore.folder + "/" + name), at: 0)
                    file.close()
                }
            }
            let storage = try GoldenStore.copy(of: folder, files: files)
            var options = Self.options(Self.key(1))
            options.log?.folder = "/g"
            let store = try Store(options, storage: storage, clock: ManualClock())
            #expect(try Self.texts(store) == Self.allTexts)
            #expect(store.recovery?.outcome == .clean)
            try store.verify()
            try Self.add(100..<101, to: store)
            try store.close()
        }

        /// What would go to scratch files elsewhere is refused, and the store goes on.
        @Test func aTransactionThatNeedsTooMuchMemoryIsRefused() throws {
            let storage = MemoryStorage()
            try Self.fill(storage)
            var options = Self.options(Self.key(1))
            options.transactionMemoryByteCount = 256 << 10
            let store = try Store(options, storage: storage, clock: ManualClock())
            #expect(logCode { try Self.add(1000..<20_000, to: store) } == .tooLarge)
            try Self.add(1000..<1100, to: store)
            #expect(store.pin().snapshot.table(Self.table).count == Self.rowCount + 100)
            try store.close()
            #expect(try Self.texts(Self.open(storage)) == Self.allTexts)
        }

        @Test func aVersionIsNotSpilled() {
            var options = Self.options(Self.key(1))
            options.activeVersionPolicy = .spill
            #expect {
                try Store(options, storage: MemoryStorage(), clock: ManualClock())
            } throws: { ($0 as? StoreError)?.code == .unsupported }
        }
    }

    extension [UInt8] {
        /// Whether the bytes occur in a row.
        fileprivate func contains(_ sought: [UInt8]) -> Bool {
            indices.dropLast(Swift.max(sought.count - 1, 0)).contains { self[$0...].starts(with: sought) }
        }
    }
#endif

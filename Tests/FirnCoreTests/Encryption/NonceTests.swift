#if Encryption
    import FirnStorage
    import FirnTestSupport
    import ForgedStores
    import Synchronization
    import Testing

    @testable import FirnCore
    @testable import FirnCrypto
    @testable import FirnLog

    /// No nonce is used twice, whatever is cut, taken over, copied or written again.
    @Suite(.timeLimit(.minutes(TestEnvironment.minutes)), .disabled(if: TestEnvironment.hasKey)) struct NonceTests {
        private struct Nonce: Hashable {
            let first: UInt64
            let last: UInt32
        }

        /// Random numbers that remember each nonce: what is asked for in 12 bytes, or for a pool. Keys are not looked
        /// at: under no two keys is a nonce the same either.
        private final class Recorder: Randomness {
            private struct State {
                var random: SeededRandom
                var count = 0
                var nonces: Set<Nonce> = []
            }
            private let state: Mutex<State>

            init(seed: UInt64) { state = Mutex(State(random: SeededRandom(seed: seed))) }

            func next() -> UInt64 { state.withLock { $0.random.next() } }

            func fill(_ buffer: UnsafeMutableRawBufferPointer) {
                state.withLock { state in
                    for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: state.random.next()) }
                    guard buffer.count == SealSize.nonce || buffer.count == NoncePool.mostCount * SealSize.nonce
                    else { return }
                    for start in stride(from: 0, to: buffer.count, by: SealSize.nonce) {
                        state.count += 1
                        state.nonces.insert(
                            Nonce(
                                first: buffer.loadUnaligned(fromByteOffset: start, as: UInt64.self),
                                last: buffer.loadUnaligned(fromByteOffset: start + 8, as: UInt32.self)))
                    }
                }
            }

            /// How many nonces were made.
            var count: Int { state.withLock { $0.count } }
            var nonces: Set<Nonce> { state.withLock { $0.nonces } }
        }

        private static func options(_ algorithm: EncryptionAlgorithm = .aesGCMSIV) -> StoreOptions {
            var log = LogOptions(folder: BaseStore.folder)
            log.usesThreads = false
            log.reserveByteCount = 0
            log.segmentByteCount = 16 << 10
            log.encryptionKey = [UInt8](repeating: 1, count: 64).withUnsafeBytes { EncryptionKey($0) }
            log.encryptionAlgorithm = algorithm
            return StoreOptions(log: log)
        }

        private static func open(
            _ storage: any Storage, _ randomness: any Randomness, _ algorithm: EncryptionAlgorithm = .aesGCMSIV
        ) throws -> Store {
            try Store(options(algorithm), storage: storage, clock: ManualClock(), randomness: randomness)
        }

        private static func add(_ store: Store, _ id: Int64) throws {
            let transaction = try store.beginWrite()
            if transaction.base.snapshot.schema.tables.isEmpty {
                try transaction.makeTable("T", [ColumnSchema(name: "id", type: .int)])
            }
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .int(id))
            try transaction.endRow(row)
            try transaction.commit()
        }

        /// Commits, with disks that fill, power cuts, checkpoints, closed stores, and copies of the folder that go
        /// their own way. `FIRN_NONCE_COMMITS` is how many.
        @Test func noNonceComesTwice() throws {
            let count = TestEnvironment.value("FIRN_NONCE_COMMITS").flatMap { Int($0) } ?? 3000
            let recorder = Recorder(seed: 45)
            var random = SeededRandom(seed: 46)
            var storage = SimulatedStorage(seed: 1)
            var store = try Self.open(storage, recorder)
            var (cuts, takeovers, copies) = (0, 0, 0)
            for id in 0..<count {
                try Self.add(store, Int64(id))
                switch random.below(200) {
                case 0..<8:
                    // The commit is cut off, and the next one has its place and its version.
                    storage.disk.capacity = storage.disk.usedByteCount + 64
                    if (try? Self.add(store, Int64(count + id))) == nil { cuts += 1 }
                    storage.disk.capacity = nil
                case 8..<12:
                    storage = storage.disk.afterPowerCut(seed: random.next(), .seeded).newProcess()
                    store = try Self.open(storage, recorder)
                    takeovers += 1
                case 12: _ = try store.compact()
                case 13:
                    try store.close()
                    store = try Self.open(storage, recorder)
                case 14:
                    // The disk of another machine, with the same open segment. It writes on from the same end.
                    let other = try Self.open(
                        storage.disk.afterPowerCut(seed: UInt64(id), .seeded).newProcess(), recorder)
                    for copy in 1...20 { try Self.add(other, Int64(count * 2 + id * 20 + copy)) }
                    try other.close()
                    copies += 1
                default: break
                }
            }
            try store.close()
            #expect(cuts > 0 && takeovers > 0 && copies > 0)
            #expect(recorder.count >= count && recorder.nonces.count == recorder.count)
        }

        /// A machine that is resumed twice from one image of its memory, random numbers included, writes two commits
        /// under one nonce and one key: the recorder finds it. AES-GCM-SIV then shows only whether the two are equal.
        /// Plain AES-GCM shows what they differ in, so it is used only where there is nothing else: see "Security".
        @Test(arguments: [.aesGCMSIV, .aesGCM] as [EncryptionAlgorithm])
        func aMachineThatIsResumedTwiceIsNoticed(algorithm: EncryptionAlgorithm) throws {
            let storage = MemoryStorage()
            let first = try Self.open(storage, Recorder(seed: 1), algorithm)
            try Self.add(first, 1)
            try first.close()
            let image = try StoreFiles(storage)
            func resumed(_ id: Int64) throws -> (nonces: Set<Nonce>, segment: [UInt8]) {
                let (recorder, storage) = (Recorder(seed: 2), try image.storage())
                let store = try Self.open(storage, recorder, algorithm)
                try Self.add(store, id)
                try store.close()
                let files = try StoreFiles(storage).files
                return (
                    recorder.nonces,
                    try #require(files.filter { $0.key.contains("/log/") }.max { $0.key < $1.key }).value
                )
            }
            let (one, other) = (try resumed(2), try resumed(3))
            #expect(!one.nonces.isDisjoint(with: other.nonces))
            #expect(one.segment != other.segment)
        }
    }
#endif

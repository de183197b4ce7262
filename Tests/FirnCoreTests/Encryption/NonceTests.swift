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
        /// Random numbers that remember each nonce: what is asked for in 12 bytes, or for a pool.
        private final class Recorder: Randomness {
            private struct State {
                var random: SeededRandom
                var nonces: [[UInt8]] = []
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
                        state.nonces.append([UInt8](buffer[start..<start + SealSize.nonce]))
                    }
                }
            }

            var nonces: [[UInt8]] { state.withLock { $0.nonces } }
        }

        private static func options() -> StoreOptions {
            var log = LogOptions(folder: BaseStore.folder)
            log.usesThreads = false
            log.reserveByteCount = 0
            log.segmentByteCount = 16 << 10
            log.encryptionKey = [UInt8](repeating: 1, count: 64).withUnsafeBytes { EncryptionKey($0) }
            return StoreOptions(log: log)
        }

        private static func open(_ storage: any Storage, _ randomness: any Randomness) throws -> Store {
            try Store(options(), storage: storage, clock: ManualClock(), randomness: randomness)
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

        /// Commits, with disks that fill, power cuts, checkpoints and closed stores between them. `FIRN_NONCE_COMMITS`
        /// is how many.
        @Test func noNonceComesTwice() throws {
            let count = TestEnvironment.value("FIRN_NONCE_COMMITS").flatMap { Int($0) } ?? 3000
            let recorder = Recorder(seed: 45)
            var random = SeededRandom(seed: 46)
            var storage = SimulatedStorage(seed: 1)
            var store = try Self.open(storage, recorder)
            var (cuts, takeovers) = (0, 0)
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
                default: break
                }
            }
            try store.close()
            #expect(cuts > 0 && takeovers > 0)
            let nonces = recorder.nonces
            #expect(nonces.count >= count && Set(nonces).count == nonces.count)
        }

        /// A machine that is resumed twice from one image of its memory writes two commits under one nonce and one key:
        /// the recorder finds it. With AES-GCM-SIV, that shows only whether the two are equal.
        @Test func aMachineThatIsResumedTwiceIsNoticed() throws {
            let storage = MemoryStorage()
            let first = try Self.open(storage, Recorder(seed: 1))
            try Self.add(first, 1)
            try first.close()
            let image = try StoreFiles(storage)
            func resumed(_ id: Int64) throws -> [[UInt8]] {
                let recorder = Recorder(seed: 2)
                let store = try Self.open(image.storage(), recorder)
                try Self.add(store, id)
                try store.close()
                return recorder.nonces
            }
            #expect(try !Set(resumed(2)).isDisjoint(with: Set(resumed(3))))
        }
    }
#endif

import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Runs random operations against the store and the oracle: they must agree at every pinned version, and the heap
/// must contain exactly what the pins reach.
@Suite(.timeLimit(.minutes(TestEnvironment.minutes))) struct ModelTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyPinnedVersionAgreesWithTheOracle(seed: UInt64) throws {
        try ModelRun(seed: seed).run(transactions: 80, operations: 60)
    }

    /// Committed data is there after closing and opening, whatever was changed in between.
    @Test(arguments: [11, 12] as [UInt64])
    func reopeningGivesWhatWasCommitted(seed: UInt64) throws {
        try ModelRun(seed: seed, storage: MemoryStorage()).run(transactions: 60, operations: 60)
    }

    /// Versions that are written to checkpoints and read in place keep their content, held or not, whatever is
    /// committed later.
    @Test(arguments: [31, 32, 33] as [UInt64])
    func checkpointsChangeNothing(seed: UInt64) throws {
        let run = try ModelRun(seed: seed, storage: MemoryStorage(), compactsEvery: 4)
        try run.run(transactions: 80, operations: 60)
        // Some compactions added to a checkpoint's files, and some began new ones.
        #expect(run.checkpointCount.whole > 2)
        #expect(run.checkpointCount.added > 2)
    }

    /// Leaves split as values grow, their right halves are deleted, and new objects go into the left ones, on the heap
    /// and in checkpoints.
    @Test(arguments: [61, 62, 63, 64] as [UInt64])
    func splitLeavesChangeNoOtherVersion(seed: UInt64) throws {
        try ModelRun(
            seed: seed, rowGoal: 600, storage: MemoryStorage(), compactsEvery: seed % 2 == 0 ? 4 : 0, splitsOften: true
        )
        .run(transactions: 80, operations: 60)
    }

    @Test(arguments: [41, 42] as [UInt64])
    func mappedCheckpointsChangeNothing(seed: UInt64) throws {
        let folder = TemporaryFolder()
        try ModelRun(
            seed: seed, rowGoal: 1500, storage: PosixStorage.shared, folder: folder.path + "/store", compactsEvery: 3
        )
        .run(transactions: 30, operations: 400)
    }

    /// A transaction that exceeds its memory limit continues in scratch files, and none of them is left.
    @Test func aTransactionLargerThanItsMemoryContinuesInScratchFiles() throws {
        let storage = MemoryStorage()
        let run = try ModelRun(seed: 21, storage: storage) { $0.transactionMemoryByteCount = 4096 }
        try run.run(transactions: 20, operations: 60)
        #expect(run.spilledNodeCount > 100)
        #expect(try storage.list("store").allSatisfy { !$0.hasPrefix("scratch") })
    }

    /// If more versions are held than the limit allows, the oldest versions are spilled, and keep their content.
    @Test(arguments: [51, 52] as [UInt64])
    func spillingVersionsChangesNothing(seed: UInt64) throws {
        let folder = TemporaryFolder()
        let run = try ModelRun(
            seed: seed, storage: PosixStorage.shared, folder: folder.path + "/store", compactsEvery: 9
        ) {
            $0.maximumNumberOfActiveVersions = 1
            $0.activeVersionPolicy = .spill
        }
        try run.run(transactions: 80, operations: 60)
        #expect(run.spilledVersionCount > 20)
        let spill = try #require(run.store.heap.spill)
        #expect(spill.arenaCount <= 2)
        #expect(!(try PosixStorage.shared.list(folder.path + "/store").contains { $0.hasPrefix("scratch") }))
    }

    /// Many operations on tables of thousands of rows; `FIRN_MODEL_OPERATIONS` sets their number.
    @Test func aLongRunAgreesWithTheOracle() throws {
        try ModelRun(seed: 99, rowGoal: 3000, storage: MemoryStorage()).run(
            transactions: Self.longRun / 750, operations: 1500)
    }

    @Test func aLongRunWithCheckpointsAgreesWithTheOracle() throws {
        let folder = TemporaryFolder()
        let run = try ModelRun(
            seed: 98, rowGoal: 3000, storage: PosixStorage.shared, folder: folder.path + "/store", compactsEvery: 3)
        try run.run(transactions: Self.longRun / 750, operations: 1500)
        #expect(run.checkpointCount.whole > 0)
    }

    private static var longRun: Int { Int(TestEnvironment.value("FIRN_MODEL_OPERATIONS") ?? "") ?? 6_000 }
}

/// One seeded run.
final class ModelRun {
    struct Failure: Error, CustomStringConvertible { let description: String }

    let seed: UInt64
    let rowGoal: Int
    private var operations: RandomOperations
    var random: SeededRandom {
        get { operations.random }
        set { operations.random = newValue }
    }
    let schema = modelSchema()
    let storage: (any Storage)?
    let folder: String
    /// Sets the options that its store is opened with, except for the location.
    private let adjust: (inout StoreOptions) -> Void
    /// Transactions between checkpoints; 0 for none.
    let compactsEvery: Int
    private(set) var checkpointCount = (whole: 0, added: 0)
    /// Nodes of finished transactions that were in scratch files.
    private(set) var spilledNodeCount = 0
    /// How often a version was found to be spilled.
    private(set) var spilledVersionCount = 0
    var store: Store
    var oracle: Oracle
    var pins: [(pin: Pin, oracle: Oracle)] = []
    /// Snapshots of the transaction before, cancelled or not, that are still held.
    private var outlived: [(pin: Pin, oracle: Oracle)] = []
    private(set) var operationCount = 0

    /// With a storage, the store has a log in it, and is closed and reopened from time to time.
    init(
        seed: UInt64, rowGoal: Int = 400, storage: (any Storage)? = nil, folder: String = "store",
        compactsEvery: Int = 0, splitsOften: Bool = false, _ adjust: @escaping (inout StoreOptions) -> Void = { _ in }
    ) throws {
        self.folder = folder
        self.compactsEvery = compactsEvery
        self.adjust = adjust
        self.seed = seed
        self.rowGoal = rowGoal
        operations = RandomOperations(seed: seed, rowGoal: rowGoal, splitsOften: splitsOften)
        self.storage = storage
        store = try ModelRun.open(storage, folder, adjust)
        oracle = Oracle(schema)
        let transaction = try self.store.beginWrite()
        try transaction.changeSchema(to: schema)
        try transaction.commit()
    }

    private static func open(
        _ storage: (any Storage)?, _ folder: String, _ adjust: (inout StoreOptions) -> Void
    ) throws -> Store {
        guard let storage else { return try Store(StoreOptions(log: nil), storage: MemoryStorage()) }
        var options = LogOptions(folder: folder, access: .readWrite(waitMilliseconds: 0), durability: .full)
        options.segmentByteCount = 1 << 20
        options.usesThreads = false
        var storeOptions = StoreOptions(log: options)
        storeOptions.streamedByteCount = 16 << 10
        adjust(&storeOptions)
        return try Store(storeOptions, storage: storage)
    }

    /// Closes the store and opens it again. Its pins are released first, and its memory with them.
    private func reopen() throws {
        pins = []
        outlived = []
        let heap = store.heap
        try store.close()
        // The old store is released before the new one is opened, so that it no longer holds the writer lock and its
        // memory can be checked to be free.
        store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        if heap.nodeCount != 0 {
            throw Failure(description: "seed \(seed): \(heap.nodeCount) nodes outlived their store")
        }
        store = try ModelRun.open(storage, folder, adjust)
        try verify(store.pin(), oracle, "after reopening")
        store._checkInvariants()
    }

    func run(transactions: Int, operations: Int) throws {
        for round in 0..<transactions {
            if storage != nil, round % 20 == 11 || round == transactions - 1 { try reopen() }
            try transaction(operations: 1 + random.below(operations))
            if compactsEvery > 0, round % compactsEvery == compactsEvery - 1 {
                if let report = try store.compact(garbageShare: random.below(3) == 0 ? 0 : 10) {
                    if report.isWhole { checkpointCount.whole += 1 } else { checkpointCount.added += 1 }
                }
                if random.below(2) == 0 {
                    outlived = []
                    store._checkInvariants()
                }
            }
            if store.options.activeVersionPolicy == .spill {
                spilledVersionCount += store.activeVersions.count(where: \.isSpilled)
                store.pin().snapshot.forEachHeapNode { precondition($0.isSpilled) }
            }
            let newest = store.pin()
            if operations < 100 || round % 5 == 4 { try verify(newest, oracle, "round \(round), newest") }
            if random.below(3) == 0 { pins.append((newest, oracle)) }
            if pins.count > 12 || random.below(4) == 0, !pins.isEmpty { pins.remove(at: random.below(pins.count)) }
            if round % 10 == 9 || round == transactions - 1 {
                for (pin, kept) in pins { try verify(pin, kept, "round \(round), version \(pin.version)") }
                outlived = []
                withExtendedLifetime(newest) { store._checkInvariants() }
            }
        }
        pins = []
        outlived = []
        store._checkInvariants()
        if store.activeVersions.count != 1 {
            throw Failure(description: "seed \(seed): \(store.activeVersions.count) versions are active")
        }
    }

    func verify(_ pin: Pin, _ expected: Oracle, _ label: String) throws {
        if let fault = expected.check(pin.snapshot, "seed \(seed), \(label)") { throw Failure(description: fault) }
    }

    /// Runs one transaction. It is committed, or it is cancelled and the oracle is restored.
    func transaction(operations: Int) throws {
        let before = oracle
        let transaction = try store.beginWrite()
        var states: [(Pin, Oracle)] = []
        for _ in 0..<operations {
            try self.operations.operate(transaction, &oracle)
            operationCount += 1
            if random.below(50) == 0 { states.append((transaction.pinSnapshot(), oracle)) }
            if random.below(20) == 0, !states.isEmpty {
                let (pin, kept) = states.remove(at: random.below(states.count))
                try verify(pin, kept, "a snapshot inside a transaction")
            }
        }
        if store.options.transactionMemoryByteCount < 1 << 20 {
            transaction.snapshot.forEachHeapNode { if $0.isSpilled { spilledNodeCount += 1 } }
        }
        if random.below(5) == 0 {
            transaction.cancel()
            oracle = before
        } else {
            try transaction.commit()
        }
        for (pin, kept) in outlived { try verify(pin, kept, "a snapshot that outlived two transactions") }
        for (pin, kept) in states { try verify(pin, kept, "a snapshot that outlived its transaction") }
        outlived = states
    }
}

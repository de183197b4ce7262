import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport

@testable import FirnCore

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
        store = try ModelRun.open(storage, folder: folder, adjust)
        oracle = Oracle(schema)
        let transaction = try self.store.beginWrite()
        try transaction.changeSchema(to: schema)
        try transaction.commit()
    }

    private static func open(
        _ storage: (any Storage)?, folder: String, _ adjust: (inout StoreOptions) -> Void
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
        store = try ModelRun.open(storage, folder: folder, adjust)
        try verify(store.pin(), expected: oracle, label: "after reopening")
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
            if operations < 100 || round % 5 == 4 {
                try verify(newest, expected: oracle, label: "round \(round), newest")
            }
            if random.below(3) == 0 { pins.append((newest, oracle)) }
            if pins.count > 12 || random.below(4) == 0, !pins.isEmpty { pins.remove(at: random.below(pins.count)) }
            if round % 10 == 9 || round == transactions - 1 {
                for (pin, kept) in pins {
                    try verify(pin, expected: kept, label: "round \(round), version \(pin.version)")
                }
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

    func verify(_ pin: Pin, expected: Oracle, label: String) throws {
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
                try verify(pin, expected: kept, label: "a snapshot inside a transaction")
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
        for (pin, kept) in outlived {
            try verify(pin, expected: kept, label: "a snapshot that outlived two transactions")
        }
        for (pin, kept) in states { try verify(pin, expected: kept, label: "a snapshot that outlived its transaction") }
        outlived = states
    }
}

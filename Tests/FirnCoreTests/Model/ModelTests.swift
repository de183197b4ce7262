import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Random operations against the store and the oracle: they must agree at every pinned version, and the heap must be exactly what the pins reach.
@Suite(.timeLimit(.minutes(TestEnvironment.minutes))) struct ModelTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyPinnedVersionAgreesWithTheOracle(seed: UInt64) throws {
        try ModelRun(seed: seed).run(transactions: 80, operations: 60)
    }

    /// What was committed is there after closing and opening, whatever was changed in between.
    @Test(arguments: [11, 12] as [UInt64])
    func reopeningGivesWhatWasCommitted(seed: UInt64) throws {
        try ModelRun(seed: seed, storage: MemoryStorage()).run(transactions: 60, operations: 60)
    }

    /// Versions written out as checkpoints, and read where they lie, are what they were, held or not, whatever comes after.
    @Test(arguments: [31, 32, 33] as [UInt64])
    func checkpointsChangeNothing(seed: UInt64) throws {
        let run = try ModelRun(seed: seed, storage: MemoryStorage(), compactsEvery: 4)
        try run.run(transactions: 80, operations: 60)
        // Both what adds to a checkpoint's files and what begins new ones.
        #expect(run.checkpointCount.whole > 2)
        #expect(run.checkpointCount.added > 2)
    }

    @Test(arguments: [41, 42] as [UInt64])
    func mappedCheckpointsChangeNothing(seed: UInt64) throws {
        let folder = TemporaryFolder()
        try ModelRun(
            seed: seed, rowGoal: 1500, storage: PosixStorage.shared, folder: folder.path + "/store", compactsEvery: 3
        )
        .run(transactions: 30, operations: 400)
    }

    /// A transaction that passes its memory goes on in scratch files, and nothing is left of them.
    @Test func aTransactionLargerThanItsMemoryGoesOnInScratchFiles() throws {
        let storage = MemoryStorage()
        let run = try ModelRun(seed: 21, storage: storage) { $0.transactionMemoryByteCount = 4096 }
        try run.run(transactions: 20, operations: 60)
        #expect(run.spilledNodeCount > 100)
        #expect(try storage.list("store").allSatisfy { !$0.hasPrefix("scratch") })
    }

    /// Where more is held than the limit allows, what the oldest versions need is written out, and they are what they were.
    @Test(arguments: [51, 52] as [UInt64])
    func versionsThatAreWrittenOutChangeNothing(seed: UInt64) throws {
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

    /// Many operations on tables of thousands of rows: as many as `FIRN_MODEL_OPERATIONS` says.
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
    var random: SeededRandom
    var values: ValueMaker
    let schema = modelSchema()
    let storage: (any Storage)?
    let folder: String
    /// How its store is opened, but for where.
    private let adjust: (inout StoreOptions) -> Void
    /// Transactions between checkpoints; 0 for none.
    let compactsEvery: Int
    private(set) var checkpointCount = (whole: 0, added: 0)
    /// Nodes of finished transactions that lay in scratch files.
    private(set) var spilledNodeCount = 0
    /// How often a version was found written out.
    private(set) var spilledVersionCount = 0
    var store: Store
    var oracle: Oracle
    var pins: [(pin: Pin, oracle: Oracle)] = []
    private(set) var operationCount = 0

    /// With a storage the store has a log in it, and is closed and opened now and then.
    init(
        seed: UInt64, rowGoal: Int = 400, storage: (any Storage)? = nil, folder: String = "store",
        compactsEvery: Int = 0, _ adjust: @escaping (inout StoreOptions) -> Void = { _ in }
    ) throws {
        self.folder = folder
        self.compactsEvery = compactsEvery
        self.adjust = adjust
        self.seed = seed
        self.rowGoal = rowGoal
        random = SeededRandom(seed: seed)
        values = ValueMaker(random: SeededRandom(seed: seed &* 77))
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
        storeOptions.handOutByteCount = 16 << 10
        adjust(&storeOptions)
        return try Store(storeOptions, storage: storage)
    }

    /// Closes the store and opens it again. Its pins go first; its memory with them.
    private func reopen() throws {
        pins = []
        let heap = store.heap
        try store.close()
        // The old store goes before the new one is opened: it holds the writer's lock no longer, and its memory is to be seen free.
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
                if random.below(2) == 0 { store._checkInvariants() }
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
                withExtendedLifetime(newest) { store._checkInvariants() }
            }
        }
        pins = []
        store._checkInvariants()
        if store.activeVersions.count != 1 {
            throw Failure(description: "seed \(seed): \(store.activeVersions.count) versions are active")
        }
    }

    func verify(_ pin: Pin, _ expected: Oracle, _ label: String) throws {
        if let fault = expected.check(pin.snapshot, "seed \(seed), \(label)") { throw Failure(description: fault) }
    }

    /// One transaction: committed, or cancelled with the oracle as it was.
    func transaction(operations: Int) throws {
        let before = oracle
        let transaction = try store.beginWrite()
        var states: [(Pin, Oracle)] = []
        for _ in 0..<operations {
            try operate(transaction)
            operationCount += 1
            if random.below(50) == 0 { states.append((transaction.pinState(), oracle)) }
            if random.below(20) == 0, !states.isEmpty {
                let (pin, kept) = states.remove(at: random.below(states.count))
                try verify(pin, kept, "a state inside a transaction")
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
        for (pin, kept) in states { try verify(pin, kept, "a state that outlived its transaction") }
    }

    private func randomKey(_ table: Int) -> Int64? {
        let count = oracle.keys[table].count
        return count == 0 ? nil : oracle.keys[table][random.below(count)]
    }

    private func operate(_ transaction: WriteTransaction) throws {
        let table = random.below(4) == 0 ? 1 : 0
        let count = oracle.keys[table].count
        let dice = random.below(100)
        switch dice {
        case 0..<(count < rowGoal ? 40 : 10): try create(transaction, table)
        case 40..<65: set(transaction, table)
        case 65..<85: editList(transaction, table)
        case 85..<(count < rowGoal ? 90 : 98): delete(transaction, table)
        case 98 where random.below(40) == 0:
            transaction.deleteAll(TableID(table))
            oracle.deleteAll(table)
        default: selfAssign(transaction, table)
        }
    }

    private func create(_ transaction: WriteTransaction, _ table: Int) throws {
        let id = TableID(table)
        var row = transaction.beginRow(id)
        var made: [Value] = []
        for (number, column) in schema.tables[table].columns.enumerated() {
            var value: Value
            if column.collection == .list {
                value = .list((0..<random.below(random.below(10) == 0 ? 300 : 6)).compactMap { _ in element(column) })
            } else if column.type == .link {
                value = randomKey(column.target!.index).map(Value.link) ?? .null
            } else if number == 0, table == 0 {
                value = .int(Int64(random.below(100_000)))
            } else {
                value = values.value(column)
            }
            if random.below(8) == 0, column.collection == .none, column.type != .link, number != 0 {
                value = blank(column)
            } else {
                transaction.fill(&row, number, value)
            }
            made.append(value)
        }
        let isTaken = oracle.key(table, primaryKey: made[0]) != nil
        do {
            try transaction.endRow(row)
            if isTaken { throw Failure(description: "seed \(seed): a primary key was taken twice: \(made[0])") }
            oracle.insert(table, row.key, made)
        } catch let error as StoreError {
            guard isTaken, error.code == .primaryKeyTaken else { throw error }
        }
    }

    private func blank(_ column: ColumnSchema) -> Value {
        if column.isNullable { return .null }
        switch column.type {
        case .bool: return .bool(false)
        case .int: return .int(0)
        case .float: return .float(0)
        case .double: return .double(0)
        case .string: return .string("")
        case .data: return .data([])
        case .date: return .date(Timestamp(seconds: 0, nanoseconds: 0))
        case .objectID: return .objectID(ObjectIDBytes(0, 0, 0))
        case .uuid: return .uuid(UUIDBytes(high: 0, low: 0))
        case .decimal: return .decimal(DecimalBits(high: 0, low: 0))
        case .link, .mixed: return .null
        }
    }

    private func element(_ column: ColumnSchema) -> Value? {
        if column.type == .link { return randomKey(column.target!.index).map(Value.link) }
        return values.value(column)
    }

    private func set(_ transaction: WriteTransaction, _ table: Int) {
        guard let key = randomKey(table) else { return }
        let column = 1 + random.below(schema.tables[table].columns.count - 1)
        let property = schema.tables[table].columns[column]
        let value: Value =
            if property.collection == .list {
                .list((0..<random.below(8)).compactMap { _ in element(property) })
            } else if property.type == .link {
                random.below(4) == 0 ? .null : randomKey(property.target!.index).map(Value.link) ?? .null
            } else { values.value(property) }
        transaction.set(TableID(table), column, key, value)
        oracle[table, key, column] = value
    }

    private func selfAssign(_ transaction: WriteTransaction, _ table: Int) {
        guard let key = randomKey(table) else { return }
        let column = 1 + random.below(schema.tables[table].columns.count - 1)
        transaction.set(TableID(table), column, key, oracle[table, key, column])
    }

    private func delete(_ transaction: WriteTransaction, _ table: Int) {
        guard let key = randomKey(table) else { return }
        transaction.delete(TableID(table), key)
        oracle.delete(table, key)
    }

    private func editList(_ transaction: WriteTransaction, _ table: Int) {
        guard let key = randomKey(table) else { return }
        let lists = schema.tables[table].columns.indices.filter { schema.tables[table].columns[$0].collection == .list }
        let column = lists[random.below(lists.count)]
        guard case .list(var elements) = oracle[table, key, column] else { return }
        transaction.edit(TableID(table), column, key) { change in
            for _ in 0...random.below(5) {
                switch random.below(6) {
                case 0, 1:
                    guard let value = element(schema.tables[table].columns[column]) else { continue }
                    let index = random.below(elements.count + 1)
                    change.insert(value, at: index)
                    elements.insert(value, at: index)
                case 2 where !elements.isEmpty:
                    let index = random.below(elements.count)
                    change.remove(at: index)
                    elements.remove(at: index)
                case 3 where !elements.isEmpty:
                    guard let value = element(schema.tables[table].columns[column]) else { continue }
                    let index = random.below(elements.count)
                    change.set(value, at: index)
                    elements[index] = value
                case 4 where !elements.isEmpty:
                    let (from, to) = (random.below(elements.count), random.below(elements.count))
                    change.move(from: from, to: to)
                    elements.insert(elements.remove(at: from), at: to)
                case 5 where random.below(12) == 0:
                    change.removeAll()
                    elements = []
                default: break
                }
            }
        }
        oracle[table, key, column] = .list(elements)
    }
}
